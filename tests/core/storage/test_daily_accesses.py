"""Old accesses are kept by the day: recalls leave little behind, and the present is exact."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, HashEmbedder, MemoryStore
from bethink.storage.sql import writer

from ...stored import alter
from ..clock import Clock
from .replay import unverified

DAY = 86_400.0
KEY = b"sixteen bytes or more"
EXACT = 4


@pytest.fixture(autouse=True)
def _few_entries_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "EXACT_ENTRIES", EXACT)


@pytest.fixture
def clock() -> Clock:
    return Clock(100 * DAY)


@pytest.fixture(params=[None, KEY], ids=["plain", "keyed"])
def store(request: pytest.FixtureRequest, path: Path, clock: Clock) -> MemoryStore:
    return opened(path, clock, request.param)


def opened(path: Path, clock: Clock, key: bytes | None = None) -> MemoryStore:
    return MemoryStore(
        path, embedder=HashEmbedder(16), clock=clock, integrity_key=key, durability="normal"
    )


def touch(store: MemoryStore, clock: Clock, *ids: str, seconds: float = 100.0) -> None:
    """Touch records, and have the touch written by a later write."""
    store.touch(ids)
    clock.now += seconds
    store.store("a write", namespace="writes")


def count(store: MemoryStore, id: str, as_of: int | float | str | None = None) -> int:
    record = (store if as_of is None else store.as_of(as_of)).get(id)
    assert record is not None
    return record.access_count


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_many_recalls_of_a_day_leave_one_access_of_each_record(
    store: MemoryStore, path: Path, clock: Clock
) -> None:
    with store:
        store.store_many({"content": f"note {id}", "id": id} for id in "ab")
        for _ in range(30):
            touch(store, clock, "a", "b")
        assert (count(store, "a"), count(store, "b")) == (30, 30)
        noted = rows(path, "SELECT ordinal, max(count), count(*) FROM accesses GROUP BY 1")
        assert [most for _, most, _ in noted] == [30, 30]
        assert all(0 < held <= 2 * EXACT + 1 for *_, held in noted)  # type: ignore[operator]
        told = "SELECT count(*) FROM journal WHERE action = 'touch' AND changes IS NOT NULL"
        assert rows(path, told)[0][0] <= 2 * EXACT  # type: ignore[operator]
        assert unverified(path) == []
        assert store.verify().ok


def test_a_long_past_is_thinned_in_steps(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path, clock) as store:
        store.store("a note", id="a")
        with monkeypatch.context() as patch:
            patch.setattr(writer, "EXACT_ENTRIES", 10**6)
            for _ in range(40):
                touch(store, clock, "a")
        assert rows(path, "SELECT count(*) FROM accesses") == [(40,)]
        left: list[Any] = []
        for _ in range(12):
            touch(store, clock, "a")
            left += rows(path, "SELECT count(*) FROM accesses")[0]
        steps = [before - after for before, after in pairwise(left)]
        assert 0 < max(steps) <= 2 * EXACT
        assert (left[-1], count(store, "a")) == (EXACT + 1, 52)
        assert store.verify().ok


def test_an_earlier_day_and_a_snapshot_keep_their_counts(store: MemoryStore, clock: Clock) -> None:
    with store:
        store.store("a note", id="a")
        ends = []
        for _ in range(4):
            for _ in range(6):
                touch(store, clock, "a")
            ends.append(store.log(limit=1)[0].seq)
            clock.now = (clock.now // DAY + 1) * DAY
        touch(store, clock, "a")
        store.snapshot("then")
        for _ in range(20):
            touch(store, clock, "a")
        assert [count(store, "a", seq) for seq in ends] == [6, 12, 18, 24]
        assert (count(store, "a", "then"), count(store, "a")) == (25, 45)
        assert store.verify().ok


def test_the_last_entries_stay_exact(store: MemoryStore, clock: Clock) -> None:
    with store:
        store.store("a note", id="a")
        for _ in range(20):
            touch(store, clock, "a")
        last = [entry.seq for entry in store.log(limit=EXACT) if entry.action == "touch"]
        assert [count(store, "a", seq) for seq in last] == [20, 19]


def test_counts_that_a_merge_adds_up_stay_between_old_touches(
    store: MemoryStore, clock: Clock
) -> None:
    with store:
        store.store("The office key lies in the drawer", id="a")
        store.store("The office key lies in the drawer.", id="b")
        for _ in range(5):
            touch(store, clock, "a", "b")
        assert len(store.consolidate()) == 1
        (kept,) = store.all()
        for _ in range(20):
            touch(store, clock, kept.id)
        assert count(store, kept.id) == 30
        assert store.verify().ok


def test_an_export_tells_the_accesses_that_are_left(
    store: MemoryStore, path: Path, clock: Clock
) -> None:
    with store:
        store.store("a note", id="a")
        store.store("a second note", id="b", namespace="else")
        for _ in range(8):
            touch(store, clock, "a", "b")
        store.erase("b")
        clock.now += DAY
        for _ in range(8):
            touch(store, clock, "a")
        for namespace in ("default", EVERYWHERE):
            file = io.StringIO()
            store.export(file, namespace=namespace)
            file.seek(0)
            with opened(path.with_name(f"{namespace}.db"), clock) as other:
                other.import_(file)
                assert other.get("a") == store.get("a")
                assert other.verify().ok
                day = (clock.now - DAY) // DAY * DAY
                assert count(other, "a", day) == count(store, "a", day)


def test_a_process_far_behind_learns_of_touches_that_are_empty(path: Path, clock: Clock) -> None:
    for namespace in ("default", EVERYWHERE):
        with opened(path, clock) as reader, opened(path, clock) as other:
            id = other.store("the whale sings", namespace="default").id
            assert reader.recall("whale", namespace=namespace, touch=False)
            for _ in range(20):
                touch(other, clock, id)
            hit = reader.recall("whale sings", namespace=namespace, touch=False)[0]
            assert hit.memory.access_count == 20
            other.erase(id)


def test_compacting_goes_on_after_thinning(store: MemoryStore, clock: Clock) -> None:
    with store:
        store.store("a note", id="a")
        for _ in range(20):
            touch(store, clock, "a")
        store.compact(before=clock.now - 1)
        for _ in range(20):
            touch(store, clock, "a")
        assert count(store, "a") == 40
        assert store.verify().ok
        file = io.StringIO()
        store.export(file)
        assert file.tell()


def test_a_count_that_falls_is_damage(path: Path, clock: Clock) -> None:
    with opened(path, clock) as store:
        store.store("a note", id="a")
        for _ in range(4):
            for _ in range(4):
                touch(store, clock, "a")
            clock.now += DAY
        assert store.verify().ok
        alter(path, "UPDATE accesses SET count = 99 WHERE seq = (SELECT min(seq) FROM accesses)")
        assert {problem.kind for problem in store.verify().problems} >= {"access"}


def test_an_emptied_touch_that_is_young_is_damage(path: Path, clock: Clock) -> None:
    with opened(path, clock) as store:
        store.store("a note", id="a")
        for _ in range(20):
            touch(store, clock, "a")
        alter(
            path,
            "UPDATE journal SET salt = NULL, changes = NULL WHERE action = 'touch' AND seq > "
            f"{store.log(limit=1)[0].seq - EXACT}",
        )
        problems = "\n".join(map(str, store.verify().problems))
    assert "what it told is gone, though nothing was erased" in problems


def test_entries_that_tell_whole_records_agree_with_thinned_accesses(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "FULL_RECORDS_IN_256", 256)
    with opened(path, clock) as store:
        store.store("a note", id="a")
        for n in range(20):
            touch(store, clock, "a")
            store.update("a", importance=n / 20)
        middle = store.log(id="a", limit=None)[10].seq
        assert count(store, "a", middle) == 10
        assert store.verify().ok
