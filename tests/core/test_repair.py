"""What is damaged is made again whatever it belongs to, and nothing else is."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bethink import HashEmbedder, MemoryStore
from bethink.integrity import MOST
from bethink.records import Repair

KEY = b"sixteen bytes or more"


def opened(path: Path, key: bytes | None = None) -> MemoryStore:
    return MemoryStore(path, integrity_key=key, embedder=HashEmbedder(16), durability="normal")


def alter(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_where_nothing_is_damaged_nothing_is_made_again(path: Path) -> None:
    with opened(path) as store:
        store.store_many(f"memory {n}" for n in range(600))
    with closing(sqlite3.connect(path)) as connection, opened(path) as store:
        segments = "SELECT number, first, last FROM segments"
        before = connection.execute(segments).fetchall()
        assert before
        assert store.repair() == Repair()
        assert connection.execute(segments).fetchall() == before


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_the_vector_of_a_record_without_a_text_is_made_again(path: Path, key: bytes | None) -> None:
    with opened(path, key) as store:
        store.store("", value=1, id="live")
        store.store("", value=2, id="gone")
        cat = store.store("The cat sleeps")
        store.forget("gone")
    with opened(path, key) as store:
        alter(path, "UPDATE vectors SET vector = x'00'")
        repaired = store.repair()
        assert (len(repaired.mended), repaired.left) == (3, ())
        assert [hit.memory.id for hit in store.recall("cat")] == [cat.id]
        store.restore("gone")
        assert store.verify().ok


def test_what_was_erased_gets_no_vector_again(path: Path) -> None:
    with opened(path) as store:
        store.store("A secret", id="secret")
        store.erase("secret")
        alter(path, "INSERT INTO vectors (row, vector) SELECT row, x'00' FROM records")
        assert [str(problem) for problem in store.repair().left] == ["vector secret: it is damaged"]
        assert store.log(limit=1)[0].action == "erase"


def test_more_is_repaired_than_is_told_of(path: Path) -> None:
    with opened(path) as store:
        store.store_many(f"memory {n}" for n in range(MOST + 1))
        alter(path, "UPDATE vectors SET vector = x'00'")
        assert len(store.verify().problems) == MOST
        repaired = store.repair()
        assert (len(repaired.mended), repaired.left) == (MOST + 1, ())


def test_a_vector_is_made_again_whatever_the_id(path: Path) -> None:
    with opened(path) as store:
        store.store("The cat sleeps", id="cat, mine", vectors={"mine": [1, 2]})
        alter(path, "UPDATE vectors SET vector = x'00'")
        assert store.repair().ok


def test_what_gets_another_text_while_it_is_embedded_keeps_the_vector_of_that(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as store, opened(path) as other:
        store.store("The cat sleeps", id="cat")
        alter(path, "UPDATE vectors SET vector = x'00'")
        embed = store.embedder.embed

        def after_an_update(texts: Sequence[str]) -> object:
            other.update("cat", content="The dog barks")
            return embed(texts)

        with monkeypatch.context() as patch:
            patch.setattr(store.embedder, "embed", after_an_update)
            assert store.repair().ok
        assert [entry.action for entry in store.log()] == ["update", "store"]
        (hit,) = store.recall("The dog barks", mode="semantic")
        assert hit.explain().signals["vector"] == pytest.approx(1.0)
