"""A server with a fixed namespace: everything outside does not exist."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore, Subtree
from bethink_adapters.tasks import link, read_all

from .calling import Host


@pytest.fixture
def secret(tmp_path: Path) -> str:
    """The id of a memory outside, with a successor, a conflict, an outcome and a link."""
    with MemoryStore(tmp_path / "memory.db") as store:
        id = store.store("The safe opens with 4711", namespace="bank", key="safe").id
        other = store.store("The safe opens with 4712", namespace="bank", category="vault").id
        store.relate(id, other, "contradicts")
        store.record_outcome(id, "worked")
        return id


@pytest.fixture
def inside(connect: Callable[..., Host], secret: str) -> Host:
    """A host that may see only the namespace "team" and below."""
    return connect(everything=True, namespaces=("team",))


def test_no_tool_takes_a_namespace(inside: Host) -> None:
    for tool in inside.tools().values():
        assert "namespace" not in tool["inputSchema"]["properties"]
    assert "unknown argument 'namespace'" in inside.refusal("recall", query="x", namespace="bank")


def test_the_instructions_name_the_namespace_and_no_file(inside: Host, tmp_path: Path) -> None:
    told = inside.ask("initialize", protocolVersion="2025-06-18")["instructions"]
    assert "kept in team." in told
    assert str(tmp_path) not in told


def test_nothing_outside_is_found(inside: Host, secret: str) -> None:
    assert not inside.call("recall", query="safe 4711", k=50)["memories"]
    assert not inside.call("recall", query="safe", where={"namespace": "bank"})["memories"]
    assert not inside.call("context", query="safe")["ids"]
    assert not inside.call("context")["ids"]
    assert not inside.call("conflicts", min_tier="possible")["conflicts"]
    assert inside.call("list")["total"] == 0
    assert not inside.call("get", key="safe")["memories"]
    assert not inside.call("history")["entries"]
    assert not inside.call("history", key="safe")["entries"]
    assert not inside.call("history", id=secret)["entries"]


def test_nothing_outside_is_changed(inside: Host, secret: str, tmp_path: Path) -> None:
    own = inside.store("Standup is at 10:00")
    with MemoryStore(tmp_path / "memory.db") as store:
        before, entries = store[secret], len(store.log())
        assert inside.call("get", ids=[secret])["missing"] == [secret]
        assert inside.call("forget", ids=[secret])["forgotten"] == 0
        assert inside.call("restore", ids=[secret])["restored"] == 0
        calls: dict[str, dict[str, Any]] = {
            "update": {"id": secret, "content": "x"},
            "outcome": {"ids": [secret], "outcome": "failed"},
            "resolve": {"keep": own, "drop": secret},
            "relate": {"source": own, "target": secret, "kind": "x"},
            "restore": {"entry": 1},
            "store": {"content": "x", "supersedes": secret},
        }
        for tool, arguments in calls.items():
            message = inside.refusal(tool, **arguments)
            assert "not found" in message
            assert "4711" not in message
        assert (store[secret], len(store.log())) == (before, entries)


def test_forgotten_memories_outside_stay_forgotten(
    inside: Host, secret: str, tmp_path: Path
) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        store.forget(secret)
        assert inside.call("restore", ids=[secret])["restored"] == 0
        assert secret not in store


def test_a_memory_that_moved_here_does_not_tell_what_it_said_before(
    inside: Host, secret: str, tmp_path: Path
) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        store.update(secret, namespace="team", content="The safe has moved")
    [moved] = inside.call("history", id=secret)["entries"]
    assert moved["changes"]["content"] == "The safe has moved"
    assert not inside.call("recall", query="safe", as_of="2020-01-01")["memories"]
    assert "not found" in inside.refusal("restore", entry=moved["seq"])


def test_a_memory_that_moved_away_is_not_changed_by_its_old_entries(
    inside: Host, tmp_path: Path
) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        own = store.store("The safe is old", namespace="team").id
        store.update(own, importance=0.9)
        [change] = store.log(limit=1)
        store.update(own, namespace="bank", content="The safe opens with 4713")
        message = inside.refusal("restore", entry=change.seq)
        assert "not found" in message
        assert store[own].importance == 0.9


def test_a_task_linked_with_a_memory_outside_tells_nothing_of_the_memory(
    inside: Host, secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".beads" / "issues.jsonl"
    file.parent.mkdir()
    file.write_text('{"id": "bd-1", "title": "Open it", "status": "open"}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    own = inside.store("Doors open at nine")
    inside.call("tasks", action="link", task="bd-1", ids=[own])
    with MemoryStore(tmp_path / "memory.db") as store:
        link(store, read_all(tmp_path).tasks[0], [secret], namespace="team")
    shown = inside.call("tasks", action="context", task="bd-1")["text"]
    assert "Doors open" in shown
    assert "4711" not in shown
    file.write_text('{"id": "bd-1", "title": "Open it", "status": "closed"}')
    verdicts = inside.call("tasks", action="sync")["verdicts"]
    assert [each["memory"] for each in verdicts] == [own]


def test_resources_show_only_what_is_inside(inside: Host, secret: str) -> None:
    id = inside.store("Standup is at 10:00")
    shown = inside.read("bethink://stats") + inside.read("bethink://recent")
    assert "Standup" in shown
    assert "bank" not in shown
    assert "vault" not in shown
    assert "4711" not in shown
    assert id in inside.read(f"bethink://memory/{id}")
    assert inside.ask("resources/read", uri=f"bethink://memory/{secret}")["code"] == -32002


def test_everything_below_is_inside_and_nothing_beside(inside: Host, tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        below = store.store("The build is red", namespace="team/ci").id
        store.store("The build is green", namespace="teams")
        assert [each["id"] for each in inside.call("list")["memories"]] == [below]
        assert [each["id"] for each in inside.call("recall", query="build")["memories"]] == [below]
        inside.store("Deploys happen on Monday")
        assert store.count(namespace=Subtree("team")) == 2


def test_without_a_fixed_namespace_ids_and_resources_reach_everything(
    connect: Callable[..., Host], secret: str
) -> None:
    host = connect(everything=True)
    assert host.call("get", ids=[secret])["memories"][0]["id"] == secret
    assert "bank" in host.read("bethink://stats")
    assert "4711" in host.read("bethink://recent")
    assert not host.call("recall", query="safe")["memories"]
    assert len(host.call("recall", query="safe", namespace="bank")["memories"]) == 2
