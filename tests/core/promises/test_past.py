"""What a store promises of its past, each promise in one short test."""

from __future__ import annotations

from pathlib import Path

import pytest

from bethink import MemoryStore, NotFoundError, ValidationError
from bethink.testing import FrozenClock


def contents(store: MemoryStore, when: str | int | float | None = None) -> list[str]:
    view = store if when is None else store.as_of(when)
    return [record.content for record in view.all()]


def test_supersession_by_key(store: MemoryStore) -> None:
    old = store.store("the office is in Lyon", key="office")
    store.snapshot("before")
    new = store.store("the office is in Graz", key="office")
    assert [hit.memory.id for hit in store.recall("where is the office?")] == [new.id]
    assert [hit.memory.id for hit in store.recall("the office", as_of="before")] == [old.id]
    superseded = store.get(old.id)
    assert superseded is not None
    assert (superseded.state, superseded.superseded_by) == ("superseded", new.id)
    assert [version.content for version in store.audit("office")] == [old.content, new.content]


def test_every_mutation_is_one_journal_entry_newest_first(store: MemoryStore) -> None:
    record, other = store.store_many(["a cat", "a dog"])
    for verb in (store.forget, store.restore, store.archive, store.unarchive):
        verb(record.id)
    store.update(record.id, importance=0.9)
    store.reinforce(record.id)
    store.record_outcome(record.id, "worked")
    store.relate(record.id, other.id, "about")
    store.erase(other.id)
    log = store.log()
    assert [entry.seq for entry in log] == list(range(len(log), 0, -1))
    actions = [entry.action for entry in log][::-1]
    assert actions[:9] == [
        *("store", "store", "forget", "restore", "archive", "unarchive"),
        *("update", "reinforce", "worked"),
    ]
    assert (actions[9], actions[-1]) == ("relate", "erase")


def test_snapshots_order_events_by_entry_and_not_by_clock(store: MemoryStore) -> None:
    clock = FrozenClock()
    with MemoryStore(clock=clock) as store:
        store.store("before")
        store.snapshot("then")
        store.store("in the same tick")
        clock.set(1_000.0)
        store.store("the clock went back")
        assert contents(store, "then") == ["before"]
        assert contents(store, 3) == ["before", "in the same tick"]
        diff = store.diff("then")
        assert [record.content for record in diff.added] == contents(store)[1:]
        with pytest.raises(ValidationError):
            store.snapshot("then")
        with pytest.raises(NotFoundError):
            store.as_of("no such moment")


def test_a_diff_tells_of_every_field(store: MemoryStore) -> None:
    record = store.store("a cat")
    store.snapshot("then")
    store.update(record.id, content="a dog", metadata={"n": 1}, namespace="default", importance=1)
    store.record_outcome(record.id, "worked")
    (change,) = store.diff("then").changed
    assert change.fields == ("content", "importance", "metadata", "outcome")
    (back,) = store.diff(store.log(limit=1)[0].seq, "then").changed
    assert (back.before, back.after) == (change.after, change.before)


def test_a_change_is_taken_back(store: MemoryStore) -> None:
    record = store.store("a cat", key="k")
    store.snapshot("then")
    store.store("a dog", key="k")
    store.undo(store.log(limit=1)[0].seq)
    found = store.get(key="k")
    assert found is not None
    assert found.id == record.id
    assert not store.diff("then")


def test_a_time_in_the_future_of_a_question_leaves_no_trace(path: Path) -> None:
    clock = FrozenClock()
    with MemoryStore(path, clock=clock) as store:
        record = store.store("a red cat")
        store.recall("red cat", now=clock() + 1e8)
        found = store.get(record.id)
        assert found is not None
        assert (found.access_count, found.last_accessed_at) == (1, clock())


def test_typed_relations_are_seen_from_both_ends(store: MemoryStore) -> None:
    cause, effect = store.store_many(["the disk is full", "the build fails"])
    store.relate(cause.id, effect.id, "causes")
    seen = [
        (each.memory.id, each.kind, each.direction)
        for record in (cause, effect)
        for each in store.related(record.id)
    ]
    assert seen == [(effect.id, "causes", "out"), (cause.id, "causes", "in")]
    assert store.related(cause.id, kind="solves") == store.related(cause.id, direction="in") == []
    with pytest.raises(NotFoundError):
        store.relate(cause.id, "unknown", "causes")
