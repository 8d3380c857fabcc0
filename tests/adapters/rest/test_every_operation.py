"""Every operation of the description: who may call it, and what a refused call leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore
from bethink_adapters.rest.caller import STATES

from .calls import CALLS, operations
from .serving import ANN, READER, Client

pytestmark = pytest.mark.usefixtures("desk")
READING = {"get_memories", "pack", "recall", "similar", "verify", "why"}
"""Operations that only read, by POST."""
WHOLE = {
    "compact", "get_task", "import", "link_task", "list_hosts", "list_task_memories",
    "list_tasks", "merge", "metrics", "repair", "stats", "sync_tasks", "take_snapshot",
    "tasks_as_lines", "tidy", "unlink_task", "verify",
}  # fmt: skip
"""Operations that no token bound to namespaces may call."""


@pytest.fixture
def known(store: MemoryStore, desk: Path) -> dict[str, Any]:
    """Bob's two memories and a task."""
    task = {"id": "bd-1", "title": "Mend the ferry", "status": "open", "priority": 0}
    (desk / ".beads/issues.jsonl").write_text(json.dumps(task) + "\n")
    return remembered(store, "port")


def remembered(store: MemoryStore, key: str) -> dict[str, Any]:
    """Store two memories of Bob; return the values of the names in calls."""
    first, second = store.store_many(
        [
            {"content": f"The secret {name}", "key": name, "vectors": {"v": [1.0]}}
            | {"namespace": "users/bob"}
            for name in (key, f"{key} of the past")
        ]
    )
    [entry] = store.log(id=first.id)
    return {
        "ID": first.id,
        "SECOND": second.id,
        "SPACE": "users/bob",
        "KEY": key,
        "SEQ": entry.seq,
    }


def everything(store: MemoryStore) -> list[Any]:
    """Return the journal and all that is kept, accesses too."""
    return [store.log(limit=None), *(store.all(state=each) for each in STATES)]


def test_every_operation_has_a_call(client: Client) -> None:
    """A call for every operation, with the namespace wherever an operation takes one."""
    described = client().get("/openapi.json").json()
    found = operations(client())
    assert sorted(each.name for each in found) == sorted(CALLS)
    for each in found:
        sent = json.dumps(each.described.get("requestBody", ""))
        schema = described["components"]["schemas"].get(sent.rpartition("/")[2].rstrip('"}'), {})
        taken = {one["name"] for one in each.described.get("parameters", ())}
        if "namespace" in taken | schema.get("properties", {}).keys():
            assert "SPACE" in f"{each.call.query} {each.call.body}", each.name


def test_every_operation_works(
    client: Client, store: MemoryStore, known: dict[str, Any], tmp_path: Path
) -> None:
    http = client()
    path = tmp_path / "other.db"
    with MemoryStore(path) as other:
        other.store("from elsewhere")
    uploads = {"file": path.read_bytes(), "lines": http.get("/v1/export").content}
    for number, each in enumerate(operations(http)):
        memories = remembered(store, f"port {number}")
        options = {"content": uploads[each.call.upload]} if each.call.upload else {}
        reply = each.send(http, memories, **options)
        assert reply.is_success, (each.name, reply.text)


@pytest.mark.parametrize("sent", [None, "Bearer", "Bearer x", "Basic token-for-everything"])
def test_every_operation_needs_a_token(
    client: Client, known: dict[str, Any], sent: str | None
) -> None:
    http = client(None)
    http.headers.update({} if sent is None else {"Authorization": sent})
    for each in operations(http):
        reply = each.send(http, known)
        if each.path.startswith("/health/"):
            assert reply.is_success
        else:
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert http.post("/mcp").status_code == 401


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "null"}, {"Origin": "http://evil.example"}]
)
def test_every_operation_refuses_foreign_hosts_and_pages(
    client: Client, store: MemoryStore, known: dict[str, Any], headers: dict[str, str]
) -> None:
    http, before = client(), everything(store)
    found = operations(http)
    http.headers.update(headers)
    assert {each.send(http, known).status_code for each in found} == {403}
    assert everything(store) == before


@pytest.mark.parametrize("read_only_server", [False, True])
def test_reader_reads_all_and_changes_nothing(
    client: Client, store: MemoryStore, known: dict[str, Any], read_only_server: bool
) -> None:
    http = client(read_only=True) if read_only_server else client(READER)
    before = everything(store)
    for each in operations(http):
        reading = each.method == "GET" or each.name in READING
        assert each.send(http, known).is_success is reading, each.name
        assert reading or each.send(http, known).status_code == 403
    hits = http.post("/v1/recall", json={"query": "secret", "touch": True}).json()["items"]
    assert len(hits) == 2
    assert everything(store) == before


def test_bound_token_reaches_nothing_of_others(
    client: Client, store: MemoryStore, known: dict[str, Any]
) -> None:
    """What names a foreign memory or namespace answers as if neither were there."""
    http, before = client(ANN), everything(store)
    for each in operations(http):
        reply = each.send(http, known)
        if each.name in WHOLE:
            assert reply.status_code == 403, each.name
        elif each.names_something and each.name != "get_memories":
            assert reply.status_code == 404, (each.name, reply.text)
        assert "secret" not in reply.text, each.name
    assert everything(store) == before


def test_every_operation_refuses_a_body_of_five_megabytes(
    client: Client, store: MemoryStore, known: dict[str, Any]
) -> None:
    http, before = client(max_upload=4_000_000), everything(store)
    headers, large = {"Content-Type": "application/json"}, b'"' + b"x" * 5_000_000 + b'"'
    for each in operations(http):
        if each.method != "GET":
            reply = each.send(http, known, json=None, content=large, headers=headers)
            assert reply.status_code == 413, each.name
    assert everything(store) == before
