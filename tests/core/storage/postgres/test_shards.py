"""Shards: one memory on several databases, and shards that move while they are used."""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bethink import (
    EVERYWHERE,
    HashEmbedder,
    MemoryStore,
    NotFoundError,
    Shards,
    StorageError,
    StoreBusyError,
    StoreClosedError,
    Subtree,
    ValidationError,
)
from bethink.storage import postgres
from bethink.storage.postgres import shards as moving
from bethink.storage.postgres.copying import Copy
from bethink.storage.postgres.schema import create_tables
from bethink.storage.postgres.vector_indexes import tables_of

from ...inside import engine_of
from .server import shared_url

_numbers = count()
ANN, BOB = "users/ann", "users/bob"


@pytest.fixture
def servers() -> dict[str, str]:
    """Return the URLs of two new databases, which stand for two servers."""
    url, made = shared_url(), next(_numbers)
    names = {name: f"shards_{name}_{made}" for name in "ab"}
    with psycopg.connect(url, autocommit=True) as connection:
        for name in names.values():
            connection.execute(f"CREATE DATABASE {name}")
    server = url.rpartition("/")[0]
    return {name: f"{server}/{database}" for name, database in names.items()}


def opened(servers: Mapping[str, str], **options: Any) -> Shards:
    return Shards(servers, schema="demo", embedder=HashEmbedder(16), **options)


def other(server: str) -> str:
    return "b" if server == "a" else "a"


def schemas(servers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the servers and schemas of everything that shards keep."""
    query = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'demo%' ORDER BY nspname"
    found = []
    for name, url in servers.items():
        with psycopg.connect(url) as connection:
            found += [(name, schema) for (schema,) in connection.execute(query).fetchall()]
    return sorted(found, key=lambda each: each[1])


def test_the_first_opening_creates_shards_on_all_servers(servers: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="no shards named 'demo' yet; give their count"):
        opened(servers)
    with opened(servers, count=3) as shards:
        assert (len(shards), shards.places()) == (3, ["a", "b", "a"])
    assert schemas(servers) == [
        ("a", "demo_00_of_3"),
        ("b", "demo_01_of_3"),
        ("a", "demo_02_of_3"),
    ]
    with opened(servers) as shards:
        assert len(shards) == 3
    for wrong in ({"count": 4}, {"steps": 1}):
        with pytest.raises(ValidationError, match=f"has {next(iter(wrong))}="):
            opened(servers, **wrong)


def test_a_schema_of_another_program_is_no_shard(servers: dict[str, str]) -> None:
    with psycopg.connect(servers["b"], autocommit=True) as connection:
        connection.execute("CREATE SCHEMA demo_00_of_9")
        connection.execute("CREATE TABLE demo_00_of_9.records (id int)")
    with opened(servers, count=2) as shards:
        assert shards.places() == ["a", "b"]


def test_many_processes_create_the_same_shards(servers: dict[str, str]) -> None:
    with ThreadPoolExecutor(4) as threads:
        for shards in threads.map(lambda _: opened(servers, count=4), range(4)):
            shards.close()
    assert len(schemas(servers)) == 4


def test_creation_goes_on_after_a_crash(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: Any, schema: str, *more: Any) -> None:
        if schema == "demo_01_of_3":
            raise KeyboardInterrupt
        create_tables(connection, schema, *more)

    with monkeypatch.context() as patch:
        patch.setattr("bethink.storage.postgres.shards.create_tables", fail)
        with pytest.raises(KeyboardInterrupt):
            opened(servers, count=3)
    assert schemas(servers) == [("a", "demo_00_of_3")]
    with opened(servers) as shards:
        assert shards.places() == ["a", "b", "a"]


def test_shards_of_a_server_left_out_are_not_made_a_second_time(servers: dict[str, str]) -> None:
    with opened(servers, count=4) as shards:
        shards.move(2, "b")
    for one, missing in (("a", "1, 2, 3"), ("b", "0")):
        with pytest.raises(StorageError, match=f"the shards {missing} of 'demo' are on none"):
            opened({one: servers[one]})
    with opened(servers) as shards:
        assert shards.places() == ["a", "b", "b", "b"]


@pytest.mark.parametrize("used", [False, True])
def test_a_shard_that_is_missing_is_never_made_a_second_time(
    servers: dict[str, str], used: bool
) -> None:
    with opened(servers, count=2) as shards:
        if used:
            shards.store_for(ANN).store("tea", namespace=ANN)
        place, lost = shards.places()[shards.number_of(ANN)], 1 - shards.number_of(ANN)
    with psycopg.connect(servers[other(place)], autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA demo_0{lost}_of_2 CASCADE")
    with pytest.raises(StorageError, match=f"the shards {lost} of 'demo' are on none"):
        opened(servers)
    with pytest.raises(StorageError, match="open shards with"):
        MemoryStore(f"{servers[place]}?schema=demo_0{lost}_of_2")


def test_a_shard_answers_like_a_store(servers: dict[str, str]) -> None:
    plain = MemoryStore(embedder=HashEmbedder(16), clock=lambda: 1e3)
    with opened(servers, count=4, clock=lambda: 1e3) as shards, plain:
        for number, text in enumerate(["tea in the morning", "mate at night", "tea and mate"]):
            for store in (plain, shards.store_for(ANN)):
                store.store(text, id=f"m{number}", namespace=ANN)
        for name in range(9):
            place = f"users/{name}"
            shards.store_for(place).store("mate, too", namespace=place)
        found = shards.store_for(ANN).recall("mate", namespace=ANN, k=4)
        assert found == plain.recall("mate", namespace=ANN, k=4)
        everywhere = {name for store in shards for name in store.namespaces()}
        assert everywhere == {ANN, *(f"users/{name}" for name in range(9))}
        assert len({shards.number_of(f"users/{name}") for name in range(9)}) > 1
        assert shards.number_of(f"{ANN}/notes") == shards.number_of(ANN)


def test_a_store_refuses_namespaces_of_other_shards(
    servers: dict[str, str], tmp_path: Path
) -> None:
    with opened(servers, count=2) as shards:
        store = shards.store_for(ANN)
        foreign = next(
            each
            for each in (f"users/{number}" for number in count())
            if shards.number_of(each) != shards.number_of(ANN)
        )
        memory = store.store("tea", namespace=ANN)
        refused: list[Callable[[], object]] = [
            lambda: store.store("lost", namespace=foreign),
            lambda: store.store_many(["lost"], namespace=foreign),
            lambda: store.update(memory.id, namespace=foreign),
        ]
        with MemoryStore(embedder=HashEmbedder(16)) as elsewhere:
            elsewhere.store("lost", namespace=foreign)
            lines = io.StringIO()
            elsewhere.export(lines)
            path = tmp_path / "elsewhere.db"
            elsewhere.backup(path)
        refused += [
            lambda: store.merge_from(path),
            lambda: store.import_(io.StringIO(lines.getvalue())),
        ]
        for call in refused:
            with pytest.raises(ValidationError, match=r"is not in shard \d; shards.store_for"):
                call()
        assert store.count(namespace=EVERYWHERE) == 1
        assert shards.store_for(Subtree(ANN)) is store
        with pytest.raises(ValidationError, match="several shards"):
            shards.store_for(Subtree("users"))
        with pytest.raises(ValidationError, match="namespace"):
            shards.store_for("a//b")
    with pytest.raises(StoreClosedError):
        shards.store_for(ANN)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"servers": {}}, "servers must be a mapping"),
        ({"servers": "postgresql://host/db"}, "servers must be a mapping"),
        ({"servers": {"a": "memory.db"}}, "'a' needs the URL"),
        ({"servers": {"": "postgresql://host/db"}}, "must be a text"),
        ({"servers": {"a": "postgresql://host/db?schema=x"}}, "must name neither schema"),
        ({"schema": "a.b"}, "plain name"),
        ({"schema": "a" * 41}, "at most 40"),
        ({"count": 0}, "count must be at least 1"),
        ({"count": 1_001}, "count must be at most 1000"),
        ({"steps": 0}, "steps must be at least 1"),
    ],
)
def test_a_wrong_argument_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Shards(**{"servers": {"a": "postgresql://nobody@127.0.0.1:1/none"}, **given})


class Users:
    """Threads that write and read in one shard until told to stop."""

    def __init__(self, servers: Mapping[str, str], threads: int = 2) -> None:
        self._servers = servers
        self._stop, self.calls = threading.Event(), threading.Semaphore(0)
        self._pool = ThreadPoolExecutor(2 * threads)
        self._written = [self._pool.submit(self._write, number) for number in range(threads)]
        self._read = [self._pool.submit(self._look) for _ in range(threads)]

    def _write(self, thread: int) -> set[str]:
        kept = set[str]()
        with opened(self._servers) as shards:
            store = shards.store_for(ANN)
            for number in count():
                if self._stop.is_set():
                    return kept
                id = store.store(f"note {number}", id=f"{thread}-{number}", namespace=ANN).id
                kept.add(id)
                if number % 5 == 4:
                    store.erase(id) if number % 2 else store.forget(id)
                    kept.discard(id)
                self.calls.release()
        raise AssertionError

    def _look(self) -> int:
        with opened(self._servers) as shards:
            store, seen = shards.store_for(ANN), 0
            while not self._stop.is_set():
                found = store.count(namespace=ANN)
                store.recall("note", namespace=ANN, k=2)
                store.all(namespace=ANN, limit=2)
                store.log(limit=2)
                assert found >= seen - 10  # nothing older than what was seen, but forgotten notes
                seen = found
        return seen

    def wait_for(self, calls: int) -> None:
        for _ in range(calls):
            assert self.calls.acquire(timeout=60)

    def stop(self) -> set[str]:
        """Return the ids of what is to be there."""
        self._stop.set()
        self._pool.shutdown()
        for each in self._read:
            each.result()
        return {id for each in self._written for id in each.result()}


@contextmanager
def used(servers: Mapping[str, str]) -> Iterator[Users]:
    users = Users(servers)
    try:
        yield users
    finally:
        users.stop()


def test_a_shard_moves_while_it_is_used(servers: dict[str, str]) -> None:
    with opened(servers, count=2) as shards:
        store, number = shards.store_for(ANN), shards.number_of(ANN)
        store.store_many([f"memory {each}" for each in range(300)], namespace=ANN)
        store.snapshot("full")
        first, second = (each.id for each in store.all(namespace=ANN, limit=2))
        store.relate(first, second, "follows")
        seen = list[int]()
        with used(servers) as users:
            for _ in range(3):
                users.wait_for(20)
                target = other(shards.places()[number])
                assert shards.move(number, target, progress=lambda done, _: seen.append(done))
                assert shards.places()[number] == target
                users.wait_for(20)
        kept = {each.id for each in store.all(namespace=ANN) if each.content.startswith("note")}
        assert kept == users.stop()
        assert store.verify().problems == ()
        assert len(store.as_of("full").all(namespace=ANN)) == 300
        assert store.recall("memory 7", namespace=ANN, k=1)[0].content == "memory 7"
        assert len(store.related(first)) == 1
        assert not shards.move(number, target)  # is there
        assert seen[-1] >= 300
        assert servers[target].rpartition("/")[2] in store.location
    assert len(schemas(servers)) == 2  # nothing stays at the old places


def test_an_erasing_goes_on_where_the_shard_has_moved(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count()

    def moved_meanwhile(notes: Iterator[str]) -> list[str]:
        if next(calls) == 1:  # after the write, before the tables are vacuumed
            number = shards.number_of(ANN)
            assert shards.move(number, other(shards.places()[number]))
        return tables_of(notes)

    with opened(servers, count=2) as shards:
        store = shards.store_for(ANN)
        record = store.store("secret", namespace=ANN)
        with monkeypatch.context() as patched:
            patched.setattr(postgres, "tables_of", moved_meanwhile)
            assert store.erase(record.id) == 1
        assert store.get(record.id) is None
        assert store.verify().problems == ()


@contextmanager
def broken_off(monkeypatch: pytest.MonkeyPatch, step: str) -> Iterator[None]:
    """Let a step of a move end with an error, as if the process had died."""

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        owner: Any = moving
        for name in step.split(".")[:-1]:
            owner = getattr(owner, name)
        patched.setattr(owner, step.rpartition(".")[2], fail)
        yield


@pytest.mark.parametrize(
    ("step", "has_moved"),
    [
        ("Copy.bring", False),
        ("Copy.check", False),
        ("_leave", False),  # the copy is complete, and marked
        ("ShardServers._clean", True),  # the old schema has its new name
    ],
)
def test_a_move_that_was_broken_off_is_made_again(
    servers: dict[str, str], step: str, has_moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(servers, count=1) as shards, opened(servers) as reader:
        store = shards.store_for(ANN)
        store.store("first", namespace=ANN)
        assert reader.store_for(ANN).count(namespace=ANN) == 1
        with broken_off(monkeypatch, step), pytest.raises(KeyboardInterrupt):
            shards.move(0, "b")
        assert shards.places() == ["b" if has_moved else "a"]
        store.store("second", namespace=ANN)
        assert reader.store_for(ANN).count(namespace=ANN) == 2
        with opened(servers) as late:
            assert late.store_for(ANN).count(namespace=ANN) == 2
            for target in "bab":
                assert late.move(0, target) == (target != "b" or not has_moved)
                has_moved = False
                store.store(f"at {target}", namespace=ANN)
        contents = [each.content for each in reader.store_for(ANN).all(namespace=ANN)]
        assert contents == ["first", "second", "at b", "at a", "at b"]
        assert store.verify().ok
    assert schemas(servers) == [("b", "demo_00_of_1")]


def test_a_copy_that_is_not_complete_is_refused(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(servers, count=1) as shards:
        store = shards.store_for(ANN)
        store.store("tea", namespace=ANN)
        bring = Copy.bring

        def lossy(copy: Copy) -> int:
            rows = bring(copy)
            copy._new.execute("DELETE FROM demo_00_of_1.vectors")  # a copy knows its connection
            return rows

        with monkeypatch.context() as patched:
            patched.setattr(Copy, "bring", lossy)
            with pytest.raises(StorageError, match="vectors is not complete"):
                shards.move(0, "b")
        assert schemas(servers) == [("a", "demo_00_of_1")]
        assert shards.move(0, "b")


def test_a_shard_on_two_servers_is_refused_by_name(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_FIND_SECONDS", 0)
    opened(servers, count=1).close()
    opened({"b": servers["b"]}, count=1).close()  # as a backup that was put back
    with opened(servers) as shards, pytest.raises(StorageError, match="on the servers a, b; drop"):
        shards.store_for(ANN)


def test_a_server_without_an_answer_is_named(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_FIND_SECONDS", 0)
    opened(servers, count=2).close()
    servers["b"] = "postgresql://nobody@127.0.0.1:1/none"
    names = [f"users/{number}" for number in range(9)]
    with opened(servers) as shards:
        here, away = (
            next(name for name in names if shards.number_of(name) == number) for number in (0, 1)
        )
        shards.store_for(here).store("goes on", namespace=here)
        with pytest.raises(StorageError, match=r"_01_of_2 is on no server .* b \(.*ref") as caught:
            shards.store_for(away)
        assert pickle.loads(pickle.dumps(caught.value)).is_unreachable
        with pytest.raises(StorageError, match="no answer came from b"):
            shards.places()
        places, silent = shards.known_places()
        assert (places, list(silent)) == (["a", None], ["b"])
        assert "refused" in silent["b"]
        with pytest.raises(StorageError, match="Connection refused"):
            shards.move(0, "b")
        with pytest.raises(NotFoundError, match="server"):
            shards.move(0, "c")
        with pytest.raises(ValidationError, match="number must be less than 2"):
            shards.move(2, "a")
    with pytest.raises(StorageError, match="no shard was found; no answer came from b") as caught:
        opened({"b": servers["b"]}, count=2)
    assert caught.value.is_unreachable


def test_a_shard_does_not_move_under_a_long_read(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_READERS_SECONDS", 0.1)
    with opened(servers, count=1) as shards:
        store = shards.store_for(ANN)
        store.store("tea", namespace=ANN)
        with engine_of(store).backend.inspect() as inspection:
            assert len(list(inspection.traces())) == 1
            with pytest.raises(StoreBusyError, match=r"a read takes too long .* call again"):
                shards.move(0, "b")
            assert list(inspection.damage()) == []
            store.store("mate", namespace=ANN)
        assert shards.move(0, "b")
        assert store.count(namespace=ANN) == 2
        assert store.verify().ok


def test_a_commit_in_doubt_is_looked_for_at_the_new_place(servers: dict[str, str]) -> None:
    with opened(servers, count=1) as shards:
        store = shards.store_for(ANN)
        store.store("tea", namespace=ANN)
        server: Any = engine_of(store).backend
        connections = server._connections  # the connections of the store at the old place
        seq, link = connections.rows("SELECT seq, link FROM journal")[0]
        shards.move(0, "b")
        assert connections._is_committed(seq, link)
        assert not connections._is_committed(seq, b"else")


def test_roles_keep_their_rights(servers: dict[str, str]) -> None:
    with psycopg.connect(servers["a"], autocommit=True) as connection:
        for role in ("shard_app", "shard_report"):
            connection.execute(f"CREATE ROLE {role} LOGIN")
    with opened(servers, count=1) as shards:
        backend: Any = engine_of(shards.store_for(ANN)).backend
        backend.grant("shard_app", "write")
        backend.grant("shard_report", "read")
        as_app = {name: url.replace("postgres@", "shard_app@") for name, url in servers.items()}
        with opened(as_app) as app:
            app.store_for(ANN).store("before", namespace=ANN)
            with pytest.raises(StorageError, match="the role shard_app may not"):
                app.move(0, "b")
            shards.move(0, "b")
            app.store_for(ANN).store("after", namespace=ANN)
            assert app.store_for(ANN).count(namespace=ANN) == 2
    with psycopg.connect(servers["b"].replace("postgres@", "shard_report@")) as connection:
        found = connection.execute("SELECT content FROM demo_00_of_1.memories").fetchall()
        assert len(found) == 2
