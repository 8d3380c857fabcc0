"""The file format: tables, versions, and the migrations between versions."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Final

from ...errors import CorruptStoreError, NotABethinkFileError, SchemaTooNewError, StorageError
from ..folders import sync_folder
from ..sql.authenticator import CODED_COLUMNS

APPLICATION_ID: Final = 0x62746E6B  # "btnk"
_OF_INDEX: Final = re.compile(r" index \w+$")

MIGRATIONS: Final = tuple(
    Path(__file__).with_name(f"version_{number}.sql").read_text(encoding="utf-8")
    for number in (1, 2)
)
"""The tables of the first version, and what the second adds; each column is explained."""

LATEST: Final = len(MIGRATIONS)

Renewal = Callable[[sqlite3.Connection, str], AbstractContextManager[None]]
"""Opened around the steps of a migration of the file at a path, in the transaction."""


def code_version() -> int:
    """Return the first schema version with today's columns under the codes."""
    return max(version for version in CODED_COLUMNS if version <= LATEST)


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """Return the schema version of the file, 0 for a new file; refuse foreign and newer files."""
    # In a single query, since a second process may be creating the file.
    application, version, tables = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if application != APPLICATION_ID and (tables or application):
        raise NotABethinkFileError(
            path,
            "it is an SQLite database of another program; bethink_adapters.formats has readers for "
            "databases of remembrane and Memory Layer",
        )
    if version > LATEST:
        raise SchemaTooNewError(version, LATEST, path)
    if application and tables and version < 1:
        raise CorruptStoreError(path, f"its schema version, user_version, was set to {version}")
    return int(version)


def migrate(
    connection: sqlite3.Connection, path: str, renewal: Renewal = lambda *_: nullcontext()
) -> None:
    """Bring the file to the latest version in one transaction; an older file is copied first."""
    if version_of(connection, path) == LATEST:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection, path)
        _check_tables(connection, path, version)
        if 0 < version < LATEST:
            _back_up(path, f"{path}.v{version}.backup")
        with renewal(connection, path) if version else nullcontext():
            for step in MIGRATIONS[version:]:
                for statement in step.split(";\n"):
                    connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {LATEST}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite itself rolls back
            connection.execute("ROLLBACK")
        raise


def _check_tables(connection: sqlite3.Connection, path: str, version: int) -> None:
    """Refuse a file without a table of *version*: no migration makes the table."""
    lost = _expected_statements(MIGRATIONS[:version]).keys() - _read_statements(connection).keys()
    if tables := sorted(name for name, kind in lost if kind == "table"):
        raise CorruptStoreError(path, f"tables of its version are missing: {', '.join(tables)}")


def schema_differences(
    connection: sqlite3.Connection, version: int | None = None
) -> Iterator[tuple[str, str]]:
    """Yield name and difference of each table, index and trigger not as in schema *version*.

    None is the latest version.
    """
    here, wanted = _read_statements(connection), _expected_statements(MIGRATIONS[:version])
    for each in sorted(here.keys() | wanted.keys()) if here != wanted else ():
        if here.get(each) != wanted.get(each):
            what = "changed" if each in here and each in wanted else "missing"
            yield each[0], what if each in wanted else "not of bethink's making"


def foreign_objects(connection: sqlite3.Connection) -> list[str]:
    """Return the names of views, triggers and virtual tables not made by bethink.

    A view in place of a table may never end, and a trigger changes what is written.
    """
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master "
        "WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'"
    ).fetchall()
    own = ";\n".join(MIGRATIONS)
    return [str(name) for name, sql in found if str(sql) not in own]


def repair_indexes(connection: sqlite3.Connection) -> bool:
    """Create missing indexes, and rebuild all if any is damaged; return whether anything was done.

    Damage beyond indexes is left alone. So is an index that the table's rows contradict.
    """
    found = connection.execute("PRAGMA integrity_check").fetchall()
    damaged = [what for (what,) in found if what != "ok"]
    if not all(_OF_INDEX.search(what) for what in damaged):
        return False
    here, wanted = _read_statements(connection), _expected_statements(MIGRATIONS)
    missing = [sql for each, sql in wanted.items() if each[1] == "index" and each not in here]
    kept = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'").fetchall()
    own = [name for name, sql in kept if sql is None or (name, "index") in wanted]
    for statement in (*missing, *(f"REINDEX {name}" for name in own if damaged)):
        with suppress(sqlite3.IntegrityError):
            connection.execute(statement)
    return bool(missing or damaged)


def _read_statements(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return the statements that made the tables, indexes and triggers, by name and type.

    A trigger may share a table's name. SQLite's own statistics are left out.
    """
    listed = "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL"
    found = connection.execute(listed).fetchall()
    return {
        (name, kind): sql
        for name, kind, sql in found
        if kind != "table" or not str(name).startswith("sqlite_stat")
    }


@cache
def _expected_statements(steps: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """Return the statements of a new file after *steps*."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(";\n".join(steps))
        return _read_statements(connection)


def remove_backups(path: str) -> None:
    """Remove the copies of the file that ``migrate`` made."""
    copies = re.compile(re.escape(os.path.basename(path)) + r"\.v\d+\.backup(\.part)?")
    try:
        for copy in Path(path).parent.iterdir():
            if copies.fullmatch(copy.name):
                copy.unlink(missing_ok=True)
        sync_folder(Path(path).parent)  # or a copy comes back after a power cut
    except OSError as error:
        raise StorageError(path, f"a copy of it cannot be removed: {error}") from error


def _back_up(path: str, copy: str) -> None:
    """Copy the file as readers see the file; *copy* appears only when complete, and private."""
    try:
        Path(f"{copy}.part").unlink(missing_ok=True)
        os.close(os.open(f"{copy}.part", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("VACUUM INTO ?", (f"{copy}.part",))
        os.replace(f"{copy}.part", copy)
    except OSError as error:
        reason = f"it cannot be copied before its upgrade: {error.strerror or error}"
        raise StorageError(path, reason) from error
