from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import (
    AsyncKeyedMemory,
    AsyncMemoryStore,
    AsyncVectorMemory,
    DimensionError,
    KeyedMemory,
    LongTermMemory,
    Memory,
    MemoryItem,
    MemoryStore,
    ShortTermMemory,
    ValidationError,
    VectorMemory,
)
from bethink.testing.contracts.memories import keys

from ...storage.processes import Child, forks, together
from ...storage.replay import assert_journal_is_state, unverified

KINDS: dict[str, Callable[[MemoryStore], Memory]] = {
    "short": lambda store: ShortTermMemory(),
    "long": lambda store: LongTermMemory(),
    "vector": VectorMemory,
}
SEARCHED: dict[str, Callable[[MemoryStore], Any]] = {
    "resident": lambda store: LongTermMemory(),
    "durable": VectorMemory,
}


@pytest.fixture(params=SEARCHED)
def searched(request: pytest.FixtureRequest, store: MemoryStore) -> Any:
    return SEARCHED[request.param](store)


def test_the_interface_alone_is_no_memory() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Memory()  # type: ignore[abstract]


@forks
@pytest.mark.parametrize("make", [ShortTermMemory, LongTermMemory])
def test_a_forked_process_goes_on_with_a_copy(make: Callable[[], Memory]) -> None:
    memory = make()
    memory.remember("a", 1)

    def child(_: object) -> list[str]:
        memory.remember("b", 2)
        return keys(memory)

    assert Child(child).result() == ["a", "b"]
    memory.remember("c", 3)
    assert keys(memory) == ["a", "c"]


class _Slow:
    """A value that takes its time to go."""

    going = threading.Event()

    def __deepcopy__(self, _: object) -> _Slow:
        return self

    def __del__(self) -> None:
        self.going.set()
        threading.Event().wait(0.1)


@forks
@pytest.mark.parametrize("make", [ShortTermMemory, LongTermMemory])
def test_all_threads_of_a_child_go_on_where_one_of_its_parent_was_writing(
    make: Callable[[], Memory],
) -> None:
    memory, found = make(), list[Any]()
    _Slow.going.clear()
    memory.remember("a", _Slow())
    writer = threading.Thread(target=memory.remember, args=("a", 1))
    writer.start()
    assert _Slow.going.wait(30)

    def child(_: object) -> list[Any]:
        reader = threading.Thread(target=lambda: found.append(memory.recall("a")), daemon=True)
        reader.start()
        reader.join(10)
        return found

    assert Child(child).result() == [1]
    writer.join()


# Short term


def test_the_oldest_makes_room() -> None:
    memory = ShortTermMemory(2)
    for key in ("a", "b", "a", "c"):
        memory.remember(key, key)
    assert keys(memory) == ["a", "c"]


@pytest.mark.parametrize("max_items", [0, -1, 2.5, True])
def test_there_is_room_for_one_at_least(max_items: Any) -> None:
    with pytest.raises(ValueError, match="max_items"):
        ShortTermMemory(max_items)


def test_any_object_is_remembered() -> None:
    memory, lock = ShortTermMemory(), threading.Lock()
    memory.remember("lock", lock)
    memory.remember("set", {1, 2})
    assert memory.recall("lock") is lock
    assert memory.recall("set") == {1, 2}


def test_an_object_that_refuses_to_be_copied_is_kept_as_it_is() -> None:
    class Refusing:
        def __deepcopy__(self, memo: object) -> object:
            raise RuntimeError("not to be copied")

    memory, refusing = ShortTermMemory(), Refusing()
    memory.remember("it", refusing)
    assert memory.recall("it") is memory.recent(1)[0].value is refusing


# Found by vectors


def test_search_is_exact(searched: Any) -> None:
    vectors = np.random.default_rng(5).normal(size=(300, 20))
    query = vectors[7] + 0.1
    for number, vector in enumerate(vectors):
        searched.remember_vector(f"{number}", {"n": number}, vector * 10.0 ** (number % 9))
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    found = searched.search(query, 300)
    assert [hit.record.value["n"] for hit in found] == np.argsort(-cosines).tolist()
    exact = 1e-12 if isinstance(searched, LongTermMemory) else 1e-7
    assert [hit.score for hit in found] == pytest.approx(np.sort(cosines)[::-1], abs=exact)
    assert searched.search(query, 3) == found[:3]


def test_search_returns_what_is_opposite_and_leaves_out_what_has_no_vector(searched: Any) -> None:
    searched.remember("none", "no vector")
    for key, vector in {"against": [-2, 0], "across": [0, 1], "along": [3, 0]}.items():
        searched.remember_vector(key, key, vector)
    found = [(hit.record.key, hit.score) for hit in searched.search([5, 0])]
    assert found == [("along", 1.0), ("across", 0.0), ("against", -1.0)]
    assert keys(searched) == ["none", "against", "across", "along"]


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e17])
def test_the_length_of_a_vector_does_not_matter(searched: Any, scale: float) -> None:
    searched.remember_vector("a", None, [3 * scale, 4 * scale])
    for query in ([3, 4], [3 * scale, 4 * scale]):
        assert searched.search(query)[0].score == 1.0


def test_zeros_are_like_nothing_and_ties_go_to_the_first(searched: Any) -> None:
    for key, vector in {"c": [0, 0], "a": [0, 1], "b": [0, 2]}.items():
        searched.remember_vector(key, None, vector)
    assert [hit.record.key for hit in searched.search([0, 1])] == ["a", "b", "c"]
    found = searched.search([0, 0], 2)
    assert [(hit.record.key, hit.score) for hit in found] == [("c", 0), ("a", 0)]


def test_a_cosine_is_never_beyond_one_and_no_zero_is_negative(searched: Any) -> None:
    for key, vector in {"same": [1, 1, 1], "against": [-1, -1, -1]}.items():
        searched.remember_vector(key, None, vector)
    assert [hit.score for hit in searched.search([3, 3, 3])] == [1, -1]
    searched.remember_vector("across", None, [-1, 1, 1e-20])
    (across,) = [hit for hit in searched.search([0, 0, -1]) if hit.record.key == "across"]
    assert str(across.score) == "0.0"


def test_every_vector_has_the_same_length(searched: Any) -> None:
    assert searched.search([1, 2, 3]) == ()
    searched.remember_vector("a", "old", [1, 2])
    searched.remember_vector("b", "other", [-2, 1])
    with pytest.raises(DimensionError, match="3 dimensions, expected 2"):
        searched.remember_vector("a", "new", [1, 2, 3])
    with pytest.raises(DimensionError):
        searched.search([1])
    assert [hit.record for hit in searched.search([1, 2], 1)] == [MemoryItem("a", "old")]
    searched.forget("a")
    with pytest.raises(DimensionError):
        searched.search([1])


def test_a_dimension_that_is_told_holds_from_the_start() -> None:
    memory = LongTermMemory(dimension=2)
    with pytest.raises(DimensionError):
        memory.search([1, 2, 3])
    with pytest.raises(ValidationError):
        LongTermMemory(dimension=0)


@pytest.mark.parametrize("vector", [[float("nan"), 1], [float("inf"), 1], [], [[1, 2]], "ab", None])
def test_what_is_no_vector_is_refused(searched: Any, vector: Any) -> None:
    with pytest.raises(ValidationError):
        searched.remember_vector("a", 1, vector)
    with pytest.raises(ValidationError):
        searched.search(vector)
    assert searched.recent(9) == ()
    searched.remember_vector("a", 1, [1, 2, 3])  # no length was set before


def test_a_new_value_does_not_keep_the_vector_of_the_old(searched: Any) -> None:
    searched.remember_vector("a", "by vector", [1, 0])
    searched.remember_vector("a", "by another", [0, 1])
    assert [hit.score for hit in searched.search([0, 1])] == [1.0]
    searched.remember("a", "by name")
    assert searched.search([0, 1]) == ()
    assert searched.recall("a") == "by name"


def test_what_a_caller_changes_is_not_what_is_searched(searched: Any) -> None:
    vector = np.array([1.0, 0.0])
    searched.remember_vector("a", ["one"], vector)
    vector[:] = [0, 1]
    searched.search([1, 0])[0].record.value.append("got out")
    assert [(hit.record.value, hit.score) for hit in searched.search([1, 0])] == [(["one"], 1.0)]


@pytest.mark.parametrize("k", [-1, 1.5, True])
def test_search_needs_a_count(searched: Any, k: Any) -> None:
    searched.remember_vector("a", None, [1])
    assert searched.search([1], 0) == ()
    with pytest.raises(ValidationError):
        searched.search([1], k)


# Many at once


VERBS = [
    (kind, twin, name)
    for kind, twin in ((KeyedMemory, AsyncKeyedMemory), (VectorMemory, AsyncVectorMemory))
    for name, verb in inspect.getmembers(kind, inspect.isfunction)
    if not name.startswith("_")
]


@pytest.mark.parametrize(("kind", "twin", "name"), VERBS)
def test_every_verb_is_awaitable_with_the_same_signature(kind: type, twin: type, name: str) -> None:
    verb, awaitable = getattr(kind, name), getattr(twin, name)
    assert inspect.iscoroutinefunction(awaitable)
    assert inspect.signature(awaitable) == inspect.signature(verb)


def test_the_awaitable_verbs_do_what_the_verbs_do() -> None:
    async def live() -> None:
        async with AsyncMemoryStore() as store:
            memory = AsyncKeyedMemory(store, namespace="runs")
            await memory.remember("a", [1])
            assert await memory.update("a", lambda items: [*items, 2]) == [1, 2]
            assert await memory.increment("n", by=2) == 2
            assert await memory.compare_and_set("n", 2, 3)
            assert await memory.recent(1) == (("n", 3),)
            assert await memory.items() == [("a", [1, 2]), ("n", 3)]
            assert await memory.forget("a")
            assert (await memory.keys(), await memory.count()) == (["n"], 1)
            assert await memory.recall("a", "gone") == "gone"
            assert AsyncKeyedMemory(store.sync, namespace="runs").sync.recall("n") == 3
            assert await memory.clear() == 1

    asyncio.run(live())


@pytest.mark.slow
def test_two_thousand_concurrent_runs_lose_nothing(path: Path) -> None:
    async def run(memory: AsyncKeyedMemory, number: int) -> bool:
        await memory.remember(f"run {number}", {"number": number})
        await memory.increment("runs")
        return bool(await memory.recall(f"run {number}") == {"number": number})

    async def live() -> None:
        async with AsyncMemoryStore(str(path)) as store:
            memory = AsyncKeyedMemory(store)
            right = await asyncio.gather(*(run(memory, number) for number in range(2000)))
            assert sum(right) == 2000
            found = dict(await memory.items())
        assert found.pop("runs") == 2000
        assert found == {f"run {number}": {"number": number} for number in range(2000)}

    asyncio.run(live())
    with MemoryStore(path) as store:
        assert KeyedMemory(store).recall("runs") == 2000


@pytest.mark.slow
@pytest.mark.slow
@forks
def test_processes_share_a_counter(path: Path) -> None:
    def work() -> int:
        with MemoryStore(path, durability="normal") as store:
            keyed = KeyedMemory(store)
            for n in range(40):
                keyed.increment("by increment")
                keyed.update("by update", lambda n: n + 1, default=0)
                while not keyed.compare_and_set(
                    "by hand", n := keyed.recall("by hand"), (n or 0) + 1
                ):
                    continue
            return keyed.count()

    assert together([work] * 4) == [3] * 4
    with MemoryStore(path) as store:
        assert dict(KeyedMemory(store).items()) == dict.fromkeys(
            ("by increment", "by update", "by hand"), 160
        )
        assert_journal_is_state(store)
    assert unverified(path) == []
