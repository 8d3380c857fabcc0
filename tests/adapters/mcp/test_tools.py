"""Every tool with good and bad arguments."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bethink import CallableEmbedder, MemoryStore
from bethink.adapting import rough_tokens
from bethink_adapters.mcp.tools import MORE, USUAL, listed

from .calling import Host

ABSENT = "0" * 32


def test_a_stored_memory_is_recalled_with_id_and_score(host: Host) -> None:
    id = host.store("Standup is at 10:00", tags=["team"], importance=0.9)
    [hit] = host.call("recall", query="when is standup?")["memories"]
    assert (hit["id"], hit["content"], hit["tags"]) == (id, "Standup is at 10:00", ["team"])
    assert 0 < hit["score"] <= 1
    assert id in host.text("recall", query="when is standup?")


def test_recall_takes_filters_and_moments(host: Host) -> None:
    host.store("The ferry leaves at nine", category="decision", key="ferry")
    host.store("The ferry leaves at ten", category="decision", key="ferry")
    assert not host.call("recall", query="ferry", where={"category": "other"})["memories"]
    assert not host.call("recall", query="ferry", as_of="2020-01-01")["memories"]
    [first] = host.call("recall", query="ferry", as_of="#1")["memories"]
    assert first["content"] == "The ferry leaves at nine"
    [hit] = host.call("recall", query="ferry", where={"category": "decision"})["memories"]
    assert hit["content"] == "The ferry leaves at ten"


def test_the_context_holds_memories_with_and_without_a_query(host: Host) -> None:
    id = host.store("The ferry leaves at nine")
    for arguments in ({"query": "ferry"}, {}):
        answer = host.call("context", **arguments)
        assert "The ferry leaves at nine" in answer["text"]
        assert answer["ids"] == [id]
    assert host.call("context", namespace="elsewhere")["ids"] == []


def test_a_near_duplicate_is_shown_unless_the_caller_insists(host: Host) -> None:
    id = host.store("The ferry to Kiel leaves at nine")
    answer = host.call("store", content="The ferry to Kiel leaves at nine.")
    assert (answer["status"], answer["memory"]["id"]) == ("similar", id)
    merged = host.call("store", content="The ferry to Kiel leaves at nine.", on_similar="merge")
    assert (merged["status"], merged["memory"]["id"]) == ("merged", id)
    kept = host.call("store", content="The ferry to Kiel leaves at nine.", on_similar="keep")
    assert (kept["status"], kept["memory"]["id"] != id) == ("created", True)


def test_memories_are_got_by_id_and_by_key(host: Host) -> None:
    id = host.store("dark", key="theme")
    assert host.call("get", ids=[id, ABSENT])["missing"] == [ABSENT]
    [found] = host.call("get", key="theme")["memories"]
    assert found["id"] == id
    assert "give memory_get ids or a key" in host.refusal("get")


def test_an_update_changes_only_the_given_fields(host: Host) -> None:
    id = host.store("Standup is at 10:00", tags=["team"])
    assert host.call("update", id=id, content="Standup is at 11:00")["memory"]["tags"] == ["team"]
    assert "a field to change, such as content" in host.refusal("update", id=id)
    assert ABSENT in host.refusal("update", id=ABSENT, content="x")


def test_forgotten_memories_come_back(host: Host) -> None:
    id = host.store("Standup is at 10:00", namespace="team")
    assert host.call("forget", ids=[id, ABSENT], reason="old") == {
        "forgotten": 1,
        "missing": [ABSENT],
    }
    assert host.call("get", ids=[id])["missing"] == [id]
    assert host.call("restore", ids=[id]) == {"restored": 1}
    assert host.call("get", ids=[id])["missing"] == []


@pytest.mark.parametrize("outcome", ["worked", "failed", "partial", "useful", "useless"])
def test_outcomes_move_the_memory(host: Host, outcome: str) -> None:
    ids = [host.store("Pin numpy"), host.store("Run the linter first")]
    memories = host.call("outcome", ids=ids, outcome=outcome)["memories"]
    assert [each["id"] for each in memories] == ids
    moved = [each.get("outcome", 0) for each in memories]
    assert (min(moved) > 0) if outcome in ("worked", "useful", "partial") else (max(moved) < 0)


def test_a_conflict_is_shown_and_settled(host: Host) -> None:
    older = host.store("The API limit is 100 requests per minute")
    newer = host.store("The API limit is 500 requests per minute", on_similar="keep")
    [pair] = host.call("conflicts", min_tier="possible")["conflicts"]
    assert {pair["older"]["id"], pair["newer"]["id"]} == {older, newer}
    assert host.call("resolve", keep=newer, drop=older, reason="raised") == {"resolved": 1}
    assert not host.call("conflicts", min_tier="possible")["conflicts"]
    assert ABSENT in host.refusal("resolve", keep=newer, drop=ABSENT)


def test_the_list_is_paged(host: Host) -> None:
    for number in range(5):
        host.store(f"Fact {number}", key=f"fact{number}")
    first = host.call("list", limit=2)
    assert ([each["content"] for each in first["memories"]], first["total"]) == (
        ["Fact 4", "Fact 3"],
        5,
    )
    last = host.call("list", limit=2, offset=4)
    assert [each["content"] for each in last["memories"]] == ["Fact 0"]


def test_the_history_tells_of_a_memory_of_a_key_and_of_all(host: Host) -> None:
    id = host.store("Standup is at 10:00", key="standup", namespace="team")
    host.call("update", id=id, content="Standup is at 11:00")
    host.call("forget", ids=[id])
    actions = [each["action"] for each in host.call("history", id=id)["entries"]]
    assert actions == ["forget", "update", "store"]
    versions = host.call("history", key="standup", namespace="team")["entries"]
    assert [each["content"] for each in versions] == ["Standup is at 11:00", "Standup is at 10:00"]
    assert len(host.call("history")["entries"]) == 3


def test_an_entry_of_the_history_is_undone(host: Host) -> None:
    id = host.store("Standup is at 10:00")
    host.call("update", id=id, content="Standup is at 11:00")
    entry = host.call("history", id=id)["entries"][0]["seq"]
    told = host.text("restore", entry=entry)
    assert told.startswith(f"Undid entry {entry}. Standup is at 10:00  (id {id}")
    assert host.call("get", ids=[id])["memories"][0]["content"] == "Standup is at 10:00"
    other = host.store("Lunch is at noon")
    stored = host.call("history", id=other)["entries"][0]["seq"]
    told = host.text("restore", entry=stored, ids=["zz"])
    assert told.startswith(f"Undid entry {stored}. Lunch is at noon  (id {other}")
    assert "forgotten" in told.splitlines()[0]
    assert told.splitlines()[1] == "Restored 0."
    assert "99" in host.refusal("restore", entry=99)
    assert "ids, or an entry of memory_history" in host.refusal("restore")


def test_memories_are_linked_and_unlinked(host: Host) -> None:
    source, target = host.store("Numpy is pinned"), host.store("Numpy 2 broke the build")
    link = {"source": source, "target": target, "kind": "because of"}
    assert host.call("relate", **link) == {"changed": True}
    assert host.call("relate", **link) == {"changed": False}
    assert host.call("relate", **link, remove=True) == {"changed": True}
    assert ABSENT in host.refusal("relate", source=source, target=ABSENT, kind="x")


def test_tasks_are_listed_linked_and_scored(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = tmp_path / ".beads" / "issues.jsonl"
    tasks.parent.mkdir()
    task = {"id": "bd-1", "title": "Pin numpy", "status": "open", "priority": 1}
    tasks.write_text(json.dumps(task) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    id = host.store("Numpy 2 breaks the build")
    [shown] = host.call("tasks", action="list")["tasks"]
    assert shown["id"] == "bd-1"
    assert host.call("tasks", action="link", task="bd-1", ids=[id])["count"] == 1
    assert "Numpy 2 breaks" in host.call("tasks", action="context", task="bd-1")["text"]
    tasks.write_text(json.dumps(task | {"status": "closed"}) + "\n")
    assert host.call("tasks", action="sync")["verdicts"][0]["memory"] == id
    assert host.call("tasks", action="sync")["count"] == 0
    assert "bd-9" in host.refusal("tasks", action="link", task="bd-9", ids=[id])


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("recall", {}, "'query' is missing"),
    ("recall", {"query": 3}, "query must be a string, not an integer"),
    ("recall", {"query": "x", "k": 0}, "k must lie in"),
    ("recall", {"query": "x", "k": True}, "k must be an integer"),
    ("recall", {"query": "x", "k": 10**400}, "k must lie in"),
    ("recall", {"query": "x", "limit": 3}, "unknown argument 'limit'"),
    ("recall", {"query": "x", "where": {"colour": "red"}}, "colour"),
    ("recall", {"query": "x", "as_of": "yesterday-ish"}, "as_of takes an ISO 8601 time"),
    ("recall", {"query": "x", "as_of": ""}, "as_of must not be empty"),
    ("recall", {"query": "x", "namespace": "a//b"}, "a path such as projects/ferry"),
    ("recall", {"query": "x", "budget_tokens": 9}, "budget_tokens must lie in"),
    ("context", {"budget_tokens": "many"}, "budget_tokens must be an integer, not a string"),
    ("store", {"content": ""}, "content must not be empty"),
    ("store", {"content": " \n"}, "content must not be empty"),
    ("store", {"content": "x", "namespace": "users/*"}, "leave namespace out"),
    ("store", {"content": "x" * 100_001}, "100,001 characters"),
    ("store", {"content": "x", "tags": ["t"] * 21}, "tags has 21 items"),
    ("store", {"content": "x", "tags": [1]}, "tags[0] must be a string"),
    ("store", {"content": "x", "importance": 2}, "importance must lie in"),
    ("store", {"content": "x", "occurred_at": "soon"}, "soon"),
    ("store", {"content": "x", "on_similar": "replace"}, "on_similar must be one of"),
    ("store", {"content": "x", "supersedes": ABSENT}, ABSENT),
    ("store", {"content": "\ud800"}, "surrogate"),
    ("get", {"ids": []}, "ids must not be empty"),
    ("update", {"id": ABSENT, "content": "x"}, "memory_recall finds memories"),
    ("update", {"id": 1}, "id must be a string"),
    ("forget", {"ids": "all"}, "ids must be an array"),
    ("outcome", {"ids": [ABSENT], "outcome": "worked"}, ABSENT),
    ("outcome", {"ids": [ABSENT], "outcome": "great"}, "outcome must be one of"),
    ("conflicts", {"limit": 11}, "limit must lie in"),
    ("resolve", {"keep": ABSENT}, "'drop' is missing"),
    ("list", {"where": []}, "where must be an object"),
    ("history", {"limit": 0}, "limit must lie in"),
    ("relate", {"source": "a", "target": "b"}, "'kind' is missing"),
    ("restore", {"entry": 99}, "memory_history shows the entries"),
    ("restore", {"entry": 0}, "entry must be at least 1, not 0"),
    ("tasks", {"action": "close"}, "action must be one of"),
    ("tasks", {"action": "context", "task": "bd-9"}, "'list' shows the open tasks"),
    ("tasks", {"action": "link"}, "needs a task and ids"),
]


@pytest.mark.parametrize(("tool", "arguments", "told"), BAD)
def test_a_wrong_argument_is_told_in_a_sentence(
    host: Host, tool: str, arguments: dict[str, Any], told: str
) -> None:
    message = host.refusal(tool, **arguments)
    assert told in message
    assert len(message) < 1_100


ABSENCES: list[tuple[str, dict[str, Any], str]] = [
    ("get", {"key": "zz"}, "No memory has the key zz in default; memory_recall finds"),
    ("get", {"ids": ["zz"]}, "No memory has the id zz.\nmemory_recall finds memories"),
    ("forget", {"ids": ["zz"]}, "Forgot 0.\nNo memory has the id zz.\nmemory_recall"),
    ("restore", {"ids": ["zz"]}, "Restored 0.\nNo forgotten or archived memory has the id zz."),
    ("history", {"key": "zz"}, "No history of the key zz."),
    ("history", {"id": "zz"}, "No history of the id zz."),
    ("get", {"key": "drink"}, " The key is in users/ann."),
    ("list", {"offset": 3}, "(none from offset 3 on)"),
    ("recall", {"query": "tea", "namespace": "zz"}, "memories are in default (1), users/ann (1)."),
    *(
        (tool, {**more, "namespace": "usr/ann"}, "memories are in users/ann (1), default (1).")
        for tool, more in (("context", {"query": "tea"}), ("get", {"key": "zz"}), ("list", {}))
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "told"), ABSENCES)
def test_what_is_absent_is_told_with_what_to_do_next(
    host: Host, tool: str, arguments: dict[str, Any], told: str
) -> None:
    host.store("Bob drinks coffee")
    host.store("Ann drinks tea", namespace="users/ann", key="drink")
    answer = host.ask("tools/call", name=f"memory_{tool}", arguments=arguments)
    assert not answer["isError"]
    assert told in answer["content"][0]["text"]


def test_every_tool_has_a_good_and_a_bad_call_here() -> None:
    assert {tool for tool, _, _ in BAD} == {
        each["name"].removeprefix("memory_") for each in (*USUAL, *MORE)
    }


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": {}}])
def test_a_tool_without_arguments_runs_when_they_are_absent(
    host: Host, arguments: dict[str, Any]
) -> None:
    assert not host.ask("tools/call", name="memory_conflicts", **arguments)["isError"]


@pytest.mark.parametrize("name", ["memory_erase", "store", None, 3, ["memory_recall"]])
def test_an_unknown_tool_is_an_error_of_the_protocol(host: Host, name: object) -> None:
    assert host.ask("tools/call", name=name)["code"] == -32602


def test_a_usual_server_lists_nine_tools_in_a_fixed_order(connect: Callable[..., Host]) -> None:
    assert list(connect().tools()) == [
        f"memory_{each}"
        for each in (
            "recall",
            "context",
            "store",
            "get",
            "update",
            "forget",
            "outcome",
            "conflicts",
            "resolve",
        )
    ]
    assert len(connect(everything=True).tools()) == 14


def test_the_nine_tools_cost_a_host_at_most_1500_tokens() -> None:
    shown = [
        {name: each[name] for name in ("name", "description", "inputSchema")}
        for each in listed(everything=False, read_only=False, fixed=False)
    ]
    assert rough_tokens(json.dumps(shown, separators=(",", ":"))) <= 1_500


def test_a_read_only_server_reads(connect: Callable[..., Host], tmp_path: Path) -> None:
    reader = connect(read_only=True)
    assert list(reader.tools()) == [
        f"memory_{each}" for each in ("recall", "context", "get", "conflicts")
    ]
    assert "memory.db' was not found" in reader.refusal("recall", query="standup")
    assert not (tmp_path / "memory.db").exists()
    id = connect().store("Standup is at 10:00")
    assert reader.call("recall", query="standup")["memories"][0]["id"] == id
    assert reader.ask("tools/call", name="memory_store", arguments={"content": "x"})["code"]
    reader.server.close()
    with MemoryStore(tmp_path / "memory.db") as store:
        assert store[id].access_count == 0


def test_only_forget_is_marked_as_destructive(host: Host) -> None:
    hints = {name: each["annotations"] for name, each in host.tools().items()}
    assert [name for name, each in hints.items() if each["destructiveHint"]] == ["memory_forget"]
    assert not any(each["openWorldHint"] for each in hints.values())


def test_writes_of_another_store_are_seen_at_once(host: Host, tmp_path: Path) -> None:
    host.call("recall", query="standup")
    with MemoryStore(tmp_path / "memory.db") as other:
        id = other.store("Standup is at 10:00").id
        assert host.call("recall", query="standup")["memories"][0]["id"] == id
        other.forget(id)
        assert host.call("recall", query="standup")["memories"] == []


def test_words_alone_find_memories_of_an_embedder_that_is_not_here(
    tmp_path: Path, connect: Callable[..., Host]
) -> None:
    embedder = CallableEmbedder(lambda texts: [[1.0, 2.0] for _ in texts], name="mine")
    with MemoryStore(tmp_path / "memory.db", embedder=embedder) as store:
        store.store("Ann drinks tea")
    host = connect()
    assert "keyword mode works" in host.refusal("recall", query="tea")
    assert "Ann drinks tea" in host.text("recall", query="tea", mode="keyword")
