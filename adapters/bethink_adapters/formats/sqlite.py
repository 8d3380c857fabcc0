"""Foreign SQLite files: opened to be read only, row by row, and never trusted."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bethink import StorageError


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Open the database at *path* to be read; every failure raises ``StorageError``.

    Text that is no UTF-8 becomes lone surrogates, refused by every store.
    """
    place = Path(path).absolute()
    if not os.path.isfile(place):
        raise StorageError(os.fspath(path), "there is no such file")
    try:
        with closing(sqlite3.connect(_address(place), uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            yield connection
    except sqlite3.Error as error:
        raise StorageError(os.fspath(path), str(error)) from error


def _address(place: Path) -> str:
    """Return the URI of the file; in a folder without write permission SQLite makes no files."""
    log = Path(f"{place}-wal")
    logged = log.exists() and log.stat().st_size
    effective = os.access in os.supports_effective_ids
    writable = os.access(place.parent, os.W_OK, effective_ids=effective)
    return f"{place.as_uri()}?mode=ro{'' if logged or writable else '&immutable=1'}"


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the names of a table's columns, none without such a table; a view is no table."""
    kind = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    if connection.execute(kind, (table,)).fetchone() is None:
        return []
    return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def rows(
    connection: sqlite3.Connection,
    table: str,
    needed: Sequence[str],
    more: Sequence[str],
    rest: str,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield places, for instance "row 7", with the columns *needed* and known columns of *more*.

    *rest* stands behind ``FROM``. A table without a *needed* column raises
    ``sqlite3.OperationalError``.
    """
    known = columns(connection, table)
    if not known:
        raise sqlite3.OperationalError(f"no such table: {table}")
    names = [*needed, *(name for name in more if name in known)]
    listed = ", ".join(f'"{table}"."{name}"' for name in names)
    found = connection.execute(f'SELECT {listed} FROM "{table}" {rest}')
    for number, row in enumerate(found, 1):
        yield f"row {number}", dict(zip(names, row, strict=True))


def from_json(name: str, text: object, kind: type) -> Any:
    """Return the JSON value in a column called *name*, an empty *kind* for nothing.

    Anything but a *kind* raises ``ValueError``.
    """
    if text is None or text == "":
        return kind()
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise ValueError(f"{name} is not a JSON {'list' if kind is list else 'object'}")
    return value
