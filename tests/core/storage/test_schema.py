"""How an old file becomes a new one."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore, StorageError
from bethink.storage import FullBackend as Backend
from bethink.storage import open_backend
from bethink.storage.sqlite import schema
from bethink.storage.sqlite.schema import APPLICATION_ID, LATEST, MIGRATIONS, version_of

from .processes import forks, together

NEXT = """
CREATE TABLE extra (row INTEGER PRIMARY KEY, note TEXT);

INSERT INTO extra SELECT row, upper(content) FROM records;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file of today's version with one memory in it."""
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        store.store("a memory", id="r1")
    return path


@pytest.fixture
def _next_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make bethink know a next version, once the file of today's version is there."""
    upgrade_to(monkeypatch, NEXT)


def upgrade_to(monkeypatch: pytest.MonkeyPatch, *steps: str) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, *steps))
    monkeypatch.setattr(schema, "LATEST", LATEST + len(steps))


def read(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def backup_of(path: Path, version: int = LATEST) -> Path:
    return path.with_name(f"{path.name}.v{version}.backup")


def test_a_new_file_has_the_latest_version_and_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    open_backend(path).close()
    assert read(path, "PRAGMA user_version") == [(LATEST,)]
    assert [file.name for file in tmp_path.iterdir()] == ["new.db"]


def test_the_tables_leave_room_for_codes_and_for_erasing(path: Path) -> None:
    columns = {
        table: {name: null for _, name, _, null, *_ in read(path, f"PRAGMA table_info({table})")}
        for table in ("records", "journal")
    }
    assert {"key", "source", "expires_at", "occurred_at", "created_at", "code"} <= columns[
        "records"
    ].keys()
    assert {name: columns["journal"][name] for name in ("digest", "link", "salt", "changes")} == {
        "digest": 1,
        "link": 1,
        "salt": 0,
        "changes": 0,
    }


def test_a_disk_too_full_for_the_tables_is_told(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA max_page_count = 5")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            schema.migrate(connection, "m.db")


@pytest.mark.usefixtures("_next_version")
def test_an_old_file_is_upgraded_and_its_memories_stay(path: Path) -> None:
    with MemoryStore(path) as store:
        assert [record.id for record in store.all()] == ["r1"]
        store.store("another")
    assert read(path, "PRAGMA user_version") == [(LATEST + 1,)]
    assert read(path, "SELECT note FROM extra") == [("A MEMORY",)]


@pytest.mark.usefixtures("_next_version")
def test_an_old_file_is_copied_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MemoryStore(path).close()
    backup = backup_of(path)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert {file.name for file in path.parent.iterdir()} == {path.name, backup.name}
    upgrade_to(monkeypatch)
    with MemoryStore(backup) as store:
        assert [record.content for record in store.all()] == ["a memory"]
    assert read(backup, "PRAGMA application_id") == [(APPLICATION_ID,)]


@pytest.mark.usefixtures("_next_version")
def test_a_file_that_cannot_be_copied_is_not_upgraded(path: Path) -> None:
    backup_of(path).with_suffix(".backup.part").mkdir()
    with pytest.raises(StorageError, match="cannot be copied before its upgrade"):
        MemoryStore(path)
    assert read(path, "PRAGMA user_version") == [(LATEST,)]


def test_steps_that_were_skipped_are_all_taken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade_to(monkeypatch, NEXT, "ALTER TABLE extra ADD COLUMN more TEXT;\n")
    MemoryStore(path).close()
    assert read(path, "PRAGMA user_version") == [(LATEST + 2,)]
    assert read(path, "SELECT note, more FROM extra") == [("A MEMORY", None)]
    assert not backup_of(path, LATEST + 1).exists()


def test_a_step_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade_to(monkeypatch, f"{NEXT};\nINSERT INTO nowhere VALUES (1)")
    with pytest.raises(StorageError, match="nowhere"):
        MemoryStore(path)
    assert read(path, "PRAGMA user_version") == [(LATEST,)]
    assert read(path, "SELECT name FROM sqlite_master WHERE name = 'extra'") == []
    upgrade_to(monkeypatch, NEXT)
    with MemoryStore(path) as store:
        assert store.count() == 1


@pytest.mark.usefixtures("_next_version")
def test_what_an_interrupted_upgrade_left_is_no_obstacle(path: Path) -> None:
    backup_of(path).write_bytes(b"an earlier copy")
    Path(f"{backup_of(path)}.part").write_bytes(b"half a copy")
    MemoryStore(path).close()
    assert read(path, "PRAGMA user_version") == [(LATEST + 1,)]
    assert read(backup_of(path), "SELECT content FROM records") == [("a memory",)]
    assert len(list(path.parent.iterdir())) == 2


@forks
@pytest.mark.usefixtures("_next_version")
def test_processes_that_upgrade_at_once_do_it_once(path: Path) -> None:
    def count() -> int:
        with MemoryStore(path) as store:
            return store.count()

    assert together([count] * 6) == [1] * 6
    assert read(path, "SELECT note FROM extra") == [("A MEMORY",)]
    assert read(backup_of(path), "PRAGMA user_version") == [(LATEST,)]


def test_a_file_that_is_made_meanwhile_is_not_foreign(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    made: list[Backend] = []

    class Slow(sqlite3.Connection):
        """Lets another make the file just before it looks at the tables."""

        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if "sqlite_master" in sql and not made:
                made.append(open_backend(path))
            return super().execute(sql, *parameters)

    path.touch()
    with closing(sqlite3.connect(path, factory=Slow)) as connection:
        assert version_of(connection, str(path)) in (0, LATEST)
    made.pop().close()
