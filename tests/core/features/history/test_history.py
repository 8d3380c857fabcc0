"""What changed between two moments, and every version of a fact."""

from __future__ import annotations

from typing import Any

import pytest

from bethink import EVERYWHERE, KeyedMemory, MemoryStore, Version

from ...clock import Clock
from ..past.conftest import contents


def test_a_diff_tells_what_came_changed_and_went(store: MemoryStore) -> None:
    kept, gone = store.store_many(["kept", "gone"])
    store.touch([kept.id])
    store.snapshot("before")
    store.update(kept.id, metadata={"a": 1}, importance=0.9)
    store.forget(gone.id)
    new = store.store("new")
    short = store.store("short")
    store.forget(short.id)
    diff = store.diff("before")
    assert (diff.added, contents(list(diff.removed))) == ((new,), ["gone"])
    assert [change.fields for change in diff.changed] == [("importance", "metadata")]
    back = store.diff(diff.until, diff.since)
    assert (contents(list(back.added)), back.removed) == (["gone"], (new,))
    assert diff.changed[0].before == back.changed[0].after


def test_a_diff_holds_as_soon_as_anything_differs(store: MemoryStore) -> None:
    record = store.store("one")
    store.update(record.id, importance=0.9)
    store.forget(record.id)
    assert [bool(store.diff(*pair)) for pair in ((0, 1), (1, 2), (2, 3))] == [True, True, True]
    assert not store.diff(2, 2)


def test_what_moved_went_from_one_namespace_and_came_to_another(store: MemoryStore) -> None:
    record = store.store("one", namespace="a")
    moved = store.update(record.id, namespace="b")
    left, entered, both = (store.diff(1, namespace=name) for name in ("a", "b", EVERYWHERE))
    assert (left.added, left.changed, left.removed) == ((), (), (record,))
    assert (entered.added, entered.changed, entered.removed) == ((moved,), (), ())
    assert [change.fields for change in both.changed] == [("namespace",)]


def test_accesses_alone_are_no_difference(store: MemoryStore) -> None:
    record = store.store("one")
    store.touch(record.id)
    store.snapshot("later")
    assert not store.diff(1)
    assert not store.diff(1, namespace="none")
    assert store.diff(0)


def test_what_expired_in_between_is_gone(store: MemoryStore, clock: Clock) -> None:
    store.store("short", expires_at=1500.0)
    store.store("gone before", expires_at=900.0)
    store.store("later", expires_at=3000.0)
    clock.now = 2000.0
    assert contents(list(store.diff(0, 3).added)) == ["short", "later"]
    assert contents(list(store.diff(3).removed)) == ["short"]
    assert contents(list(store.diff(2000.0, 1000.0).added)) == ["short"]
    assert not store.diff(3, namespace="other").removed


def test_an_audit_tells_every_value_and_what_replaced_it(store: MemoryStore, clock: Clock) -> None:
    dark = store.store("dark", key="theme")
    clock.now = 2000.0
    light = store.store("light", key="theme")
    store.update(light.id, importance=0.9)
    clock.now = 3000.0
    store.update(light.id, content="lighter")
    store.forget(light.id)
    assert store.audit("theme") == [
        Version(dark.id, "dark", None, 1, 1000.0, 2, 2000.0, "supersede", light.id),
        Version(light.id, "light", None, 3, 2000.0, 5, 3000.0, "update", light.id),
        Version(light.id, "lighter", None, 5, 3000.0, 6, 3000.0, "forget", None),
    ]
    known = store.audit("theme", as_of=1500.0)
    assert known == [Version(dark.id, "dark", None, 1, 1000.0)]
    assert store.audit("theme", namespace="b") == store.audit("none") == []


@pytest.mark.parametrize(
    ("old", "new"),
    [(1, True), (1, 1.0), ([0.0], [-0.0]), ({"a": 0, "b": 1}, {"b": 1, "a": 0})],
)
def test_json_that_is_equal_but_other_is_a_change(store: MemoryStore, old: Any, new: Any) -> None:
    id = store.store("", key="k", value=old, metadata={"m": old}).id
    store.update(id, value=new, metadata={"m": new})
    assert repr(store.log(limit=1)[0].changes["value"]) == repr(new)
    assert store.diff(1).changed[0].fields == ("value", "metadata")
    assert [repr(each.value) for each in store.audit("k")] == [repr(old), repr(new)]
    store.update(id, importance=0.9)
    assert repr(store.as_of(2).all()[0].metadata) == repr({"m": new})
    assert repr(store.undo(2).value) == repr(old)


def test_an_audit_follows_a_fact_through_keys_and_namespaces(store: MemoryStore) -> None:
    record = store.store("", value=1, key="a")
    store.update(record.id, key="b")
    store.update(record.id, namespace="other")
    store.update(record.id, namespace="default", value=2)
    assert {each.content for each in store.audit("b")} == {""}
    assert [(each.value, each.seq, each.until_seq) for each in store.audit("b")] == [
        (1, 2, 3),
        (2, 4, None),
    ]
    assert [(each.value, each.until_seq) for each in store.audit("b", namespace="other")] == [
        (1, 4)
    ]


def test_an_audit_has_every_count_of_a_counter(store: MemoryStore) -> None:
    counter = KeyedMemory(store)
    for _ in range(5):
        counter.increment("n")
    versions = store.audit("n", namespace="working")
    assert [each.value for each in versions] == [1, 2, 3, 4, 5]
    assert len({each.id for each in versions}) == 1
