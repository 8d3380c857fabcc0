"""Taking away in a namespace that the store never had hints at the namespace that was meant."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from bethink import EVERYWHERE, AsyncMemoryStore, HashEmbedder, MemoryStore, Subtree

VERBS = ("forget", "erase")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(embedder=HashEmbedder(16)) as opened:
        opened.store("Ann drinks tea", namespace="langgraph/users/ann")
        yield opened


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("scope", "meant"),
    [
        ("users/ann", "'langgraph/users/ann'"),
        ("ann", "'langgraph/users/ann'"),
        ("users", "Subtree(path='langgraph/users')"),
        ("langgraph", "Subtree(path='langgraph')"),
        (Subtree("users/ann"), "Subtree(path='langgraph/users/ann')"),
        (Subtree("users"), "Subtree(path='langgraph/users')"),
    ],
)
def test_a_miss_names_the_longer_namespace(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, verb: str, scope: Any, meant: str
) -> None:
    assert getattr(store, verb)(namespace=scope) == 0
    (said,) = caplog.records
    assert said.name.startswith("bethink.")
    assert said.levelname == "WARNING"
    assert said.message == f"{verb} matched nothing in {scope!r}; did you mean {meant}?"
    assert store.count(namespace=EVERYWHERE) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_the_awaitable_store_hints_too(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    assert asyncio.run(getattr(AsyncMemoryStore.wrap(store), verb)(namespace="users/ann")) == 0
    assert "did you mean 'langgraph/users/ann'?" in caplog.text


@pytest.mark.parametrize("verb", VERBS)
def test_a_miss_names_at_most_three(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    store.store_many({"content": "tea", "namespace": f"{each}/users/ann"} for each in "abcd")
    assert getattr(store, verb)(namespace="users/ann") == 0
    assert caplog.text.count("users/ann'") == 1 + 3


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("scope", ["ser/ann", "users/an", "nn", "bob", Subtree("bob"), EVERYWHERE])
def test_other_segments_are_no_hint(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, verb: str, scope: Any
) -> None:
    assert getattr(store, verb)(namespace=scope, where={"author": "Bob"}) == 0
    assert not caplog.records


@pytest.mark.parametrize("verb", VERBS)
def test_a_namespace_that_the_store_had_is_no_mistake(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    store.store("Ann drinks coffee", namespace="users/ann")
    assert getattr(store, verb)(namespace="users/ann", where={"author": "Bob"}) == 0
    assert getattr(store, verb)(namespace="users/ann") == 1
    assert getattr(store, verb)(namespace="users/ann") == 0
    assert not caplog.records
