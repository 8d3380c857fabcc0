"""What a graph that still runs puts into a deleted thread, and where no byte of it may stay."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pytest

pytest.importorskip("langgraph.graph")

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph

from bethink import EVERYWHERE, MemoryStore
from bethink_adapters.langgraph import BethinkSaver, BethinkStore, erase_user

SECRET = "cobalt-flowerpot"
THREAD: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class State(TypedDict, total=False):
    document: str
    step: int


def put(saver: BethinkSaver, config: Any, text: str = "", id: str | None = None) -> Any:
    """Put a checkpoint after the one that *config* names, with *text* as a large value."""
    versions: Any = {"document": saver.get_next_version(None)}
    checkpoint: Any = {**empty_checkpoint(), "channel_versions": versions}
    checkpoint["channel_values"] = {"document": [text * 20]}
    if id is not None:
        checkpoint["id"] = id
    return saver.put(config, checkpoint, {"source": "loop"}, versions)


def aput(saver: BethinkSaver, config: Any, text: str) -> Any:
    versions: Any = {"document": saver.get_next_version(None)}
    checkpoint: Any = {**empty_checkpoint(), "channel_versions": versions}
    checkpoint["channel_values"] = {"document": [text * 20]}
    return asyncio.run(saver.aput(config, checkpoint, {"source": "loop"}, versions))


DELETIONS: dict[str, Callable[[BethinkSaver], object]] = {
    "delete_thread": lambda saver: saver.delete_thread("t"),
    "adelete_thread": lambda saver: asyncio.run(saver.adelete_thread("t")),
    "prune": lambda saver: saver.prune(["t"], strategy="delete"),
}
for_each_deletion = pytest.mark.parametrize(
    "deletion", ["delete_thread", "adelete_thread", "prune"]
)


def assert_nothing_is_left(store: MemoryStore, path: Path) -> None:
    assert store.count(namespace=EVERYWHERE) == 0
    store.close()
    assert SECRET.encode() not in path.read_bytes()


def test_erasing_a_user_keeps_out_what_a_graph_puts_into_the_threads(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    store = MemoryStore(path)
    saver = BethinkSaver(store)
    config = put(saver, THREAD)
    BethinkStore(store).put(("users", "ann"), "document", {"text": SECRET})
    assert erase_user(store, threads=["t"], items=[("users", "ann")]) == 3
    put(saver, config, SECRET)
    saver.put_writes(config, [("document", SECRET)], "task")
    assert_nothing_is_left(store, path)


@for_each_deletion
def test_writes_after_a_deleted_checkpoint_are_dropped(tmp_path: Path, deletion: str) -> None:
    path = tmp_path / "agent.db"
    store = MemoryStore(path)
    saver = BethinkSaver(store)
    config = put(saver, THREAD)
    DELETIONS[deletion](saver)
    saver.put_writes(config, [("document", SECRET)], "task")
    asyncio.run(saver.aput_writes(config, [("document", SECRET)], "other"))
    assert_nothing_is_left(store, path)


@for_each_deletion
def test_a_checkpoint_with_a_deleted_parent_is_dropped_and_so_is_what_follows(
    tmp_path: Path, deletion: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "agent.db"
    store = MemoryStore(path)
    saver = BethinkSaver(store)
    config = put(saver, THREAD)
    DELETIONS[deletion](saver)
    with caplog.at_level(logging.WARNING):
        child = put(saver, config, SECRET)
    grandchild = aput(saver, child, SECRET)
    for each in (child, grandchild):
        saver.put_writes(each, [("document", SECRET)], "task")
    assert "dropped what a run put into a deleted thread" in caplog.text
    assert SECRET not in caplog.text
    assert saver.get_tuple(THREAD) is None
    assert_nothing_is_left(store, path)


def test_what_arrives_late_is_dropped_in_another_process_too(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with MemoryStore(path) as store:
        config = put(BethinkSaver(store), THREAD)
        BethinkSaver(store).delete_thread("t")
    store = MemoryStore(path)
    put(BethinkSaver(store), config, SECRET)
    BethinkSaver(store).put_writes(config, [("document", SECRET)], "task")
    assert_nothing_is_left(store, path)


def test_a_checkpoint_without_a_parent_begins_a_new_thread(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    old = put(saver, THREAD, id="c1")
    saver.delete_thread("t")
    new = put(saver, THREAD, "new", id="c1")
    put(saver, new, "newer")
    saver.put_writes(new, [("document", "said")], "task")
    assert len(list(saver.list(THREAD))) == 2
    assert old == new
    kept = saver.get_tuple(new)
    assert kept is not None
    assert kept.pending_writes == [("task", "document", "said")]
    saver.delete_thread("t")
    put(saver, new, SECRET)
    assert store.count(namespace=EVERYWHERE) == 0


def test_a_parent_that_was_never_here_is_no_deleted_one(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    elsewhere: Any = {"configurable": {**THREAD["configurable"], "checkpoint_id": "elsewhere"}}
    put(saver, elsewhere)
    assert saver.get_tuple(THREAD) is not None


def test_writes_that_come_before_their_checkpoint_are_kept(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    config: Any = {"configurable": {**THREAD["configurable"], "checkpoint_id": "c1"}}
    saver.put_writes(config, [("document", "early")], "task")
    assert store.count(namespace=EVERYWHERE) == 0
    put(saver, THREAD, id="c1")
    saver.put_writes(config, [("document", "late")], "other")
    kept = saver.get_tuple(config)
    assert kept is not None
    assert kept.pending_writes == [("other", "document", "late"), ("task", "document", "early")]


def test_early_writes_to_a_thread_that_is_deleted_do_not_come(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    config: Any = {"configurable": {**THREAD["configurable"], "checkpoint_id": "c1"}}
    saver.put_writes(config, [("document", SECRET)], "task")
    saver.delete_thread("t")
    kept = saver.get_tuple(put(saver, THREAD, id="c1"))
    assert kept is not None
    assert kept.pending_writes == []


def test_a_copied_thread_is_deleted_as_surely(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    put(saver, THREAD)
    saver.copy_thread("t", "copy")
    (copied,) = saver.list({"configurable": {"thread_id": "copy"}})
    saver.delete_thread("copy")
    put(saver, copied.config, SECRET)
    assert list(saver.list({"configurable": {"thread_id": "copy"}})) == []
    saver.copy_thread("t", "copy")
    assert len(list(saver.list({"configurable": {"thread_id": "copy"}}))) == 1


def test_what_was_superseded_in_a_thread_is_erased_with_it(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    store = MemoryStore(path)
    saver = BethinkSaver(store)
    config = put(saver, THREAD, SECRET)
    saver.put_writes(config, [("document", SECRET)], "task")
    store.forget(namespace=next(iter(store.namespaces())))
    saver.delete_thread("t")
    assert_nothing_is_left(store, path)


def graph_of(saver: Any, nodes: Sequence[Callable[[Any], Any]]) -> Any:
    builder: Any = StateGraph(State)
    before = START
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
        builder.add_edge(before, f"n{number}")
        before = f"n{number}"
    return builder.compile(checkpointer=saver)


def run(graph: Any, how: str) -> Any:
    said, config = {"document": SECRET}, {"configurable": {"thread_id": "t"}}
    if how == "ainvoke":
        return asyncio.run(graph.ainvoke(said, config))
    return graph.invoke(said, config)


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("inner", [False, True])
def test_a_thread_deleted_while_a_node_runs_stays_deleted(
    tmp_path: Path, how: str, *, inner: bool
) -> None:
    path = tmp_path / "agent.db"
    store = MemoryStore(path)
    saver = BethinkSaver(store)

    def delete(state: State) -> State:
        saver.delete_thread("t")
        return {"document": SECRET * 30}

    def go_on(state: State) -> State:
        return {"document": state["document"] + SECRET, "step": 2}

    nodes: list[Any] = [delete, go_on]
    if inner:
        nodes.append(graph_of(True, [go_on]))
    state = run(graph_of(saver, nodes), how)
    assert state["step"] == 2
    assert saver.get_tuple({"configurable": {"thread_id": "t"}}) is None
    assert_nothing_is_left(store, path)


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
def test_a_deleted_thread_that_began_anew_loses_nothing(
    store: MemoryStore, durability: str
) -> None:
    saver = BethinkSaver(store)
    inner = graph_of(True, [lambda state: {"document": state["document"] + "!" * 300}])
    graph = graph_of(saver, [lambda state: {"step": 1}, inner, lambda state: {"step": 2}])
    config: Any = {"configurable": {"thread_id": "t"}}
    for _ in range(2):
        graph.invoke({"document": "a"}, config, durability=durability)
        saver.delete_thread("t")
    graph.invoke({"document": "a"}, config, durability=durability)
    graph.invoke({"document": "b"}, config, durability=durability)
    state = graph.get_state(config)
    assert (state.values["document"], state.values["step"]) == ("b" + "!" * 300, 2)
    names = {
        each.config["configurable"]["checkpoint_ns"].split(":")[0] for each in saver.list(config)
    }
    assert names == {"", "n1"}
