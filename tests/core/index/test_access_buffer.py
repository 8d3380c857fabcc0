from __future__ import annotations

from dataclasses import replace

import pytest

from bethink import MemoryRecord, Subtree
from bethink.index.access_buffer import AccessBuffer
from bethink.model.port import Changes, Row

ONE = MemoryRecord("1", "a", "x", 1.0, 1.0, 1.0)
OTHER = replace(ONE, id="2", access_count=3, last_accessed_at=50.0)


def noted(*times: float) -> AccessBuffer:
    touches = AccessBuffer()
    for at in times:
        touches.add({"1": "a", "2": "a"}, at)
    return touches


def moved(row: int, before: str, after: str) -> Changes:
    live = Row(row, 1, replace(ONE, namespace=after), {})
    return Changes(row - 1, row, frozenset((row,)), (live,), frozenset((before, after)))


def test_accesses_are_counted_in() -> None:
    touches = noted(10.0, 70.0, 60.0)
    assert touches
    assert touches.count(replace(ONE)) == replace(ONE, access_count=3, last_accessed_at=70.0)
    assert touches.count(replace(OTHER)) == replace(OTHER, access_count=6, last_accessed_at=70.0)
    assert noted(10.0).count(replace(OTHER)).last_accessed_at == 50.0


def test_only_the_living_are_accessed() -> None:
    gone = replace(ONE, state="forgotten")
    assert noted(1.0).count(gone) == gone
    assert AccessBuffer().count(ONE) is ONE


def test_what_is_taken_is_gone_until_it_is_put_back() -> None:
    touches = noted(10.0, 20.0)
    taken = touches.take(0)
    assert set(taken) == {"1", "2"}
    assert not touches
    touches.add({"1": "a"}, 15.0)
    touches.put_back(taken)
    assert touches.unwritten() == {"1": (3, 20.0), "2": (2, 20.0)}
    assert touches.count(replace(ONE)) == replace(ONE, access_count=3, last_accessed_at=20.0)
    assert touches.count(replace(OTHER)).access_count == 5


def test_accesses_are_due_when_they_are_many_or_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bethink.index.access_buffer.FLUSH_RECORDS", 3)
    touches = noted(10.0)
    assert touches.take(0, now=69.0) == {}
    touches.add({"1": "a"}, 40.0)
    assert touches.take(0, now=70.0) == {"1": (2, 40.0), "2": (1, 10.0)}
    touches.add(dict.fromkeys("123", "a"), 10.0)
    assert len(touches.take(0, now=10.0)) == 3


def test_what_is_taken_counts_until_it_is_seen_in_the_journal() -> None:
    touches = noted(10.0)
    taken = touches.take(base=7)
    touches.add({"1": "a"}, 20.0)
    assert touches.unwritten(head=7) == {"1": (2, 20.0), "2": (1, 10.0)}
    assert touches.unwritten(head=8) == {"1": (1, 20.0)}
    for head, count in ((7, 2), (8, 1)):
        (row,) = touches.counted([Row(3, 3, ONE, {})], head)
        assert row.record.access_count == count
    touches.written(taken)
    assert touches.unwritten(head=7) == {"1": (1, 20.0)}


def test_accesses_are_told_by_the_scope_that_their_record_is_in_now() -> None:
    touches = AccessBuffer()
    touches.add({"1": "a", "2": "b/c"}, 10.0)
    touches.follow(moved(3, "a", "b"))
    assert touches.unwritten("a") == {}
    assert touches.unwritten("b") == {"1": (1, 10.0)}
    assert touches.unwritten(Subtree("b")) == touches.unwritten() == dict.fromkeys("12", (1, 10.0))
    taken = touches.take(base=7)
    assert touches.unwritten("b", head=7) == {"1": (1, 10.0)}
    touches.written(taken)
    touches.follow(moved(4, "b", "a"))
    assert touches.unwritten() == {}


def test_accesses_of_a_record_that_is_perhaps_elsewhere_are_told_by_every_scope() -> None:
    touches = AccessBuffer()
    touches.add({"1": "a", "2": "b/c"}, 10.0)
    touches.follow(Changes(2, 3, frozenset((1, 3)), (), frozenset("ad")))
    assert touches.unwritten("d") == touches.unwritten("a") == {"1": (1, 10.0)}
    touches.follow(moved(4, "d", "a"))
    assert touches.unwritten("d") == {}
    touches.follow(Changes(4, 9, frozenset(), (), erased=None))
    assert touches.unwritten("d") == touches.unwritten()
