"""Values found by vectors that outlive the process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from bethink import (
    AsyncMemoryStore,
    AsyncVectorMemory,
    DimensionError,
    KeyedMemory,
    LongTermMemory,
    MemoryStore,
    VectorMemory,
)

from ...storage.processes import Child, Say, ask, forks


@pytest.fixture
def memory(store: MemoryStore) -> VectorMemory:
    return VectorMemory(store)


def test_values_and_vectors_are_there_after_reopening(path: Path) -> None:
    with MemoryStore(path) as store:
        memory = VectorMemory(store)
        memory.remember_vector("tea", {"likes": ["tea"]}, [3, 4])
        memory.remember_vector("rum", None, [-4, 3])
    with MemoryStore(path) as store:
        found = VectorMemory(store).search([6, 8])
        assert [(hit.record, hit.score) for hit in found] == [
            (("tea", {"likes": ["tea"]}), 1.0),
            (("rum", None), 0.0),
        ]
        assert store.verify().ok


@forks
def test_what_was_acknowledged_survives_a_kill(path: Path) -> None:
    def work(say: Say) -> None:
        VectorMemory(MemoryStore(path)).remember_vector("a", 1, [1, 0])
        ask(say)

    with Child(work) as child:
        child.wait_for_question()
    with MemoryStore(path) as store:
        assert [hit.record for hit in VectorMemory(store).search([1, 0])] == [("a", 1)]


def test_a_search_is_the_same_as_in_a_resident_memory(memory: VectorMemory) -> None:
    vectors = np.random.default_rng(3).normal(size=(200, 16)).astype(np.float32)
    resident = LongTermMemory()
    for number, vector in enumerate(vectors):
        for each in (memory, resident):
            each.remember_vector(str(number), number, vector)
    for top_k in (1, 20, 150, 300):
        found, expected = (each.search(vectors[9], top_k) for each in (memory, resident))
        assert [hit.record for hit in found] == [hit.record for hit in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-6)


def test_each_namespace_has_values_and_a_dimension_of_its_own(store: MemoryStore) -> None:
    ann, bob = (VectorMemory(store, namespace=f"users/{name}") for name in ("ann", "bob"))
    ann.remember_vector("a", "ann's", [1, 0])
    bob.remember_vector("a", "bob's", [1, 0, 0])
    assert [hit.record.value for hit in ann.search([1, 0])] == ["ann's"]
    assert [hit.record.value for hit in bob.search([1, 0, 0])] == ["bob's"]
    with pytest.raises(DimensionError):
        ann.search([1, 0, 0])


def test_every_other_change_removes_the_vector(memory: VectorMemory) -> None:
    for key in ("set", "added", "swapped", "updated"):
        memory.remember_vector(key, 1, [1, 0])
    memory.remember("set", 2)
    memory.increment("added")
    memory.compare_and_set("swapped", 1, 2)
    memory.update("updated", lambda value: value + 1)
    assert memory.search([1, 0]) == ()
    assert {value for _, value in memory.items()} == {2}
    memory.remember_vector("set", 3, [0, 1])
    assert [(hit.record, hit.score) for hit in memory.search([0, 1])] == [(("set", 3), 1.0)]


def test_a_search_leaves_out_what_has_no_key_and_counts_no_access(
    memory: VectorMemory, store: MemoryStore
) -> None:
    memory.remember_vector("a", 1, [1, 0])
    store.store("a note", namespace="working", vectors={"working": [1, 0]})
    for top_k in (1, 9):
        assert [hit.record.key for hit in memory.search([1, 0], top_k)] == ["a"]
    assert [record.access_count for record in store.all(namespace="working")] == [0, 0]


def test_former_values_stay_in_the_past(memory: VectorMemory, store: MemoryStore) -> None:
    memory.remember_vector("a", "old", [1, 0])
    store.snapshot("before")
    memory.remember_vector("a", "new", [1, 0])
    assert [each.value for each in store.as_of("before").all(namespace="working")] == ["old"]
    assert KeyedMemory(store).recall("a") == "new"


def test_what_is_forgotten_is_not_found_and_what_is_erased_leaves_no_byte(
    memory: VectorMemory, store: MemoryStore, path: Path
) -> None:
    vector = np.array([0.6, 0.8], np.float32)
    memory.remember_vector("a", "a secret", vector)
    memory.remember_vector("a", "a second secret", vector)
    assert memory.forget("a")
    assert memory.search(vector) == ()
    written = [vector.tobytes(), b"a secret", b"a second secret"]
    assert all(each in path.read_bytes() + wal(path) for each in written)
    store.erase(namespace="working", where={"key": "a"})
    assert not any(each in path.read_bytes() + wal(path) for each in written)


def wal(path: Path) -> bytes:
    beside = path.with_name(path.name + "-wal")
    return beside.read_bytes() if beside.exists() else b""


def test_the_awaitable_memory_finds_by_vectors() -> None:
    async def live() -> None:
        async with AsyncMemoryStore() as store:
            memory = AsyncVectorMemory(store, namespace="runs")
            await memory.remember_vector("a", [1], [1, 0])
            await memory.remember("b", 2)
            assert [hit.record for hit in await memory.search([2, 0])] == [("a", [1])]
            assert await memory.recent(9) == (("a", [1]), ("b", 2))

    asyncio.run(live())
