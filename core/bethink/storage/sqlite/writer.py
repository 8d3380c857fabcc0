"""The write transaction on an SQLite file, with the repairs that only SQLite needs.

A lost journal entry is unreadable or missing, and emptied by ``repair``. Digest and link of an
emptied entry stay as found, so the check of the chain still tells the loss.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from ...errors import CorruptStoreError
from ..sql.cut import CUT_SQL
from ..sql.maintenance import SQLRepairer, SQLStaging
from ..sql.rows import ENTRY_COLUMNS, read_lenient, to_entry
from ..sql.writer import SQLWriter
from .schema import repair_indexes

_EMPTY: Final = (
    "UPDATE journal SET at = ?, action = ?, id = ?, namespace = ?, was = ?, row = ?, salt = NULL, "
    "changes = NULL WHERE seq = ?"
)
_STORED: Final = "SELECT 'store', id, namespace, NULL, ordinal FROM records WHERE ordinal = ?"
_FILL: Final = (  # the missing entries, of the record that an entry stored or last changed
    "WITH ends AS (SELECT coalesce(max(seq), 0) AS head FROM journal), "
    "told(seq, ordinal, id, namespace) AS (SELECT ordinal, ordinal, id, namespace FROM records "
    "UNION SELECT revision, ordinal, id, namespace FROM records), numbers(seq) AS "
    f"(SELECT {CUT_SQL} + 1 UNION ALL SELECT numbers.seq + 1 FROM numbers WHERE numbers.seq < max("
    "(SELECT head FROM ends), "
    "(SELECT coalesce(max(seq), 0) FROM told, ends WHERE seq <= head + ?))) "
    "INSERT INTO journal SELECT seq, coalesce((SELECT max(at) FROM journal WHERE seq < missing.seq "
    "AND typeof(at) = 'real'), 0.0), iif(seq = ordinal, 'store', 'lost'), id, namespace, "
    "NULL, iif(seq = ordinal, seq, NULL), zeroblob(32), zeroblob(32), NULL, NULL, NULL FROM "
    "(SELECT numbers.seq, ordinal, id, namespace FROM numbers LEFT JOIN told USING (seq)) "
    "AS missing WHERE seq NOT IN (SELECT seq FROM journal) GROUP BY seq RETURNING seq, id"
)
_MAX_LOST_AT_END: Final = 10_000
"""Entries: a record's number farther beyond the journal's end is damage of the record."""


class SQLiteWriter(SQLWriter):
    """Change records, vectors and journal inside one transaction of *connection*."""

    _connection: sqlite3.Connection

    @property
    def repairer(self) -> SQLiteRepairer:
        return SQLiteRepairer(self, self._connection)

    @property
    def staging(self) -> SQLStaging:
        return SQLStaging(self, self._connection)


class SQLiteRepairer(SQLRepairer):
    """The repairs of a write transaction on an SQLite file."""

    _writer: SQLiteWriter
    _connection: sqlite3.Connection

    def repair_indexes(self) -> bool:
        return repair_indexes(self._connection)

    def empty_lost_entries(self) -> dict[int, str | None]:
        run = self._connection.execute
        lost: dict[int, str | None] = dict(run(_FILL, (_MAX_LOST_AT_END,)).fetchall())
        last = 0.0
        selected = f"SELECT {ENTRY_COLUMNS} FROM journal ORDER BY seq"
        for columns in read_lenient(self._connection, lambda: run(selected).fetchall()):
            seq, at, *told, _ = columns
            try:
                last = to_entry(columns).at
            except CorruptStoreError:
                last = at if isinstance(at, float) else last
                kinds = zip(told, (str, str, str, int, int), strict=True)
                kept = [each if isinstance(each, kind) else None for each, kind in kinds]
                known = run(_STORED, (seq,)).fetchone() or (kept[0] or "lost", *kept[1:])
                run(_EMPTY, (last, *known, seq))
                lost[seq] = known[1]
        self._writer.read_end()
        return lost
