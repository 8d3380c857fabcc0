"""What was just written is held, within a bound."""

from __future__ import annotations

import numpy as np

from bethink import HashEmbedder, MemoryStore
from bethink.index.recent_rows import RecentRows
from bethink.model.port import EMBEDDED, Row
from bethink.testing.contracts.samples import record

from ..inside import engine_of


def rows(*numbers: int) -> list[Row]:
    """Return rows whose vectors are parts of one matrix."""
    matrix = np.ones((len(numbers), 4), dtype=np.float32)
    return [
        Row(number, number, record(f"r{number}"), {EMBEDDED: vector})
        for number, vector in zip(numbers, matrix, strict=True)
    ]


def test_rows_are_held_until_they_are_forgotten() -> None:
    held = RecentRows()
    held.take(rows(1, 2, 3), in_part=False)
    held.forget([2, 9])
    held.trim()
    assert [(number, row.record.id) for number, row in held.rows.items()] == [(1, "r1"), (3, "r3")]


def test_no_matrix_is_held_for_the_sake_of_a_few_vectors() -> None:
    held = RecentRows()
    held.take(rows(1, 2, 3), in_part=False)
    held.forget([1])
    held.trim()
    assert [row.vectors[EMBEDDED].base for row in held.rows.values()] == [None, None]
    assert [row.vectors[EMBEDDED].tolist() for row in held.rows.values()] == 2 * [[1, 1, 1, 1]]


def test_beyond_the_bound_nothing_is_held_any_longer() -> None:
    held = RecentRows(most=5000)
    held.take(rows(1, 2, 3), in_part=False)
    held.forget([1])
    held.trim()
    assert list(held.rows) == [2, 3]
    held.take(rows(4, 5), in_part=False)
    assert list(held.rows) == [2, 3, 4, 5]
    held.trim()
    assert not held.rows
    held.take(rows(6), in_part=False)
    held.trim()
    assert list(held.rows) == [6]


def held_by(store: MemoryStore, most: int) -> RecentRows:
    """Return the rows that *store* holds, bounded by *most* bytes from now on."""
    held = engine_of(store).index._recent  # nothing public tells of them
    held._most = most
    return held


def test_a_batch_beyond_the_bound_is_not_held() -> None:
    with MemoryStore(embedder=HashEmbedder(16)) as store:
        held = held_by(store, 1_000_000)
        store.store_many([f"memory {n}" for n in range(40)])
        assert len(held.rows) == 40
        held_by(store, 5_000)
        store.store_many([f"other {n}" for n in range(40)])
        assert not held.rows
