"""Threads that write to a file at the same time share a transaction and a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bethink import HashEmbedder, MemoryStore, StorageError, ValidationError
from bethink.storage.sql import group_commit
from bethink.storage.sqlite import connections

from ...stored import assert_unlocked
from ..inside import connections_of
from .processes import fork, forks
from .replay import assert_journal_is_state, unverified
from .sharing import wait_until_left_open


def opened(path: Path) -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(64), durability="normal")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[MemoryStore]:
    with opened(path) as opened_store:
        opened_store.store("a memory", id="r1")
        yield opened_store


def test_a_commit_that_fails_fails_all_it_was_to_serve(path: Path) -> None:
    with opened(path) as store:
        writer = connections_of(store)._writer
        writer.set_authorizer(lambda _, what, *__: int(what == "COMMIT"))
        with ThreadPoolExecutor(4) as threads:
            tries = [threads.submit(store.store, f"memory {n}") for n in range(12)]
        assert all(isinstance(each.exception(), StorageError) for each in tries)
        writer.set_authorizer(None)
        assert (store.count(), store.log()) == (0, [])
        store.store("a memory")
        assert_journal_is_state(store)


def test_a_commit_that_fails_leaves_no_transaction_open(store: MemoryStore, path: Path) -> None:
    writer = connections_of(store)._writer
    writer.set_authorizer(lambda _, what, *__: int(what == "COMMIT"))
    with pytest.raises(StorageError):
        store.store("another")
    writer.set_authorizer(None)
    assert store.count() == 1
    assert_unlocked(path)


def test_a_write_does_not_wait_for_a_thread_that_never_comes(store: MemoryStore) -> None:
    group_commit = connections_of(store)._group_commit
    group_commit._waiting += 1
    store.store("another")
    group_commit._waiting -= 1
    assert store.count() == 2
    assert_unlocked(Path(store.location))


def test_a_full_commit_does_not_wait_for_one_more_thread(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "_TAKEOVER_SECONDS", 60.0)
    monkeypatch.setattr(group_commit, "_MAX_GROUP", 2)
    shared = connections_of(store)._group_commit
    shared._waiting += 1
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(store.store, "another")
        wait_until_left_open(shared, first)
        threads.submit(store.store, "one more").result(timeout=30)
        first.result(timeout=30)


@pytest.mark.parametrize("end", [MemoryStore.close, pytest.param(fork, marks=forks)])
def test_a_commit_that_waits_for_company_is_made_before_the_end(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, end: Callable[[MemoryStore], None]
) -> None:
    monkeypatch.setattr(group_commit, "_TAKEOVER_SECONDS", 3600.0)
    opened = connections_of(store)._group_commit
    opened._waiting += 1
    with ThreadPoolExecutor(1) as thread:
        told = thread.submit(store.store, "another", id="r2")
        wait_until_left_open(opened, told)
        end(store)
        assert told.result(timeout=60).id == "r2"
    with MemoryStore(store.location) as again:
        assert again.count() == 2


def test_an_interrupted_commit_interrupts_no_other_thread(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(group_commit, "_TAKEOVER_SECONDS", 3600.0)
    shared = connections_of(store)._group_commit
    shared._waiting += 1  # a thread that is about to write
    with ThreadPoolExecutor(1) as thread:
        told = thread.submit(store.store, "another")
        wait_until_left_open(shared, told)
        shared._waiting -= 1
        with monkeypatch.context() as patch:
            patch.setattr(connections, "run_unlocked", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.store("one more")
        with pytest.raises(StorageError, match="another thread was interrupted"):
            told.result(timeout=60)
    assert store.count() == 1
    store.store("two more")
    assert_journal_is_state(store)


@pytest.mark.slow
def test_a_thread_that_fails_does_not_harm_those_it_wrote_with(path: Path) -> None:
    with opened(path) as store:
        store.store("taken", id="taken")

        def write(name: str) -> list[str]:
            done = []
            for n in range(25):
                done.append(store.store("good", id=f"{name}{n}").id)
                with pytest.raises(ValidationError):
                    store.store_many(["lost", {"content": "bad", "id": "taken"}])
            return done

        with ThreadPoolExecutor(6) as threads:
            done = [id for ids in threads.map(write, "abcdef") for id in ids]
        assert {record.id for record in store.all()} == {"taken", *done}
        assert_journal_is_state(store)
    assert unverified(path) == []
