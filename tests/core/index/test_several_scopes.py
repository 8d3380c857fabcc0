"""One recall over several namespaces ranks all memories together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, MemoryStore, Subtree

SCOPE: list[str | Subtree] = ["users/ann", Subtree("shared")]
TEXTS = {
    "users/ann": "The cat sleeps in the garden",
    "users/bob": "The cat of Bob sleeps in the house",
    "shared": "Each cat has a bowl",
    "shared/rules": "No cat on the table",
}


@pytest.fixture
def store(path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(path) as store:
        store.store_many({"content": text, "namespace": name} for name, text in TEXTS.items())
        yield store


def found(store: MemoryStore, **options: Any) -> set[str]:
    hits = store.recall("cat", namespace=SCOPE, k=9, **options)
    return {hit.memory.namespace for hit in hits}


def test_scores_are_those_of_a_store_with_these_memories_alone(store: MemoryStore) -> None:
    with MemoryStore() as alone:
        kept = {name: text for name, text in TEXTS.items() if name != "users/bob"}
        alone.store_many({"content": text, "namespace": name} for name, text in kept.items())
        expected = alone.recall("cat in the garden", namespace=EVERYWHERE, k=9, now=2e9)
        hits = store.recall("cat in the garden", namespace=SCOPE, k=9, now=2e9)
    assert [hit.memory.content for hit in hits] == [hit.memory.content for hit in expected]
    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected])


def test_a_resident_scope_follows_writes_of_this_and_of_other_stores(
    store: MemoryStore, path: Path
) -> None:
    assert found(store) == {"users/ann", "shared", "shared/rules"}
    store.store("A cat is here, too", namespace="shared/new")
    with MemoryStore(path) as other:
        other.store("Another cat", namespace="shared/other")
        other.store("Not this cat", namespace="users/bob")
        other.forget(namespace="users/ann")
    assert found(store) == {"shared", "shared/rules", "shared/new", "shared/other"}
    store.erase(namespace="shared/new")
    assert found(store) == {"shared", "shared/rules", "shared/other"}


def test_the_past_knows_several_scopes(store: MemoryStore) -> None:
    before = store.snapshot("before")
    store.forget(namespace=SCOPE)
    assert found(store) == set()
    assert found(store, as_of=before) == {"users/ann", "shared", "shared/rules"}
    assert store.as_of(before).count(namespace=SCOPE) == 3


def test_every_verb_takes_several_scopes(store: MemoryStore) -> None:
    assert store.count(namespace=SCOPE) == len(store.all(namespace=SCOPE)) == 3
    assert "users/bob" not in store.namespaces(SCOPE)
    assert "Bob" not in store.pack("cat", namespace=SCOPE).text
    assert len(store.log(namespace=SCOPE)) == 3
    assert len(store.diff(0, namespace=SCOPE).added) == 3
    assert store.erase(namespace=SCOPE) == 3
    assert [record.namespace for record in store.all(namespace=EVERYWHERE)] == ["users/bob"]


def test_a_dropped_scope_is_read_again(path: Path) -> None:
    with MemoryStore(path, max_resident=1) as store:
        for name, text in TEXTS.items():
            store.store(text, namespace=name)
            assert name == "users/bob" or name in found(store)
            store.recall("cat", namespace="users/bob")


@pytest.mark.parametrize("scope", [str, Subtree])
def test_thousands_of_scopes_are_one_scope(store: MemoryStore, scope: Any) -> None:
    many = [scope(f"users/{number}") for number in range(100_000)] + [scope("users/ann")]
    assert store.count(namespace=many) == 1
    assert len(store.recall("cat", namespace=many)) == 1
    assert [entry.namespace for entry in store.log(namespace=many)] == ["users/ann"]


def test_a_long_list_of_subtrees_holds_what_is_or_was_below(store: MemoryStore) -> None:
    many: list[str | Subtree] = [Subtree(f"users/{number}") for number in range(30)]
    many += [Subtree("shared"), "users"]
    bob = store.all(namespace="users/bob")[0].id
    store.update(bob, namespace="shared/bob")
    before = store.snapshot("before")
    store.update(bob, namespace="shared1")
    assert list(store.namespaces(many)) == ["shared", "shared/rules"]
    assert "shared/bob" in store.as_of(before).namespaces(many)
    assert [entry.namespace for entry in store.log(namespace=many, limit=1)] == ["shared/bob"]
    assert store.erase(namespace=many) == 2
