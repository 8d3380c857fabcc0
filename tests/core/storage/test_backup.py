"""A copy of an open store: one moment, complete and checked, or nothing."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from bethink import (
    AsyncMemoryStore,
    CorruptStoreError,
    HashEmbedder,
    MemoryStore,
    StorageError,
    ValidationError,
)

KEY = b"sixteen bytes or more"


def opened(path: Path | str, **options: object) -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(16), **options)  # type: ignore[arg-type]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize("place", ["file", ":memory:"])
def test_a_copy_has_the_records_the_history_and_the_accesses(
    path: Path, target: Path, place: str, key: bytes | None
) -> None:
    with opened(path if place == "file" else place, integrity_key=key) as store:
        store.store("A whale sings", id="a")
        store.snapshot("mark")
        store.update("a", content="A whale sleeps")
        store.recall("whale")
        store.backup(target)
        store.store("A later one")
    with opened(target, integrity_key=key) as restored:
        (record,) = restored.all()
        assert (record.content, record.access_count) == ("A whale sleeps", 1)
        assert restored.as_of("mark").get("a").content == "A whale sings"  # type: ignore[union-attr]
        assert restored.verify().ok
    assert sorted(file.name for file in target.parent.glob("copy*")) == ["copy.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_writers_go_on_and_the_copy_is_of_one_moment(path: Path, target: Path) -> None:
    enough = Event()

    def write(store: MemoryStore) -> None:
        while not enough.is_set():
            store.store_many(["one", "two"])

    with opened(path, durability="normal") as store:
        store.store_many(["whale"] * 1000)
        thread = Thread(target=write, args=[store])
        thread.start()
        try:
            store.backup(target)
        finally:
            enough.set()
            thread.join()
    with opened(target) as restored:
        assert restored.count() % 2 == 0
        assert restored.count() >= 1000
        assert restored.verify().ok


def test_an_existing_target_is_refused_and_kept(path: Path, target: Path) -> None:
    with opened(path) as store:
        store.store("one")
        for taken in (path, target):
            taken.touch()
            before = taken.read_bytes()
            with pytest.raises(ValidationError, match="exists already"):
                store.backup(taken)
            assert taken.read_bytes() == before


def test_a_target_that_cannot_be_written_is_named(path: Path) -> None:
    with opened(path) as store:
        with pytest.raises(StorageError, match=r"copy\.db\.part: No such file"):
            store.backup(path.parent / "nowhere" / "copy.db")
        with pytest.raises(ValidationError, match="target must be a path"):
            store.backup(5)  # type: ignore[arg-type]


def test_damage_is_not_copied_in_silence(path: Path, target: Path) -> None:
    with opened(path) as store:
        store.store_many([f"memory {n} of whales" for n in range(500)])
    with closing(sqlite3.connect(path)) as connection:
        page = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'records_scope'"
        ).fetchone()[0]
    with open(path, "r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(bytes(4096))
    with opened(path) as store, pytest.raises(CorruptStoreError, match="its copy is damaged"):
        store.backup(target)
    assert list(target.parent.glob("copy*")) == []


def test_a_backup_can_be_awaited(path: Path, target: Path) -> None:
    async def work() -> None:
        async with AsyncMemoryStore(path, embedder=HashEmbedder(16)) as store:
            await store.store("one")
            await store.backup(target)

    asyncio.run(work())
    with opened(target) as restored:
        assert restored.count() == 1


def test_a_full_disk_of_the_copy_is_told_with_the_copy_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def full(path: str, *given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(path, *given, **named)
        if ".part" in path:
            connection.execute("PRAGMA max_page_count = 2")
            Path(f"{path}-journal").touch()  # left by SQLite on a full disk
        return connection

    (tmp_path / "disk").mkdir()
    with MemoryStore(tmp_path / "agent.db") as store:
        store.store_many(f"fact number {number}" for number in range(50))
        monkeypatch.setattr(sqlite3, "connect", full)
        with pytest.raises(StorageError, match="full") as raised:
            store.backup(tmp_path / "disk" / "copy.db")
    assert raised.value.path == str(tmp_path / "disk" / "copy.db")
    assert not any((tmp_path / "disk").iterdir())
