"""Tasks and agent hosts over HTTP, of real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bethink import MemoryStore
from bethink_adapters.hosts import Place, Program, install

from .serving import ANN, READER, Client

pytestmark = pytest.mark.usefixtures("desk")


def write(desk: Path, **changes: object) -> None:
    task = {"id": "bd-1", "title": "Mend the ferry", "status": "open", "priority": 0, **changes}
    (desk / ".beads/issues.jsonl").write_text(json.dumps(task) + "\n")


def test_a_closed_task_scores_the_linked_memory_once(
    desk: Path, client: Client, store: MemoryStore
) -> None:
    http, memory = client(), store.store("Tar holds the planks.")
    write(desk)
    [task] = http.get("/v1/tasks").json()["items"]
    assert (task["id"], task["title"], task["closed"]) == ("bd-1", "Mend the ferry", False)
    assert "path" not in task
    assert (task["record"], task["memories"]) == (None, 0)
    assert task["file_changed_at"] == (desk / ".beads/issues.jsonl").stat().st_mtime
    address = "/v1/tasks/beads/bd-1/memories"
    assert http.get(address).json() == {"items": []}
    assert http.put(address, json={"ids": [memory.id]}).json() == {"count": 1}
    assert http.put(address, json={"ids": [memory.id]}).json() == {"count": 0}
    assert [each["id"] for each in http.get(address).json()["items"]] == [memory.id]
    write(desk, status="closed", closed_at="2999-01-01T00:00:00Z")
    assert http.get("/v1/tasks").json()["items"] == []
    assert http.get("/v1/tasks/beads/bd-1").json()["closed"] is True
    preview = http.post("/v1/tasks/sync", json={}).json()
    assert [each["recorded"] for each in preview["items"]] == [False]
    done = http.post("/v1/tasks/sync", json={"dry_run": False}).json()
    assert [(each["verdict"], each["recorded"]) for each in done["items"]] == [("worked", True)]
    assert http.post("/v1/tasks/sync", json={"dry_run": False}).json()["items"] == []
    assert http.get(f"/v1/memories/{memory.id}").json()["outcome"] > 0


def test_a_link_is_counted_and_removed(desk: Path, client: Client, store: MemoryStore) -> None:
    http, memory = client(), store.store("Tar holds the planks.")
    write(desk)
    address = "/v1/tasks/beads/bd-1/memories"
    http.put(address, json={"ids": [memory.id]})
    found = http.get("/v1/tasks").json()
    [task] = found["items"]
    assert (found["namespace"], task["memories"]) == ("projects/ferry", 1)
    assert store[task["record"]].content == "Mend the ferry"
    assert http.get("/v1/tasks", params={"namespace": "other"}).json()["items"][0]["memories"] == 0
    wanted = {"memory": memory.id}
    assert http.delete(address, params={**wanted, "namespace": "other"}).json()["changed"] is False
    assert http.delete(address, params=wanted).json() == {"changed": True}
    assert http.delete(address, params=wanted).json() == {"changed": False}
    assert http.delete(address, params={"memory": "none"}).status_code == 404
    assert http.get("/v1/tasks/beads/bd-1").json()["memories"] == 0


def test_a_task_of_claude_code_has_the_list_in_its_id(
    desk: Path, client: Client, store: MemoryStore
) -> None:
    http, memory = client(), store.store("Tar holds the planks.")
    folder = desk.parent / "home/.claude/tasks/list"
    folder.mkdir(parents=True)
    for id, blockers in (("1", []), ("2", ["1"])):
        told = {"id": id, "subject": "Tar", "status": "pending", "blockedBy": blockers}
        (folder / f"{id}.json").write_text(json.dumps(told))
    first, second = http.get("/v1/tasks").json()["items"]
    assert (first["id"], second["blocked_by"]) == ("list/1", ["list/1"])
    address = "/v1/tasks/claude-tasks/list%2F1"
    assert http.put(f"{address}/memories", json={"ids": [memory.id]}).json() == {"count": 1}
    assert [each["id"] for each in http.get(f"{address}/memories").json()["items"]] == [memory.id]
    assert http.get(address).json()["memories"] == 1


def test_hosts_tell_whether_bethink_is_installed(desk: Path, client: Client) -> None:
    (desk.parent / "home/.cursor").mkdir()
    (desk.parent / "home/.cursor/mcp.json").write_text('{"mcpServers": {}}')
    [host] = client().get("/v1/hosts").json()["items"]
    assert (host["name"], host["installed"]) == ("cursor", False)
    where = Place({"HOME": str(desk.parent / "home")})
    [cursor] = where.found()
    for change in install(cursor, Program(["bethink"]), where):
        change.apply()
    [host] = client().get("/v1/hosts").json()["items"]
    assert (host["name"], host["installed"]) == ("cursor", True)


def test_tokens_for_a_part_see_no_task_and_readers_change_none(desk: Path, client: Client) -> None:
    write(desk)
    bound, reader = client(ANN), client(READER)
    for path in ("/v1/tasks", "/v1/tasks/beads/bd-1", "/v1/hosts", "/v1/tasks/beads/bd-1/memories"):
        assert bound.get(path).status_code == 403
        assert reader.get(path).status_code == 200
    assert reader.post("/v1/tasks/sync", json={}).status_code == 403
    assert reader.get("/v1/tasks/beads/none").status_code == 404
    assert reader.get("/v1/tasks/paper/bd-1").status_code == 422
