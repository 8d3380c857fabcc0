"""Counts by namespace and tags, as adapters ask for counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, MemoryStore, Subtree
from bethink.adapting import Tally, tallies

from ...stored import contents


@pytest.fixture(params=[{}, {"integrity_key": b"k" * 32, "anchor": False}], ids=["plain", "keyed"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    with MemoryStore(tmp_path / "memory.db", **request.param) as store:
        yield store


def test_tallies_count_each_namespace_and_tags(store: MemoryStore) -> None:
    for when, tags in ((3.0, ["a"]), (1.0, ["a"]), (2.0, ["a", "b"])):
        store.store("text", namespace="crew/one", occurred_at=when, tags=tags)
    store.store("text", namespace="crew/two", occurred_at=5.0)
    store.forget(store.store("gone", namespace="crew").id)
    store.store("expired", namespace="crew", expires_at=-1e9)
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
