"""Commits: others go on before a commit is on the disk, and no acknowledgement comes before."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

import psycopg
import pytest

from bethink import HashEmbedder, MemoryStore, StorageError, StoreBusyError
from bethink.storage.postgres import connections

from ...inside import engine_of
from .server import Server, fresh_location, server


def opened(location: str, durability: Literal["full", "normal"] = "full") -> MemoryStore:
    return MemoryStore(location, embedder=HashEmbedder(16), durability=durability)


@contextmanager
def frozen(running: Server) -> Iterator[None]:
    """Stop all processes of the server for the time of the body."""
    pid = int((running.data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    family = [pid, *map(int, children)]
    for each in family:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in family:
            os.kill(each, signal.SIGCONT)


def number_in(url: str, query: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute(query).fetchone()
    assert found is not None
    return int(found[0])


def entries_in(url: str) -> int:
    return number_in(url, "SELECT count(*) FROM bethink.journal")


def waiting_in(url: str) -> int:
    return number_in(url, "SELECT count(*) FROM pg_locks WHERE NOT granted")


@contextmanager
def locked(location: str) -> Iterator[None]:
    """Hold the write lock of another process for the time of the body."""
    with opened(location) as other, engine_of(other).backend.write():
        yield


def test_a_write_that_waits_for_a_replica_holds_up_no_other_and_is_not_acknowledged() -> None:
    with server() as primary, ExitStack() as stores, ThreadPoolExecutor() as threads:
        # The threads of one store would share a commit.
        store, *others = (stores.enter_context(opened(primary.url)) for _ in range(4))
        store.store("first")
        standby = primary.add_standby("second")
        with frozen(standby):
            with locked(primary.url):
                writes = [threads.submit(each.store, "note") for each in others]
                assert any(waiting_in(primary.url) == 3 for _ in range(5_000))
            assert any(entries_in(primary.url) == 4 for _ in range(5_000))  # none holds the lock
            assert not any(each.done() for each in writes)
        assert not wait(writes, timeout=30).not_done
        assert store.count() == 4
        standby.stop()
        primary.psql("ALTER SYSTEM RESET synchronous_standby_names")
        primary.psql("SELECT pg_reload_conf()")


def found(store: MemoryStore, query: str, as_of: int | None = None) -> set[str]:
    hits = store.recall(query, namespace="a", as_of=as_of, touch=False)
    return {hit.content for hit in hits}


def test_what_a_dead_server_lost_is_not_remembered_by_those_who_saw_it() -> None:
    with server(wal_writer_delay="10s") as running, opened(running.url) as store:
        store.store("The cat sleeps", namespace="a")
        with opened(running.url, "normal") as other:
            other.store("The dog barks", namespace="a")
            assert found(store, "dog") == found(store, "dog", as_of=2) == {"The dog barks"}
            assert (store.count(namespace="a"), store.namespaces()) == (2, {"a": 2})
            running.kill()
        running.start()
        with opened(running.url) as other:
            assert other.count(namespace="a") == 1  # the dog is lost
            other.store("The bird sings", namespace="a")
            assert other.log(limit=1)[0].seq == 2
        for as_of in (2, None):
            assert "The dog barks" not in found(store, "dog", as_of)
            assert found(store, "bird", as_of) == {"The bird sings"}
        assert (store.count(namespace="a"), store.namespaces()) == (2, {"a": 2})
        assert store.verify().problems == ()


def test_a_role_that_may_not_wait_apart_writes_all_the_same() -> None:
    location = fresh_location()
    url, _, schema = location.partition("?schema=")
    role = f"{schema}_plain"
    with opened(location) as store, psycopg.connect(url, autocommit=True) as connection:
        store.store("first")
        connection.execute(f"CREATE ROLE {role} LOGIN")
        signatures = connection.execute(
            "SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'pg_logical_emit_message'"
        ).fetchall()
        connection.execute(
            f"GRANT USAGE ON SCHEMA {schema} TO {role}; "
            f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}"
        )
        for (signature,) in signatures:
            connection.execute(f"REVOKE EXECUTE ON FUNCTION {signature} FROM PUBLIC")
        try:
            with opened(location.replace("postgres@", f"{role}@")) as plain:
                plain.store("second")
                assert plain.verify().problems == ()
        finally:
            for (signature,) in signatures:
                connection.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO PUBLIC")
        assert store.count() == 2


def test_a_commit_without_an_acknowledgement_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_FLUSH", "SELECT 1 / 0")
    location = fresh_location()
    with opened(location) as store, ThreadPoolExecutor() as threads:
        with locked(location):
            write = threads.submit(store.store, "first")
            assert any(waiting_in(location.partition("?")[0]) == 1 for _ in range(5_000))
        with pytest.raises(StorageError, match="division by zero"):
            write.result()
        assert [each.content for each in store.all()] == ["first"]


def test_more_threads_than_connections_lose_nothing() -> None:
    with opened(fresh_location()) as store, ThreadPoolExecutor(16) as threads:
        made = list(threads.map(store.store, [f"note {number}" for number in range(200)]))
        assert {each.id for each in store.all()} == {each.id for each in made}
        assert len(store.recall("note", k=300)) == 200
        assert [entry.seq for entry in store.log(limit=None)] == list(range(200, 0, -1))
        assert store.verify().problems == ()


def test_a_statement_timeout_while_another_writes_means_busy() -> None:
    with opened(fresh_location()) as store:
        hurried = f"{store.location}&options=-c%20statement_timeout%3D300ms"
        with opened(hurried) as other:
            other.store("first")
            with locked(store.location), pytest.raises(StoreBusyError, match="kept the write lock"):
                other.store("second")
            other.store("third")
            assert [each.content for each in store.all()] == ["first", "third"]


def test_a_connection_whose_first_statement_fails_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "LOCK_SECONDS", -1)
    location = f"{fresh_location()}&application_name=left"
    with pytest.raises(StorageError, match="lock_timeout") as kept:
        opened(location)
    url = location.partition("?")[0]
    left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'left'"
    assert any(number_in(url, left) == 0 for _ in range(5_000))
    assert kept.value.__cause__ is not None  # with all that the failed call held
