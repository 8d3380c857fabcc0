"""What a store promises of storing, changing and taking away, each promise in one short test."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import (
    EVERYWHERE,
    DimensionError,
    EmbedderMismatchError,
    HashEmbedder,
    MemoryStore,
    NotFoundError,
    ShortTermMemory,
    Subtree,
    ValidationError,
)
from bethink.testing import FrozenClock

from ..storage.processes import Child, forks

ROOT = Path(__file__).parents[3]
OFFLINE = """
import sys
opened = []
sys.addaudithook(lambda event, _: opened.append(event) if event.startswith("socket.") else None)
from bethink import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    store.store("the office is in Graz")
    assert store.recall("where is the office?") and store.pack("office").text
print(opened)
"""


def write_elsewhere(path: Path) -> int:
    """Store something in another process; return how many records are live then."""

    def write(_: object) -> int:
        with MemoryStore(path) as other:
            other.store("from another process")
            return other.count()

    return Child(write).result(patience=20)


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


@pytest.mark.slow
def test_zero_required_dependencies_one_sqlite_file(path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [name.split(">")[0] for name in project["dependencies"]] == ["numpy"]
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(path)], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
    assert path.read_bytes().startswith(b"SQLite format 3\0")
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_store_get_all_count_namespaces(store: MemoryStore) -> None:
    one = store.store("a cat", importance=0.9, metadata={"n": 1})
    other = store.store("a dog", namespace="pets/dogs")
    assert store.get(one.id) == one
    assert store.all() == [one]
    assert store.all(namespace=EVERYWHERE) == [one, other]
    assert (store.count(), store.count(namespace=Subtree("pets"))) == (1, 1)
    assert store.namespaces() == {"default": 1, "pets/dogs": 1}


@forks
def test_batch_store_is_atomic(path: Path) -> None:
    with MemoryStore(path) as store:
        for wrong in ("  ", {"content": "x", "importance": 2}, {"content": "x", "supersedes": "y"}):
            with pytest.raises((ValidationError, NotFoundError)):
                store.store_many(["fine", wrong])
        assert store.count() == 0
        assert write_elsewhere(path) == store.count() == 1


@forks
def test_input_validation_leaves_no_open_transaction(path: Path) -> None:
    with MemoryStore(path) as store:
        record = store.store("a cat")
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("store", {"content": "x", "confidence": float("inf")}),
            ("update", {"id": record.id, "importance": float("nan")}),
            ("reinforce", {"id": record.id, "amount": -0.9}),
            ("record_outcome", {"id": record.id, "outcome": "splendid"}),
            ("forget", {"ids": ""}),
        ]
        for verb, given in wrong:
            with pytest.raises(ValidationError):
                getattr(store, verb)(**given)
        assert store.all() == [record]
        assert write_elsewhere(path) == 2


def test_update_in_place(store: MemoryStore) -> None:
    record = store.store("a cat")
    store.touch(record.id)
    store.snapshot("before")
    changed = store.update(record.id, content="a dog", metadata={"n": 1})
    assert (changed.id, changed.content, changed.access_count) == (record.id, "a dog", 1)
    assert store.log(limit=1)[0].changes == {"content": "a dog", "metadata": {"n": 1}}
    (change,) = store.diff("before").changed
    assert change.fields == ("content", "metadata")
    assert [each.content for each in store.as_of("before").all()] == ["a cat"]


def test_delete_one_a_namespace_or_what_is_older() -> None:
    clock = FrozenClock(1_000.0)
    with MemoryStore(clock=clock) as store:
        old = store.store_many(["a", "b", "c"], namespace="x")
        clock.advance(500)
        store.store_many(["d", "e"], namespace="x")
        store.store("f")
        for empty in ("", " "):
            with pytest.raises(ValidationError):
                store.forget(empty, namespace="x")
        with pytest.raises(ValidationError):
            store.forget()
        assert store.forget(old[0].id) == 1
        assert store.forget(namespace="x", where={"created_at": {"$lt": clock() - 100}}) == 2
        assert store.forget(namespace="x") == 2
        assert [record.content for record in store.all(namespace=EVERYWHERE)] == ["f"]


def test_soft_delete_and_restore() -> None:
    with MemoryStore(clock=FrozenClock()) as store:
        record = store.store("a cat", key="k", tags=["x"], metadata={"n": [1]}, author="Ann")
        store.record_outcome(record.id, "worked")
        before = store.get(record.id)
        store.forget(record.id)
        assert store.get(record.id) is None
        store.restore(record.id)
        assert store.get(record.id) == before
        assert len(store.recall("cat", touch=False)) == 1


def test_hard_purge_leaves_no_byte(path: Path) -> None:
    with MemoryStore(path) as store:
        record = store.store("the password is hunter2zebra", metadata={"hunter2zebra": 1})
        store.record_outcome(record.id, "worked", session="hunter2zebra")
        store.update(record.id, author="hunter2zebra")
        store.forget(record.id)
        assert b"hunter2zebra" in bytes_of(path)
        assert store.erase(record.id) == 1
        assert b"hunter2zebra" not in bytes_of(path)
    assert b"hunter2zebra" not in bytes_of(path)


def test_time_to_live_hides_from_every_read() -> None:
    clock = FrozenClock(1_000.0)
    with MemoryStore(clock=clock) as store:
        record = store.store("a red cat", key="k", expires_at=1_100.0)
        clock.advance(100)
        assert store.get(record.id) is store.get(key="k") is None
        assert (store.all(), store.count(), store.namespaces()) == ([], 0, {})
        assert store.all(state="expired") == [record]
        assert (store.recall("red cat"), store.pack("red cat").results) == ([], ())
        assert store.why_not(record.id, "red cat").reason == "expired"
        assert len(store.recall("red cat", now=1_099.0, touch=False)) == 1
        assert store.as_of(1_099.0).all() == [record]


def test_short_term_ring_buffer() -> None:
    memory = ShortTermMemory(max_items=2)
    for key in "abcb":
        memory.remember(key, key.upper())
    assert [item.key for item in memory.recent(5)] == ["c", "b"]
    assert (memory.recall("a", "gone"), memory.recent(0)) == ("gone", ())
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(ValidationError):
            ShortTermMemory(max_items=wrong)  # type: ignore[arg-type]


def test_vectors_of_the_callers_own_have_strict_dimensions(store: MemoryStore) -> None:
    record = store.store("a cat", vectors={"mine": [1.0, 0.0]})
    for wrong in ([1.0], [1.0, 0.0, 0.0]):
        with pytest.raises(DimensionError):
            store.store("a dog", vectors={"mine": wrong})
        with pytest.raises(DimensionError):
            store.recall(None, vector=("mine", wrong))
    assert [hit.memory.id for hit in store.recall(None, vector=("mine", [1, 1]))] == [record.id]
    assert store.count() == 1


def test_the_embedders_identity_is_guarded(path: Path) -> None:
    with MemoryStore(path, embedder=HashEmbedder(64)) as store:
        store.store("a cat")
    before = path.read_bytes()
    with pytest.raises(EmbedderMismatchError, match="reembed"):
        MemoryStore(path, embedder=HashEmbedder(32))
    assert path.read_bytes() == before


class Letters:
    """An embedder of one's own: how often each vowel occurs."""

    name, dimension = "letters", 5

    def embed(self, texts: Any) -> Any:
        counts = np.array([[text.count(vowel) for vowel in "aeiou"] for text in texts], float)
        lengths = np.linalg.norm(counts, axis=1, keepdims=True)
        return (counts / np.maximum(lengths, 1e-9)).astype(np.float32)


def test_embedders_are_pluggable(path: Path) -> None:
    with MemoryStore(path, embedder=Letters()) as store:
        store.store_many(["aaa", "ooo", "eee"])
        assert [hit.memory.content for hit in store.recall("oo", k=1)] == ["ooo"]


def test_the_file_is_private_and_sizes_are_bounded(path: Path) -> None:
    with MemoryStore(path) as store:
        with pytest.raises(ValidationError, match="characters"):
            store.store("x" * 1_000_000)
        with pytest.raises(ValidationError, match="characters"):
            store.store("x", author="y" * 10_000)
        assert {oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()} == {"0o600"}
        assert store.count() == 0


def test_any_json_comes_back(store: MemoryStore) -> None:
    value: dict[str, Any] = {"deep": [1, 2.5, None, True, "記憶", {"": []}]}
    record = store.store("a cat", value=value, metadata=value)
    found = store.get(record.id)
    assert found is not None
    assert (json.dumps(found.value), found.metadata) == (json.dumps(value), value)
