"""The latest records, and the counts by namespace and tags, as adapters ask for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, MemoryStore, Subtree, ValidationError
from bethink.adapting import Tally, latest, tallies

from ...stored import contents


@pytest.fixture(params=[{}, {"integrity_key": b"k" * 32, "anchor": False}], ids=["plain", "keyed"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    with MemoryStore(tmp_path / "memory.db", **request.param) as store:
        yield store


def test_the_latest_to_occur_come_first(store: MemoryStore) -> None:
    for text, when in (("noon", 2.0), ("night", 3.0), ("dawn", 1.0), ("midday", 2.0)):
        store.store(text, namespace="days/one", occurred_at=when)
    store.store("elsewhere", namespace="nights", occurred_at=9.0)
    store.store("expired", namespace="days", occurred_at=9.0, expires_at=1.0)
    found = latest(store, namespace=Subtree("days"), limit=9)
    assert [record.content for record in found] == ["night", "midday", "noon", "dawn"]
    page = latest(store, namespace=Subtree("days"), limit=2, offset=1)
    assert [record.content for record in page] == ["midday", "noon"]


def test_tallies_count_each_namespace_and_tags(store: MemoryStore) -> None:
    for when, tags in ((3.0, ["a"]), (1.0, ["a"]), (2.0, ["a", "b"])):
        store.store("text", namespace="crew/one", occurred_at=when, tags=tags)
    store.store("text", namespace="crew/two", occurred_at=5.0)
    store.forget(store.store("gone", namespace="crew").id)
    store.store("expired", namespace="crew", expires_at=1.0)
    found = tallies(store, namespace=Subtree("crew"))
    assert sorted(found, key=lambda each: (each.namespace, each.tags)) == [
        Tally("crew/one", ("a",), 2, 1.0, 3.0),
        Tally("crew/one", ("a", "b"), 1, 2.0, 2.0),
        Tally("crew/two", (), 1, 5.0, 5.0),
    ]


def test_the_past_tells_the_same(store: MemoryStore) -> None:
    store.store("old", occurred_at=1.0)
    store.store("new", occurred_at=2.0, tags=["a"])
    past = store.as_of(store.log(limit=1)[0].seq)._engine.backend
    store.forget(namespace="default")
    assert [record.content for record in past.latest(EVERYWHERE, 9, 0, 5.0)] == ["new", "old"]
    assert past.tallies(EVERYWHERE, 5.0) == [
        Tally("default", (), 1, 1.0, 1.0),
        Tally("default", ("a",), 1, 2.0, 2.0),
    ]


def test_a_count_follows_every_writer(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "a.db") as one, MemoryStore(tmp_path / "a.db") as other:
        kept = one.store("kept")
        assert (one.count(), other.count()) == (1, 1)
        other.store("new")
        assert one.count() == 2
        one.forget(kept.id)
        assert (one.count(), other.count()) == (1, 1)
        other.erase(namespace="default")
        assert (one.count(), other.count()) == (0, 0)


def test_ids_are_forgotten_where_the_other_criteria_hold(store: MemoryStore) -> None:
    ids = [store.store(text, namespace=name).id for text, name in (("a", "x"), ("b", "y"))]
    assert store.forget(ids, namespace="x", where={"author": "Ann"}) == 0
    assert store.forget(ids, namespace="x") == 1
    assert contents(store, EVERYWHERE) == ["b"]


def test_wrong_arguments_are_refused(store: MemoryStore) -> None:
    for wrong in ({"limit": -1}, {"limit": 1, "offset": -1}, {"limit": 1, "namespace": ""}):
        with pytest.raises(ValidationError):
            latest(store, **{"namespace": "default", **wrong})  # type: ignore[arg-type]
