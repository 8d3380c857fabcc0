"""All that an SQLite file holds, read through one connection that sees one state of it."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Final

from ...errors import CorruptStoreError
from ...model.arrays import Vector
from ...model.port import Entry, Row
from ...model.records import Snapshot
from .authenticator import Authenticator
from .reading import read_head, read_rows, read_snapshots
from .rows import JSON_LIST, RowTypes, to_vector

_BATCH_RECORDS: Final = 256
_VECTOR_PLACES: Final = "SELECT since, row, name FROM named_vectors ORDER BY since, name"
_NAMED: Final = RowTypes(int, int, str)
_VECTOR: Final = "SELECT vector FROM named_vectors WHERE row = ? AND name = ?"


class SQLiteFullScan:
    """Go through what *connection* sees; only keys are ever sorted or held all at once."""

    def __init__(self, connection: sqlite3.Connection, codes: Authenticator) -> None:
        self._connection = connection
        self._codes = codes
        self._read = ExitStack()

    def close(self) -> None:
        """End what is being read, or an error that is kept would keep it open."""
        self._read.close()

    def head(self) -> int:
        """Return the last journal position."""
        return read_head(self._connection)

    def records(self) -> Iterator[Row]:
        """Yield every record, in any state, in order of insertion."""
        with closing(
            self._connection.execute("SELECT row FROM records ORDER BY ordinal")
        ) as ordered:
            rows = array("q", (row for (row,) in ordered))
        for start in range(0, len(rows), _BATCH_RECORDS):
            some = json.dumps(rows[start : start + _BATCH_RECORDS].tolist())
            found = read_rows(self._connection, self._codes, f"row IN {JSON_LIST}", some)
            yield from sorted(found, key=attrgetter("ordinal"))

    def entries(self) -> Iterator[tuple[Entry, dict[str, Vector]]]:
        """Yield the journal, oldest first, with the named vectors that each entry gave."""
        named = self._read.enter_context(closing(self._connection.execute(_VECTOR_PLACES)))
        given = groupby(map(_NAMED, named), key=itemgetter(0))
        since, places = next(given, (0, iter(())))
        selected = f"SELECT {self._codes.entry_columns} FROM journal ORDER BY seq"
        told = self._read.enter_context(closing(self._connection.execute(selected)))
        for entry in map(self._codes.to_entry, told):
            vectors: dict[str, Vector] = {}
            if entry.seq == since:
                vectors = {name: self._vector(row, name) for _, row, name in places}
                since, places = next(given, (0, iter(())))
            needed = "name" if entry.action == "snapshot" else "accesses"
            if entry.id is None and entry.changes is not None and needed not in entry.changes:
                raise CorruptStoreError(None, "damaged journal entry in the store")
            yield entry, vectors

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots in the order in which they were taken."""
        return read_snapshots(self._connection)

    def _vector(self, row: int, name: str) -> Vector:
        self._codes.check_vectors(self._connection, [row])
        return to_vector(self._connection.execute(_VECTOR, (row, name)).fetchone()[0])
