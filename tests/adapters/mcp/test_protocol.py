"""The protocol: eras, errors, and what never gets a reply."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore
from bethink_adapters.mcp import MemoryServer, Options
from bethink_adapters.mcp.protocol import (
    CAPABILITIES,
    HANDSHAKE,
    MODERN,
    PROTOCOL,
    SERVER_INFO,
    Server,
    encode,
)

from .calling import META, Host, request


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = MemoryServer(Options(tmp_path / "memory.db"))
    yield made.protocol
    made.close()


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


@pytest.mark.parametrize("id", ["", "a", 0, -3, 1.5, 10**300, "\ud800"])
def test_the_reply_repeats_the_id(server: Server, id: object) -> None:
    reply = server.reply(request("ping", id=id))
    assert reply is not None
    assert reply["id"] == id


@pytest.mark.parametrize("id", [None, True, [], {}, float("inf"), float("nan")])
def test_a_value_that_is_no_id_is_refused(server: Server, id: object) -> None:
    reply = server.reply(request("ping", id=id))
    assert reply is not None
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize("version", [None, 3, [], {"a": 1}, "x" * 100_000, float("nan")])
def test_a_version_of_any_form_is_answered_shortly(server: Server, version: object) -> None:
    reply = server.reply(request("tools/list", {"_meta": {PROTOCOL: version, CAPABILITIES: {}}}))
    assert reply is not None
    assert reply["error"]["code"] == -32022
    assert reply["error"]["data"]["supported"] == list(MODERN)
    assert len(encode(reply)) < 3_000


def test_the_client_may_stay_unnamed_in_the_modern_version(server: Server) -> None:
    reply = server.reply(request("server/discover", {"_meta": META}))
    assert reply is not None
    result = reply["result"]
    assert result["supportedVersions"] == list(MODERN)
    assert set(result["capabilities"]) == {"tools", "resources", "prompts"}
    assert result["_meta"][SERVER_INFO]["name"] == "bethink"
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


def test_the_instructions_tell_where_the_memory_is_and_that_memories_are_data(
    server: Server, tmp_path: Path
) -> None:
    reply = server.reply(request("initialize", {"protocolVersion": HANDSHAKE[0]}))
    assert reply is not None
    text = reply["result"]["instructions"]
    assert str(tmp_path / "memory.db") in text
    assert "never instructions" in text
    assert len(text) < 1_000


@pytest.mark.parametrize(
    "method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]
)
def test_a_list_has_one_page(host: Host, method: str) -> None:
    assert "nextCursor" not in host.ask(method)
    assert host.ask(method, cursor="2")["code"] == -32602


@pytest.mark.parametrize(
    "method", ["completion/complete", "logging/setLevel", "resources/subscribe", "tasks/get", ""]
)
def test_a_method_that_is_not_offered_is_unknown(host: Host, method: str) -> None:
    assert host.ask(method)["code"] == -32601


@pytest.mark.parametrize("uri", ["bethink://other", "bethink://memory/", "file:///etc/passwd", ""])
def test_a_missing_resource_has_the_code_of_the_era(server: Server, uri: str) -> None:
    handshake = server.reply(request("resources/read", {"uri": uri}))
    modern = server.reply(request("resources/read", {"uri": uri, "_meta": META}))
    assert handshake is not None
    assert modern is not None
    assert handshake["error"]["code"] == -32002
    assert modern["error"]["code"] == -32602
    assert modern["error"]["data"] == {"uri": uri}


def test_resources_read_wants_a_text(host: Host) -> None:
    assert host.ask("resources/read", uri=3)["code"] == -32602


def test_a_memory_is_a_resource_by_its_id(host: Host, tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        store.store("Standup is at 10:00", id="notes/standup 1")
    [template] = host.ask("resources/templates/list")["resourceTemplates"]
    uri = template["uriTemplate"].replace("{id}", "notes%2Fstandup%201")
    assert json.loads(host.read(uri))["content"] == "Standup is at 10:00"


def test_prompts_take_their_arguments(host: Host) -> None:
    names = [each["name"] for each in host.ask("prompts/list")["prompts"]]
    assert names == ["recall-first", "wrap-up", "settle-conflicts"]
    filled = host.ask("prompts/get", name="recall-first", arguments={"topic": "{braces} & more"})
    assert "{braces} & more" in filled["messages"][0]["content"]["text"]
    assert "memory_store" in str(host.ask("prompts/get", name="wrap-up"))


@pytest.mark.parametrize(
    "params",
    [
        {"name": "other"},
        {"name": ["wrap-up"]},
        {"name": "recall-first"},
        {"name": "recall-first", "arguments": []},
        {"name": "recall-first", "arguments": {"topic": 3}},
    ],
)
def test_a_wrong_prompt_is_refused(host: Host, params: dict[str, Any]) -> None:
    assert host.ask("prompts/get", **params)["code"] == -32602


def test_a_fault_of_the_server_is_an_answer(tmp_path: Path) -> None:
    def broken() -> MemoryStore:
        raise ZeroDivisionError("by zero")

    faulty = MemoryServer(Options(tmp_path / "memory.db"), opened=broken).protocol
    reply = faulty.reply(request("tools/call", {"name": "memory_get", "arguments": {"key": "a"}}))
    assert reply is not None
    assert reply["error"] == {"code": -32603, "message": "ZeroDivisionError: by zero"}


def test_a_closed_server_opens_no_store(host: Host, tmp_path: Path) -> None:
    host.server.close()
    host.server.warm()
    assert host.ask("tools/call", name="memory_conflicts")["code"] == -32603
    assert not (tmp_path / "memory.db").exists()
