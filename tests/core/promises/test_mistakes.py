"""Mistakes of predecessors that are not repeated."""

from __future__ import annotations

import math

import pytest

from bethink import LongTermMemory, MemoryStore, ShortTermMemory, ValidationError


def test_an_id_in_use_is_refused_and_nothing_is_reset(store: MemoryStore) -> None:
    record = store.store("a cat", id="x")
    store.touch("x")
    store.mark_useful("x")
    before = store.get("x")
    with pytest.raises(ValidationError):
        store.store("a dog", id="x")
    assert store.get("x") == before
    assert before is not None
    assert (before.created_at, before.access_count) == (record.created_at, 1)


@pytest.mark.parametrize("k", [-1, 1.5, True])
def test_a_number_of_hits_that_makes_no_sense_is_refused(store: MemoryStore, k: float) -> None:
    store.store_many(["a cat", "a cat and a dog"])
    with pytest.raises(ValidationError):
        store.recall("cat", k=k)  # type: ignore[arg-type]


@pytest.mark.parametrize("memory", [ShortTermMemory(), LongTermMemory()])
def test_the_last_of_nothing_is_nothing_and_of_less_an_error(
    memory: ShortTermMemory | LongTermMemory,
) -> None:
    memory.remember("a", 1)
    assert memory.recent(0) == ()
    with pytest.raises(ValidationError):
        memory.recent(-1)


def test_a_vector_that_cannot_be_ranked_is_refused_before_the_next_search() -> None:
    memory = LongTermMemory()
    memory.remember_vector("a", 1, [1.0, 0.0])
    for wrong in ([1.0], [math.nan, 0.0]):
        with pytest.raises(ValidationError):
            memory.remember_vector("b", 2, wrong)
    assert [found.record.key for found in memory.search([1.0, 0.0])] == ["a"]
    with pytest.raises(ValidationError):
        memory.search([1.0, 0.0], top_k=-1)


def test_a_value_without_a_vector_drops_the_vector_of_the_old_value() -> None:
    memory = LongTermMemory()
    memory.remember_vector("a", 1, [1.0, 0.0])
    memory.remember("a", 2)
    assert memory.search([1.0, 0.0]) == ()
