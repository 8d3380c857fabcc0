"""What is read alike within a transaction, outside of one, and for long."""

from __future__ import annotations

import sqlite3

from ...records import Snapshot
from .. import EMBEDDED, Row, Vector
from .codes import Codes
from .rows import to_vector


def read_head(connection: sqlite3.Connection) -> int:
    """Return the last journal position."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0])


def read_fact(connection: sqlite3.Connection, name: str) -> str | None:
    """Return a noted fact."""
    found = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return found[0] if found else None


def read_snapshots(connection: sqlite3.Connection) -> list[Snapshot]:
    """Return all snapshots in the order in which they were taken."""
    found = connection.execute("SELECT name, seq, at FROM snapshots ORDER BY seq, at, name")
    return [Snapshot(*columns) for columns in found]


def read_rows(
    connection: sqlite3.Connection, codes: Codes, sql: str, *parameters: object, using: str = ""
) -> list[Row]:
    """Return the rows that satisfy *sql*, ascending, with all their vectors.

    *using* says which index finds them, where SQLite would read a whole namespace.
    """
    found = connection.execute(
        "SELECT row, ordinal, vectors.vector, named_vectors.name, named_vectors.vector, "
        f"{codes.columns} FROM records {using} "
        "LEFT JOIN vectors USING (row) LEFT JOIN named_vectors USING (row) "
        f"WHERE {sql} ORDER BY row",
        parameters,
    )
    rows: list[Row] = []
    vectors: dict[str, Vector] = {}
    for row, ordinal, embedded, name, named, *values in found:
        if not rows or rows[-1].row != row:
            vectors = {} if embedded is None else {EMBEDDED: to_vector(embedded)}
            rows.append(Row(row, ordinal, codes.to_record(values), vectors))
        if named is not None:
            vectors[name] = to_vector(named)
    codes.check_vectors(connection, (each.row for each in rows))
    return rows
