"""A namespace moves to a second file with all history, and is in one of the two at any moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bethink import (
    EVERYWHERE,
    Archived,
    HashEmbedder,
    MemoryStore,
    NotFoundError,
    SourceError,
    StorageError,
    Subtree,
    ValidationError,
)
from bethink.features.transfer import archive as archiving

from ...clock import Clock
from ...inside import engine_of

EMBEDDER = HashEmbedder(16)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(path: Path | str, clock: Clock, **options: bytes) -> MemoryStore:
    return MemoryStore(path, embedder=EMBEDDER, clock=clock, **options)  # type: ignore[arg-type]


@pytest.fixture
def store(path: Path, clock: Clock) -> MemoryStore:
    """A store with an old namespace, whose memories have a past, and a present namespace."""
    store = opened(path, clock)
    store.store("The old office is in Ghent", key="office", namespace="old", id="ghent")
    store.store("A note to keep", namespace="new", id="kept")
    clock.now += 10
    store.store("The old office is in Bruges", key="office", namespace="old", id="bruges")
    store.store("The lease ends in May", namespace="old/lease", id="lease")
    store.relate("lease", "bruges", "about")
    store.touch(["bruges"])
    clock.now += 10
    store.update("lease", importance=0.9)
    return store


def test_memories_arrive_with_their_past_and_are_gone_here(
    store: MemoryStore, clock: Clock, tmp_path: Path
) -> None:
    with store:
        facts, early = store.audit("office", namespace="old"), store.as_of(1005.0)
        past = early.all(namespace=Subtree("old"))
        records = store.all(namespace=Subtree("old"))
        related = store.related("lease")
        done = store.archive_to(tmp_path / "old.db", namespace=Subtree("old"))
        assert done == Archived(records=3, forgotten=3, changed=0)
        assert store.namespaces() == {"new": 1}
        assert store.recall("a note on the office", namespace=EVERYWHERE)[0].memory.id == "kept"
        assert store.verify().ok
        with opened(tmp_path / "old.db", clock) as archive:
            assert archive.all(namespace=EVERYWHERE) == records
            assert archive.as_of(1005.0).all(namespace=EVERYWHERE) == past
            told = [(each.content, each.ended_by) for each in facts]
            found = archive.audit("office", namespace="old")
            assert [(each.content, each.ended_by) for each in found] == told
            assert [each.memory.id for each in archive.related("lease")] == [
                each.memory.id for each in related
            ]
            assert archive.verify().ok


def test_compacting_takes_the_archived_memories_out_of_the_file(
    store: MemoryStore, clock: Clock, path: Path, tmp_path: Path
) -> None:
    with store:
        store.unrelate("lease", "bruges", "about")
        store.archive_to(tmp_path / "old.db", namespace=Subtree("old"))
        clock.now += 1
        assert store.compact(before=clock.now).records == 3
        assert b"Bruges" not in path.read_bytes()
        assert store.merge_from(tmp_path / "old.db").added == 3
        assert store.all(namespace="old")[0].content == "The old office is in Bruges"


@pytest.mark.parametrize("step", ["load", "retire"])
def test_a_call_that_broke_off_is_repeated(
    store: MemoryStore, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with store:
        before = store.all(namespace=EVERYWHERE)
        with monkeypatch.context() as patch:
            patch.setattr(archiving, step, stop)
            with pytest.raises(KeyboardInterrupt):
                store.archive_to(tmp_path / "old.db", namespace=Subtree("old"))
        assert store.all(namespace=EVERYWHERE) == before
        done = store.archive_to(tmp_path / "old.db", namespace=Subtree("old"))
        assert (done.records, done.forgotten) == (3 if step == "load" else 0, 3)
        again = store.archive_to(tmp_path / "old.db", namespace=Subtree("old"))
        assert again == Archived(0, 0, 0)


def test_a_memory_that_changed_meanwhile_stays(
    store: MemoryStore, clock: Clock, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*args: object) -> object:
        with opened(path, clock) as other:
            other.update("lease", content="The lease ends in June")
            other.store("Written meanwhile", namespace="old")
        return real(*args)

    real: Callable[..., object] = vars(archiving)["load"]
    monkeypatch.setattr(archiving, "load", slowly)
    with store:
        done = store.archive_to(tmp_path / "old.db", namespace=Subtree("old"))
        assert done == Archived(records=3, forgotten=2, changed=2)
        left = [record.content for record in store.all(namespace=Subtree("old"))]
        assert left == ["The lease ends in June", "Written meanwhile"]


def test_another_store_is_refused_before_anything_is_written(
    store: MemoryStore, clock: Clock, tmp_path: Path
) -> None:
    with store, opened(tmp_path / "else.db", clock) as other:
        other.store("Another memory")
        head = store.log(limit=1)
        for target in (other, tmp_path / "else.db"):
            with pytest.raises(ValidationError, match="holds no copy of 3 of the memories"):
                store.archive_to(target, namespace=Subtree("old"))
        with pytest.raises(ValidationError, match="archived to itself"):
            store.archive_to(store, namespace="old")
        with pytest.raises(NotFoundError, match="nowhere"):
            store.archive_to(tmp_path / "none.db", namespace="nowhere")
        with pytest.raises(ValidationError, match="archive_to needs a store or the location"):
            store.archive_to(5, namespace="old")  # type: ignore[arg-type]
        with pytest.raises(ValidationError, match="a place that lasts"):
            store.archive_to(":memory:", namespace="old")
        with pytest.raises(SourceError):
            store.for_source("web").archive_to(tmp_path / "none.db", namespace=Subtree("old"))
        assert store.log(limit=1) == head
        assert not (tmp_path / "none.db").exists()
        assert len(other.log()) == 1


def test_a_file_that_cannot_be_written_gives_nothing_away(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store:
        monkeypatch.setattr(type(engine_of(store).backend), "read_only", True)
        with pytest.raises(StorageError, match="read only"):
            store.archive_to(tmp_path / "old.db", namespace="old")
    assert not (tmp_path / "old.db").exists()


def test_a_keyed_store_moves_to_a_keyed_store(clock: Clock, path: Path, tmp_path: Path) -> None:
    key = {"integrity_key": b"sixteen bytes or more"}
    with opened(path, clock, **key) as store, opened(tmp_path / "old.db", clock, **key) as old:
        store.store_many({"content": f"note {n}", "namespace": "old"} for n in range(300))
        assert store.archive_to(old, namespace="old").forgotten == 300
        assert (store.count(namespace="old"), old.count(namespace="old")) == (0, 300)
        assert store.verify().ok
        assert old.verify().ok
