"""The server over HTTP: headers, statuses, foreign pages, parallel requests."""

import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from bethink_adapters.mcp import http
from bethink_adapters.mcp.protocol import HANDSHAKE, MODERN
from bethink_adapters.surface.pages import LOCAL

from .calling import META, Host, request

JSON = {"Content-Type": "application/json"}
MODERN_HEADERS = {**JSON, "MCP-Protocol-Version": MODERN[0], "Mcp-Method": "tools/list"}
CALL_HEADERS = {**MODERN_HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": "memory_recall"}
CALL = {"name": "memory_recall", "arguments": {"query": "standup"}, "_meta": META}


@pytest.fixture
def port(host: Host) -> Iterator[int]:
    """The port of a listening server."""
    with http.HttpServer(host.server.protocol, "127.0.0.1", 0) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield listening.server_port
        listening.shutdown()
        thread.join()


def send(
    port: int,
    body: object = None,
    headers: Mapping[str, str] = JSON,
    method: str = "POST",
    path: str = "/mcp",
) -> tuple[HTTPResponse, Any]:
    """Return the response and the JSON of the body, None without a body."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    given = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection.request(method, path, given, dict(headers))
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response, json.loads(text) if text else None


def status(port: int, *given: Any, **named: Any) -> int:
    return send(port, *given, **named)[0].status


def test_a_taken_port_is_named(port: int, host: Host) -> None:
    with pytest.raises(OSError, match=f"'127.0.0.1 port {port}'"):
        http.HttpServer(host.server.protocol, "127.0.0.1", port)


def test_both_eras_are_answered_as_json(port: int) -> None:
    response, reply = send(port, request("initialize", {"protocolVersion": HANDSHAKE[0]}))
    assert (response.status, response.getheader("Content-Type")) == (200, "application/json")
    assert reply["result"]["protocolVersion"] == HANDSHAKE[0]
    response, reply = send(port, request("tools/list", {"_meta": META}), MODERN_HEADERS)
    assert (response.status, reply["result"]["resultType"]) == (200, "complete")


def test_notifications_are_accepted_without_a_body(port: int) -> None:
    response, reply = send(port, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (response.status, reply) == (202, None)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"])
def test_only_post_is_allowed(port: int, method: str) -> None:
    response, _ = send(port, method=method)
    assert (response.status, response.getheader("Allow")) == (405, "POST")


@pytest.mark.parametrize("path", ["/", "/mcp/", "/other", "/mcps"])
def test_other_paths_do_not_exist(port: int, path: str) -> None:
    assert status(port, request("ping"), path=path) == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_other_content_types_are_refused(port: int, kind: str) -> None:
    assert status(port, request("ping"), {"Content-Type": kind}) == 415


def test_a_content_type_may_name_the_charset(port: int) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    assert status(port, request("ping"), headers) == 200


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000, b"", b"[]", b"3"])
def test_what_is_no_message_is_a_bad_request(port: int, body: bytes) -> None:
    response, reply = send(port, body)
    assert response.status == 400
    assert reply["error"]["code"] in (-32700, -32600)


@pytest.mark.parametrize(
    ("header", "value", "expected"),
    [
        ("Content-Length", str(http.MAX_BODY + 1), 413),
        ("Content-Length", "9" * 30, 413),
        ("Content-Length", "-1", 413),
        ("Content-Length", "\u00b2", 413),
        ("Transfer-Encoding", "chunked", 411),
    ],
)
def test_bodies_of_unknown_or_great_length_are_not_read(
    port: int, header: str, value: str, expected: int
) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{header}: {value}\r\n\r\n"
        connection.sendall(head.encode("latin-1"))
        assert f" {expected} ".encode() in connection.makefile("rb").readline()


@pytest.mark.parametrize(
    "foreign",
    [
        {"Host": "attacker.example"},
        {"Host": "attacker.example:80"},
        {"Host": "localhost.attacker.example"},
        {"Host": ""},
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://localhost@attacker.example"},
    ],
)
def test_foreign_names_and_pages_are_forbidden(port: int, foreign: dict[str, str]) -> None:
    assert status(port, request("ping"), JSON | foreign) == 403


@pytest.mark.parametrize(
    "own",
    [
        {"Host": "localhost:1"},
        {"Host": "LOCALHOST"},
        {"Host": "[::1]:80"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "http://127.0.0.1"},
    ],
)
def test_local_names_and_pages_are_answered(port: int, own: dict[str, str]) -> None:
    assert status(port, request("ping"), JSON | own) == 200


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
@pytest.mark.parametrize("value", [None, "other"])
def test_headers_repeat_the_body(port: int, name: str, value: str | None) -> None:
    headers = {each: text for each, text in CALL_HEADERS.items() if each != name}
    response, reply = send(
        port, request("tools/call", CALL), headers | ({name: value} if value else {})
    )
    assert (response.status, reply["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("name", ["  memory_recall\t", "=?base64?bWVtb3J5X3JlY2FsbA==?="])
def test_headers_may_have_spaces_around_or_be_encoded(port: int, name: str) -> None:
    assert status(port, request("tools/call", CALL), CALL_HEADERS | {"Mcp-Name": name}) == 200


@pytest.mark.parametrize("name", ["=?base64?!?=", "=?base64?/w==?=", "=?base64??="])
def test_a_name_that_cannot_be_decoded_is_a_mismatch(port: int, name: str) -> None:
    assert status(port, request("tools/call", CALL), CALL_HEADERS | {"Mcp-Name": name}) == 400


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("ping", {}, 404),
        ("prompts/get", {"name": "other"}, 400),
        ("resources/read", {"uri": "bethink://other"}, 400),
        ("tools/list", {"cursor": "2"}, 400),
    ],
)
def test_errors_of_the_modern_version_have_a_status(
    port: int, method: str, params: dict[str, Any], expected: int
) -> None:
    name = str(params.get("name", params.get("uri", "")))
    headers = MODERN_HEADERS | {"Mcp-Method": method, "Mcp-Name": name}
    assert status(port, request(method, params | {"_meta": META}), headers) == expected
    assert status(port, request("other", params)) == 200


def test_a_version_that_nobody_knows_is_refused(port: int) -> None:
    response, reply = send(port, request("ping"), JSON | {"MCP-Protocol-Version": "1999-01-01"})
    assert (response.status, reply["error"]["code"]) == (400, -32022)


def test_a_modern_header_without_a_modern_body_is_refused(port: int) -> None:
    response, reply = send(
        port, request("ping", id=[1]), JSON | {"MCP-Protocol-Version": MODERN[0]}
    )
    assert (response.status, reply["error"]["code"], reply["id"]) == (400, -32602, None)


def test_a_client_that_leaves_is_no_event(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
    assert status(port, request("ping")) == 200
    assert capfd.readouterr().err == ""


def test_parallel_requests_each_get_their_reply(port: int) -> None:
    def store(number: int) -> bool:
        call = {
            "name": "memory_store",
            "arguments": {"content": f"Fact {number}", "key": f"k{number}"},
        }
        _, reply = send(port, request("tools/call", call, number))
        kept = reply["result"]["structuredContent"]["memory"]["content"]
        return (reply["id"], kept) == (number, f"Fact {number}")

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(store, range(40)))
    call = {"name": "memory_list", "arguments": {}}
    _, reply = send(port, request("tools/call", call))
    assert reply["result"]["structuredContent"]["total"] == 40


def test_an_address_of_the_newer_internet_is_served(host: Host) -> None:
    try:
        listening = http.HttpServer(host.server.protocol, "::1", 0)
    except OSError:
        pytest.skip("there is no ::1 here")
    with listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        connection = HTTPConnection("::1", listening.server_port, timeout=30)
        connection.request("POST", "/mcp", json.dumps(request("ping")), JSON)
        assert connection.getresponse().status == 200
        connection.close()
        listening.shutdown()
        thread.join()


def test_the_configured_name_is_known_too(host: Host) -> None:
    headers = {"host": "Box.local:80", "content-type": "application/json"}
    body = json.dumps(request("ping")).encode()
    for hosts, expected in ((LOCAL, 403), (LOCAL | {"box.local"}, 200)):
        assert http.answer(host.server.protocol, "POST", headers, body, hosts).status == expected
