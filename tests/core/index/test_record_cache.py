"""What was read last is kept, within a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.index.record_cache import AHEAD, RecordCache, VectorCache
from bethink.model.arrays import Column


class Shelf:
    """What there is to read, and what was read of it."""

    def __init__(self, **held: str) -> None:
        self.held = {int(row.removeprefix("row")): text for row, text in held.items()}
        self.read: list[list[int]] = []

    def __call__(self, rows: list[int]) -> Mapping[int, str]:
        self.read.append(rows)
        return {row: self.held[row] for row in rows if row in self.held}

    def of(self, kept: RecordCache[str], *rows: int, count: int = 1000) -> dict[int, str]:
        """Ask *kept* for *rows*, of so many there are."""
        return kept.of(rows, self, count, lambda: list(self.held))


def test_what_was_read_is_not_read_again() -> None:
    shelf, kept = Shelf(row1="a", row2="b", row3="c"), RecordCache[str](100, len)
    assert shelf.of(kept, 2, 1) == {2: "b", 1: "a"}
    assert list(shelf.of(kept, 3, 1, 2)) == [3, 1, 2]
    assert shelf.read == [[2, 1], [3]]


def test_what_is_not_there_is_asked_for_again() -> None:
    shelf, kept = Shelf(row1="a"), RecordCache[str](100, len)
    assert shelf.of(kept, 1, 2) == {1: "a"}
    shelf.held[2] = "b"
    assert shelf.of(kept, 1, 2) == {1: "a", 2: "b"}


def test_what_is_not_there_wants_no_room() -> None:
    shelf, kept = Shelf(row1="a", row2="bb"), RecordCache[str](2, len)
    shelf.of(kept, 1)
    assert shelf.of(kept, 2, 3) == {2: "bb"}
    assert kept.nbytes == 2


def test_what_is_forgotten_is_read_again() -> None:
    shelf, kept = Shelf(row1="a"), RecordCache[str](100, len)
    shelf.of(kept, 1)
    shelf.held[1] = "news"
    kept.forget(1)
    kept.forget(7)
    assert (kept.nbytes, shelf.of(kept, 1), kept.nbytes) == (0, {1: "news"}, 4)


def test_all_room_is_used() -> None:
    shelf, kept = Shelf(row1="aaa", row2="bb"), RecordCache[str](5, len)
    for row in (1, 2, 1):
        shelf.of(kept, row)
    assert shelf.read == [[1], [2]]


def test_where_room_is_wanting_only_what_is_asked_for_stays() -> None:
    shelf, kept = Shelf(row1="aaa", row2="bb", row3="c", row4="ddddddddd"), RecordCache[str](5, len)
    shelf.of(kept, 1, 2)
    assert kept.nbytes == 5
    assert shelf.of(kept, 2, 3) == {2: "bb", 3: "c"}
    assert kept.nbytes == 3
    assert shelf.of(kept, 4, 3) == {4: "ddddddddd", 3: "c"}
    assert (shelf.of(kept, 1), kept.nbytes) == ({1: "aaa"}, 3)


def test_all_is_read_once_a_part_of_it_was_read_bit_by_bit() -> None:
    shelf, kept = Shelf(row1="a", row2="b", row3="c", row4="d"), RecordCache[str](100, len)
    for row in (1, 1, 2, 3):
        shelf.of(kept, row, count=2 * AHEAD)
    assert shelf.read == [[1], [2], [3], [4]]
    kept.forget(1)
    shelf.of(kept, 1, count=AHEAD)
    assert shelf.read[4:] == [[1]]


def test_no_more_is_read_than_there_is_room_for() -> None:
    for count, expected in ((11, [[1], [2]]), (10, [[1], [2], [3]])):
        shelf, kept = Shelf(row1="aa", row2="aa", row3="a"), RecordCache[str](20, len)
        shelf.of(kept, 1, count=count)
        shelf.of(kept, 2, count=count)
        assert shelf.read == expected


def test_where_nothing_is_found_it_is_not_known_what_all_would_take() -> None:
    shelf, kept = Shelf(row2="b"), RecordCache[str](1000, len)
    for _ in range(2):
        assert shelf.of(kept, 1, count=1) == {}
    assert shelf.read == [[1], [1]]


class Vectors:
    """Vectors of one number by position, of which *most* have room, and which were read."""

    def __init__(self, most: int, size: int) -> None:
        self.kept = VectorCache(1, 8 * most)
        self.numbers = np.empty(0)
        self.read: list[list[int]] = []
        self.append(size)

    def append(self, count: int) -> None:
        """Append as many positions, with new numbers."""
        start = self.numbers.max(initial=-1) + 1
        self.numbers = np.append(self.numbers, np.arange(start, start + count))
        self.kept.append(count)

    def __call__(self, positions: Column) -> npt.NDArray[np.float64]:
        self.read.append(positions.tolist())
        return self.numbers[positions, None]

    def of(self, positions: Sequence[int], count: int = 1000) -> list[float]:
        """Ask for the vectors of *positions*, of so many there are."""
        asked = np.array(positions, dtype=np.int64)
        found = self.kept.of(asked, self, count, lambda: np.arange(len(self.numbers)))
        numbers: list[float] = found[:, 0].tolist()
        return numbers


def test_vectors_are_read_once_and_then_all_at_once() -> None:
    vectors = Vectors(AHEAD, 6)
    assert vectors.kept.nbytes > 0
    assert vectors.of([4, 1]) == [4, 1]
    assert vectors.of([1, 2, 4]) == [1, 2, 4]
    assert vectors.of([5], count=AHEAD) == [5]
    assert vectors.read == [[4, 1], [2], [5], [0, 3]]
    assert vectors.of([0, 3, 5], count=AHEAD) == [0, 3, 5]
    assert len(vectors.read) == 4


def test_more_vectors_than_there_is_room_for_are_read_bit_by_bit() -> None:
    vectors = Vectors(3, 6)
    for asked in ([0, 1], [1, 2], [2, 3], [0, 1, 2, 3, 4]):
        assert vectors.of(asked, count=4) == asked
    assert vectors.read == [[0, 1], [2], [3], [0, 1, 4]]
    assert vectors.of([5]) == [5]
    many = Vectors(AHEAD - 2, AHEAD)
    for position in (0, 1, 2):
        many.of([position], count=AHEAD - 1)
    assert many.read == [[0], [1], [2]]


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
            kept = np.array(step[:10])
            vectors.kept.keep(kept)
            vectors.numbers = vectors.numbers[kept]
            vectors.append(10 - len(vectors.numbers))
        else:
            asked, count = sorted(step), most if 3 in step else 1000
            assert vectors.of(asked, count) == vectors.numbers[asked].tolist()
