"""A new embedder in the same file: what stays, what changes, and what a crash leaves."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bethink import (
    AsyncMemoryStore,
    Embedder,
    EmbedderMismatchError,
    HashEmbedder,
    MemoryStore,
    StorageError,
    ValidationError,
)
from bethink.model.arrays import Matrix
from bethink.storage.sql.maintenance import SQLRepairer
from bethink.storage.sqlite import SQLiteBackend

KEY = b"sixteen secret bytes"
TEXTS = [f"note {number} about cats, plan {number * 7} and dogs" for number in range(600)]
NOW = 2e9


class Watching(HashEmbedder):
    """Calls *look* before each batch."""

    def __init__(self, dimension: int, look: Callable[[], object]) -> None:
        super().__init__(dimension)
        self.look = look
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        if len(texts) > 1:
            self.look()
            self.embedded += len(texts)
        return super().embed(texts)


OPENED = ExitStack()


@pytest.fixture(autouse=True)
def closed_stores() -> Iterator[None]:
    """Close every store that ``filled`` has opened."""
    yield
    OPENED.close()


def filled(path: str | Path, embedder: Embedder | None = None, **options: Any) -> MemoryStore:
    opened = MemoryStore(path, embedder=embedder or HashEmbedder(64), **options)
    store = OPENED.enter_context(opened)
    store.store_many(TEXTS)
    return store


def answers(
    store: MemoryStore, query: str = "plan 49 for cats", **options: Any
) -> list[tuple[str, float]]:
    return [
        (hit.record.content, hit.score)
        for hit in store.recall(query, touch=False, now=NOW, **options)
    ]


@pytest.fixture(params=[None, KEY], ids=["plain", "keyed"])
def key(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_answers_are_those_of_a_new_store(tmp_path: Path, key: bytes | None) -> None:
    store = filled(tmp_path / "a.db", integrity_key=key)
    fresh = filled(":memory:", HashEmbedder(96))
    assert store.reembed(HashEmbedder(96)) == len(TEXTS)
    assert answers(store) == answers(fresh)
    assert store.embedder.name == "hash-96"
    assert store.verify().ok
    store.close()
    with MemoryStore(tmp_path / "a.db", embedder=HashEmbedder(96), integrity_key=key) as again:
        assert answers(again) == answers(fresh)
        assert again.verify().ok


def test_recall_answers_with_the_old_embedder_until_the_end(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db")
    before = answers(store)
    seen: list[object] = []
    store.reembed(Watching(96, lambda: seen.append(answers(store))))
    assert seen == [before] * 3
    assert answers(store) != before


def test_the_same_embedder_is_no_work(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db") as store:
        head = store.log(limit=1)[0].seq
        assert store.reembed(Watching(64, pytest.fail)) == 0
        assert store.log(limit=1)[0].seq == head


@pytest.mark.parametrize("wrong", ["hash", HashEmbedder, None])
def test_a_wrong_embedder_is_named(tmp_path: Path, wrong: Any) -> None:
    with filled(tmp_path / "a.db") as store, pytest.raises(ValidationError, match="an Embedder"):
        store.reembed(wrong)


def test_a_killed_process_leaves_work_that_goes_on(tmp_path: Path, key: bytes | None) -> None:
    path = tmp_path / "a.db"
    store = filled(path, integrity_key=key)
    before = answers(store)
    store.close()
    code = f"""
import os, signal
from bethink import HashEmbedder, MemoryStore
class Killed(HashEmbedder):
    left = 2
    def embed(self, texts):
        self.left -= len(texts) > 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)
store = MemoryStore({os.fspath(path)!r}, embedder=HashEmbedder(64), integrity_key={key!r})
store.reembed(Killed(96))
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == -signal.SIGKILL
    with MemoryStore(path, integrity_key=key, embedder=HashEmbedder(64)) as store:
        assert answers(store) == before
        assert store.verify().ok
        new = Watching(96, lambda: None)
        assert store.reembed(new) == len(TEXTS)
        assert new.embedded == len(TEXTS) - 512
        assert store.verify().ok


def test_writes_meanwhile_are_embedded_too(tmp_path: Path, key: bytes | None) -> None:
    path = tmp_path / "a.db"
    store = filled(path, integrity_key=key)
    ids = [record.id for record in store.all()]
    again = MemoryStore(path, embedder=HashEmbedder(64), integrity_key=key)
    other = OPENED.enter_context(again)
    todo: list[Callable[[], object]] = [
        lambda: other.store("a parrot came later"),
        lambda: other.update(ids[0], content="the first became a tortoise"),
        lambda: other.erase(ids[1]),
    ]
    store.reembed(Watching(96, lambda: todo and todo.pop(0)()))
    assert answers(store, "parrot", k=1)[0][0] == "a parrot came later"
    assert answers(store, "tortoise", k=1)[0][0] == "the first became a tortoise"
    assert store.verify().ok


def test_an_erased_record_leaves_no_staged_vector(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db")
    first = store.all(limit=1)[0].id
    calls = []

    def erase_and_stop() -> None:
        calls.append(1)
        if len(calls) == 2:
            store.erase(first)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        store.reembed(Watching(96, erase_and_stop))
    with store._engine.backend.write() as writer:
        assert writer.staging.count() == (255, len(TEXTS) - 1)


def test_another_embedder_begins_anew(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db")

    def stop(done: int, total: int | None) -> None:
        if done >= 256:
            raise KeyError(done, total)

    with pytest.raises(KeyError):
        store.reembed(HashEmbedder(96), progress=stop)
    new = Watching(128, lambda: None)
    store.reembed(new)
    assert new.embedded == len(TEXTS)
    assert store.verify().ok


@pytest.mark.parametrize("recalled", [True, False])
def test_another_store_on_the_file_is_told_to_open_again(tmp_path: Path, recalled: bool) -> None:
    path = tmp_path / "a.db"
    store = filled(path)
    other = OPENED.enter_context(MemoryStore(path, embedder=HashEmbedder(64)))
    if recalled:
        answers(other)
    store.reembed(HashEmbedder(96))
    for verb in (
        lambda: answers(other),
        lambda: answers(other, mode="keyword"),
        lambda: answers(other, as_of=store.log(limit=1)[0].seq),
        lambda: other.store("lost"),
    ):
        with pytest.raises(EmbedderMismatchError, match="hash-96"):
            verb()
    other.close()
    assert store.verify().ok
    assert answers(store) == answers(filled(":memory:", HashEmbedder(96)))


def test_a_backend_whose_changes_name_no_embedder_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = SQLiteBackend.changes
    monkeypatch.setattr(
        SQLiteBackend, "changes", lambda *given: replace(told(*given), embedder=None)
    )
    store = filled(tmp_path / "a.db")
    other = OPENED.enter_context(MemoryStore(tmp_path / "a.db", embedder=HashEmbedder(64)))
    answers(other, mode="keyword")
    store.reembed(HashEmbedder(96))
    with pytest.raises(EmbedderMismatchError, match="hash-96"):
        answers(other, mode="keyword")


def test_a_write_with_vectors_of_the_former_embedder_is_refused(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db")
    refused = []

    class Slow(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            vectors = super().embed(texts)
            store.reembed(HashEmbedder(96))
            return vectors

    def write() -> None:
        try:
            store.store("half done")
        except EmbedderMismatchError as error:
            refused.append(error)

    store._engine.adopt(Slow(64))
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert len(refused) == 1
    assert store.count() == len(TEXTS)
    assert store.store("whole").content == "whole"


def test_the_past_keeps_texts_and_answers_with_the_new_embedder(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = filled(path)
    first = store.all(limit=1)[0]
    moment = store.log(limit=1)[0].seq
    store.update(first.id, content="changed since")
    store.reembed(HashEmbedder(96))
    past = answers(store, as_of=moment)
    assert past == answers(filled(":memory:", HashEmbedder(96)))
    assert store.as_of(moment)[first.id].content == first.content
    named = store.snapshots()[-1]
    assert named.name.startswith("before hash-96")
    assert store.as_of(named)[first.id].content == "changed since"
    store.close()
    with MemoryStore(path, embedder=HashEmbedder(96)) as again:
        assert answers(again, as_of=moment) == past


def test_named_vectors_and_states_stay(tmp_path: Path, key: bytes | None) -> None:
    store = filled(tmp_path / "a.db", integrity_key=key)
    mine = store.store("mine", vectors={"own": [1.0, 2.0, 3.0]}).id
    aside = store.store("aside").id
    store.archive(aside)
    store.reembed(HashEmbedder(96))
    assert store.vectors(mine, "own")[mine].tolist() == [1.0, 2.0, 3.0]
    store.unarchive(aside)
    assert answers(store, "aside", k=1)[0][0] == "aside"
    assert store.verify().ok


def test_the_former_vectors_leave_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = filled(path, HashEmbedder(1024))
    store.close()
    before = path.stat().st_size
    with MemoryStore(path, embedder=HashEmbedder(1024)) as store:
        store.reembed(HashEmbedder(64))
        assert path.stat().st_size < before - 3_000 * len(TEXTS)


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path / "a.db")
    before = answers(store)

    def full(self: SQLRepairer) -> None:
        raise StorageError("a.db", "database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(SQLRepairer, "discard", full)
        with pytest.raises(StorageError):
            store.reembed(HashEmbedder(96))
    assert answers(store) == before
    assert store.reembed(HashEmbedder(96)) == len(TEXTS)


def test_handles_of_sources_change_along(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db")
    handle = store.for_source("tool")
    store.reembed(HashEmbedder(96))
    assert handle.embedder is store.embedder
    handle.store("from the tool")
    assert answers(store, "from the tool", k=1)[0][0] == "from the tool"


def test_the_async_twin(tmp_path: Path) -> None:
    store = AsyncMemoryStore.wrap(filled(tmp_path / "a.db"))
    assert asyncio.run(store.reembed(HashEmbedder(96))) == len(TEXTS)
