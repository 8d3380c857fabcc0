"""The Model Context Protocol as one function from a message to the reply, without any I/O.

Two eras share the methods. A *modern* request (2026-07-28) carries the version and the client's
capabilities in ``params._meta``; the server keeps no state. A *handshake* request (2024-11-05 to
2025-11-25) follows ``initialize``. Source: modelcontextprotocol.io/specification.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MODERN: Final = ("2026-07-28",)
HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PROTOCOL: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022
RESOURCE_NOT_FOUND: Final = -32002
"""The code of the handshake versions; the modern version answers ``INVALID_PARAMS``."""
_MESSAGE: Final = 1_000
"""The most characters of an error's message, which may repeat what the client sent."""

Message = dict[str, Any]
Params = Mapping[str, Any]
Method = Callable[[Params], dict[str, Any]]


class ProtocolError(Exception):
    """A request that no method can answer: *code* and *message* of the JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass(frozen=True)
class Server:
    """The parts of a server: *info* (name, version), *instructions*, and the *methods* by name.

    *capabilities* says what the methods offer. ``reply`` answers one message.
    """

    info: Mapping[str, str]
    instructions: str
    methods: Mapping[str, Method]
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    def reply(self, message: object) -> Message | None:
        """Return the reply to *message*, or None for a notification or a response."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return failure(None, INVALID_REQUEST, "a message is a JSON object with jsonrpc '2.0'")
        identity, method = message.get("id"), message.get("method")
        if method is None and ("result" in message or "error" in message):
            return None  # a response to a request that this server never sends
        if not isinstance(method, str):
            return failure(identity, INVALID_REQUEST, "method must be a text")
        if "id" not in message:
            return None
        if _usable(identity) is None:
            return failure(None, INVALID_REQUEST, "id must be a text or a number")
        try:
            result = self._answer(method, message.get("params"))
        except ProtocolError as error:
            return failure(identity, error.code, str(error), error.data)
        except Exception as error:  # a fault of the server must not end the connection
            return failure(identity, INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        return {"jsonrpc": "2.0", "id": identity, "result": result}

    def _answer(self, method: str, params: object) -> dict[str, Any]:
        if params is None:
            params = {}
        if not isinstance(params, dict):
            raise ProtocolError(INVALID_PARAMS, "params must be an object")
        if is_modern(params):
            return self._answer_modern(method, params)
        if method == "server/discover":
            raise ProtocolError(INVALID_PARAMS, f"params._meta needs {PROTOCOL!r}")
        if method == "initialize":
            return self._initialize(params)
        if method == "ping":
            return {}
        return self._method(method)(params)

    def _answer_modern(self, method: str, params: Params) -> dict[str, Any]:
        meta = params["_meta"]
        if meta[PROTOCOL] not in MODERN:
            raise unsupported(meta[PROTOCOL])
        if not isinstance(meta.get(CAPABILITIES), dict):
            raise ProtocolError(INVALID_PARAMS, f"params._meta needs the object {CAPABILITIES!r}")
        if method == "server/discover":
            result = self._discover()
        else:
            try:
                result = self._method(method)(params)
            except ProtocolError as error:
                if error.code != RESOURCE_NOT_FOUND:
                    raise
                raise ProtocolError(INVALID_PARAMS, str(error), error.data) from None
        result = {"resultType": "complete", **result, "_meta": {SERVER_INFO: dict(self.info)}}
        if method != "tools/call" and method != "prompts/get":
            result |= {"ttlMs": 0, "cacheScope": "private"}
        return result

    def _method(self, name: str) -> Method:
        try:
            return self.methods[name]
        except KeyError:
            raise ProtocolError(METHOD_NOT_FOUND, f"no method {name!r}") from None

    def _discover(self) -> dict[str, Any]:
        return {
            "supportedVersions": list(MODERN),
            "capabilities": dict(self.capabilities),
            "instructions": self.instructions,
        }

    def _initialize(self, params: Params) -> dict[str, Any]:
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise ProtocolError(INVALID_PARAMS, "initialize needs the text protocolVersion")
        return {
            "protocolVersion": wanted if wanted in HANDSHAKE else HANDSHAKE[0],
            "capabilities": dict(self.capabilities),
            "serverInfo": dict(self.info),
            "instructions": self.instructions,
        }


def is_modern(params: object) -> bool:
    """Return whether a request with *params* names the version, as every modern request does."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and PROTOCOL in meta


def unsupported(version: object) -> ProtocolError:
    """Return the error for a *version* that this server does not speak."""
    shown = (version if isinstance(version, str) else repr(version))[:_MESSAGE]
    return ProtocolError(
        UNSUPPORTED_VERSION,
        f"this server does not speak the protocol version {shown!r}",
        {"supported": list(MODERN), "requested": shown},
    )


def failure(
    identity: object, code: int, message: str, data: Mapping[str, Any] | None = None
) -> Message:
    """Return a JSON-RPC error response; an *identity* that no id may be becomes null."""
    error: dict[str, Any] = {"code": code, "message": shortened(message)}
    if data is not None:
        error["data"] = dict(data)
    return {"jsonrpc": "2.0", "id": _usable(identity), "error": error}


def shortened(message: str) -> str:
    """Return *message*, or the beginning of a long message."""
    return message if len(message) <= _MESSAGE else f"{message[:_MESSAGE]}…"


def _usable(identity: object) -> object:
    """Return *identity* if JSON-RPC allows the value, else None; neither truths nor infinities."""
    if isinstance(identity, bool) or (isinstance(identity, float) and not math.isfinite(identity)):
        return None
    return identity if isinstance(identity, str | int | float) else None


def parse(text: bytes) -> object:
    """Return the JSON value of *text*; raise ``ValueError`` for all else, NaN and depth too."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def encode(message: Message) -> bytes:
    """Return *message* as JSON in one line; lone surrogates are escaped."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is no JSON")
