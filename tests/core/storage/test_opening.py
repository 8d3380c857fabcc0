"""Files that are refused or mended when a store is opened, and files that change under a store."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bethink import (
    EVERYWHERE,
    BethinkError,
    CorruptStoreError,
    HashEmbedder,
    IntegrityKeyError,
    MemoryStore,
    StorageError,
    TamperedError,
    ValidationError,
)
from bethink.storage import FileAnchor, open_backend

from ..inside import connections_of, engine_of
from .processes import Child, as_nobody, forks

KEY = b"sixteen bytes or more"


def opened(path: Path, **options: object) -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(16), **options)  # type: ignore[arg-type]


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def tear(path: Path, torn: slice) -> None:
    """Leave *path* as a power cut leaves a new file whose first page is written only in part."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE one (page)")
        log = Path(f"{path}-journal")
        written = log.read_bytes()
        connection.execute("COMMIT")
    page = bytearray(path.read_bytes())
    page[torn] = bytes(len(page[torn]))
    path.write_bytes(page)
    header = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(4) + os.urandom(4) + bytes(4)
    sizes = (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    log.write_bytes((header + sizes).ljust(512, b"\0") if not any(written[:8]) else written)


@pytest.mark.parametrize("torn", [slice(0, 512), slice(0, 4096), slice(512, 4096)])
def test_a_new_file_whose_first_page_is_torn_opens(path: Path, torn: slice) -> None:
    tear(path, torn)
    with opened(path) as store:
        store.store("one")
    with opened(path) as store:
        assert store.count() == 1


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize(
    "made",
    [
        ("DROP TABLE facts", f"CREATE VIEW facts AS {ENDLESS} SELECT i AS name, i AS value FROM n"),
        ("CREATE VIEW extra AS SELECT 1",),
        ("CREATE TRIGGER spy AFTER INSERT ON records BEGIN DELETE FROM snapshots; END",),
    ],
    ids=["an endless table", "a view", "a trigger"],
)
def test_views_and_triggers_of_others_are_refused_before_a_table_is_read(
    path: Path, key: bytes | None, made: tuple[str, ...]
) -> None:
    opened(path, integrity_key=key).close()
    alter(path, *made)
    with pytest.raises(CorruptStoreError, match="not of bethink's making") as caught:
        opened(path, integrity_key=key)
    assert isinstance(caught.value, TamperedError) == (key is not None)


@pytest.mark.parametrize("version", [0, -1])
def test_a_store_whose_version_was_changed_is_named(path: Path, version: int) -> None:
    opened(path).close()
    alter(path, f"PRAGMA user_version = {version}")
    with pytest.raises(CorruptStoreError, match=f"user_version, was set to {version}"):
        opened(path)


def test_a_link_to_a_missing_file_makes_the_file(path: Path) -> None:
    target = path.with_name("target.db")
    path.symlink_to(target)
    opened(path).close()
    assert path.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_no_store_and_no_anchor(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(StorageError, match="a pipe or a device, not a file"):
        opened(path)
    with pytest.raises(StorageError, match="is no file, so no anchor"):
        FileAnchor(path).read()


def test_an_anchor_has_every_write_synced(path: Path) -> None:
    anchor = path.with_name("anchor")
    with opened(path, integrity_key=KEY, durability="normal", anchor=anchor) as store:
        backend = engine_of(store).backend
        level = backend._connections.rows("PRAGMA synchronous")  # type: ignore[attr-defined]
    assert level == [(3,)]


def test_an_anchor_is_given_up_only_on_purpose(path: Path) -> None:
    anchor = path.with_name("anchor")
    with opened(path, integrity_key=KEY, anchor=anchor) as store:
        store.store("one")
    with pytest.raises(IntegrityKeyError, match="anchor=False"):
        opened(path, integrity_key=KEY)
    opened(path, integrity_key=KEY, anchor=False).close()
    opened(path, integrity_key=KEY).close()


def test_a_durability_of_any_size_is_refused(path: Path) -> None:
    with pytest.raises(ValidationError, match="durability must be one of"):
        open_backend(path, 10**5000)  # type: ignore[arg-type]


@pytest.mark.parametrize("left", [0, 4096, 8192])
def test_a_store_that_is_cut_short_acknowledges_nothing(path: Path, left: int) -> None:
    with opened(path) as store:
        store.store_many([f"memory {n}" for n in range(200)])
    with opened(path) as store:
        store.store("whale")
        assert path.stat().st_size > 2 * left
        os.truncate(path, left)
        with pytest.raises(CorruptStoreError, match="cut short"):
            store.store("lost")


def test_a_file_made_smaller_by_another_process_is_whole(path: Path) -> None:
    with opened(path) as store:
        store.store_many([f"memory {n}" * 500 for n in range(20)])
    with opened(path) as store:
        store.store("otter")
        before = path.stat().st_size
        with opened(path) as other:
            other.forget(namespace="default")
            other.compact(keep=0)
        assert path.stat().st_size < before
        store.store("whale")
        assert store.count() == 1


READS: list[Callable[[MemoryStore], object]] = [
    lambda store: store.recall("whale", as_of="mark"),
    lambda store: store.recall("whale"),
    lambda store: store.as_of("mark").all(),
    lambda store: store.all(namespace=EVERYWHERE),
    lambda store: store.namespaces(),
    lambda store: store.log(),
    lambda store: store.diff("mark"),
    lambda store: store.snapshots(),
    lambda store: store.vectors(["a", "b"], "mine"),
    lambda store: store.update("a", content="changed"),
    lambda store: store.verify(),
    lambda store: list(store.audit("a")),
]


@pytest.mark.parametrize("value", ["CAST(x'ff22' AS TEXT)", "'\"'", "x'00'"])
@pytest.mark.parametrize(
    "column",
    [
        "snapshots.seq", "snapshots.name", "records.namespace", "records.metadata",
        "records.revision", "journal.action", "journal.changes", "journal.at", "vectors.vector",
        "named_vectors.name", "named_vectors.vector", "facts.value", "segments.first",
    ],
)  # fmt: skip
def test_no_read_that_failed_keeps_a_file_from_being_cleaned(
    path: Path, column: str, value: str
) -> None:
    store = opened(path)
    for id in "abc":
        store.store(f"whale {id}", id=id, vectors={"mine": [1, 2]})
    store.snapshot("mark")
    table, name = column.split(".")
    alter(path, f"UPDATE {table} SET {name} = {value}")
    kept = []
    for read in READS:
        try:
            read(store)
        except BethinkError as error:
            kept.append(error)
    connections_of(store).rewrite(0.05)
    with suppress(CorruptStoreError):
        store.close()


@pytest.fixture
def shelf() -> Iterator[Path]:
    """Return a folder that every user may enter."""
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)
        os.chmod(folder, 0o755)


def copy_files(folder: Path, shelf: Path) -> None:
    for file in folder.glob("memory.db*"):
        shutil.copy(file, shelf)
        (shelf / file.name).chmod(0o444)


def look(store: MemoryStore) -> None:
    assert [hit.record.id for hit in store.recall("whale")] == ["a"]
    assert store.as_of(1).count() == 1
    assert store.verify().ok


@forks
@pytest.mark.parametrize("log", [False, True], ids=["alone", "with a log"])
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_a_store_without_write_permission_is_read(
    tmp_path: Path, shelf: Path, key: bytes | None, log: bool
) -> None:
    path = shelf / "memory.db"
    with opened(tmp_path / "memory.db", integrity_key=key) as store:
        store.store("A whale sings", id="a")
        look(store)  # imports what a process without permissions cannot
        if log:
            copy_files(tmp_path, shelf)
    if not log:
        copy_files(tmp_path, shelf)
    shelf.chmod(0o555)

    def read() -> None:
        with opened(path, integrity_key=key) as store:
            look(store)
            for write in (lambda: store.store("b"), lambda: store.erase("a")):
                with pytest.raises(StorageError, match=r"memory\.db: cannot be written"):
                    write()

    before = sorted(shelf.iterdir())
    as_nobody(read)
    assert sorted(shelf.iterdir()) == before
    assert len(before) == (3 if log else 1)


@forks
def test_a_file_that_may_not_be_read_is_told(shelf: Path) -> None:
    opened(shelf / "memory.db").close()
    (shelf / "memory.db").chmod(0o200)

    def read() -> None:
        with pytest.raises(StorageError, match="cannot be read: there is no permission"):
            opened(shelf / "memory.db")

    as_nobody(read)


@forks
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    opened(tmp_path / "memory.db").close()

    def open_without_room(_: object) -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        with pytest.raises(StorageError, match="cannot be opened: the disk is full"):
            opened(tmp_path / "memory.db")

    Child(open_without_room).result()


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_store_that_is_copied_says_what_to_do_instead(clone: Callable[[object], object]) -> None:
    with MemoryStore() as store, pytest.raises(TypeError, match="pass its location"):
        clone(store)


@pytest.mark.parametrize("location", ["file:m.db", "sqlite:///m.db?mode=ro", "file:m.db?mode=ro"])
def test_a_file_takes_no_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValidationError, match="without parameters"):
        MemoryStore(location)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("when", [10**5000, -(10**5000)], ids=["late", "early"])
def test_a_moment_of_any_size_is_refused(when: int) -> None:
    with MemoryStore() as store, pytest.raises(ValidationError, match="a number of 16610 bits"):
        store.as_of(when)
