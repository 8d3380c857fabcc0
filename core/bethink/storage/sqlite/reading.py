"""Queries that readers, writers and full scans share."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Final

from ...errors import CorruptStoreError
from ...model.arrays import Vector
from ...model.port import EMBEDDED, Entry, Row
from ...model.records import Snapshot
from .authenticator import Authenticator
from .rows import RowTypes, to_vector

_SETTING: Final = RowTypes(str)
_SNAPSHOT: Final = RowTypes(str, int, float)
_PLACE: Final = RowTypes(int, int, str | None)


def read_head(connection: sqlite3.Connection) -> int:
    """Return the last journal position."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0])


def read_setting(connection: sqlite3.Connection, name: str) -> str | None:
    """Return a setting, None if not stored."""
    found = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    (value,) = _SETTING(found) if found else (None,)
    return value


def read_number(connection: sqlite3.Connection, name: str) -> int | None:
    """Return a setting that is a number."""
    noted = read_setting(connection, name)
    try:
        return None if noted is None else int(noted)
    except ValueError as error:
        raise CorruptStoreError(None, f"the fact {name!r} is damaged") from error


def read_snapshots(connection: sqlite3.Connection) -> list[Snapshot]:
    """Return all snapshots, oldest first."""
    ordered = "SELECT name, seq, at FROM snapshots ORDER BY seq, at, name"
    return [Snapshot(*_SNAPSHOT(columns)) for columns in connection.execute(ordered).fetchall()]


def read_entries(
    connection: sqlite3.Connection, auth: Authenticator, sql: str, *parameters: object
) -> list[Entry]:
    """Return the journal entries that *sql* selects and orders."""
    found = connection.execute(
        f"SELECT {auth.entry_columns} FROM journal {sql}", parameters
    ).fetchall()
    return list(map(auth.to_entry, found))


def read_rows(
    connection: sqlite3.Connection,
    auth: Authenticator,
    sql: str,
    *parameters: object,
    using: str = "",
) -> list[Row]:
    """Return the rows that satisfy *sql*, ascending, with all vectors.

    *using* names an index where SQLite would read a whole namespace.
    """
    selected = connection.execute(
        "SELECT row, ordinal, vectors.vector, named_vectors.name, named_vectors.vector, "
        f"{auth.columns} FROM records {using} "
        "LEFT JOIN vectors USING (row) LEFT JOIN named_vectors USING (row) "
        f"WHERE {sql} ORDER BY row",
        parameters,
    )
    rows: list[Row] = []
    vectors: dict[str, Vector] = {}
    with closing(selected) as found:  # or a kept exception would keep the cursor open
        for row, ordinal, embedded, name, named, *values in found:
            if not rows or rows[-1].row != row:
                _PLACE((row, ordinal, name))
                vectors = {} if embedded is None else {EMBEDDED: to_vector(embedded)}
                rows.append(Row(row, ordinal, auth.to_record(values), vectors))
            if named is not None:
                if name == EMBEDDED:
                    raise CorruptStoreError(None, "damaged vector in the store")
                vectors[name] = to_vector(named)
    auth.check_vectors(connection, (each.row for each in rows))
    return rows
