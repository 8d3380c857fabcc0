"""The official Python client, of the old and the new generation, against the real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("mcp", reason="the MCP client is not installed")

from .serving import FOLDER, SERVER, environment, serving

Result = TypeVar("Result")
OLD = version("mcp").startswith("1.")
CALLS = json.loads((FOLDER / "calls.json").read_text())
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@pytest.fixture(params=["legacy"] if OLD else ["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["stdio", "http"])
def ask(request: pytest.FixtureRequest, mode: str, tmp_path: Path) -> Callable[..., Any]:
    """A function that runs one conversation of a client with a new server."""

    def asked(talk: Callable[[Any], Awaitable[Result]]) -> Result:
        command = [*SERVER, "--db", str(tmp_path / "memory.db")]

        async def conversation(address: str) -> Result:
            async with _connected(command, address, mode, tmp_path) as client:
                return await talk(client)

        listening = serving([*command, "--http", "0"], tmp_path)
        with listening if request.param == "http" else nullcontext("") as address:
            return asyncio.run(asyncio.wait_for(conversation(address), 60))

    return asked


@asynccontextmanager
async def _connected(
    command: list[str], address: str, mode: str, folder: Path
) -> AsyncIterator[Any]:
    """Connect by HTTP to *address*, else by stdio."""
    stdio = import_module("mcp.client.stdio")
    program = stdio.StdioServerParameters(
        command=command[0], args=command[1:], env=environment(folder), cwd=folder
    )
    async with AsyncExitStack() as stack:
        if OLD:
            http = import_module("mcp.client.streamable_http")
            transport = http.streamable_http_client if address else stdio.stdio_client
            streams = await stack.enter_async_context(transport(address or program))
            session = import_module("mcp.client.session").ClientSession(*streams[:2])
            client = await stack.enter_async_context(session)
            client.began = await client.initialize()
        else:
            made = import_module("mcp.client.client").Client(address or program, mode=mode)
            client = await stack.enter_async_context(made)
        yield client


def test_the_versions_are_negotiated(ask: Callable[..., Any], mode: str) -> None:
    async def talk(client: Any) -> tuple[str, str, str]:
        if OLD:
            await client.send_ping()
            began = client.began
            return began.protocolVersion, began.serverInfo.name, began.instructions
        return client.protocol_version, client.server_info.name, client.instructions

    spoken, name, instructions = ask(talk)
    assert (spoken, name) == (VERSIONS[mode], "bethink")
    assert "memory_recall" in instructions


def test_everything_is_listed(ask: Callable[..., Any]) -> None:
    async def talk(client: Any) -> list[list[Any]]:
        return [
            (await client.list_tools()).tools,
            (await client.list_resources()).resources,
            (await client.list_prompts()).prompts,
        ]

    tools, resources, prompts = ask(talk)
    assert [len(tools), len(resources), len(prompts)] == [14, 2, 3]
    assert all(each.description for each in (*tools, *resources, *prompts))


def test_every_tool_is_called_with_good_and_bad_arguments(ask: Callable[..., Any]) -> None:
    async def talk(client: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        ids: dict[str, str] = {}
        found = []
        for call in CALLS:
            given = json.dumps(call["arguments"])
            for name, id in ids.items():
                given = given.replace(name, id)
            result = await client.call_tool(f"memory_{call['tool']}", json.loads(given))
            data = result.model_dump(by_alias=True)
            found.append((call, data))
            if "id" in call:
                ids[call["id"]] = data["structuredContent"]["memory"]["id"]
        return found

    for call, result in ask(talk):
        assert result["isError"] == ("refused" in call), (call, result)
        assert call.get("refused", "") in result["content"][0]["text"]


def test_an_unknown_tool_raises(ask: Callable[..., Any]) -> None:
    async def talk(client: Any) -> str:
        with pytest.raises(Exception, match="no tool 'memory_erase'") as caught:
            await client.call_tool("memory_erase", {})
        return type(caught.value).__name__

    assert ask(talk) in ("McpError", "MCPError")


def test_resources_are_read(ask: Callable[..., Any]) -> None:
    async def talk(client: Any) -> list[str]:
        stored = await client.call_tool("memory_store", {"content": "Standup is at 10:00"})
        id = stored.model_dump(by_alias=True)["structuredContent"]["memory"]["id"]
        uris = ["bethink://stats", "bethink://recent", f"bethink://memory/{id}"]
        read = [await client.read_resource(each) for each in uris]
        with pytest.raises(Exception, match="no resource"):
            await client.read_resource("bethink://memory/absent")
        return [each.contents[0].text for each in read]

    stats, recent, memory = ask(talk)
    assert json.loads(stats)["states"]["live"] == 1
    assert "Standup is at 10:00" in recent
    assert json.loads(memory)["content"] == "Standup is at 10:00"


def test_prompts_are_filled(ask: Callable[..., Any]) -> None:
    async def talk(client: Any) -> list[str]:
        filled = [
            await client.get_prompt("recall-first", {"topic": "the ferry"}),
            await client.get_prompt("wrap-up"),
        ]
        with pytest.raises(Exception, match="'topic' is missing"):
            await client.get_prompt("recall-first", {})
        return [each.messages[0].content.text for each in filled]

    first, last = ask(talk)
    assert "the ferry" in first
    assert "memory_store" in last
