"""Calls of a server in this process, as a host makes them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from bethink.adapting import rough_tokens
from bethink_adapters.mcp import MemoryServer, Options
from bethink_adapters.mcp.answers import tokens
from bethink_adapters.mcp.protocol import CAPABILITIES, MODERN, PROTOCOL

META = {PROTOCOL: MODERN[0], CAPABILITIES: {}}
SERVER = [sys.executable, "-m", "bethink_adapters.mcp"]


def request(method: str, params: object = None, id: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


class Host:
    """A host of one server on the file at *path*."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.server = MemoryServer(Options(path, **options))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result, or the error with its code."""
        reply = self.server.protocol.reply(request(method, params))
        assert reply is not None
        found: dict[str, Any] = reply.get("result") or reply["error"]
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured content of memory_*tool*."""
        result = self.ask("tools/call", name=f"memory_{tool}", arguments=arguments)
        assert not result["isError"], result
        found: dict[str, Any] = result["structuredContent"]
        return found

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the text of an answer, also of a refusal."""
        result = self.ask("tools/call", name=f"memory_{tool}", arguments=arguments)
        return str(result["content"][0]["text"])

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Return the sentence that refuses a call."""
        result = self.ask("tools/call", name=f"memory_{tool}", arguments=arguments)
        assert result["isError"], result
        return str(result["content"][0]["text"])

    def store(self, content: str, **fields: Any) -> str:
        """Store a memory; return the id."""
        return str(self.call("store", content=content, **fields)["memory"]["id"])

    def read(self, uri: str) -> str:
        """Return the text of a resource."""
        return str(self.ask("resources/read", uri=uri)["contents"][0]["text"])

    def tools(self) -> dict[str, dict[str, Any]]:
        """Return the listed tools by name."""
        return {each["name"]: each for each in self.ask("tools/list")["tools"]}

    def cost(self, tool: str, **arguments: Any) -> float:
        """Return the tokens of an answer: of the text or of the data, whichever are more."""
        result = self.ask("tools/call", name=f"memory_{tool}", arguments=arguments)
        assert not result["isError"], result
        text = rough_tokens(result["content"][0]["text"])
        return max(text, tokens(result["structuredContent"]))


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a server of its own process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BETHINK_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(sys.path), **more}
