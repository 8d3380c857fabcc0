from __future__ import annotations

import io
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bethink import (
    EVERYWHERE,
    Archived,
    HashEmbedder,
    KeyedMemory,
    MemoryStore,
    NotABethinkFileError,
    NotFoundError,
    StorageError,
    StoreBusyError,
    ValidationError,
)
from bethink.bench.__main__ import main
from bethink.storage import database_exists, open_backend
from bethink.storage.postgres import connection, connections
from bethink.storage.postgres import schema as schemas
from bethink.storage.postgres.connection import PostgresConnection
from bethink.testing.contracts.backends import DurableContract
from bethink.testing.contracts.samples import insert, record

from ...inside import engine_of
from .proxy import Proxy
from .server import fresh_location, server


class TestPostgres(DurableContract):
    @pytest.fixture
    def location(self) -> str:
        return fresh_location()


def opened(location: str) -> MemoryStore:
    return MemoryStore(location, embedder=HashEmbedder(16))


@contextmanager
def schema_of(location: str) -> Iterator[tuple[Any, str]]:
    """Yield a connection of psycopg, and the schema of *location*."""
    url, _, schema = location.partition("?schema=")
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection, schema


@pytest.mark.parametrize("query", ["schema=a.b", "schema=", "pooler=session"])
def test_a_wrong_option_is_refused_before_anything_is_opened(query: str) -> None:
    with pytest.raises(ValidationError, match=query.partition("=")[0]):
        open_backend(f"postgresql://nobody@127.0.0.1:1/none?{query}")


def test_tables_of_another_program_are_refused(location: str) -> None:
    with schema_of(location) as (connection, schema):
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE TABLE {schema}.records (id int)")
    with pytest.raises(NotABethinkFileError, match="another program"):
        open_backend(location)


def test_tables_of_a_newer_version_are_refused(location: str) -> None:
    opened(location).close()
    with schema_of(location) as (connection, schema):
        connection.execute(f"UPDATE {schema}.bethink SET version = 99")
    with pytest.raises(StorageError, match="newer bethink"):
        open_backend(location)


def test_a_role_without_any_right_hears_what_to_do(location: str) -> None:
    opened(location).close()
    with schema_of(location) as (connection, _):
        connection.execute("CREATE ROLE nobody_yet LOGIN")
    for look in (open_backend, database_exists):
        with pytest.raises(StorageError, match=r"role nobody_yet may not .* run bethink migrate"):
            look(location.replace("postgres@", "nobody_yet@"))


def test_tables_get_a_column_while_older_processes_write_and_read(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = [opened(location) for _ in range(4)]
    stop = threading.Event()

    def work(store: MemoryStore) -> int:
        count = 0
        while not stop.is_set():
            store.store(f"memory {count}", namespace="load", key=f"{id(store)}/{count}")
            store.recall("memory", namespace="load")
            count += 1
        return count

    with ThreadPoolExecutor() as pool:
        working = [pool.submit(work, store) for store in older]
        wait_for(lambda: older[0].count(namespace="load") > 40)
        step = "ALTER TABLE {schema}.records ADD COLUMN mood TEXT"
        monkeypatch.setattr(schemas, "MIGRATIONS", (*schemas.MIGRATIONS, step))
        monkeypatch.setattr(schemas, "LATEST", schemas.LATEST + 1)
        with opened(location) as newer:
            before = newer.count(namespace="load")
            wait_for(lambda: newer.count(namespace="load") > before + 40)
            stop.set()
            written = sum(each.result() for each in working)
            assert newer.count(namespace="load") == written
            assert newer.verify().ok
    monkeypatch.undo()
    with pytest.raises(StorageError, match="newer bethink"):
        open_backend(location)
    for store in older:
        store.close()


def wait_for(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_many_open_a_new_store_at_the_same_time(location: str) -> None:
    def write(number: int) -> None:
        with opened(location) as store:
            store.store(f"memory {number}", id=str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    with opened(location) as store:
        assert (store.count(), len(store.log())) == (8, 8)
        assert store.verify().problems == ()


def test_broken_connections_are_made_anew(location: str) -> None:
    with opened(location) as store:
        store.store("The meeting is on Monday")
        with schema_of(location) as (connection, _):
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        store.store("The meeting is in room 4")
        assert len(store.recall("meeting")) == 2


def test_a_backup_that_was_put_back_is_read_anew_by_those_who_saw_more(location: str) -> None:
    with opened(location) as store, schema_of(location) as (connection, schema):
        store.store_many(["The cat sleeps", "The cat purrs"])
        assert len(store.recall("cat", touch=False)) == 2
        connection.execute(f"ALTER SCHEMA {schema} RENAME TO {schema}_before")
        with opened(location) as backup:
            backup.store("The cat eats")
        assert [hit.content for hit in store.recall("cat", touch=False)] == ["The cat eats"]


def test_an_index_is_not_saved_as_newer_than_a_backup_that_was_put_back(location: str) -> None:
    with opened(location) as store, schema_of(location) as (connection, schema):
        store.store_many(["The cat sleeps"] * 300)
        assert len(store.recall("cat", touch=False)) == 5
        connection.execute(f"ALTER SCHEMA {schema} RENAME TO {schema}_before")
        with opened(location) as backup:
            notes = backup.store_many(["The dog barks"] * 200, namespace="dogs")
            assert len(store.recall("dog", namespace="dogs", touch=False)) == 5
            backup.update(notes[150].id, importance=1.0)
        with opened(location) as later:
            assert later.recall("dog", namespace="dogs", k=1)[0].id == notes[150].id


def test_closing_without_a_server_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    with server(fsync="off") as running:
        with opened(running.url) as store:
            store.store("Ann drinks green tea")
            assert store.recall("tea")
            running.stop()
        assert store.closed
        running.start()
    assert "the last accesses were lost at close" in caplog.text


def test_a_restarted_server_goes_on() -> None:
    with server(fsync="off") as running, opened(running.url) as store:
        store.store("The meeting is on Monday")
        running.stop()
        for call in (lambda: store.store("lost"), store.log, store.count):
            with pytest.raises(StorageError) as lost:
                call()
            assert lost.value.is_unreachable
        running.start()
        assert [hit.content for hit in store.recall("meeting")] == ["The meeting is on Monday"]
        store.store("The meeting is in room 4")


@pytest.mark.parametrize("cut", ["before", "after", "shutdown"])
def test_a_commit_in_doubt_is_looked_for(location: str, cut: str) -> None:
    proxy = Proxy(location)
    with opened(proxy.location) as store:
        store.store("first")
        proxy.cut = cut
        if cut == "before":
            with pytest.raises(StorageError, match="nothing was written") as caught:
                store.store("second")
            assert caught.value.is_unreachable
        else:
            store.store("second")
        store.store("third")
        contents = [each.content for each in store.all()]
        assert contents == (["first", "third"] if cut == "before" else ["first", "second", "third"])
        assert store.verify().problems == ()
    proxy.listener.close()


def test_a_refused_write_says_why_and_later_writes_go_on(location: str) -> None:
    with opened(location) as store:
        for number in range(12):
            store.store("The meeting is on Monday", id=str(number))
            with pytest.raises(ValidationError, match=f"'{number}' exists"):
                store.store("The meeting is on Friday", id=str(number))
        assert (store.count(), len(store.log())) == (12, 12)


def test_a_refusal_that_arrives_half_way_says_why(location: str) -> None:
    backend = open_backend(location)
    insert(backend, record("r1"))

    def insert_two() -> None:
        with backend.write() as writer:
            writer.insert(record("r1", content="other"), {})
            connection = vars(writer)["_connection"]
            connection.send()
            select.select([connection.raw], [], [], 60)  # the answer, before the next statement
            writer.insert(record("r2"), {})

    with pytest.raises(ValidationError, match="'r1' exists"):
        insert_two()
    assert backend.count(EVERYWHERE, None) == 1
    backend.close()


def test_memories_of_a_second_database_are_merged(location: str) -> None:
    with opened(fresh_location()) as other, opened(location) as store:
        other.store("The meeting is on Monday", id="1")
        assert store.merge_from(other.location).added == 1
        assert [each.content for each in store.all()] == ["The meeting is on Monday"]


def test_a_backup_of_a_database_is_a_file_with_all_history(location: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    with opened(location) as store:
        store.store("The meeting is on Monday", key="meeting")
        store.store("The meeting is on Friday", key="meeting", vectors={"mine": [1.0, 2.0]})
        store.backup(target)
        with pytest.raises(ValidationError, match="exists already"):
            store.backup(target)
        with pytest.raises(StorageError, match="no such folder"):
            store.backup(tmp_path / "nowhere" / "copy.db")
        with opened(str(target)) as copy:
            assert copy.log() == store.log()
            assert copy.all() == store.all()
            assert copy.as_of(1).all() == store.as_of(1).all()
            assert copy.verify().problems == ()
    assert [each.name for each in tmp_path.iterdir()] == ["copy.db"]


def test_an_archive_in_a_database_is_found_again(location: str) -> None:
    other = fresh_location()
    with opened(location) as store:
        store.store("The old office is in Ghent", namespace="old")
        assert store.archive_to(other, namespace="old").records == 1
        assert store.archive_to(other, namespace="old") == Archived(0, 0, 0)
        with pytest.raises(NotFoundError):
            store.archive_to(fresh_location(), namespace="old")


def test_the_password_of_a_path_like_location_is_used(location: str) -> None:
    class Hidden:
        def __fspath__(self) -> str:
            return location

    with opened(location) as store:
        store.store("The meeting is on Monday")
    with MemoryStore(Hidden(), embedder=HashEmbedder(16)) as store:
        assert store.count() == 1


def test_a_database_is_no_second_store_of_itself(location: str) -> None:
    with opened(location) as store:
        store.store("The meeting is on Monday")
        with pytest.raises(ValidationError, match="archived to itself"):
            store.archive_to(location, namespace="default")
        with pytest.raises(ValidationError, match="merged with itself"):
            store.merge_from(location)
        assert store.count() == 1


def test_a_write_whose_connection_breaks_half_way_leaves_nothing(location: str) -> None:
    backend = open_backend(location)
    insert(backend, record("r1"))

    def break_half_way() -> None:
        with backend.write() as writer:
            with schema_of(location) as (connection, _):
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                )
            for number in range(2, 6):
                time.sleep(0.05)  # until the connection is known to be broken
                added = record(f"r{number}")
                row = writer.insert(added, {})
                writer.journal("store", 1.0, added, None, row.row, {})

    with pytest.raises(StorageError):
        break_half_way()
    assert (backend.head(), backend.count(EVERYWHERE, None)) == (1, 1)
    insert(backend, record("r2"))
    backend.close()


def count_connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that gets each connection opened from now on."""
    opened: list[object] = []
    real = PostgresConnection

    class Counted(real):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            opened.append(self)
            super().__init__(*given, **named)

    monkeypatch.setattr(connections, "PostgresConnection", Counted)
    return opened


def test_an_index_is_saved_as_soon_as_it_is_made(location: str) -> None:
    with opened(location) as store, opened(location) as reader, opened(location) as third:
        store.store_many(f"note {n} of the whale" for n in range(200))
        store.store_many((f"note {n}" for n in range(100)), namespace="small")
        for namespace in ("default", "small"):
            reader.recall("whale", namespace=namespace)
        with schema_of(location) as (connection, schema):
            saved = connection.execute(f"SELECT namespace, count FROM {schema}.segments").fetchall()
        assert saved == [("default", 200)]
        found = [[hit.id for hit in each.recall("whale 7", k=3)] for each in (store, third)]
        assert found[0] == found[1]


def test_an_index_read_after_an_erasing_is_saved(location: str) -> None:
    with opened(location) as store:
        store.store_many(f"note {n} of the whale" for n in range(200))
        with opened(location) as reader, schema_of(location) as (connection, schema):
            store.erase(store.store("a secret", namespace="b").id)
            reader.recall("whale")
            saved = connection.execute(f"SELECT namespace, count FROM {schema}.segments").fetchall()
    assert saved == [("default", 200)]


def test_a_soak_of_a_database_has_no_error(
    location: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--soak", "0.03", "--sizes", "200", "--store", location]) == 0
    assert "MB after compact" in capsys.readouterr().out
    with MemoryStore(location, embedder=HashEmbedder(64)) as store:
        assert store.count() == 200


def test_a_writer_waits_no_longer_than_the_limit_for_another(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LOCK_SECONDS", 0.2)
    one, other = open_backend(location), open_backend(location)
    insert(other, record("r0"))  # the writer is connected
    opened = count_connections(monkeypatch)
    with one.write():
        with pytest.raises(StoreBusyError), other.write():
            raise AssertionError
        assert len(opened) == 1  # of *one*: a lock that another process keeps is asked for once
    insert(other, record("r1"))
    one.close()
    other.close()


def test_threads_that_wait_in_line_wait_no_longer_than_the_limit(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LOCK_SECONDS", 1.5)
    with opened(location) as one, opened(location) as other:
        with engine_of(one).writing(), ThreadPoolExecutor(4) as threads:
            start = time.monotonic()
            tried = [threads.submit(other.store, "late") for _ in range(4)]
            assert all(isinstance(each.exception(), StoreBusyError) for each in tried)
            assert time.monotonic() - start < 3
        other.store("in time")
        assert [each.content for each in one.all()] == ["in time"]


@pytest.mark.parametrize(
    "work",
    [
        lambda _: None,
        lambda writer: writer.find(["r1"]),
        lambda writer: writer.set_setting("half", "done"),
        lambda writer: writer.insert_all([record("r3"), record("r4")], [{}, {}], 1.0),
        lambda writer: (writer.set_setting("half", "done"), writer.find(["r1"])),
    ],
    ids=["nothing", "a read", "a setting", "new rows", "several statements"],
)
def test_a_frozen_holder_of_the_lock_loses_the_lock(
    location: str, work: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.3)
    monkeypatch.setattr(connections, "LOCK_SECONDS", 5)
    one, other = open_backend(location), open_backend(location)

    def hold_while_the_other_writes() -> None:
        with one.write() as writer:
            work(writer)
            insert(other, record("r1"), record("r2"))

    with pytest.raises(StorageError, match="nothing was written"):
        hold_while_the_other_writes()
    assert (one.head(), one.setting("half")) == (2, None)
    one.close()
    other.close()


def test_a_verb_over_many_memories_may_compute_for_long(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.3)
    backend = open_backend(location)
    insert(backend, *(record(f"r{number}") for number in range(1_100)))
    with backend.write() as writer:
        assert len(writer.select(EVERYWHERE, None)) == 1_100
        time.sleep(0.6)
        writer.set_setting("many", "rows")
    monkeypatch.setattr(connection, "_LONG_SECONDS", 0.1)
    with backend.write() as writer:
        time.sleep(0.2)
        writer.find(["r1"])
        time.sleep(0.6)
        writer.set_setting("long", "after all")
    assert (backend.setting("many"), backend.setting("long")) == ("rows", "after all")
    backend.close()


class Writers:
    """Threads that write to a URL until told to stop, and note what was acknowledged."""

    def __init__(self, url: str, threads: int) -> None:
        self.url, self.acknowledged = url, set[str]()
        self._stop, self._written = threading.Event(), threading.Semaphore(0)
        opened(url).close()
        self._pool = ThreadPoolExecutor(threads)
        self._done = [self._pool.submit(self._write, thread) for thread in range(threads)]

    def _write(self, thread: int) -> None:
        with opened(self.url) as store:
            for number in count():
                id = f"{thread}-{number}"
                with suppress(StorageError):  # while no server answers
                    store.store(f"memory {number}", id=id)
                    self.acknowledged.add(id)
                    self._written.release()
                if self._stop.is_set():
                    return

    def wait_for(self, writes: int) -> None:
        for _ in range(writes):
            assert self._written.acquire(timeout=60)

    def stop(self) -> None:
        self._stop.set()
        self._pool.shutdown()

    def compare(self) -> None:
        """Compare what is there with what was acknowledged."""
        for each in self._done:
            each.result()
        with opened(self.url) as store:
            assert {each.id for each in store.all()} == self.acknowledged
            assert store.verify().problems == ()


@contextmanager
def writing_to(url: str, threads: int) -> Iterator[Writers]:
    """Let so many threads write until the end of the body."""
    writers = Writers(url, threads)
    try:
        yield writers
    finally:
        writers.stop()


def test_a_killed_server_has_what_was_acknowledged_and_nothing_else() -> None:
    with server() as running:
        with writing_to(running.url, 4) as writers:
            for _ in range(3):
                writers.wait_for(50)
                running.kill()
                running.start()
            writers.wait_for(50)
        writers.compare()


def test_a_promoted_standby_has_what_was_acknowledged_and_nothing_else() -> None:
    with server() as primary:
        standby = primary.add_standby("second")
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"
        with writing_to(url, 8) as writers:
            writers.wait_for(200)
            primary.kill()
            standby.promote()
            writers.wait_for(100)
        writers.compare()
        standby.stop()
        primary.start()  # for the end of the test


def test_a_replica_answers_and_writes_once_promoted() -> None:
    with server() as primary:
        with opened(f"{primary.url}?schema=kept") as store:
            store.store_many([f"memory {n}" for n in range(200)])
            store.snapshot("first")
            store.forget(where={"content": "memory 7"})
        standby = primary.add_standby("replica")
        with opened(f"{standby.url}?schema=kept") as replica:
            assert replica.recall("memory 8", k=1)[0].content == "memory 8"
            assert (replica.count(), len(replica.as_of("first").all())) == (199, 200)
            assert replica.all(where={"access_count": {"$gt": 0}}) == []  # nothing is written
            assert replica.verify().ok
            assert replica.export(io.StringIO()) > 0
            with pytest.raises(StorageError, match="read-only"):
                replica.store("too early")
        with opened(f"{standby.url}?schema=kept") as replica:
            replica.recall("memory 8", k=1)
            primary.kill()
            standby.promote()
            replica.store("written after all")
            assert replica.all(where={"access_count": 1})[0].content == "memory 8"
        standby.stop()
        primary.start()  # for the end of the test


def test_many_processes_share_a_database(location: str) -> None:
    with opened(location) as store:
        store.store("The note that stays")
    code = (
        "import sys, random\n"
        "from bethink import HashEmbedder, KeyedMemory, MemoryStore\n"
        "seed, location = int(sys.argv[1]), sys.argv[2]\n"
        "chance = random.Random(seed)\n"
        "with MemoryStore(location, embedder=HashEmbedder(16)) as store:\n"
        "    for number in range(25):\n"
        "        key = f'k{chance.randrange(9)}'\n"
        "        record = store.store(f'note {number} of {seed}', key=key)\n"
        "        KeyedMemory(store, namespace='counts').increment('all')\n"
        "        assert store.recall('note')\n"
        "        store.forget(record.id)\n"
    )
    writing = [
        subprocess.Popen([sys.executable, "-c", code, str(seed), location]) for seed in range(6)
    ]
    assert [each.wait(120) for each in writing] == [0] * 6
    with opened(location) as store:
        assert KeyedMemory(store, namespace="counts").recall("all") == 150
        assert store.verify().problems == ()
