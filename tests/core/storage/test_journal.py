"""The journal tells every change, and every entry vouches for the one before it."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bethink import MemoryStore, ValidationError
from bethink.storage.journal import START, chain_hash, digest

from ...stored import alter
from ..storage.replay import assert_journal_is_state, unverified


@pytest.fixture
def store(path: Path) -> Iterator[MemoryStore]:
    ticks = itertools.count(1000)
    with MemoryStore(path, clock=lambda: next(ticks) + 0.1, durability="normal") as store:
        yield store


def live_through_everything(store: MemoryStore) -> None:
    """Make every kind of entry."""
    first = store.store("one", tags=["a"], metadata={"n": 1}, value={}, key="k", author="Ann")
    second = store.store("two", key="k", expires_at=4e9, vectors={"mine": [1, 2]})
    third, _ = store.store_many(["three", {"content": "", "value": [None, 0.1], "id": "v"}])
    store.recall("two")
    store.touch([second.id, third.id])
    store.update(second.id, content="two, changed", tags=["b", "c"], value=None, occurred_at=5.0)
    store.update(third.id, importance=0.9, namespace="else/where", metadata={"ü": "☃"})
    store.forget([first.id, third.id])
    store.touch(third.id)
    store.update(second.id, key=None)
    store.restore([first.id, third.id])
    store.touch(third.id)
    store.forget(where={"author": "Ann"}, namespace="default")


def test_replaying_the_journal_gives_the_records(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bethink.index.access_buffer.FLUSH_RECORDS", 1)
    live_through_everything(store)
    actions = {entry.action for entry in store.log(limit=None)}
    assert actions == {"store", "supersede", "update", "touch", "forget", "restore"}
    assert_journal_is_state(store)


def test_a_call_that_fails_leaves_no_entry(store: MemoryStore) -> None:
    store.store("one", id="r1")
    with pytest.raises(ValidationError):
        store.store_many(["two", {"content": "three", "id": "r1"}])
    with pytest.raises(LookupError):
        store.forget(["r1", "none"])
    assert [entry.action for entry in store.log()] == ["store"]
    assert_journal_is_state(store)


def test_reading_leaves_no_entry(store: MemoryStore) -> None:
    store.store("one", id="r1")
    store.recall("one")
    store.get("r1")
    store.all()
    assert len(store.log()) == 1


def test_every_entry_follows_from_the_one_before(store: MemoryStore, path: Path) -> None:
    live_through_everything(store)
    assert unverified(path) == []


@pytest.mark.parametrize("now", [1000, np.float64(1000.5), np.float32(1000.5)], ids=type)
def test_the_chain_holds_for_any_clock(path: Path, now: float) -> None:
    with MemoryStore(path, clock=lambda: now) as store:
        store.store("one")
        store.store("two")
    assert unverified(path) == []


def test_the_chain_goes_on_over_stores_and_rollbacks(path: Path) -> None:
    for content in ("one", "two"):
        with MemoryStore(path) as store, MemoryStore(path) as other:
            store.store(content, id=content)
            with pytest.raises(ValidationError):
                other.store(content, id=content)
            other.store(content)
    assert unverified(path) == []
    with MemoryStore(path) as store:
        assert_journal_is_state(store)


@pytest.mark.parametrize(
    "change",
    [
        "at = at + 1",
        "action = 'update'",
        "id = 'r2'",
        "namespace = 'other'",
        "was = 1",
        "row = row + 1",
        "digest = zeroblob(32)",
        "link = zeroblob(32)",
        "salt = zeroblob(16)",
        "changes = replace(changes, 'second', 'third')",
        "changes = NULL, salt = NULL, digest = zeroblob(32)",
    ],
)
def test_tampering_with_an_entry_shows(store: MemoryStore, path: Path, change: str) -> None:
    store.store_many({"content": word, "id": word} for word in ("first", "second", "last"))
    alter(path, f"UPDATE journal SET {change} WHERE seq = 2")
    assert 2 in unverified(path)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM journal WHERE seq = 2",
        "UPDATE journal SET seq = CASE seq WHEN 2 THEN 9 ELSE seq END",
        "INSERT INTO journal SELECT 4, at, action, id, namespace, was, row, digest, link, salt, "
        "changes, code FROM journal WHERE seq = 3",
    ],
    ids=["deleted", "moved", "repeated"],
)
def test_an_entry_removed_moved_or_repeated_shows(store: MemoryStore, path: Path, sql: str) -> None:
    store.store_many(["first", "second", "last"])
    alter(path, sql)
    assert unverified(path) != []


def test_erasing_what_entries_tell_leaves_the_chain_whole(store: MemoryStore, path: Path) -> None:
    store.store_many(["a secret", "another"])
    alter(path, "UPDATE journal SET salt = NULL, changes = NULL WHERE seq = 1")
    assert unverified(path) == []
    assert [entry.changes for entry in store.log()][1] == {}
    store.store("more")
    assert unverified(path) == []


def test_equal_changes_have_different_digests(
    store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bethink.storage.sql.writer.FULL_RECORDS_IN_256", 0)  # else by chance
    first = store.store("guess me")
    store.update(first.id, importance=0.9)
    store.update(first.id, importance=0.1)
    store.update(first.id, importance=0.9)
    with closing(sqlite3.connect(path)) as connection:
        told = connection.execute("SELECT digest, salt, changes FROM journal").fetchall()
    assert len({digest for digest, _, _ in told}) == len({salt for _, salt, _ in told}) == 4
    assert len({changes for _, _, changes in told}) == 3


def test_the_first_link_starts_from_nothing() -> None:
    columns = (1, 0.0, "store", "r1", "default", None, 1)
    assert (len(START), len(chain_hash(START, columns, digest(b"", "{}")))) == (32, 32)
    assert chain_hash(START, columns, digest(b"", "{}")) != chain_hash(
        START, columns, digest(b"", "[]")
    )
