"""Archived, expired, superseded by id, reinforced: the states between living and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from bethink import EVERYWHERE, KeyedMemory, MemoryStore, NotFoundError, ValidationError

from ..clock import Clock
from ..storage.replay import assert_journal_is_state
from .test_writing import actions, contents


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    numbers = count()
    with MemoryStore(clock=clock, new_id=lambda: f"{next(numbers):03d}") as store:
        yield store
        assert_journal_is_state(store)


def test_what_is_archived_is_hidden_and_comes_back(store: MemoryStore, clock: Clock) -> None:
    record = store.store("a red cat", key="k", vectors={"v": [1, 2]})
    store.recall("cat", touch=False)
    clock.now += 1
    assert store.archive([record.id, record.id]) == 1
    assert (store.all(), store.recall("cat"), store.namespaces(), store.count()) == ([], [], {}, 0)
    assert store.get(key="k") is None
    assert store.get(record.id) == replace(record, state="archived", updated_at=1001.0)
    assert store.unarchive(record.id) == 1
    assert store.get(key="k") == replace(record, updated_at=1001.0)
    assert len(store.recall("cat", touch=False)) == 1
    assert store.vectors(record.id, "v")[record.id].tolist() == [1, 2]
    assert actions(store) == ["store", "archive", "unarchive"]


def test_only_what_lives_is_archived_and_only_that_comes_back(store: MemoryStore) -> None:
    old, new = store.store("x", key="k"), store.store("y", key="k")
    gone, kept = store.store("z"), store.store("w")
    store.forget(gone.id)
    assert store.archive([old.id, new.id, gone.id]) == 1
    assert store.archive(new.id) == 0
    assert store.restore(new.id) == 0
    assert store.unarchive([old.id, new.id, gone.id, kept.id]) == 1
    assert store.all() == [new, kept]
    for verb in (store.archive, store.unarchive):
        with pytest.raises(NotFoundError):
            verb([kept.id, "unknown"])
    assert store.all() == [new, kept]


def test_an_archived_record_may_find_its_key_taken(store: MemoryStore) -> None:
    record = store.store("x", key="k")
    store.archive(record.id)
    other = store.store("y", key="k")
    with pytest.raises(ValidationError, match="held by"):
        store.unarchive(record.id)
    store.forget(other.id)
    assert store.unarchive(record.id) == 1


def test_what_is_archived_can_be_forgotten(store: MemoryStore) -> None:
    record = store.store("x")
    store.archive(record.id)
    assert store.forget(record.id) == 1
    assert store.unarchive(record.id) == 0
    assert store.restore(record.id) == 1
    assert store.all() == [record]


def test_what_has_expired_is_hidden_from_every_read(store: MemoryStore, clock: Clock) -> None:
    mortal = store.store("a red cat", key="k", expires_at=1010.0, namespace="a")
    store.store("a red dog", namespace="b")
    clock.now = 1009.9
    assert store.get(mortal.id) == store.get(key="k", namespace="a") == mortal
    assert store.namespaces() == {"a": 1, "b": 1}
    clock.now = 1010.0
    assert store.get(mortal.id) is store.get(key="k", namespace="a") is None
    assert (store.all(namespace="a"), store.count(namespace="a")) == ([], 0)
    assert store.namespaces() == {"b": 1}
    assert store.count(namespace=EVERYWHERE, where={"expires_at": {"$exists": True}}) == 0
    assert [hit.memory.namespace for hit in store.recall("red", namespace=EVERYWHERE)] == ["b"]
    assert actions(store) == ["store", "store"]


def test_pages_count_what_has_not_expired(store: MemoryStore, clock: Clock) -> None:
    for number in range(6):
        store.store(str(number), expires_at=1005.0 if number % 2 else None)
    clock.now = 1005.0
    assert contents(store, limit=2, offset=1) == ["2", "4"]
    assert contents(store, limit=1, order="newest") == ["4"]


def test_expiring_sweeps_what_has_expired(store: MemoryStore, clock: Clock) -> None:
    items = [{"content": f"cat {n}", "expires_at": 1000.0 + n} for n in range(1, 4)]
    store.store_many(items, namespace="a")
    store.store("cat for ever")
    assert store.expire() == 0
    clock.now = 1002.0
    assert store.expire() == 2
    assert store.expire() == 0
    assert (
        store.recall("cat 1", namespace="a", now=1000.5, mode="keyword", k=9)[0].memory.id == "002"
    )
    assert [entry.changes for entry in store.log(limit=2)] == [{"state": "forgotten"}] * 2
    assert actions(store)[4:] == ["expire", "expire"]


def test_restoring_lifts_an_expiry_that_has_passed(store: MemoryStore, clock: Clock) -> None:
    swept, due = (store.store("x", expires_at=time) for time in (1001.0, 1009.0))
    store.archive(due.id)
    clock.now = 1002.0
    store.expire()
    assert store.restore(swept.id) == 1
    assert store.unarchive(due.id) == 1
    assert [record.expires_at for record in store.all()] == [None, 1009.0]


def test_an_expiry_can_be_put_off_until_it_is_swept(store: MemoryStore, clock: Clock) -> None:
    record = store.store("x", expires_at=1001.0)
    clock.now = 1002.0
    assert store.update(record.id, expires_at=1009.0) == store.get(record.id)
    clock.now = 1009.0
    store.expire()
    with pytest.raises(NotFoundError):
        store.update(record.id, expires_at=None)


def test_what_has_expired_is_not_reinforced(store: MemoryStore, clock: Clock) -> None:
    record = store.store("x", expires_at=1001.0)
    clock.now = 1001.0
    with pytest.raises(NotFoundError):
        store.reinforce(record.id)
    assert actions(store) == ["store"]


GONE: dict[str, Callable[[MemoryStore], object]] = {
    "update": lambda store: store.update("old", importance=1.0),
    "keep": lambda store: store.resolve("old", ["new"]),
    "drop": lambda store: store.resolve("new", ["old"]),
    "relate": lambda store: store.relate("new", "old", "follows"),
    "record_outcome": lambda store: store.record_outcome("old", "worked"),
    "mark_useful": lambda store: store.mark_useful("old"),
}


@pytest.mark.parametrize("verb", GONE.values(), ids=GONE)
def test_what_has_expired_is_not_found_by_verbs(
    store: MemoryStore, clock: Clock, verb: Callable[[MemoryStore], object]
) -> None:
    store.store_many(
        [{"content": "x", "id": "old", "expires_at": 1001.0}, {"content": "y", "id": "new"}]
    )
    clock.now = 1001.0
    with pytest.raises(NotFoundError, match="'old'"):
        verb(store)
    assert actions(store) == ["store", "store"]


def test_what_has_expired_is_not_counted_by_verbs(store: MemoryStore, clock: Clock) -> None:
    mortal = {"content": "", "value": 5, "expires_at": 1001.0, "namespace": "working"}
    store.store_many({**mortal, "key": key, "id": key} for key in "abcd")
    store.archive("d")
    clock.now = 1001.0
    store.touch("a")
    assert store.archive("a") == 0
    assert store.update("a", expires_at=None).access_count == 0
    assert store.archive("a") == 1
    keyed = KeyedMemory(store)
    assert (store.forget(["b", "d"]), keyed.forget("c"), keyed.clear()) == (0, False, 0)
    assert store.restore(["b", "c", "d"]) == 3


def test_an_expired_record_stands_in_no_ones_way(store: MemoryStore, clock: Clock) -> None:
    store.store("x", key="k", expires_at=1001.0)
    store.store("y", key="l", expires_at=1001.0)
    other = store.store("z")
    clock.now = 1002.0
    assert store.update(other.id, key="k").key == "k"
    assert store.store("w", key="l").key == "l"
    store.update(other.id, expires_at=1002.0)
    store.store("v", supersedes=other.id)
    replacing = ["supersede", "store"]
    assert actions(store)[3:] == ["expire", "update", *replacing, "update", *replacing]


def test_a_keyed_value_that_has_expired_is_none(store: MemoryStore, clock: Clock) -> None:
    keyed = KeyedMemory(store, namespace="working")
    store.store("", value=5, key="n", namespace="working", expires_at=1001.0)
    clock.now = 1002.0
    assert keyed.recall("n") is None
    assert keyed.increment("n") == 1
    assert keyed.recall("n") == 1


def test_a_record_supersedes_another_by_its_id(store: MemoryStore, clock: Clock) -> None:
    old = store.store("red", namespace="a", key="k")
    clock.now += 1
    new = store.store("blue", supersedes=old.id)
    assert store.get(old.id) == replace(
        old, state="superseded", superseded_by=new.id, updated_at=1001.0
    )
    assert store.all(namespace=EVERYWHERE) == [new]
    assert (new.key, store.get(key="k", namespace="a")) == (None, None)
    assert actions(store) == ["store", "supersede", "store"]


def test_a_batch_that_supersedes_leaves_no_old_record_live(store: MemoryStore) -> None:
    old = store.store_many(["Tea at four", "Tea at five", "Tea at six"])
    new = store.store_many({"content": "No tea", "supersedes": each.id} for each in old)
    assert store.all() == new
    assert [store.get(each.id) for each in old] == [
        replace(each, state="superseded", superseded_by=heir.id)
        for each, heir in zip(old, new, strict=True)
    ]
    assert actions(store) == ["store"] * 3 + ["supersede", "store"] * 3


@pytest.mark.parametrize("replaced", [["a", "b"], ["b"]], ids=["all", "the last"])
def test_a_batch_of_keys_leaves_no_old_holder_live(store: MemoryStore, replaced: list[str]) -> None:
    for key in replaced:
        store.store(f"old {key}", key=key)
    new = store.store_many({"content": f"new {key}", "key": key} for key in "ab")
    assert store.all() == new
    assert len(store.all(state="superseded")) == len(replaced)


def test_a_batch_is_journaled_like_its_items_alone(store: MemoryStore, clock: Clock) -> None:
    keys = ["a", None, "held", "b", "b", None, "c", "a"]
    items = [{"content": f"number {at}", "key": key} for at, key in enumerate(keys)]
    numbers = count()
    with MemoryStore(clock=clock, new_id=lambda: f"{next(numbers):03d}") as other:
        for each in (store, other):
            each.store("held before", key="held")
        store.store_many(items)
        for item in items:
            other.store_many([item])
        assert store.log() == other.log()
        assert store.all(state="superseded") == other.all(state="superseded")


def test_what_is_superseded_by_id_may_hold_the_key(store: MemoryStore) -> None:
    old = store.store("red", key="k")
    chain = [{"content": "blue", "key": "k", "supersedes": old.id, "id": "b"},
             {"content": "green", "supersedes": "b"}]  # fmt: skip
    new = store.store_many(chain)[1]
    assert store.all() == [new]
    assert actions(store) == ["store", "supersede", "store", "supersede", "store"]


def test_only_what_lives_is_superseded(store: MemoryStore) -> None:
    old, other = store.store("red"), store.store("green")
    store.forget(other.id)
    store.store("blue", supersedes=old.id)
    for id in (old.id, other.id, "unknown"):
        with pytest.raises(NotFoundError) as caught:
            store.store_many(["fine", {"content": "black", "supersedes": id}])
        assert caught.value.id == id
    assert contents(store) == ["blue"]
    with pytest.raises(ValidationError, match="supersede"):
        store.update(store.all()[0].id, supersedes=old.id)  # type: ignore[call-arg]


def test_reinforcing_raises_the_importance_and_counts(store: MemoryStore, clock: Clock) -> None:
    record = store.store("a red cat", importance=0.3)
    store.recall("cat")
    clock.now += 5
    raised = store.reinforce(record.id)
    assert raised.importance == pytest.approx(0.4)
    assert (raised.access_count, raised.last_accessed_at) == (2, 1005.0)
    assert store.get(record.id) == raised
    clock.now += 5
    again = store.reinforce(record.id, 1)
    assert (again.importance, again.last_accessed_at) == (1.0, 1010.0)
    assert store.recall("cat", touch=False)[0].explain().signals["importance"] == 1.0
    assert actions(store) == ["store", "reinforce", "reinforce"]


@pytest.mark.parametrize("amount", [-0.1, 1.1, float("nan"), True, "1", None])
def test_reinforcing_never_leaves_the_range(store: MemoryStore, amount: float) -> None:
    record = store.store("x")
    with pytest.raises(ValidationError):
        store.reinforce(record.id, amount)
    for id in ("unknown", ""):
        with pytest.raises((NotFoundError, ValidationError)):
            store.reinforce(id)
    assert store.all() == [record]


def test_the_states_last(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        store.store_many([{"content": "a cat", "id": name} for name in "abc"])
        store.archive("a")
        store.reinforce("b", 0.5)
        store.store("a dog", supersedes="c", id="d")
    with MemoryStore(path) as store:
        assert [(record.id, record.importance) for record in store.all()] == [
            ("b", 1.0),
            ("d", 0.5),
        ]
        assert store.unarchive("a") == 1
