"""Files that bethink did not make, and files of its own that are damaged."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pytest

from bethink import (
    EVERYWHERE,
    BethinkError,
    CorruptStoreError,
    HashEmbedder,
    MemoryStore,
    NotABethinkFileError,
    SchemaTooNewError,
    StorageError,
)
from bethink.storage import open_backend
from bethink.storage.sqlite.schema import APPLICATION_ID, LATEST

PAGE = 4096
TEXT = b"Dear diary, today I met a database.\n"
HEADER = b"SQLite format 3\x00"
SOMETHING_ELSE = {
    "a letter": b"x",
    "a line": TEXT,
    "a text": TEXT * 1000,
    "noise": random.Random(1).randbytes(3 * PAGE + 5),
    "zeros": bytes(2 * PAGE),
    "a header": HEADER,
    "a header and noise": HEADER + random.Random(2).randbytes(PAGE),
    "a picture": b"\x89PNG\r\n\x1a\n" + random.Random(3).randbytes(PAGE),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def foreign(path: Path, *pragmas: str) -> None:
    """Make another program's database at *path*."""
    with closing(sqlite3.connect(path)) as connection:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TABLE journal (seq, entry)")
        connection.execute("INSERT INTO journal VALUES (1, 'theirs')")
        connection.commit()


@pytest.mark.parametrize("data", SOMETHING_ELSE.values(), ids=SOMETHING_ELSE)
def test_a_file_that_is_no_database_is_left_alone(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(NotABethinkFileError, match="memory"):
        MemoryStore(path)
    assert contents(path.parent) == {path.name: data}


@pytest.mark.parametrize(
    "pragmas",
    [(), ("journal_mode = wal",), ("application_id = 7",), ("user_version = 1",)],
    ids=["plain", "in WAL mode", "with an id", "with a version"],
)
def test_a_database_of_another_program_is_left_alone(path: Path, pragmas: tuple[str, ...]) -> None:
    foreign(path, *pragmas)
    before = contents(path.parent)
    with pytest.raises(NotABethinkFileError, match="another program"):
        MemoryStore(path)
    assert contents(path.parent) == before


def test_an_empty_database_with_the_id_of_another_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 7")
    before = contents(path.parent)
    with pytest.raises(NotABethinkFileError):
        MemoryStore(path)
    assert contents(path.parent) == before


def test_the_log_of_a_crashed_program_is_left_alone(path: Path, tmp_path: Path) -> None:
    running = tmp_path / "running"
    running.mkdir()
    foreign(running / "theirs.db", "journal_mode = wal")
    with closing(sqlite3.connect(running / "theirs.db")) as connection:
        connection.execute("INSERT INTO journal VALUES (2, 'theirs, not yet checkpointed')")
        connection.commit()
        (tmp_path / "crashed").mkdir()
        path = tmp_path / "crashed" / "memory.db"
        path.write_bytes((running / "theirs.db").read_bytes())
        path.with_name("memory.db-wal").write_bytes((running / "theirs.db-wal").read_bytes())
    before = contents(path.parent)
    with pytest.raises(NotABethinkFileError):
        MemoryStore(path)
    assert contents(path.parent) == before


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with MemoryStore(path) as store:
        store.store("a memory")
    with MemoryStore(path) as store:
        assert store.count() == 1


def test_a_file_is_looked_at_each_time_a_store_is_opened(path: Path) -> None:
    MemoryStore(path).close()
    path.write_bytes(b"x")  # the same file, of another program now
    with pytest.raises(NotABethinkFileError):
        MemoryStore(path)
    assert path.read_bytes() == b"x"


def test_a_file_of_a_newer_bethink_is_left_alone(path: Path) -> None:
    open_backend(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {LATEST + 1}")
    before = contents(path.parent)
    with pytest.raises(SchemaTooNewError, match="pip install --upgrade bethink") as caught:
        MemoryStore(path)
    assert (caught.value.found, caught.value.supported) == (LATEST + 1, LATEST)
    assert contents(path.parent) == before


def test_a_file_without_its_tables_is_an_error(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {LATEST}")
    with pytest.raises(StorageError, match="no such table"):
        MemoryStore(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a store that has something in every table, the same every time."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    ticks, chance = count(1_000_000), random.Random(5)
    with (
        pytest.MonkeyPatch.context() as patch,
        MemoryStore(
            path,
            embedder=HashEmbedder(64),
            durability="normal",
            clock=lambda: float(next(ticks)),
            new_id=lambda: f"r{next(ticks)}",
        ) as store,
    ):
        patch.setattr(os, "urandom", chance.randbytes)
        for n in range(600):
            store.store(
                f"memory {n} of whales and parrots",
                key=f"k{n % 300}",
                tags=["animal"],
                metadata={"n": n},
                value={"n": n},
                thread=f"t{n % 7}",
                vectors={"mine": [n, 1.0]},
            )
        store.recall("whales")
    return path.read_bytes()


def use(path: Path) -> None:
    """Call every verb."""
    with MemoryStore(path, durability="normal") as store:
        store.recall("whales and parrots", k=50, where={"metadata.n": {"$gt": 3}})
        kept = store.all(namespace=EVERYWHERE)
        store.vectors([record.id for record in kept], "mine")
        store.log(limit=None)
        store.get(key="k3")
        store.namespaces()
        store.store("one more", key="k3", vectors={"mine": [1.0, 2.0]})
        for record in kept[:3]:
            store.update(record.id, content="changed")
            store.forget(record.id)
            store.restore(record.id)


def damages(whole: bytes) -> Iterator[bytes]:
    """Yield *whole* cut off, with a page blanked or scrambled, with bits flipped."""
    chance = random.Random(7)
    for _ in range(12):
        yield whole[: chance.randrange(PAGE, len(whole))]
        page = chance.randrange(len(whole) // PAGE) * PAGE
        for patch in (bytes(PAGE), chance.randbytes(PAGE)):
            yield whole[:page] + patch + whole[page + PAGE :]
        flipped = bytearray(whole)
        for _ in range(chance.choice((1, 60))):
            flipped[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        yield bytes(flipped)


@pytest.mark.slow
def test_the_whole_store_works(path: Path, whole: bytes) -> None:
    path.write_bytes(whole)
    use(path)


@pytest.mark.slow
def test_a_damaged_store_works_or_says_so(path: Path, whole: bytes) -> None:
    outcomes = []
    for number, damaged in enumerate(damages(whole)):
        broken = path.with_name(f"{number}.db")
        broken.write_bytes(damaged)
        with suppress(BethinkError):
            use(broken)
            outcomes.append(number)
    assert 0 < len(outcomes) < number


def test_a_store_cut_in_half_is_corrupt(path: Path, whole: bytes) -> None:
    path.write_bytes(whole[: len(whole) // 2 // PAGE * PAGE])
    with pytest.raises(CorruptStoreError, match="memory"):
        use(path)


@pytest.mark.parametrize("column", ["tags", "metadata", "value"])
def test_a_record_that_cannot_be_read_is_corrupt(path: Path, whole: bytes, column: str) -> None:
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE records SET {column} = '[torn'")
        connection.commit()
    with MemoryStore(path) as store, pytest.raises(CorruptStoreError):
        store.all(namespace=EVERYWHERE)
