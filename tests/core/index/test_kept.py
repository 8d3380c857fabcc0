"""What was read last is kept, within a bound."""

from __future__ import annotations

from collections.abc import Mapping

from bethink.index.kept import AHEAD, Kept


class Shelf:
    """What there is to read, and what was read of it."""

    def __init__(self, **held: str) -> None:
        self.held = {int(row.removeprefix("row")): text for row, text in held.items()}
        self.read: list[list[int]] = []

    def __call__(self, rows: list[int]) -> Mapping[int, str]:
        self.read.append(rows)
        return {row: self.held[row] for row in rows if row in self.held}


def test_what_was_read_is_not_read_again() -> None:
    shelf, kept = Shelf(row1="a", row2="b", row3="c"), Kept(100, len)
    assert kept.of([2, 1], shelf) == {2: "b", 1: "a"}
    assert list(kept.of([3, 1, 2], shelf)) == [3, 1, 2]
    assert shelf.read == [[2, 1], [3]]


def test_what_is_not_there_is_asked_for_again() -> None:
    shelf, kept = Shelf(row1="a"), Kept(100, len)
    assert kept.of([1, 2], shelf) == {1: "a"}
    shelf.held[2] = "b"
    assert kept.of([1, 2], shelf) == {1: "a", 2: "b"}


def test_what_is_forgotten_is_read_again() -> None:
    shelf, kept = Shelf(row1="a"), Kept(100, len)
    kept.of([1], shelf)
    shelf.held[1] = "news"
    kept.forget(1)
    kept.forget(7)
    assert (kept.nbytes, kept.of([1], shelf), kept.nbytes) == (0, {1: "news"}, 4)


def test_where_room_is_wanting_only_what_is_asked_for_stays() -> None:
    shelf, kept = Shelf(row1="aaa", row2="bb", row3="c", row4="ddddddddd"), Kept(5, len)
    kept.of([1, 2], shelf)
    assert kept.nbytes == 5
    assert kept.of([2, 3], shelf) == {2: "bb", 3: "c"}
    assert kept.nbytes == 3
    assert kept.of([4, 3], shelf) == {4: "ddddddddd", 3: "c"}
    assert (kept.of([1], shelf), kept.nbytes) == ({1: "aaa"}, 3)


def test_all_is_wanted_once_a_part_of_it_was_read_bit_by_bit() -> None:
    shelf, kept = Shelf(row1="a", row2="b", row3="c"), Kept(100, len)
    assert not kept.wants_all(2 * AHEAD)
    kept.of([1], shelf)
    assert not kept.wants_all(2 * AHEAD)
    kept.of([1, 2, 7], shelf)
    assert kept.wants_all(2 * AHEAD)
    assert not kept.wants_all(2 * AHEAD)
    kept.of([2, 3], shelf)
    assert kept.wants_all(AHEAD)


def test_no_more_is_wanted_than_there_is_room_for() -> None:
    shelf, kept = Shelf(row1="aa", row2="aa", row3="a"), Kept(20, len)
    kept.of([1, 2], shelf)
    assert not kept.wants_all(11)
    kept.of([3], shelf)
    assert kept.wants_all(12)


def test_what_was_all_forgotten_has_no_known_size() -> None:
    shelf, kept = Shelf(row1="a"), Kept(1000, len)
    kept.of([1], shelf)
    kept.forget(1)
    assert not kept.wants_all(1)
