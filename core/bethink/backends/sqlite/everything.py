"""All that an SQLite file holds, read through one connection that sees one state of it."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

from ...journal import WHOLE
from ...records import Snapshot
from .. import EMBEDDED, Row, Vector
from ..chronicle import Entry
from .codes import Codes
from .rows import GIVEN, from_json, to_vector

_AT_ONCE: Final = 256
_RECORDS: Final = (
    "SELECT ordinal, row, vector, {} FROM records LEFT JOIN vectors USING (row) "
    f"WHERE row IN {GIVEN} ORDER BY ordinal"
)
_NAMED: Final = "SELECT name, vector FROM named_vectors WHERE row = ? ORDER BY name"
_GIVEN: Final = "SELECT since, row, name FROM named_vectors ORDER BY since, name"
_VECTOR: Final = "SELECT vector FROM named_vectors WHERE row = ? AND name = ?"


class SQLiteEverything:
    """Go through what *connection* sees; only keys are ever sorted or held all at once."""

    def __init__(self, connection: sqlite3.Connection, codes: Codes) -> None:
        self._connection = connection
        self._codes = codes
        self._records = _RECORDS.format(codes.columns)

    def head(self) -> int:
        """Return the last journal position."""
        found = self._connection.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()
        return int(found[0])

    def records(self) -> Iterator[Row]:
        """Yield every record, in any state, in order of insertion."""
        ordered = self._connection.execute("SELECT row FROM records ORDER BY ordinal")
        rows = array("q", (row for (row,) in ordered))
        for start in range(0, len(rows), _AT_ONCE):
            given = rows[start : start + _AT_ONCE].tolist()
            self._codes.check_vectors(self._connection, given)
            some = json.dumps(given)
            for ordinal, row, vector, *values in self._connection.execute(self._records, (some,)):
                named = {
                    name: to_vector(blob) for name, blob in self._connection.execute(_NAMED, (row,))
                }
                embedded = {} if vector is None else {EMBEDDED: to_vector(vector)}
                yield Row(row, ordinal, self._codes.to_record(values), {**embedded, **named})

    def entries(self) -> Iterator[Entry]:
        """Yield the journal, oldest first."""
        given = groupby(self._connection.execute(_GIVEN), key=itemgetter(0))
        since, places = next(given, (0, iter(())))
        for seq, at, action, id, namespace, row, text in self._connection.execute(
            "SELECT seq, at, action, id, namespace, row, changes FROM journal ORDER BY seq"
        ):
            vectors: dict[str, Vector] = {}
            if seq == since:
                vectors = {name: self._vector(row, name) for _, row, name in places}
                since, places = next(given, (0, iter(())))
            self._codes.check_entries(self._connection, [seq])
            changes = from_json(text) if text else None
            if changes is not None:
                changes.pop(WHOLE, None)
            moved = None if row is None else row == seq
            yield Entry(seq, at, action, id, namespace, moved, changes, vectors)

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots in the order in which they were taken."""
        found = self._connection.execute(
            "SELECT name, seq, at FROM snapshots ORDER BY seq, at, name"
        )
        return [Snapshot(*columns) for columns in found]

    def _vector(self, row: int, name: str) -> Vector:
        self._codes.check_vectors(self._connection, [row])
        return to_vector(self._connection.execute(_VECTOR, (row, name)).fetchone()[0])
