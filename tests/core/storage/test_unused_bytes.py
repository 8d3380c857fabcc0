"""No copy of an erased cell in the unused bytes of a page, and no lock lost on the way."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from bethink import HashEmbedder, MemoryStore, StoreBusyError
from bethink.storage import sqlite
from bethink.storage.sql import group_commit
from bethink.storage.sql.group_commit import GroupCommit
from bethink.storage.sqlite import connections
from bethink.storage.sqlite.connections import Connections
from bethink.storage.sqlite.unused_bytes import UnusedBytes
from bethink.storage.sqlite.write_queue import WriteQueue

from .processes import Child, Say, forks

PAGE_BYTES = 4096
SECRET = "heron"
ROWS = 400
ALL_ROWS = "SELECT * FROM t ORDER BY id"
DESCRIPTORS = Path("/dev/fd")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def opened(path: Path) -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(16))


def secret(id: int) -> str:
    return f"{SECRET}{id} "


def left(path: Path) -> set[int]:
    """Return the removed rows with a copy in the file."""
    data = path.read_bytes()
    return {id for id in range(0, ROWS, 2) if secret(id).encode() in data}


def split_pages(connection: sqlite3.Connection, seed: int) -> None:
    """Grow rows until pages are split, so that copies stay; remove every second row."""
    dice = random.Random(seed)
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT, key TEXT UNIQUE)")
    for id in range(ROWS):
        row = (id, "x", f"{dice.getrandbits(64):x} {secret(id)}")
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", row)
    for id in dice.sample(range(ROWS), 3 * ROWS // 4):
        text = secret(id) * dice.randrange(1, 12 if id % 40 else 800)
        connection.execute("UPDATE t SET text = ? WHERE id = ?", (text, id))
    connection.execute("DELETE FROM t WHERE id % 2 = 0")


def with_split_pages(path: Path, seed: int, page_bytes: int = PAGE_BYTES) -> list[Any]:
    """Create the file at *path*, and return the rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {page_bytes}")
        connection.executescript("PRAGMA secure_delete = ON; PRAGMA synchronous = OFF")
        split_pages(connection, seed)
        return connection.execute(ALL_ROWS).fetchall()


def blanked(path: Path, page_bytes: int = PAGE_BYTES) -> None:
    found = path.stat()
    unused = UnusedBytes(str(path), (found.st_dev, found.st_ino))
    unused.blank(page_bytes)
    unused.close()


@pytest.mark.parametrize("page_bytes", [512, 4096, 65536])
@pytest.mark.parametrize("seed", range(3))
def test_only_unused_bytes_become_zeros(tmp_path: Path, seed: int, page_bytes: int) -> None:
    path = tmp_path / "pages.db"
    rows = with_split_pages(path, seed, page_bytes)
    before = path.read_bytes()
    blanked(path, page_bytes)
    assert path.stat().st_size == len(before)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute(ALL_ROWS).fetchall() == rows
    changed = [byte for byte, was in zip(path.read_bytes(), before, strict=True) if byte != was]
    assert changed
    assert not any(changed)


def test_copies_that_pages_keep_of_moved_cells_go(path: Path) -> None:
    with_split_pages(path, 1)
    assert left(path)
    blanked(path)
    assert left(path) == set()


def test_a_damaged_page_is_left_as_found(path: Path) -> None:
    with_split_pages(path, 1)
    data = bytearray(path.read_bytes())
    data[PAGE_BYTES + 5 : PAGE_BYTES + 7] = b"\xff\xff"  # cells that start beyond the page
    path.write_bytes(data)
    blanked(path)
    assert path.read_bytes()[PAGE_BYTES : 2 * PAGE_BYTES] == data[PAGE_BYTES : 2 * PAGE_BYTES]


def grown(store: MemoryStore, number: int) -> list[str]:
    """Store memories, and let the contents grow, so that pages are split; return the ids."""
    store.store_many({"id": str(n), "content": "x"} for n in range(number))
    for n in random.Random(1).sample(range(number), number):
        store.update(str(n), content=secret(n) * (1 + n % 30))
    return [str(n) for n in range(number)]


@pytest.mark.parametrize("writer", [0, 1], ids=["the same store", "another store"])
def test_no_copy_comes_back_from_pages_in_memory(
    path: Path, writer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_again(self: UnusedBytes, page_bytes: int) -> None:
        assert files[1].rows("SELECT text, key FROM t")
        real(self, page_bytes)

    real = UnusedBytes.blank
    monkeypatch.setattr(UnusedBytes, "blank", read_again)
    files = [Connections(str(path), "normal") for _ in range(2)]
    with files[0].writing() as connection:
        split_pages(connection, 1)
    files[0].blank(1.0)
    with files[writer].writing() as connection:
        connection.execute("UPDATE t SET text = upper(text), key = upper(key)")
    for each in files:
        each.close()
    assert left(path) == set()


def test_an_erasing_leaves_the_locks_of_the_process(path: Path) -> None:
    other_process = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0)\n"
        "try: print(c.execute('PRAGMA journal_mode = DELETE').fetchone())\n"
        "except sqlite3.OperationalError as error: print(error)"
    )
    with opened(path) as store, opened(path) as other:
        other.erase(other.store(SECRET).id)
        other.close()
        command = [sys.executable, "-c", other_process, str(path)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "locked" in told
        store.store("a crane")


@pytest.fixture
def descriptors() -> set[str]:
    if not DESCRIPTORS.is_dir():
        pytest.skip("needs a folder of open descriptors")
    return set(os.listdir(DESCRIPTORS))


def test_the_last_store_of_a_file_closes_the_descriptor(path: Path, descriptors: set[str]) -> None:
    for _ in range(3):
        with opened(path) as store, opened(path) as other:
            for each in (store, other):
                each.erase(each.store(SECRET).id)
    assert set(os.listdir(DESCRIPTORS)) <= descriptors


def test_connections_closed_twice_leave_the_descriptor_to_the_last_store(
    path: Path, descriptors: set[str]
) -> None:
    with opened(path) as store, closing(Connections(str(path), "normal")) as twice:
        store.erase(store.store(SECRET).id)
        twice.close()
        before = set(os.listdir(DESCRIPTORS))
        twice.close()
        assert set(os.listdir(DESCRIPTORS)) == before


def recall_in_thread(store: MemoryStore, found: list[int]) -> None:
    """Add the number of answers to *found*, unless the thread has to wait."""
    reader = Thread(target=lambda: found.append(len(store.recall("a crane"))))
    reader.start()
    reader.join(20)


def test_recalls_go_on_beside_an_erasing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    real = UnusedBytes.blank

    def blank(self: UnusedBytes, page_bytes: int) -> None:
        recall_in_thread(store, found)
        real(self, page_bytes)

    with opened(path) as store:
        store.store("a crane")
        id = store.store(SECRET).id
        monkeypatch.setattr(UnusedBytes, "blank", blank)
        store.erase(id)
        assert found == [1]


@forks
def test_an_erasing_takes_its_turn_among_processes_that_write(path: Path) -> None:
    def write(say: Say) -> None:
        with opened(path) as other:
            for number in range(100):
                other.store(f"a swan {number}")

    opened(path).close()
    children = [Child(write) for _ in range(2)]
    with opened(path) as store:
        for _ in range(5):
            ids = [record.id for record in store.store_many([SECRET] * 20)]
            store.erase(ids)
    for child in children:
        child.hear()
    assert SECRET.encode() not in path.read_bytes()
    with opened(path) as store:
        assert len(store) == 200


def test_no_transaction_of_other_threads_is_open_while_an_erasing_stands_in_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    were_open: list[bool] = []
    left_open = Event()

    @contextmanager
    def turn(self: WriteQueue) -> Iterator[None]:
        were_open.append(files._group_commit.is_open)
        with real(self):
            yield

    def write() -> None:
        with files.writing() as connection:
            connection.execute("CREATE TABLE t (id)")

    def leave(self: GroupCommit[Any], group: Any) -> None:
        left_open.set()
        wait(self, group)

    real, wait = WriteQueue.turn, GroupCommit._wait_for_commit
    monkeypatch.setattr(WriteQueue, "turn", turn)
    monkeypatch.setattr(GroupCommit, "_wait_for_commit", leave)
    monkeypatch.setattr(group_commit, "_TAKEOVER_SECONDS", 20)
    files = Connections(str(path), "normal")
    files._group_commit._waiting += 1  # a thread that is about to write
    writer = Thread(target=write)
    writer.start()
    assert left_open.wait(20)
    assert files._group_commit.is_open
    files.blank(1.0)
    writer.join(20)
    files._group_commit._waiting -= 1
    files.close()
    assert were_open == [False]


def test_nobody_stands_in_line_after_an_erasing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[bool] = []
    line = path.with_name("memory.db-gate")
    real = UnusedBytes.blank

    def blank(self: UnusedBytes, page_bytes: int) -> None:
        lines.append(line.exists())
        real(self, page_bytes)

    monkeypatch.setattr(UnusedBytes, "blank", blank)
    with opened(path) as store:
        store.erase(store.store(SECRET).id)
        assert lines == [True]
        assert not line.exists()


@pytest.mark.parametrize("small_bytes", [0, 1 << 25])
def test_recalls_go_on_beside_a_rewriting(
    path: Path, small_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def begin(
        self: WriteQueue, connection: sqlite3.Connection, *statement: str, waited: float = 0.0
    ) -> None:
        real(self, connection, *statement, waited=waited)
        if statement == ("VACUUM",):
            recall_in_thread(store, found)

    real = WriteQueue.begin
    monkeypatch.setattr(sqlite, "SMALL_BYTES", small_bytes)
    with opened(path) as store:
        store.store("a crane")
        store.forget(grown(store, 60))
        monkeypatch.setattr(WriteQueue, "begin", begin)
        assert store.compact(keep=0).freed > 0
        assert found == [1]


def test_a_file_written_anew_is_whole_before_readers_have_to_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def empty_log(files: Connections) -> bool:
        sizes.append(path.stat().st_size)
        return real(files)

    sizes, real = list[int](), Connections._empty_log
    with opened(path) as store:
        store.forget(grown(store, 600))
        monkeypatch.setattr(Connections, "_empty_log", empty_log)
        store.compact(keep=0)
        assert set(sizes) == {path.stat().st_size}


def test_a_file_with_little_to_free_is_not_written_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "SMALL_BYTES", 0)
    with opened(path) as store:
        store.store_many([f"a crane {n} " * 50 for n in range(200)])
        store.forget(store.store("a heron").id)
        monkeypatch.setattr(Connections, "rewrite", None)
        assert store.compact(keep=0).records == 1
    assert b"heron" not in path.read_bytes()


def test_a_file_too_large_for_its_gaps_to_be_found_is_written_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UnusedBytes, "can_blank", staticmethod(lambda pages: False))
    monkeypatch.setattr(UnusedBytes, "blank", None)  # what looks like a gap may hold a record
    with opened(path) as store:
        ids = grown(store, 60)
        store.erase(ids)
        assert store.stats().free_bytes == 0
    assert SECRET.encode() not in path.read_bytes()


@contextmanager
def long_read(path: Path, files: Connections) -> Iterator[None]:
    """Read an older state than that of *files* through a connection of its own."""
    with closing(Connections(str(path), "normal")) as other, other.aside() as reading:
        assert reading.execute("SELECT * FROM records").fetchall() == []
        with files.writing() as writing:
            writing.execute("CREATE TABLE t (id)")
            writing.execute("DROP TABLE t")
        assert files.rows("SELECT * FROM records") == []
        yield


@pytest.mark.parametrize("erase", [Connections.blank, Connections.rewrite])
def test_an_erasing_beside_a_long_read_waits_as_long_as_was_said_and_no_longer(
    path: Path, monkeypatch: pytest.MonkeyPatch, erase: Callable[[Connections, float], None]
) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 3600.0)
    with closing(Connections(str(path), "normal")) as files:
        with (
            long_read(path, files),
            pytest.raises(StoreBusyError, match="keeps reading an older state"),
        ):
            erase(files, 0.0)
        erase(files, 0.0)


@pytest.mark.parametrize("erase", [Connections.blank, Connections.rewrite])
def test_an_erasing_goes_on_once_a_long_read_ends(
    path: Path, monkeypatch: pytest.MonkeyPatch, erase: Callable[[Connections, float], None]
) -> None:
    def try_and_end_read(files: Connections) -> bool:
        tries.append(empty_log(files))
        reading.close()
        return tries[-1]

    tries, empty_log = list[bool](), Connections._empty_log
    monkeypatch.setattr(Connections, "_empty_log", try_and_end_read)
    with closing(Connections(str(path), "normal")) as files, ExitStack() as reading:
        reading.enter_context(long_read(path, files))
        erase(files, 600.0)
    assert tries == [False, True]
