"""The checkpointer under real LangGraph graphs, sync and async."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("langgraph.graph")

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from bethink import EVERYWHERE, MemoryStore, StoreClosedError, Subtree, ValidationError
from bethink.adapting import keys_between
from bethink_adapters.langgraph import BethinkSaver

from .contract import LOOKALIKES, SlowStore, cancel_in_write


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    document: str
    turns: Annotated[int, operator.add]


def of(thread: object, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, **more}}


def graph_of(saver: Any, **nodes: Callable[[Any], Any]) -> Any:
    """Return a graph that runs *nodes* one after the other."""
    builder: Any = StateGraph(Talk)
    names = list(nodes)
    for before, name in zip([START, *names], names, strict=False):
        builder.add_node(name, nodes[name])
        builder.add_edge(before, name)
    return builder.compile(checkpointer=saver)


def reply(state: Talk) -> dict[str, Any]:
    return {"messages": [AIMessage(f"{len(state['messages'])} so far")], "turns": 1}


def chat(graph: Any, thread: object, text: str) -> list[str]:
    return said(graph.invoke({"messages": [HumanMessage(text)]}, of(thread)))


def said(state: Any) -> list[str]:
    return [message.content for message in state["messages"]]


def held(saver: BethinkSaver, thread: object) -> list[CheckpointTuple]:
    return list(saver.list(of(thread)))


def put(saver: BethinkSaver, thread: object, values: dict[str, Any], **metadata: Any) -> Any:
    """Put a checkpoint of its own with *values*, all of them new."""
    versions: Any = {name: saver.get_next_version(None) for name in values}
    checkpoint: Any = {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}
    config = of(thread, checkpoint_ns="")
    kept: Any = {"source": "loop", **metadata}
    return saver.put(config, checkpoint, kept, versions)


# -- graphs


def test_a_saver_passes_for_one_of_langgraph(store: MemoryStore) -> None:
    assert isinstance(BethinkSaver(store), BaseCheckpointSaver)


def test_a_thread_goes_on_after_the_file_was_closed(tmp_path: Path) -> None:
    for turn in range(3):
        saver = BethinkSaver(tmp_path / "agent.db")
        spoken = chat(graph_of(saver, reply=reply), "t", f"turn {turn}")
        saver.close()
    assert spoken[:2] == ["turn 0", "1 so far"]
    assert spoken[-2:] == ["turn 2", "5 so far"]


def test_sync_and_async_graphs_share_threads(store: MemoryStore) -> None:
    graph = graph_of(BethinkSaver(store), reply=reply)
    chat(graph, "t", "one")
    state = asyncio.run(graph.ainvoke({"messages": [HumanMessage("two")]}, of("t")))
    assert said(state) == ["one", "1 so far", "two", "3 so far"]
    assert chat(graph, "t", "three")[-1] == "5 so far"


def test_threads_never_run_together(store: MemoryStore) -> None:
    graph = graph_of(BethinkSaver(store), reply=reply)
    spoken = [chat(graph, thread, str(number)) for number, thread in enumerate(LOOKALIKES)]
    assert spoken == [[str(number), "1 so far"] for number in range(len(LOOKALIKES))]


def test_an_interrupted_thread_is_resumed_from_the_file(tmp_path: Path) -> None:
    def ask(state: Talk) -> dict[str, Any]:
        return {"document": interrupt("which one?")}

    saver = BethinkSaver(tmp_path / "agent.db")
    graph_of(saver, reply=reply, ask=ask).invoke({"messages": [HumanMessage("go")]}, of("t"))
    saver.prune(["t"])
    saver.close()
    saver = BethinkSaver(tmp_path / "agent.db")
    graph = graph_of(saver, reply=reply, ask=ask)
    assert [task.interrupts[0].value for task in graph.get_state(of("t")).tasks] == ["which one?"]
    state = graph.invoke(Command(resume="the second"), of("t"))
    saver.close()
    assert (state["document"], state["turns"]) == ("the second", 1)


def test_pruning_keeps_what_was_done_beside_and_before_an_interrupt(store: MemoryStore) -> None:
    done = []

    def doing(name: str) -> Callable[[Talk], dict[str, Any]]:
        def do(state: Talk) -> dict[str, Any]:
            done.append(name)
            return {"turns": 1}

        return do

    def ask(state: Talk) -> dict[str, Any]:
        return {"document": interrupt("which one?")}

    builder: Any = StateGraph(Talk)
    builder.add_node("beside", doing("beside"))
    builder.add_node("inner", graph_of(None, before=doing("before"), ask=ask))
    for name in ("beside", "inner"):
        builder.add_edge(START, name)
    saver = BethinkSaver(store)
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"turns": 0}, of("t"))
    saver.prune(["t"])
    assert graph.invoke(Command(resume="that"), of("t"))["document"] == "that"
    assert sorted(done) == ["before", "beside"]


def test_threads_of_a_process_do_not_disturb_each_other(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "agent.db") as store:
        graph = graph_of(BethinkSaver(store), reply=reply)

        def talk(thread: int) -> list[str]:
            return [chat(graph, thread, f"{thread}.{turn}")[-1] for turn in range(4)]

        with ThreadPoolExecutor(8) as pool:
            spoken = list(pool.map(talk, range(8)))
    assert spoken == [[f"{2 * turn + 1} so far" for turn in range(4)]] * 8


def test_what_succeeded_beside_a_failure_is_not_done_again(store: MemoryStore) -> None:
    done = []
    saved = Event()  # a failure shuts the executor down, which would drop what waits for it

    class Telling(BethinkSaver):
        def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
            super().put_writes(config, writes, *args)
            if ("turns", 1) in writes:  # the start of the graph has writes, too
                saved.set()

    def steady(state: Talk) -> dict[str, Any]:
        done.append("steady")
        return {"turns": 1}

    def shaky(state: Talk) -> dict[str, Any]:
        done.append("shaky")
        if done.count("shaky") == 1:
            assert saved.wait(60)
            raise ZeroDivisionError
        return {"turns": 10}

    builder: Any = StateGraph(Talk)
    for node in (steady, shaky):
        builder.add_node(node)
        builder.add_edge(START, node.__name__)
    graph = builder.compile(checkpointer=Telling(store))
    with suppress(ZeroDivisionError):
        graph.invoke({"turns": 0}, of("t"))
    assert graph.invoke(None, of("t"))["turns"] == 11
    assert sorted(done) == ["shaky", "shaky", "steady"]


def test_a_thread_steps_back_and_forks(store: MemoryStore) -> None:
    graph = graph_of(BethinkSaver(store), reply=reply)
    for text in ("one", "two", "three"):
        chat(graph, "t", text)
    past = [state for state in graph.get_state_history(of("t")) if not state.next]
    assert [len(state.values["messages"]) for state in past] == [6, 4, 2]
    fork = graph.update_state(past[1].config, {"messages": [HumanMessage("else")]})
    assert said(graph.get_state(fork).values)[-2:] == ["3 so far", "else"]
    assert said(graph.get_state(past[0].config).values)[-2:] == ["three", "5 so far"]
    assert said(graph.get_state(of("t")).values)[-1] == "else"


def test_graphs_within_a_graph_keep_their_own_checkpoints(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    inner = graph_of(True, reply=reply)
    graph = graph_of(saver, inner=inner)
    for text in ("one", "two"):
        spoken = chat(graph, "t/1", text)
    assert spoken == ["one", "1 so far", "two", "3 so far"]
    graphs = {each.config["configurable"]["checkpoint_ns"] for each in held(saver, "t/1")}
    assert graphs == {"", "inner"}


def test_a_delta_channel_survives_pruning(store: MemoryStore) -> None:
    channels = pytest.importorskip("langgraph.channels.delta")

    def join(known: Sequence[int] | None, new: Sequence[Sequence[int]]) -> list[int]:
        return [*(known or ()), *(number for numbers in new for number in numbers)]

    seen: Any = channels.DeltaChannel(join, snapshot_frequency=4)
    kind: Any = TypedDict("kind", {"seen": Annotated[list[int], seen]})
    builder: Any = StateGraph(kind)
    builder.add_node("again", lambda state: {"seen": [len(state["seen"])]})
    builder.add_edge(START, "again")
    saver = BethinkSaver(store)
    graph = builder.compile(checkpointer=saver)
    sizes = []
    for turn in range(7):
        state = graph.invoke({"seen": [-turn]}, of("t"))
        asked: Any = {"config": of("t"), "channels": ["seen", "none"]}
        told = saver.get_delta_channel_history(**asked)
        assert told == BaseCheckpointSaver.get_delta_channel_history(saver, **asked)
        saver.prune(["t"])
        sizes.append(len(held(saver, "t")))
        assert graph.get_state(of("t")).values == state
    assert len(state["seen"]) == 14
    assert min(sizes) == 1
    assert max(sizes) < 9  # each turn makes three


# -- what is stored


def test_a_value_that_did_not_change_is_stored_once(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    graph = graph_of(saver, reply=reply)
    document = "All about parrots. " * 100
    graph.invoke({"messages": [HumanMessage("read")], "document": document}, of("t"))
    for turn in range(3):
        chat(graph, "t", str(turn))
    keys = [str(record.key) for record in store.all(namespace=EVERYWHERE)]
    assert sum(key.startswith("value/document/") for key in keys) == 1
    assert not any(key.startswith("value/turns/") for key in keys)  # it is in each checkpoint
    for record in store.all(namespace=EVERYWHERE, where={"category": "checkpoint"}):
        assert "document" not in saver._load(record.value["checkpoint"])["channel_values"]
    assert graph.get_state(of("t")).values["document"] == document


def test_no_recall_finds_a_checkpoint(store: MemoryStore) -> None:
    chat(graph_of(BethinkSaver(store), reply=reply), "t", "My parrot is called Quetzal.")
    store.store("The parrot lives in the kitchen")
    found = store.recall("What is the parrot called?", namespace=EVERYWHERE, k=50)
    assert [hit.memory.content for hit in found] == ["The parrot lives in the kitchen"]


def test_a_put_that_fails_leaves_nothing(store: MemoryStore) -> None:
    class Refusing(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            if obj == ["refuse"]:
                raise TypeError
            return super().dumps_typed(obj)

    saver = BethinkSaver(store, serde=Refusing())
    with pytest.raises(TypeError):
        put(saver, "t", {"a": [1], "b": ["refuse"]})
    assert store.log() == []


@pytest.mark.parametrize("value", [[], "x" * 5000, {"a": b"\xff\x00"}, [1.5, None], "", "ä"])
def test_values_come_back_as_they_were(store: MemoryStore, value: Any) -> None:
    saver = BethinkSaver(store)
    kept = saver.get_tuple(put(saver, "t", {"value": value}, note={"deep": [1]}))
    assert kept is not None
    assert kept.checkpoint["channel_values"] == {"value": value}
    assert kept.metadata == {"source": "loop", "note": {"deep": [1]}}


def test_a_serializer_may_hide_everything(tmp_path: Path) -> None:
    class Hidden(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            kind, data = super().dumps_typed(obj)
            return f"{kind}+xor", bytes(byte ^ 85 for byte in data)

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            clear = bytes(byte ^ 85 for byte in data[1])
            return super().loads_typed((data[0].removesuffix("+xor"), clear))

    with MemoryStore(tmp_path / "agent.db") as store:
        graph = graph_of(BethinkSaver(store, serde=Hidden()), reply=reply)
        chat(graph, "t", "Quetzal is a parrot")
        assert chat(graph, "t", "and so on")[0] == "Quetzal is a parrot"
        assert "xor" in str(store.all(namespace=Subtree("checkpoints"), limit=1)[0].value)


@settings(max_examples=25)
@given(st.permutations([f"{number:02}" for number in range(24)]), st.integers(0, 25))
def test_ids_decide_the_order_whenever_they_were_stored(ids: list[str], bound: int) -> None:
    with MemoryStore() as store:
        saver = BethinkSaver(store)
        for id in ids:
            checkpoint: Any = {**empty_checkpoint(), "id": id}
            saver.put(of("t", checkpoint_ns=""), checkpoint, {}, {})
        latest = saver.get_tuple(of("t"))
        assert latest is not None
        assert latest.checkpoint["id"] == "23"
        listed = [each.checkpoint["id"] for each in held(saver, "t")]
        assert listed == sorted(ids, reverse=True)
        older_than = of("t", checkpoint_id=f"{bound:02}")
        before = saver.list(of("t"), before=older_than, limit=5)
        assert [each.checkpoint["id"] for each in before] == listed[24 - min(bound, 24) :][:5]
        named = list(saver.list(of("t", checkpoint_id="12"), before=older_than))
        assert [each.checkpoint["id"] for each in named] == ["12"] * (bound > 12)


def test_writes_come_in_the_order_in_which_they_are_applied(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    config = put(saver, "t", {})
    saver.put_writes(config, [("a", number) for number in range(12)], "first", "~2")
    saver.put_writes(config, [("b", 1), ("c", 2)], "second", "~1")
    kept = saver.get_tuple(config)
    assert kept is not None
    first = [("first", "a", number) for number in range(12)]
    assert kept.pending_writes == [("second", "b", 1), ("second", "c", 2), *first]


def test_a_task_tried_again_keeps_its_writes_but_not_its_error(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    config = put(saver, "t", {})
    saver.put_writes(config, [("a", "first"), ("__error__", "one")], "task")
    saver.put_writes(config, [("a", "second"), ("__error__", "two")], "task")
    kept = saver.get_tuple(config)
    assert kept is not None
    assert sorted(kept.pending_writes or ()) == [
        ("task", "__error__", "two"),
        ("task", "a", "first"),
    ]


def test_writes_at_the_same_time_are_all_kept(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    config = put(saver, "t", {})
    with ThreadPoolExecutor(8) as pool:
        for number in range(24):
            pool.submit(saver.put_writes, config, [(f"c{number % 4}", number)], f"t{number % 6}")
    kept = saver.get_tuple(config)
    assert kept is not None
    assert len(kept.pending_writes or ()) == 6


def test_writes_need_a_checkpoint(store: MemoryStore) -> None:
    with pytest.raises(ValidationError, match="belong to a checkpoint"):
        BethinkSaver(store).put_writes(of("t"), [("a", 1)], "task")


def test_a_store_that_was_given_stays_open(store: MemoryStore) -> None:
    BethinkSaver(store).close()
    assert store.count() == 0


def test_a_store_that_was_opened_is_closed(tmp_path: Path) -> None:
    saver = BethinkSaver(tmp_path / "agent.db")
    saver.close()
    saver.close()
    with pytest.raises(StoreClosedError):
        saver.store.count()


def test_a_saver_closes_what_it_opened_at_the_end_of_a_block(tmp_path: Path) -> None:
    async def talk() -> list[str]:
        async with BethinkSaver(tmp_path / "agent.db") as saver:
            saver.setup()
            return said(await graph_of(saver, reply=reply).ainvoke({"messages": ["Hi."]}, of("t")))

    with BethinkSaver(tmp_path / "agent.db") as saver:
        saver.setup()
        assert chat(graph_of(saver, reply=reply), "t", "Hello.") == ["Hello.", "1 so far"]
    assert saver.store.closed
    assert asyncio.run(talk())[-1] == "3 so far"


def test_a_given_store_stays_open_after_a_block(store: MemoryStore) -> None:
    async def leave() -> None:
        async with BethinkSaver(store):
            pass

    with BethinkSaver(store) as saver:
        assert saver.store is store
    asyncio.run(leave())
    assert not store.closed


def test_a_saver_alone_keeps_threads_in_memory() -> None:
    with BethinkSaver() as saver, BethinkSaver() as other:
        assert repr(saver) == "BethinkSaver(':memory:')"
        chat(graph_of(saver, reply=reply), "t", "Hello.")
        assert len(held(saver, "t")) > 1
        assert held(other, "t") == []


def test_a_saver_shows_the_place(tmp_path: Path) -> None:
    with BethinkSaver(tmp_path / "agent.db") as saver, MemoryStore(tmp_path / "b.db") as store:
        assert repr(saver) == f"BethinkSaver({saver.store.location!r})"
        assert "agent.db" in repr(saver)
        assert "b.db" in repr(BethinkSaver(store))


def test_a_closed_store_is_loud(store: MemoryStore) -> None:
    graph = graph_of(BethinkSaver(store), reply=reply)
    store.close()
    with pytest.raises(StoreClosedError):
        chat(graph, "t", "hello")


# -- whole threads


def test_a_deleted_thread_leaves_no_byte(tmp_path: Path) -> None:
    def bytes_of() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    class Plain(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "json", repr(obj).encode()

    with MemoryStore(tmp_path / "agent.db") as store:
        saver = BethinkSaver(store, serde=Plain())
        for thread in ("keep", "go"):
            for _ in range(2):
                config = put(saver, thread, {"text": [f"{thread} Quetzal"]}, run_id=f"{thread}-run")
                saver.put_writes(config, [("text", f"{thread} Macaw")], "task")
        before, marker = bytes_of(), store.all(namespace=Subtree("checkpoints/go"))[0].value[1]
        saver.delete_thread("go")
        after = bytes_of()
        assert len(list(store.all(namespace=Subtree("checkpoints/keep")))) == 6
    assert marker.encode() in before
    assert marker.encode() not in after
    assert b"go-run" in before
    assert b"go-run" not in after


def test_deleting_a_run_keeps_what_others_hold(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    graph = graph_of(saver, reply=reply)
    for run in ("first", "second"):
        config = {**of("t"), "metadata": {"run_id": run}}
        graph.invoke({"messages": [HumanMessage(run)], "document": "x" * 300}, config)
    keys = {str(record.key) for record in store.all(namespace=EVERYWHERE)}
    saver.delete_for_runs(["second", "unknown"])
    left = {str(record.key) for record in store.all(namespace=EVERYWHERE)}
    assert {each.metadata["run_id"] for each in held(saver, "t")} == {"first"}
    assert said(graph.get_state(of("t")).values) == ["first", "1 so far"]
    assert left < keys
    used = {key for each in store.all(namespace=EVERYWHERE, where={"category": "checkpoint"})
            for key in each.value["values"].values() if key}  # fmt: skip
    assert {key for key in left if key.startswith("value/")} == used


def test_a_pruned_thread_goes_on(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    graph = graph_of(saver, reply=reply)
    for thread in ("a", "b"):
        for text in ("one", "two"):
            chat(graph, thread, text)
    other = len(held(saver, "b"))
    saver.put_writes(of("early", checkpoint_id="1"), [("a", 1)], "task")
    saver.prune(["a", "early", "none"])
    assert (len(held(saver, "a")), len(held(saver, "b"))) == (1, other)
    assert chat(graph, "a", "three")[-3:] == ["3 so far", "three", "5 so far"]
    saver.prune(["a", "b"], strategy="delete")
    assert store.count(namespace=EVERYWHERE) == 0
    with pytest.raises(ValidationError, match="keep_latest"):
        saver.prune(["a"], strategy="some")


@pytest.mark.parametrize("strategy", ["keep_latest", "delete"])
def test_what_many_pruned_threads_lose_is_found_by_the_database(
    store: MemoryStore, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver, threads = BethinkSaver(store), [f"t{number}" for number in range(45)]
    for thread in (*threads, *threads, "other", "other"):
        put(saver, thread, {})
    monkeypatch.setattr("bethink.storage.sql.reader.matcher", lambda where: None)
    saver.prune(threads, strategy=strategy)
    left = [len(held(saver, thread)) for thread in (*threads, "other")]
    assert left == [1 if strategy == "keep_latest" else 0] * 45 + [2]


def test_a_copied_thread_goes_its_own_way(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    graph = graph_of(saver, reply=reply)
    chat(graph, "source", "one")
    entries = len({entry.at for entry in store.log(limit=None)})
    saver.copy_thread("source", "copy/1")
    assert len({entry.at for entry in store.log(limit=None)}) == entries + 1
    assert [each.checkpoint for each in held(saver, "copy/1")] == [
        each.checkpoint for each in held(saver, "source")
    ]
    assert chat(graph, "copy/1", "else")[-2:] == ["else", "3 so far"]
    assert said(graph.get_state(of("source")).values) == ["one", "1 so far"]


def test_a_copied_run_can_be_deleted(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    put(saver, "source", {}, run_id="r")
    saver.copy_thread("source", "copy")
    saver.delete_for_runs(["r"])
    assert held(saver, "source") == held(saver, "copy") == []


def test_all_threads_are_listed_newest_first(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    for number in range(4):
        put(saver, f"t{number % 2}", {}, step=number)
    assert [each.metadata["step"] for each in saver.list(None)] == [3, 2, 1, 0]
    assert [each.metadata["step"] for each in saver.list(None, filter={"step": 2})] == [2]
    assert list(saver.list(None, limit=0)) == []
    (latest,) = saver.list(of("t0"), limit=1)
    assert list(saver.list(latest.config)) == [latest]

    async def listed() -> list[Any]:
        return [each.metadata["step"] async for each in saver.alist(of("t1"), limit=1)]

    assert asyncio.run(listed()) == [3]


def test_threads_with_common_ids_are_listed_whole(store: MemoryStore) -> None:
    saver = BethinkSaver(store)
    for step in range(3):
        put(saver, "source", {"step": step}, step=step)
        config = held(saver, "source")[0].config
        saver.put_writes(config, [("step", step)], "task")
    for number in range(20):
        saver.copy_thread("source", f"copy{number}")
    listed = list(saver.list(None))
    assert [each.metadata["step"] for each in listed] == [2] * 21 + [1] * 21 + [0] * 21
    assert len({str(each.config) for each in listed}) == 63
    for each in listed:
        assert each == saver.get_tuple(each.config)
        assert [value for _, _, value in each.pending_writes or ()] == [each.metadata["step"]]


def test_the_newest_of_many_threads_are_found_in_few_reads(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver, reads = BethinkSaver(store), list[Any]()
    for number in range(50):
        put(saver, f"t{number}", {}, step=number)

    def counted(*asked: Any, **more: Any) -> Any:
        reads.append(asked)
        return keys_between(*asked, **more)

    monkeypatch.setattr("bethink_adapters.langgraph.checkpoints.keys_between", counted)
    assert [each.metadata["step"] for each in saver.list(None, limit=3)] == [49, 48, 47]
    assert len(reads) == 4  # of the checkpoints, and of the writes in each thread


def test_a_deleted_thread_is_not_back_by_a_put_that_was_cancelled() -> None:
    async def deleting(slow: SlowStore) -> None:
        saver = BethinkSaver(slow)
        put = saver.aput(of("t"), empty_checkpoint(), {}, {})
        await cancel_in_write(slow, put, saver.adelete_thread("t"))

    with SlowStore() as slow:
        asyncio.run(deleting(slow))
        assert slow.count(namespace=EVERYWHERE) == 0
