"""A file that lost the fact of which embedder made its vectors mixes them with no others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bethink import CorruptStoreError, EmbedderMismatchError, HashEmbedder, MemoryStore
from bethink.embedders import CallableEmbedder

TEXTS = [f"memory {n}" for n in range(5)]
OTHER = CallableEmbedder(lambda texts: [[1.0] * 16] * len(texts), dimension=16, name="other")
MAKING: dict[str, Callable[[MemoryStore], object]] = {
    "store": lambda store: store.store("new"),
    "update": lambda store: store.update("a", content="new"),
    "recall": lambda store: store.recall("memory"),
    "consolidate": lambda store: store.consolidate(),
}


def opened(path: Path, embedder: CallableEmbedder | HashEmbedder | None = None) -> MemoryStore:
    return MemoryStore(path, embedder=embedder or HashEmbedder(16), durability="normal")


@pytest.fixture
def lost(path: Path) -> Path:
    """Return the path of a store that lost the fact."""
    with opened(path) as store:
        store.store("a text", id="a")
        store.store_many(TEXTS)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM facts WHERE name = 'embedder'")
    return path


@pytest.mark.parametrize("verb", MAKING.values(), ids=MAKING)
@pytest.mark.parametrize("embedder", [HashEmbedder(16), OTHER], ids=["same", "other"])
def test_no_vector_is_made_or_compared(
    lost: Path, embedder: CallableEmbedder | HashEmbedder, verb: Callable[[MemoryStore], object]
) -> None:
    with opened(lost, embedder) as store:
        with pytest.raises(CorruptStoreError, match="not known which embedder"):
            verb(store)
        store.forget("a")
        assert [str(each) for each in store.verify().problems] == ["fact embedder: it is missing"]


def test_what_needs_no_vector_goes_on(lost: Path) -> None:
    with opened(lost, OTHER) as store:
        store.update("a", importance=0.9)
        assert store.erase("a") == 1
        assert [record.content for record in store.all()] == TEXTS


def test_what_is_brought_elsewhere_gets_new_vectors(lost: Path, tmp_path: Path) -> None:
    with opened(lost, OTHER) as store:
        store.export(tmp_path / "export.jsonl")
    with opened(tmp_path / "other.db", OTHER) as store:
        store.import_(tmp_path / "export.jsonl")
        assert len(store.recall("x", mode="semantic", k=10)) == 6
    with opened(tmp_path / "another.db", OTHER) as store:
        store.merge_from(lost)
        assert len(store.recall("x", mode="semantic", k=10)) == 6
        assert store.verify().ok


def test_a_new_file_is_still_bound_by_its_first_write(path: Path) -> None:
    with opened(path) as store, opened(path, OTHER) as other:
        store.store("one")
        with pytest.raises(EmbedderMismatchError):
            other.store("two")
