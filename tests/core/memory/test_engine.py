from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from bethink import EmbedderMismatchError, HashEmbedder, MemoryStore, ValidationError
from bethink.embedders import CallableEmbedder
from bethink.model.port import EMBEDDED

from ..inside import engine_of


def test_a_file_that_is_only_read_takes_no_embedder(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", embedder=HashEmbedder(16)) as store:
        assert store.recall("cat") == []
    with MemoryStore(tmp_path / "m.db", embedder=HashEmbedder(32)) as store:
        store.store("a cat")
    with MemoryStore(tmp_path / "m.db") as store:
        assert store.embedder.name == "hash-32"


def test_a_store_that_cannot_be_made_leaves_the_file_free(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", embedder=HashEmbedder(16)) as store:
        store.store("a cat")
    with pytest.raises(EmbedderMismatchError):
        MemoryStore(tmp_path / "m.db", embedder=HashEmbedder(32))
    assert [file.name for file in tmp_path.iterdir()] == ["m.db"]


def test_what_has_no_content_is_never_embedded() -> None:
    seen: list[str] = []

    def embed(texts: Any) -> Any:
        seen.extend(texts)
        return np.ones((len(texts), 4))

    embedder = CallableEmbedder(embed, dimension=4, name="counting")
    with MemoryStore(embedder=embedder) as store:
        store.store("", value=1, author="Ann")
        assert seen == []
        store.store_many([{"content": "", "value": 1}, {"content": "x", "author": "Ann"}, "y"])
        assert seen == ["Ann: x", "y"]


def test_a_batch_is_embedded_at_once() -> None:
    calls: list[int] = []

    def embed(texts: Any) -> Any:
        calls.append(len(texts))
        return np.ones((len(texts), 4))

    with MemoryStore(embedder=CallableEmbedder(embed, dimension=4, name="counting")) as store:
        ids = [record.id for record in store.store_many(["a", "b", "c"])]
        store.update(ids[0], importance=1.0)
        assert calls == [3]
        store.update(ids[0], content="d")
        assert calls == [3, 1]


def test_an_update_that_meets_an_emptied_record_ends() -> None:
    class Meddling(HashEmbedder):
        store: MemoryStore

        def embed(self, texts: Any) -> Any:
            if list(texts) == ["Ann: a red cat"]:
                self.store.update("1", content="", value=1)
            return super().embed(texts)

    embedder = Meddling()
    store = MemoryStore(embedder=embedder)
    embedder.store = store
    store.store("a red cat", id="1")
    update = threading.Thread(target=lambda: store.update("1", author="Ann"), daemon=True)
    update.start()
    update.join(10)
    assert not update.is_alive()
    assert [record.author for record in store.all()] == ["Ann"]
    store.close()


def test_what_moves_and_changes_again_in_one_write_keeps_its_place_and_vectors(
    store: MemoryStore,
) -> None:
    before = store.store_many(["a red cat", "a dog"])[0]
    moved = replace(before, content="a blue cat")
    vector = engine_of(store).embed([moved])[0]
    with engine_of(store).writing() as transaction:
        for old, new, changes in (
            (before, moved, {"content": moved.content}),
            (moved, replace(moved, importance=0.9), {"importance": 0.9}),
        ):
            (row, _) = transaction.writer.find([old.id])[old.id]
            vectors = {EMBEDDED: vector} if "content" in changes else {}
            transaction.change(row, old, new, vectors, "update", changes)
        (left,) = transaction.changes().live
    assert (left.ordinal, left.record.importance) == (1, 0.9)
    assert left.vectors[EMBEDDED].tolist() == vector.tolist()


@pytest.mark.parametrize("reading", [5, np.float64(5), np.float32(5)])
def test_a_clock_may_tell_any_number(reading: Any) -> None:
    with MemoryStore(clock=lambda: reading) as store:
        record = store.store("x")
        assert type(record.created_at) is float
        assert store.get(record.id) == record


@pytest.mark.parametrize(
    "reading", [datetime(2026, 1, 1), None, True, "5", float("nan"), 1.7e12], ids=repr
)
def test_a_clock_that_tells_no_unix_seconds_is_refused(reading: Any) -> None:
    with MemoryStore(clock=lambda: reading, new_id=lambda: "id") as store:
        with pytest.raises(ValidationError, match="clock"):
            store.store("x")
        with pytest.raises(ValidationError, match="clock"):
            store.recall("x")
        assert store.log() == []


@pytest.mark.parametrize("made", [UUID(int=7), 7, "", None], ids=repr)
def test_an_id_that_is_no_text_is_refused(made: Any) -> None:
    with MemoryStore(new_id=lambda: made) as store:
        with pytest.raises(ValidationError, match="id"):
            store.store("x")
        assert store.log() == []


def test_an_id_that_is_made_twice_is_refused() -> None:
    with MemoryStore(new_id=lambda: "same") as store:
        store.store("x")
        with pytest.raises(ValidationError):
            store.store("y")
        with pytest.raises(ValidationError):
            store.store_many(["y", "z"])
        assert store.count() == 1
