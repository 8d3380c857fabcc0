"""What was read last is kept, within a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.index import caches
from bethink.index.caches import READ_ALL_AFTER, RecordCache, VectorCache
from bethink.index.columns import Columns
from bethink.index.unit_vectors import directions
from bethink.model.port import Row
from bethink.model.records import MemoryRecord

from .shelf import Shelf

RECORD = MemoryRecord("1", "a", "x", 1.0, 1.0, 1.0)


def living(count: int) -> Columns:
    """Return columns of rows 1 to *count*."""
    columns = Columns()
    columns.append(count, row=np.arange(1, count + 1), live=True)
    return columns


class Records:
    """A cache of records that weigh as much as their text is long, of *live* rows."""

    def __init__(self, *texts: str, room: int, live: int = 1000) -> None:
        self.shelf, self.columns = Shelf(), living(live)
        for number, text in enumerate(texts, 1):
            self.put(number, text)
        self.cache = RecordCache(self.shelf, self.columns, room)

    def put(self, number: int, text: str) -> None:
        record = replace(RECORD, content=text)
        self.shelf.rows[number] = Row(number, number, record, {})

    def get(self, *rows: int) -> dict[int, str]:
        return {row: record.content for row, record in self.cache.get(rows).items()}


@pytest.fixture(autouse=True)
def weighed_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "record_bytes", lambda record: len(record.content))


def test_what_was_read_is_not_read_again() -> None:
    records = Records("a", "b", "c", room=100)
    assert records.get(2, 1) == {2: "b", 1: "a"}
    assert list(records.get(3, 1, 2)) == [3, 1, 2]
    assert records.shelf.read == [[2, 1], [3]]


def test_what_is_not_there_is_asked_for_again() -> None:
    records = Records("a", room=100)
    assert records.get(1, 2) == {1: "a"}
    records.put(2, "b")
    assert records.get(1, 2) == {1: "a", 2: "b"}


def test_what_is_not_there_wants_no_room() -> None:
    records = Records("a", "bb", room=2)
    records.get(1)
    assert records.get(2, 3) == {2: "bb"}
    assert records.cache.nbytes == 2


def test_what_comes_along_a_second_time_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    records = Records("a", "bb", room=100)
    monkeypatch.setattr(records.shelf, "records", lambda _: whole(records.shelf))
    records.get(1)
    records.put(3, "ccc")
    assert records.get(3) == {3: "ccc"}
    assert records.cache.nbytes == 6


def whole(shelf: Shelf) -> dict[int, MemoryRecord]:
    return {row.row: row.record for row in shelf.rows.values()}


def test_what_is_forgotten_is_read_again() -> None:
    records = Records("a", room=100)
    records.get(1)
    records.put(1, "news")
    records.cache.forget(1)
    records.cache.forget(7)
    assert (records.cache.nbytes, records.get(1), records.cache.nbytes) == (0, {1: "news"}, 4)


def test_all_room_is_used() -> None:
    records = Records("aaa", "bb", room=5)
    for row in (1, 2, 1):
        records.get(row)
    assert records.shelf.read == [[1], [2]]


def test_where_room_is_wanting_only_what_is_asked_for_stays() -> None:
    records = Records("aaa", "bb", "c", "ddddddddd", room=5)
    records.get(1, 2)
    assert records.cache.nbytes == 5
    assert records.get(2, 3) == {2: "bb", 3: "c"}
    assert records.cache.nbytes == 3
    assert records.get(4, 3) == {4: "ddddddddd", 3: "c"}
    assert (records.get(1), records.cache.nbytes) == ({1: "aaa"}, 3)


def test_all_is_read_once_a_part_of_it_was_read_bit_by_bit() -> None:
    records = Records(*"abcdef", room=1000, live=2 * READ_ALL_AFTER)
    for row in (1, 1, 2, 3):
        records.get(row)
    assert records.shelf.read == [[1], [2], [3], list(range(4, 2 * READ_ALL_AFTER + 1))]
    records.columns["live"][READ_ALL_AFTER:] = False
    for row in (1, 2):
        records.cache.forget(row)
        records.get(row)
    assert records.shelf.read[4:] == [[1], [2], list(range(7, READ_ALL_AFTER + 1))]


def test_no_more_is_read_than_there_is_room_for() -> None:
    for live, expected in ((11, [[1], [2]]), (10, [[1], [2], list(range(3, 11))])):
        records = Records("aa", "aa", "a", room=20, live=live)
        records.get(1)
        records.get(2)
        assert records.shelf.read == expected


def test_where_nothing_is_found_it_is_not_known_what_all_would_take() -> None:
    records = Records(room=1000, live=1)
    for _ in range(2):
        assert records.get(1) == {}
    assert records.shelf.read == [[1], [1]]


class Vectors:
    """A cache of vectors by position, with room for *most*; row n points to (n, 1)."""

    def __init__(self, most: int, size: int) -> None:
        self.shelf, self.columns = Shelf(), Columns()
        self.cache = VectorCache(self.shelf, self.columns, "v", 2, 16 * most)
        self.append(size)

    def append(self, count: int) -> None:
        start = max(self.shelf.rows, default=0) + 1
        for number in range(start, start + count):
            vector = np.array([number, 1], np.float32)
            self.shelf.rows[number] = Row(number, number, RECORD, {"v": vector})
        self.columns.append(count, row=np.arange(start, start + count), live=True)

    def keep(self, kept: Sequence[bool]) -> None:
        self.columns.keep(np.array(kept))
        self.cache.keep(np.array(kept))

    def get(self, *positions: int) -> list[int]:
        """Return the rows whose vectors are found for *positions*."""
        found = self.cache.get(np.array(positions))
        assert np.linalg.norm(found, axis=1) == pytest.approx(1.0)
        return [round(x / y) for x, y in found.tolist()]


def test_vectors_are_read_once_and_then_all_at_once() -> None:
    size = 3 * READ_ALL_AFTER
    vectors = Vectors(size, size)
    assert vectors.cache.nbytes > 0
    assert vectors.get(4, 1) == [5, 2]
    assert vectors.get(1, 2, 4) == [2, 3, 5]
    assert vectors.get(5) == [6]
    assert vectors.shelf.read == [[5, 2], [3], [6], [1, 4, *range(7, size + 1)]]
    assert vectors.get(0, 3, 50) == [1, 4, 51]
    assert len(vectors.shelf.read) == 4


def test_more_vectors_than_there_is_room_for_are_read_bit_by_bit() -> None:
    vectors = Vectors(3, 6)
    for asked in ([0, 1], [1, 2], [2, 3], [0, 1, 2, 3, 4]):
        assert vectors.get(*asked) == [position + 1 for position in asked]
    assert vectors.shelf.read == [[1, 2], [3], [4], [1, 2, 5]]
    assert vectors.get(5) == [6]


def test_vectors_left_out_take_no_room() -> None:
    vectors = Vectors(1000, 10)
    for _ in range(50):
        assert len(vectors.get(*range(10))) == 10
        vectors.keep([False] * 9 + [True])
        vectors.append(9)
    assert vectors.get(0) == [451]
    assert vectors.cache.nbytes < 5000
    assert vectors.shelf.read[-1] == list(range(443, 452))


@pytest.mark.parametrize("damaged", [[np.nan, 1.0], [np.inf, 1.0], [1.0, 2.0, 3.0]])
def test_a_damaged_vector_is_like_nothing(damaged: list[float]) -> None:
    vectors = Vectors(9, 2)
    vector = np.array(damaged, np.float32)
    vectors.shelf.rows[1] = Row(1, 1, RECORD, {"v": vector})
    found = vectors.cache.get(np.array([1, 0]))
    assert found.tolist() == [*directions(np.array([[2, 1]], np.float32)).tolist(), [0.0, 0.0]]


@pytest.mark.slow
@given(
    st.integers(1, 9),
    st.lists(st.sets(st.integers(0, 9), min_size=1) | st.lists(st.booleans(), min_size=10)),
)
def test_vectors_are_right_whatever_is_asked_and_left_out(
    most: int, steps: Sequence[set[int] | list[bool]]
) -> None:
    vectors = Vectors(most, 10)
    for step in steps:
        if isinstance(step, list):
            vectors.keep(step[:10])
            vectors.append(10 - vectors.columns.size)
        else:
            vectors.columns["live"][:] = 3 not in step  # few enough that all have room
            vectors.columns["live"][:most] = True
            rows = vectors.columns["row"][sorted(step)].tolist()
            assert vectors.get(*sorted(step)) == rows
