"""Threads of a process that write at the same time share a transaction and a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from bethink import HashEmbedder, MemoryStore, StorageError, ValidationError
from bethink.storage.postgres import PostgresBackend
from bethink.storage.sql import group_commit

from ...inside import engine_of
from .proxy import Proxy
from .server import fresh_location

Write = Callable[[MemoryStore], Any]
BEFORE = 8  # memories: the server prepares statements that were run so often


def opened(location: str) -> MemoryStore:
    return MemoryStore(location, embedder=HashEmbedder(16))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    monkeypatch.setattr(group_commit, "_TAKEOVER_SECONDS", 3600.0)
    with opened(fresh_location()) as opened_store:
        for number in range(BEFORE):
            opened_store.store(f"note {number}", id=f"r{number}")
        yield opened_store


def write_together(store: MemoryStore, *writes: Write) -> list[Future[Any]]:
    """Run each of *writes* in a thread, one after another, and commit once after the last."""
    backend = engine_of(store).backend
    assert isinstance(backend, PostgresBackend)
    shared = backend._connections._group_commit
    told: list[Future[Any]] = []
    shared._waiting += 1  # a thread that is about to write
    with ThreadPoolExecutor(len(writes)) as threads:
        for write in writes:
            before = shared._group, shared._group.members if shared._group else 0
            told.append(threads.submit(write, store))
            while not told[-1].done():
                if shared.lock.acquire(blocking=False):
                    group = shared._group
                    is_over = group is not None and (group, group.members) != before
                    shared.lock.release()
                    if is_over:
                        break
        shared._waiting -= 1
        with shared.lock:
            shared.commit()
    return told


def errors_of(told: list[Future[Any]]) -> list[type[BaseException] | None]:
    return [type(error) if (error := each.exception()) else None for each in told]


def contents(store: MemoryStore) -> list[str]:
    return [each.content for each in store.all() if not each.content.startswith("note")]


def one(content: str, **fields: Any) -> Write:
    return lambda store: store.store(content, **fields)


def test_writes_share_a_commit_and_are_journaled_in_turn(store: MemoryStore) -> None:
    told = write_together(
        store,
        one("one"),
        lambda store: store.update("r1", content="note one"),
        lambda store: store.forget(["r2"]),
        one("two", key="k"),
        one("three", key="k"),
    )
    assert errors_of(told) == [None] * 5
    assert contents(store) == ["one", "three"]
    assert [entry.seq for entry in store.log(limit=None)] == list(range(BEFORE + 6, 0, -1))
    assert store.recall("three")[0].content == "three"
    assert store.verify().problems == ()


@pytest.mark.parametrize(
    ("failing", "error"),
    [
        (one("again", id="r1"), ValidationError),
        (lambda store: store.store_many(["lost", {"content": "b", "id": "r1"}]), ValidationError),
        (lambda store: store.update("none", importance=0.1), LookupError),
        (lambda store: store.snapshot("day") and store.snapshot("day"), ValidationError),
        (
            lambda store: store.store_many(
                [
                    {"content": "a", "vectors": {"v": [1]}},
                    {"content": "b", "vectors": {"v": [1, 2]}},
                ]
            ),
            ValueError,
        ),
    ],
    ids=["an id again", "a batch", "update none", "snapshot again", "two dimensions"],
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_a_write_that_is_refused_leaves_those_of_other_threads(
    store: MemoryStore, failing: Write, error: type[Exception], *, first: bool
) -> None:
    writes: list[Write] = [one("one"), failing, one("two", vectors={"v": [1, 2, 3]}), one("three")]
    if first:
        writes = [failing, *writes]
    for _ in range(2):
        told = write_together(store, *writes)
        refused = [each for each in errors_of(told) if each is not None]
        assert len(refused) == len(writes) - 3
        assert all(issubclass(each, error) for each in refused)
    assert contents(store) == ["one", "two", "three"] * 2
    assert store.verify().problems == ()


def test_a_thread_that_is_interrupted_loses_nothing_of_others(store: MemoryStore) -> None:
    def interrupted(store: MemoryStore) -> None:
        with engine_of(store).writing() as transaction:
            transaction.writer.set_setting("half", "done")
            raise KeyboardInterrupt

    told = write_together(store, one("one"), interrupted, one("two"))
    assert errors_of(told) == [None, KeyboardInterrupt, None]
    assert contents(store) == ["one", "two"]
    assert engine_of(store).backend.setting("half") is None


def break_connection(store: MemoryStore) -> None:
    """End the connection that holds the write lock."""
    with psycopg.connect(store.location.partition("?")[0], autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'"
        )


def test_a_connection_that_breaks_in_a_write_is_an_error_of_all_that_was_not_committed(
    store: MemoryStore,
) -> None:
    def broken(store: MemoryStore) -> None:
        with engine_of(store).writing() as transaction:
            break_connection(store)
            transaction.writer.find(["r1"])

    told = write_together(store, one("one"), broken)
    for each in told:
        with pytest.raises(StorageError, match="connection"):
            each.result()
    store.store("three")
    assert contents(store) == ["three"]
    assert store.verify().problems == ()


def test_a_connection_that_broke_before_a_write_is_no_error_of_the_write(
    store: MemoryStore,
) -> None:
    def after_the_break(store: MemoryStore) -> None:
        break_connection(store)
        store.store("two")

    told = write_together(store, one("one"), after_the_break, one("three"))
    assert errors_of(told) == [StorageError, None, None]
    assert contents(store) == ["two", "three"]
    assert store.verify().problems == ()


@pytest.mark.parametrize("cut", ["before", "after"])
def test_all_threads_learn_whether_a_commit_in_doubt_arrived(
    monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    monkeypatch.setattr(group_commit, "_TAKEOVER_SECONDS", 3600.0)
    proxy = Proxy(fresh_location())
    with opened(proxy.location) as store:
        store.store("first")

        def last(store: MemoryStore) -> None:
            proxy.cut = cut
            store.store("three")

        told = write_together(store, one("one"), one("two"), last)
        if cut == "before":
            assert errors_of(told) == [StorageError] * 3
            assert [each.content for each in store.all()] == ["first"]
        else:
            assert errors_of(told) == [None] * 3
            assert [each.content for each in store.all()] == ["first", "one", "two", "three"]
    proxy.listener.close()


def test_threads_need_a_single_connection_to_write(store: MemoryStore) -> None:
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(store.store, [f"note {number}" for number in range(64)]))
    query = store.location.partition("?")
    with psycopg.connect(query[0]) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()",
            (f"%{query[2].partition('=')[2]}%",),
        ).fetchone()
    assert store.count() == BEFORE + 64
    assert found is not None
    assert found[0] <= 5  # a writer and four readers
