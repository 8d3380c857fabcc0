"""The protocol: eras, errors, and what never gets a reply."""

from pathlib import Path
from typing import Any

import pytest

from bethink_adapters.mcp import MemoryServer, Options
from bethink_adapters.mcp.protocol import CAPABILITIES, HANDSHAKE, MODERN, PROTOCOL, Server

META = {PROTOCOL: MODERN[0], CAPABILITIES: {}}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return MemoryServer(Options(tmp_path / "memory.db")).protocol


def request(method: str, params: object = None, id: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


@pytest.mark.parametrize("version", HANDSHAKE)
def test_the_handshake_answers_with_the_wanted_version(server: Server, version: str) -> None:
    reply = server.reply(request("initialize", {"protocolVersion": version}))
    assert reply is not None
    assert reply["result"]["protocolVersion"] == version


def test_the_handshake_offers_the_newest_version_for_an_unknown_version(server: Server) -> None:
    reply = server.reply(request("initialize", {"protocolVersion": "2031-01-01"}))
    assert reply is not None
    assert reply["result"]["protocolVersion"] == HANDSHAKE[0]


def test_a_modern_request_needs_no_handshake(server: Server) -> None:
    reply = server.reply(request("tools/list", {"_meta": META}))
    assert reply is not None
    assert reply["result"]["resultType"] == "complete"
    assert len(reply["result"]["tools"]) == 9


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"_meta": {PROTOCOL: "2031-01-01", CAPABILITIES: {}}}, -32022),
        ({"_meta": {PROTOCOL: MODERN[0]}}, -32602),
        ({}, -32602),
    ],
)
def test_discover_wants_version_and_capabilities(
    server: Server, params: dict[str, Any], code: int
) -> None:
    reply = server.reply(request("server/discover", params))
    assert reply is not None
    assert reply["error"]["code"] == code


@pytest.mark.parametrize("method", ["initialize", "ping"])
def test_the_handshakes_methods_are_unknown_to_modern_requests(server: Server, method: str) -> None:
    reply = server.reply(request(method, {"_meta": META}))
    assert reply is not None
    assert reply["error"]["code"] == -32601


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
    ],
)
def test_notifications_and_responses_get_no_reply(server: Server, message: dict[str, Any]) -> None:
    assert server.reply(message) is None


@pytest.mark.parametrize("message", [[], 3, None, {"id": 1, "method": "ping"}, {"jsonrpc": "2.0"}])
def test_other_values_are_invalid_requests(server: Server, message: object) -> None:
    reply = server.reply(message)
    assert reply is not None
    assert reply["error"]["code"] == -32600
