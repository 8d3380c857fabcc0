"""Who may do what: hosts, pages, tokens, namespaces, limits, and the form of refusals."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from bethink import MemoryStore
from bethink_adapters.rest.tokens import (
    Token,
    TokenFileError,
    new_token,
    read_tokens,
    write_tokens,
)

from .serving import ANN, HOST, READER, TWO, Client


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8420"},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "http://[127.0.0.1"},
    ],
)
def test_foreign_host_or_page_is_refused(client: Client, headers: dict[str, str]) -> None:
    for path in ("/v1/stats", "/health/live", "/openapi.json"):
        reply = client().get(path, headers=headers)
        assert reply.status_code == 403
        assert reply.headers["content-type"] == "application/problem+json"
        assert "access-control-allow-origin" not in reply.headers
        [option] = {f"--allow-{name.lower()}" for name in headers}
        assert f"bethink serve {option} " in reply.json()["detail"]


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/openapi.json"])
def test_open_path_takes_no_write_with_a_key_of_repetition(client: Client, path: str) -> None:
    reply = client(None).post(path, headers={"Idempotency-Key": "k"})
    assert reply.status_code == 405


def test_own_page_and_allowed_hosts_and_pages_pass(client: Client) -> None:
    own = {"Origin": "http://127.0.0.1:8420"}
    assert client().get("/v1/stats", headers=own).status_code == 200
    http = client(hosts=frozenset({"box.example"}), origins=frozenset({"https://app.example"}))
    assert http.get("/v1/stats", headers={"Host": "box.example:80"}).status_code == 200
    page = {"Origin": "https://app.example"}
    reply = http.get("/v1/stats", headers=page)
    assert reply.headers["access-control-allow-origin"] == "https://app.example"
    asked = {**page, "Access-Control-Request-Method": "PATCH"}
    assert http.options("/v1/memories/x", headers=asked).status_code == 200


def test_foreign_memory_is_absent(client: Client, store: MemoryStore) -> None:
    """Every operation on a foreign id answers as for an id that no memory has."""
    other = store.store("Bob's secret", namespace="users/bob", key="k", vectors={"v": [1.0]})
    own = store.store("Ann's port is 80", namespace="users/ann/work")
    http = client(ANN)
    operations: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("PATCH", "", {"importance": 1}),
        ("DELETE", "", None),
        ("POST", "/restore", None),
        ("POST", "/archive", None),
        ("POST", "/unarchive", None),
        ("POST", "/reinforce", {}),
        ("GET", "/outcomes", None),
        ("POST", "/outcomes", {"outcome": "worked"}),
        ("GET", "/history", None),
        ("GET", "/vectors?name=v", None),
        ("GET", "/relations", None),
        ("PUT", "/relations", {"target": own.id, "kind": "fixes"}),
        ("DELETE", f"/relations?target={own.id}&kind=fixes", None),
        ("POST", "/why", {"query": "secret"}),
    ]
    for method, path, body in operations:
        replies = [
            http.request(method, f"/v1/memories/{id}{path}", json=body)
            for id in (other.id, "0" * 32)
        ]
        details = {each.json()["detail"].replace(other.id, "0" * 32) for each in replies}
        assert [each.status_code for each in replies] == [404, 404], path
        assert len(details) == 1, path
    assert store.log(limit=1)[0].id == own.id


def test_bound_token_sees_its_namespaces_alone(client: Client, store: MemoryStore) -> None:
    other = store.store("The secret port is 80", namespace="users/bob", key="port")
    own = store.store("The port is 90", namespace="users/ann/work")
    http = client(ANN)

    def contents(reply: Any) -> list[str]:
        return [each.get("memory", each)["content"] for each in reply.json()["items"]]

    assert contents(http.get("/v1/memories")) == [own.content]
    assert contents(http.post("/v1/recall", json={"query": "port"})) == [own.content]
    assert contents(http.get("/v1/memories?namespace=users&subtree=true")) == [own.content]
    assert http.get("/v1/memories?namespace=users/bob").status_code == 404
    assert http.get("/v1/facts/port?namespace=users/bob").status_code == 404
    assert http.get("/v1/namespaces").json() == {"namespaces": {"users/ann/work": 1}}
    assert {each["id"] for each in http.get("/v1/log").json()["items"]} == {own.id}
    assert http.post("/v1/undo", json={"seq": 1}).status_code == 404
    text = http.get("/v1/events?since=0&follow=false").text
    assert own.id in text
    assert other.id not in text
    assert other.id not in http.get("/v1/export").text
    assert http.post("/v1/forget", json={}).json()["count"] == 1
    assert http.post("/v1/forget", json={"ids": [other.id]}).status_code == 404
    made = http.post("/v1/memories", json={"content": "mine"})
    assert made.json()["namespace"] == "users/ann"
    theirs = {"content": "theirs", "namespace": "users/bob"}
    assert http.post("/v1/memories", json=theirs).status_code == 404
    assert (
        http.post("/v1/memories", json={"content": "x", "supersedes": other.id}).status_code == 404
    )
    assert http.post("/v1/threads/t", json={"messages": [{"value": {}}]}).status_code == 201
    assert client().get("/v1/threads").json() == {"items": []}


def test_bound_token_does_not_see_what_a_memory_said_elsewhere(
    client: Client, store: MemoryStore
) -> None:
    came = store.store("The secret port is 80", namespace="users/bob")
    store.record_outcome(came.id, "worked", "session of Bob")
    store.update(came.id, namespace="users/ann", content="The port is known")
    [move] = store.log(limit=1)
    http = client(ANN)
    [told] = http.get(f"/v1/memories/{came.id}/history").json()["items"]
    assert told["seq"] == move.seq
    assert http.get(f"/v1/memories/{came.id}/outcomes").json() == {"items": []}
    http.post(f"/v1/memories/{came.id}/outcomes", json={"outcome": "worked"})
    [own] = http.get(f"/v1/memories/{came.id}/outcomes").json()["items"]
    assert own["session"] is None
    assert http.post("/v1/undo", json={"seq": move.seq}).status_code == 404
    refused = http.get("/v1/export")
    assert refused.status_code == 403
    assert came.id in refused.json()["detail"]
    assert "secret" in client().get("/v1/export").text
    left = store.store("The port is 90", namespace="users/ann")
    store.update(left.id, importance=0.9)
    [change] = store.log(limit=1)
    store.update(left.id, namespace="users/bob", content="The secret port is 91")
    assert http.post("/v1/undo", json={"seq": change.seq}).status_code == 404
    assert client().post("/v1/undo", json={"seq": change.seq}).status_code == 200
    own = store.store("The port is 70", namespace="team")
    store.update(own.id, namespace="users/ann")
    [seen] = store.log(limit=1)
    assert client(TWO).post("/v1/undo", json={"seq": seen.seq}).json()["namespace"] == "team"
    assert len(client().get(f"/v1/memories/{came.id}/history").json()["items"]) == 4
    assert len(client().get(f"/v1/memories/{came.id}/outcomes").json()["items"]) == 2


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "stats"),
        ("POST", "verify"),
        ("POST", "repair"),
        ("POST", "tidy"),
        ("POST", "compact"),
        ("POST", "snapshots"),
        ("POST", "import"),
        ("POST", "merge"),
    ],
)
def test_bound_token_has_no_whole_file(client: Client, method: str, path: str) -> None:
    body = {"name": "x"} if path == "snapshots" else {}
    assert client(ANN).request(method, f"/v1/{path}", json=body).status_code == 403


@pytest.mark.parametrize("thread", ["t", "a/why", "memories/a/why", "..%2Fwhy"])
def test_reading_token_writes_no_thread_of_any_name(
    client: Client, store: MemoryStore, thread: str
) -> None:
    says = {"messages": [{"value": {"n": 1}}]}
    for method, body in (("POST", says), ("DELETE", None)):
        reply = client(READER).request(method, f"/v1/threads/{thread}", json=body)
        assert reply.status_code == 403
    assert store.log() == []


def test_limits_refuse_bodies_and_numbers_beyond(client: Client) -> None:
    http = client()
    large = b'{"content": "' + b"x" * 5_000_000 + b'"}'
    headers = {"Content-Type": "application/json"}
    assert http.post("/v1/memories", content=large, headers=headers).status_code == 413

    def pieces() -> Any:
        yield from (large[at : at + 65_536] for at in range(0, len(large), 65_536))

    assert http.post("/v1/memories", content=pieces(), headers=headers).status_code == 413
    deep = b'{"content": "a", "value": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    refused = http.post("/v1/memories", content=deep, headers=headers)
    assert refused.json()["type"] == "urn:bethink:problem:depth"
    hundred = b'{"content": "a", "value": ' + b"[" * 100 + b"]" * 100 + b"}"
    assert http.post("/v1/memories", content=hundred, headers=headers).status_code == 422
    assert http.post("/v1/recall", json={"query": "a", "k": 1_001}).status_code == 422
    batch = {"items": [{"content": "a"}] * 1_001}
    assert http.post("/v1/memories/batch", json=batch).status_code == 422
    assert http.get("/v1/memories?limit=201").status_code == 422


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{", "application/json"),
        (b'{"content": NaN}', "application/json"),
        (b"\xff", "application/json"),
        (b'{"content": "a", "nope": 1}', "application/json"),
        (b'{"content": "a", "importance": "0.5"}', "application/json"),
        (b'{"content": "a", "importance": true}', "application/json"),
        (b'{"content": "\\ud800"}', "application/json"),
        (b'{"content": "a", "namespace": "a//b"}', "application/json"),
    ],
)
def test_wrong_bodies_are_told_as_problems(client: Client, content: bytes, kind: str) -> None:
    reply = client().post("/v1/memories", content=content, headers={"Content-Type": kind})
    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "instance"} <= reply.json().keys()


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_that_is_not_called_json_is_refused_in_words(
    client: Client, store: MemoryStore, kind: str
) -> None:
    http = client()
    for path in ("/v1/memories", "/v1/recall"):
        reply = http.post(path, content=b'{"content": "a"}', headers={"Content-Type": kind})
        assert reply.status_code == 415
        assert "the body needs the header Content-Type: application/json" in reply.json()["detail"]
    assert store.count() == 0
    for fine in ("application/json; charset=utf-8", "application/merge-patch+json"):
        reply = http.post(
            "/v1/memories", content=b'{"content": "a"}', headers={"Content-Type": fine}
        )
        assert reply.status_code == 201


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("/v1/memories?order=foo", None, "query.order: Input should be 'oldest', 'newest', 'occ"),
        ("/v1/memories?where={", None, "query.where: no JSON: EOF while parsing"),
        ("/v1/memories", b'{"content" "x"}', "body.11: no JSON: Expecting ':' delimiter"),
        ("/v1/nope", None, "no operation has this path; /openapi.json lists the operations"),
    ],
)
def test_what_is_wrong_is_told(client: Client, path: str, content: bytes | None, told: str) -> None:
    method = "GET" if content is None else "POST"
    headers = {"Content-Type": "application/json"}
    reply = client().request(method, path, content=content, headers=headers)
    assert reply.json()["detail"].startswith(told)


def test_parameter_given_twice_is_refused(client: Client) -> None:
    reply = client().get("/v1/count?as_of=%231&as_of=%232")
    assert (reply.status_code, reply.json()["detail"]) == (422, "query.as_of: given more than once")


@pytest.mark.parametrize("path", ["memories", "count", "context", "log", "stats", "export"])
def test_unknown_parameter_is_refused(client: Client, path: str) -> None:
    reply = client().get(f"/v1/{path}?namspace=users/ann")
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith("unknown parameter 'namspace'")


def test_parameters_of_a_page_are_known(client: Client) -> None:
    reply = client().get("/v1/memories?namespace=users&subtree=true&order=oldest&limit=5&offset=1")
    assert reply.status_code == 200


def test_errors_of_the_store_have_statuses(client: Client, store: MemoryStore) -> None:
    http = client()
    id = store.store("Use tabs in Go, always").id
    same = {"content": "Use tabs in Go, always", "on_similar": "raise"}
    refused = http.post("/v1/memories", json=same)
    assert (refused.status_code, refused.json()["id"]) == (409, id)
    twice = {"items": [{"content": "Use spaces"}] * 2, "on_similar": "raise"}
    refused = http.post("/v1/memories/batch", json=twice)
    assert (refused.status_code, "id" in refused.json()) == (409, False)
    assert "items 0 and 1" in refused.json()["detail"]
    assert http.post("/v1/memories", json={"content": "a", "id": id}).status_code == 409
    for _ in range(3):
        http.post(f"/v1/memories/{id}/outcomes", json={"outcome": "failed", "session": "s"})
    limited = http.post(f"/v1/memories/{id}/outcomes", json={"outcome": "failed", "session": "s"})
    store.close()
    closed = http.get("/v1/log")
    assert closed.status_code == 503
    assert int(closed.headers["retry-after"]) > 0
    assert http.get("/health/ready").status_code == 503
    assert limited.status_code in (404, 429)


@pytest.mark.parametrize(
    ("target", "status"),
    [("http://127.0.0.1:8420/v1/namespaces", 200), ("http://127.0.0.1:8420", 404), ("*", 404)],
)
def test_a_target_that_is_no_path_is_answered(client: Client, target: str, status: int) -> None:
    http = client()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await http.app({**scope, "path": target, "raw_path": target.encode()}, receive, send)

    with TestClient(app, base_url=HOST, headers=dict(http.headers)) as asking:
        assert asking.request("GET" if status == 200 else "POST", "/").status_code == status


def test_head_asks_for_the_headers_of_get(client: Client) -> None:
    for path in ("/health/live", "/health/ready", "/v1/namespaces"):
        head, get = client().head(path), client().get(path)
        assert (head.status_code, head.headers) == (get.status_code, get.headers)
    assert client().head("/v1/recall").status_code == 405


def test_refused_method_names_all_methods_of_the_path(client: Client) -> None:
    reply = client().post("/v1/memories/x", json={})
    assert reply.status_code == 405
    assert reply.headers["allow"] == "DELETE, GET, PATCH"


def test_file_of_tokens_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    write_tokens(path, [ANN])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_tokens(path) == [ANN]


def test_file_of_tokens_is_for_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "tokens.json"
    [made] = read_tokens(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_tokens(path) == [made]
    write_tokens(path, [made, new_token(["users/ann"], read_only=True)])
    assert read_tokens(path)[1].namespaces == ("users/ann",)
    path.chmod(0o644)
    with pytest.raises(TokenFileError, match="chmod 600"):
        read_tokens(path)
    with pytest.raises(TokenFileError, match="folder is no file"):
        read_tokens(path.parent)


@pytest.mark.parametrize("text", ["", "{}", '{"tokens": []}', '{"tokens": [{"token": "short"}]}'])
def test_file_without_tokens_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens.json"
    write_tokens(path, [Token("x" * 20)])
    path.write_text(text)
    with pytest.raises(TokenFileError):
        read_tokens(path)


@pytest.mark.parametrize("name", ["a//b", "/a", "a/", "users/*", "a\x00b", ""])
def test_file_with_a_name_that_is_no_namespace_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tokens.json"
    write_tokens(path, [Token("x" * 20, ("users", name))])
    with pytest.raises(TokenFileError, match="namespace"):
        read_tokens(path)


def add_token(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bethink_adapters.cli", "serve", "--new-token"]
    tokens = ["--tokens", str(folder / "tokens.json")]
    env = {**os.environ, "HOME": str(folder)}
    return subprocess.run([*command, *tokens, *words], env=env, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["a//b", "/a", "users/*"])
def test_no_token_is_made_for_a_name_that_is_no_namespace(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tokens.json"
    read_tokens(path)
    before = path.read_bytes()
    done = add_token(tmp_path, "-n", name)
    assert done.returncode == 2
    assert repr(name) in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == before


def test_new_token_is_told_as_json(tmp_path: Path) -> None:
    done = add_token(tmp_path, "--json", "-n", "users/ann")
    found = json.loads(done.stdout)["token"]
    assert [
        each.namespaces for each in read_tokens(tmp_path / "tokens.json") if each.text == found
    ] == [("users/ann",)]
    assert add_token(tmp_path).stdout.startswith("bt_")


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/v1/recall", {"query": "a", "limit": 1}, "body.limit: unknown field 'limit'; use 'k'"),
        ("/v1/memories", {"text": "a"}, "body.text: unknown field 'text'; use 'content'"),
        (
            "/v1/memories/batch",
            {"items": [{"content": "a", "role": "user"}]},
            "body.items.0.role: unknown field 'role'",
        ),
        ("/v1/memories", {"content": " "}, "body.content: must not be blank"),
        (
            "/v1/memories",
            {"content": "a", "namespace": "users/*"},
            "body.namespace: must be a path such as users/ann; subtree=true adds all below",
        ),
    ],
)
def test_a_wrong_field_is_told_in_words_and_first(
    client: Client, path: str, body: dict[str, Any], told: str
) -> None:
    reply = client().post(path, json=body)
    assert (reply.status_code, reply.json()["detail"]) == (422, told)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ({}, "send Authorization: Bearer TOKEN"),
        (
            {"Authorization": "Bearer bt_of_a_former_start"},
            "the server does not know the token; a new token needs a restart",
        ),
    ],
)
def test_a_missing_token_and_an_unknown_token_are_told_apart(
    client: Client, header: dict[str, str], told: str
) -> None:
    reply = client(None).get("/v1/stats", headers=header)
    assert (reply.status_code, reply.json()["detail"]) == (401, told)
