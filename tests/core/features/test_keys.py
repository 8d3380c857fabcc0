"""Ranges of keys, and writes on a condition."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bethink import MemoryRecord, MemoryStore, NotFoundError, ValidationError
from bethink.adapting import (
    Held,
    forget_if,
    keys_between,
    store_if,
    update_all,
    update_if,
)


def test_a_range_has_its_lower_bound_and_not_its_upper(store: MemoryStore) -> None:
    for key in ("b", "a", "d", "c"):
        store.store(f"value of {key}", key=key)
    store.store("elsewhere", key="b", namespace="other")
    assert [each.key for each in keys_between(store, "default", "a", "c")] == ["a", "b"]
    assert [each.key for each in keys_between(store, "default", "a", "d", last=1)] == ["c"]
    assert keys_between(store, "default", "e", "f", last=1) == []


def test_a_write_is_refused_as_a_whole_unless_the_condition_holds(store: MemoryStore) -> None:
    def first_is_there(held: Held) -> bool:
        return held.by_key("notes", "first") is not None

    items = [{"key": "second", "value": 2}, {"key": "third", "value": 3}]
    assert store_if(store, first_is_there, items, namespace="notes") is None
    assert store.count(namespace="notes") == 0
    store.store("one", key="first", namespace="notes")
    assert store_if(store, first_is_there, items, namespace="notes")
    assert store.count(namespace="notes") == 3


def test_a_condition_sees_what_was_erased_and_not_what_has_expired(store: MemoryStore) -> None:
    store.store("gone", id="a")
    store.store("old", key="k", expires_at=store.clock() - 1)
    seen: list[object] = []

    def look(held: Held) -> bool:
        seen.extend((held.is_erased("a"), held.is_erased("b"), held.by_key("default", "k")))
        return False

    store_if(store, look, [], namespace="default")
    store.erase("a")
    store_if(store, look, [], namespace="default")
    assert seen == [False, False, None, True, False, None]


def test_an_error_in_a_condition_is_raised(store: MemoryStore) -> None:
    def fail(held: Held) -> bool:
        raise NotFoundError("record", "a")

    with pytest.raises(NotFoundError):
        store_if(store, fail, [{"value": 1}], namespace="notes")
    assert store.count(namespace="notes") == 0


def test_records_are_forgotten_only_if_all_are_live(store: MemoryStore) -> None:
    ids = [record.id for record in store.store_many(["first", "second"], namespace="notes")]

    def are_there(held: Held) -> bool:
        return held.are_live(ids)

    store.forget(ids[0])
    assert store_if(store, are_there, [], namespace="notes", forget=ids) is None
    assert [record.content for record in store.all(namespace="notes")] == ["second"]
    store.restore(ids[0])
    assert store_if(store, are_there, [], namespace="notes", forget=ids) == []
    assert store.count(namespace="notes") == 0


def test_many_records_are_updated_in_one_transaction(store: MemoryStore) -> None:
    store.store_many([{"content": id, "id": id, "importance": 0.1} for id in ("a", "b", "c")])
    store.store("old", id="d", expires_at=store.clock() - 1)
    store.forget("b")
    changes = {id: {"category": f"of {id}"} for id in ("c", "b", "a", "d", "none")}
    updated = update_all(store, changes)
    assert [(each.id, each.category) for each in updated] == [("c", "of c"), ("a", "of a")]
    assert [store.get(each.id) for each in updated] == updated
    assert [entry.changes for entry in store.log(limit=2)] == [
        {"category": "of a"},
        {"category": "of c"},
    ]


def test_none_of_many_records_is_updated_if_a_change_is_refused(store: MemoryStore) -> None:
    store.store_many([{"content": id, "id": id, "key": id} for id in ("a", "b")])
    with pytest.raises(ValidationError, match="key 'b' is held"):
        update_all(store, {"a": {"key": "b", "category": "new"}})
    with pytest.raises(ValidationError, match="'content' together"):
        update_all(store, {"a": {"category": "new"}, "b": {"content": "new"}})
    assert [record.category for record in store.all()] == [None, None]


def test_a_record_is_changed_or_forgotten_only_while_it_is_as_expected(store: MemoryStore) -> None:
    id = store.store("The port is 80").id

    def says(text: str) -> Callable[[MemoryRecord], bool]:
        return lambda record: record.content == text

    assert update_if(store, says("The port is 90"), id, {"importance": 1.0}) is None
    assert not forget_if(store, says("The port is 90"), id)
    assert store.get(id).importance == 0.5  # type: ignore[union-attr]
    changed = update_if(store, says("The port is 80"), id, {"content": "The port is 90"})
    assert changed is not None
    assert forget_if(store, says("The port is 90"), id)
    with pytest.raises(NotFoundError):
        update_if(store, says("The port is 90"), id, {"importance": 1.0})
    with pytest.raises(NotFoundError):
        forget_if(store, says("The port is 90"), id)
