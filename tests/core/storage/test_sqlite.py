from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import pytest

from bethink import MemoryStore, StorageError, StoreBusyError, ValidationError
from bethink.storage import FullBackend as Backend
from bethink.storage import open_backend
from bethink.storage.sqlite import connections
from bethink.storage.sqlite.connections import Connections
from bethink.storage.sqlite.schema import APPLICATION_ID, LATEST
from bethink.testing.contracts.backends import BackendContract, DurableContract
from bethink.testing.contracts.samples import insert, record

from .processes import NOBODY, Child, Say, ask, forks


class TestFile(DurableContract):
    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return str(tmp_path / "memory.db")


class TestMemory(BackendContract):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = open_backend(":memory:")
        yield backend
        backend.close()


def pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


@contextmanager
def without_privileges() -> Iterator[None]:
    """Give up root's right to write anywhere, if it is held."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_the_file_is_for_its_owner_only(path: Path) -> None:
    before = os.umask(0)
    try:
        with MemoryStore(path) as store:
            store.store("a secret")
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}


def test_closing_leaves_one_file(path: Path) -> None:
    with MemoryStore(path) as store:
        store.store("a memory")
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


def test_the_file_says_what_it_is(path: Path) -> None:
    open_backend(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert pragma(connection, "application_id") == APPLICATION_ID
        assert pragma(connection, "user_version") == LATEST
        assert pragma(connection, "integrity_check") == "ok"


@pytest.mark.parametrize(("durability", "level"), [("full", 3), ("normal", 1)])
def test_every_connection_has_the_settings(
    path: Path, durability: Literal["full", "normal"], level: int
) -> None:
    wanted = {
        "journal_mode": "wal",
        "synchronous": level,
        "secure_delete": 1,
        "trusted_schema": 0,
        "foreign_keys": 1,
        "busy_timeout": int(connections.BUSY_SECONDS * 1000),
    }
    with closing(Connections(str(path), durability)) as opened:
        for connection in (opened._writer, opened._reader):
            assert {name: pragma(connection, name) for name in wanted} == wanted
    assert connections.BUSY_SECONDS >= 5


def test_another_durability_is_refused(path: Path) -> None:
    with pytest.raises(ValidationError, match="one of 'full', 'normal'"):
        open_backend(path, "off")  # type: ignore[arg-type]
    assert not path.exists()


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "some" / "where" / "memory.db") as store:
        store.store("a memory")
    assert (tmp_path / "some" / "where" / "memory.db").is_file()


def test_a_tilde_is_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with MemoryStore("~/memory.db") as store:
        assert store.location == str(tmp_path / "memory.db")
    assert (tmp_path / "memory.db").is_file()


def test_a_url_names_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite:///near.db", f"sqlite:///{tmp_path}/far.db"):
        open_backend(url).close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["far.db", "near.db"]


@pytest.mark.parametrize(
    "location", ["mysql://host/db", "sqlite://x.db", "http://x", "", "a\x00b", None, 7, b"x"]
)
def test_a_location_that_names_no_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: object
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValidationError):
        open_backend(location)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("location", ["sqlite:///", "{}", "sqlite:///{}", "{}/taken/memory.db"])
def test_a_location_that_cannot_be_a_file_is_an_error(tmp_path: Path, location: str) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(StorageError):
        open_backend(location.format(tmp_path))


def test_a_folder_that_cannot_be_written_is_an_error() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        for name in ("memory.db", "below/memory.db"):
            with without_privileges(), pytest.raises(StorageError, match="Permission denied"):
                open_backend(Path(folder) / name)
        assert os.listdir(folder) == []


def test_a_file_that_cannot_be_written_refuses_writes() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder) / "memory.db"
        open_backend(path).close()
        path.chmod(0o444)
        with (
            without_privileges(),
            closing(open_backend(path)) as backend,
            pytest.raises(StorageError, match="cannot be written"),
            backend.write(),
        ):
            pass


def test_stores_in_memory_are_separate() -> None:
    with MemoryStore() as one, MemoryStore("sqlite:///:memory:") as two:
        one.store("a memory")
        assert (one.count(), two.count()) == (1, 0)


@forks
def test_a_write_that_waits_too_long_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    open_backend(path).close()

    def hold(say: Say) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            ask(say)

    holder = Child(hold)
    holder.wait_for_question()
    with closing(open_backend(path)) as backend:
        with pytest.raises(StoreBusyError, match="write lock") as caught:
            insert(backend, record("r1"))
        assert caught.value.path == str(path)
        assert backend.count("default", None) == 0
        holder.answer()
        holder.result()
        assert insert(backend, record("r1"))[0].row == 1


def test_a_reader_does_not_wait_for_a_writer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.0)
    with closing(open_backend(path)) as writing, closing(open_backend(path)) as reading:
        insert(writing, record("r1"))
        with writing.write() as writer:
            writer.insert(record("r2"), {})
            assert list(reading.find(["r1", "r2"])) == ["r1"]
            assert list(writing.find(["r1", "r2"])) == ["r1"]


def test_a_store_knows_its_file_where_the_process_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with MemoryStore("memory.db") as store:
        store.store("a secret", id="r1")
        backup = tmp_path / "memory.db.v1.backup"
        backup.write_bytes(b"a secret")
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.erase("r1")
        assert not backup.exists()
        with pytest.raises(ValidationError, match="merged with itself"):
            store.merge_from(tmp_path / "memory.db")
        assert store.location == str(tmp_path / "memory.db")


@forks
def test_stores_that_meet_leave_nothing_where_the_process_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with (
        closing(open_backend("memory.db")) as one,
        closing(open_backend("memory.db")) as two,
        ThreadPoolExecutor(1) as thread,
    ):
        monkeypatch.chdir(elsewhere)
        with one.write() as writer:
            writer.set_setting("name", "value")
            waiting = thread.submit(insert, two, record("r1"))
            while not list(tmp_path.rglob("*-gate")):
                assert not waiting.done()
        assert waiting.result()[0].row == 1
        assert list(elsewhere.iterdir()) == []
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["memory.db"]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not move an open file")
def test_a_write_refused_after_its_transaction_began_leaves_the_next_write_free(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        store.store("one")
        moved = path.rename(tmp_path / "moved.db")
        with pytest.raises(StorageError, match="is gone"):
            store.store("two")
        moved.rename(path)
        store.store("three")
        assert {record.content for record in store.all()} == {"one", "three"}
