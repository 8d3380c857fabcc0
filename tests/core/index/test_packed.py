"""Small namespaces that are packed into bytes and unpacked answer as if always in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import EVERYWHERE, HashEmbedder, MemoryStore, Subtree
from bethink.index.keyword import KeywordIndex
from bethink.index.scope import ScopeIndex
from bethink.model.namespaces import Scope

from ..clock import Clock
from ..inside import engine_of
from ..twin import Asked, Twin, assert_same

WORDS = ["red", "cat", "dog", "boat", "when", "blue", "paint", "always", "tomorrow", "which", "sea"]
SPANS: list[Any] = [EVERYWHERE, Subtree("n")]
BOUND = 60_000
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[Scope]:
    """Note every scope that is packed."""
    noted: list[Scope] = []
    real = ScopeIndex.packed

    def noting(self: ScopeIndex) -> bytes:
        noted.append(self.scope)
        return real(self)

    monkeypatch.setattr(ScopeIndex, "packed", noting)
    return noted


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[Scope]:
    """Note every scope that is unpacked."""
    noted: list[Scope] = []
    real = ScopeIndex.unpacked.__func__  # type: ignore[attr-defined]

    def noting(cls: type[ScopeIndex], reader: object, *rest: object) -> ScopeIndex:
        noted.append(reader.scope)  # type: ignore[attr-defined]
        index: ScopeIndex = real(cls, reader, *rest)
        return index

    monkeypatch.setattr(ScopeIndex, "unpacked", classmethod(noting))
    return noted


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(embedder=HashEmbedder(16), clock=clock, max_resident=BOUND) as store:
        yield store


def assert_as_ever(store: MemoryStore, scope: Scope, dice: random.Random, clock: Clock) -> None:
    question = " ".join(dice.choices(WORDS, k=3))
    asked = Asked(question, k=99, namespace=scope, now=clock.now)
    assert_same(asked.of(store), Twin.of(store).recall(asked))


def a_memory(dice: random.Random, number: int, now: float) -> dict[str, object]:
    return {
        "content": " ".join(dice.choices(WORDS, k=dice.randrange(1, 9))),
        "id": str(number),
        "namespace": f"n/{dice.randrange(9)}",
        "thread": dice.choice([None, "s", "t"]),
        "author": dice.choice([None, "Ann", "assistant"]),
        "category": dice.choice([None, "bird"]),
        "importance": dice.random(),
        "expires_at": dice.choice([None, None, now + 500]),
    }


def assert_three_as_ever(store: MemoryStore, dice: random.Random, clock: Clock) -> None:
    clock.now += 7
    for _ in range(3):
        scope: Scope = dice.choice([f"n/{dice.randrange(9)}"] * 9 + SPANS)
        assert_as_ever(store, scope, dice, clock)


def fill(store: MemoryStore, dice: random.Random, now: float) -> list[str]:
    made = store.store_many([a_memory(dice, number, now) for number in range(60)])
    return [record.id for record in made]


def write(store: MemoryStore, dice: random.Random, ids: list[str], now: float) -> None:
    id = dice.choice(ids)
    match dice.randrange(8):
        case 0:
            store.forget(id)
        case 1:
            store.erase(id)
        case 2:
            store.restore(id)
        case 3 if store.get(id):
            store.update(id, content="a red boat", namespace=f"n/{dice.randrange(9)}")
        case 4 if store.get(id):
            store.record_outcome(id, "worked", session=str(now))
        case 5:
            store.touch(id)
        case _:
            ids.append(str(len(ids)))
            store.store_many([a_memory(dice, len(ids) - 1, now)])


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_same_whatever_was_packed(
    store: MemoryStore, clock: Clock, seed: int, packed: list[Scope], unpacked: list[Scope]
) -> None:
    dice = random.Random(seed)
    ids = fill(store, dice, clock.now)
    for _ in range(120):
        assert_three_as_ever(store, dice, clock)
        if not dice.randrange(3):
            write(store, dice, ids, clock.now)
    assert len(packed) > len(unpacked) > 20


def test_another_process_changes_what_is_packed(path: Path, packed: list[Scope]) -> None:
    with (
        MemoryStore(path, embedder=HashEmbedder(16), max_resident=BOUND) as store,
        MemoryStore(path, embedder=HashEmbedder(16)) as other,
    ):
        for number in range(9):
            store.store("a red cat", id=str(number), namespace=f"n/{number}")
            store.recall("cat", namespace=f"n/{number}")
        assert "n/0" in packed
        other.update("0", content="a blue dog")
        assert not store.recall("cat", namespace="n/0", mode="keyword")
        assert store.recall("dog", namespace="n/0", mode="keyword")


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_same_whatever_another_process_changed(
    path: Path, clock: Clock, seed: int, packed: list[Scope], unpacked: list[Scope]
) -> None:
    dice = random.Random(seed)
    with (
        MemoryStore(path, embedder=HashEmbedder(16), clock=clock, max_resident=BOUND) as store,
        MemoryStore(path, embedder=HashEmbedder(16), clock=clock) as other,
    ):
        ids = fill(store, dice, clock.now)
        for _ in range(120):
            assert_three_as_ever(store, dice, clock)
            for _ in range(dice.choice([0, 0, 1, 3])):
                write(other, dice, ids, clock.now)
                other.recall("red", k=dice.randrange(1, 4), namespace=f"n/{dice.randrange(9)}")
    assert len(packed) > len(unpacked) > 20


def test_another_process_changes_nothing_elsewhere(path: Path, unpacked: list[Scope]) -> None:
    with (
        MemoryStore(path, embedder=HashEmbedder(16), max_resident=BOUND) as store,
        MemoryStore(path, embedder=HashEmbedder(16)) as other,
    ):
        for number in range(9):
            store.store("a red cat", id=str(number), namespace=f"n/{number}")
            store.recall("cat", namespace=f"n/{number}", touch=False)
        other.store("a blue dog", namespace="n/1")
        assert store.recall("cat", namespace="n/0", touch=False)
        assert unpacked == ["n/0"]


def test_ten_memories_take_less_than_ten_kilobytes() -> None:
    with MemoryStore(max_resident=1 << 20) as store:
        for number in range(150):
            texts = [f"{WORDS[n]} number {number} is word {n} of {number + n}" for n in range(10)]
            store.store_many(texts, namespace=f"n/{number}")
        for number in range(150):
            store.recall("a red cat", namespace=f"n/{number}")
        scopes = engine_of(store).index._scopes
        assert len(scopes.indexes) + len(scopes._packed) == 150
        assert len(scopes._packed) > 100
        assert scopes._packed_bytes < 10_000 * len(scopes._packed)
        assert store.stats().resident_bytes < 1 << 20


def test_a_thawed_block_is_the_tail_that_was_frozen() -> None:
    documents = [["a", "b", "a"], ["b", "c"], [], ["a"] * 300 + ["@ann"]]
    one, other = KeywordIndex(), KeywordIndex()
    for index in (one, other):
        index.extend(documents)
    one.freeze()
    one.thaw()
    for index in (one, other):
        index.extend([["c", "d"]])
    assert (one.tail_size, one.blocks, one.nbytes) == (5, [], other.nbytes)
    terms = ["a", "b", "c", "d", "@ann", "e"]
    for own, theirs in zip(one.postings(terms), other.postings(terms), strict=True):
        assert [np.array(part).tolist() for part in own] == [
            np.array(part).tolist() for part in theirs
        ]
    assert one.starting_with("") == other.starting_with("")
    empty = KeywordIndex()
    empty.thaw()
    assert (empty.size, empty.blocks) == (0, [])
