"""The past of an SQLite file, read from its journal."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

from ...errors import CorruptStoreError
from ...model.arrays import Vector
from ...model.namespaces import Scope
from ...model.port import Current, Entry, Link, RecordHistory
from ...model.records import LogEntry, Snapshot
from .authenticator import Authenticator
from .connection import Connections
from .full_scan import SQLiteFullScan
from .reading import read_entries, read_head, read_snapshots
from .rows import JSON_LIST, RowTypes, scope_sql, to_vector

_BATCH_RECORDS: Final = 256  # records whose entries are read before others have their turn
_BEFORE: Final = (
    "WHERE id = ? AND action <> 'store' AND row IS NOT NULL AND seq <= ? ORDER BY seq DESC"
)
_ACCESSED: Final = (
    "SELECT seq, count, last FROM accesses WHERE ordinal = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
)
_NAMED: Final = (  # of a record's rows from then on, the one that the vector stayed in
    "SELECT vector, row FROM named_vectors WHERE name = :name AND since <= :row AND row IN "
    "(SELECT :row UNION ALL "
    "SELECT row FROM journal WHERE id = (SELECT id FROM journal WHERE seq = :row) "
    "AND action <> 'store' AND seq > :row) LIMIT 1"
)
_STEPS: Final = "SELECT seq FROM clock_steps WHERE seq BETWEEN 2 AND ? ORDER BY seq"
_TIME: Final = RowTypes(float)
_COUNTED: Final = RowTypes(int, int, float)
_LINK: Final = RowTypes(str, str, str, int, float)


class SQLiteJournalReader:
    """Read the journal through *connections*."""

    def __init__(self, connections: Connections, codes: Authenticator) -> None:
        self._connections = connections
        self._codes = codes
        self._current = f"SELECT row, ordinal, revision, {codes.columns} FROM records"

    def seq_at(self, time: float) -> int:
        """Return the position of the last entry made at *time* or before, 0 if there is none.

        Where the clock never stepped back, times ascend; so each such stretch is bisected.
        """
        with self._connections.reading() as connection:
            end = read_head(connection)
            steps = [seq for (seq,) in connection.execute(_STEPS, (end,)).fetchall()]
            for start in reversed([1, *steps]):
                stretch = range(start, end + 1)
                passed = bisect_right(stretch, time, key=lambda seq: _time_of(connection, seq))
                if passed:
                    return stretch[passed - 1]
                end = start - 1
        return 0

    def entry(self, seq: int) -> LogEntry | None:
        """Return entry number *seq*, None if there is none."""
        with self._connections.reading() as connection:
            found = read_entries(connection, self._codes, "WHERE seq = ?", seq)
        return to_log_entry(found[0]) if found else None

    def erased(self, since: int) -> bool:
        """Tell whether anything was erased by an entry after *since*."""
        erasing = "SELECT 1 FROM journal WHERE seq > ? AND action = 'erase' LIMIT 1"
        return bool(self._connections.rows(erasing, since))

    def current(self, ids: Sequence[str]) -> list[Current]:
        """Return those of the records that exist, in any state."""
        return self._found(f"{self._current} WHERE id IN {JSON_LIST}", json.dumps(list(ids)))

    def ids_of_rows(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the id of the record that each of *rows* was made for."""
        made = f"SELECT seq, id FROM journal WHERE seq IN {JSON_LIST}"
        return dict(self._connections.rows(made, json.dumps(list(rows))))

    def key_holders(self, namespace: str, key: str, seq: int) -> list[Current]:
        """Return every record that holds or ever held *key* in *namespace*, in any state.

        Only those that existed at *seq*.
        """
        place = "namespace = ? AND key = ?"
        return self._found(
            f"{self._current} WHERE ordinal <= ? AND id IN "
            f"(SELECT id FROM records WHERE {place} AND state = 'live' "
            f"UNION SELECT id FROM records WHERE {place} AND state <> 'live' AND ordinal <= ? "
            f"UNION SELECT id FROM departures WHERE {place})",
            *(seq, namespace, key, namespace, key, seq, namespace, key),
        )

    def candidates(self, scope: Scope, seq: int, since: int | None = None) -> list[Current]:
        """Return all records that may have been live in *scope* then, and perhaps some others.

        With *since*, return those that changed after it and existed at *seq*, in any state.
        """
        inside, parameters = scope_sql(scope)
        living = seq, 0 if since is None else since
        gone = seq, seq if since is None else since
        existed = "ordinal <= ? AND revision > ?"
        return self._found(  # at once, for others may bring records back or forget them meanwhile
            f"{self._current} WHERE {inside} AND state = 'live' AND {existed} UNION ALL "
            f"{self._current} INDEXED BY records_patched "
            f"WHERE {inside} AND state <> 'live' AND revision <> row AND {existed} UNION ALL "
            f"{self._current} WHERE id IN (SELECT id FROM departures WHERE {inside}) "
            f"AND NOT {inside} AND {existed}",
            *(*parameters, *living),
            *(*parameters, *gone),
            *(*parameters, *parameters, *gone),
        )

    def expiring(self, scope: Scope, after: float, until: float) -> list[Current]:
        """Return the records live now in *scope* whose time of expiry lies in that span."""
        inside, parameters = scope_sql(scope)
        span = "state = 'live' AND expires_at > ? AND expires_at <= ?"
        return self._found(
            f"{self._current} INDEXED BY records_expiring WHERE {span} AND {inside}",
            after,
            until,
            *parameters,
        )

    def _found(self, sql: str, *parameters: object) -> list[Current]:
        with self._connections.reading() as connection:
            return list(map(self._current_of, connection.execute(sql, parameters)))

    def _current_of(self, values: Sequence[Any]) -> Current:
        row, ordinal, revision = values[:3]
        if type(ordinal) is not int or type(revision) is not int:  # a Shape takes longer to tell
            raise CorruptStoreError(None, "damaged record in the store")
        return Current(row, ordinal, revision, self._codes.to_record(values[3:]))

    def histories(self, records: Sequence[Current], seq: int) -> list[RecordHistory]:
        """Return what is told of *records*, all of which existed then."""
        found: list[RecordHistory] = []
        for start in range(0, len(records), _BATCH_RECORDS):
            with self._connections.reading() as connection:
                some = records[start : start + _BATCH_RECORDS]
                found += [_read_history(connection, self._codes, record, seq) for record in some]
        return found

    def former_vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* that records had in *rows*."""
        found = {}
        with self._connections.reading() as connection:
            for row in rows:
                given = {"name": name, "row": row}
                if vector := connection.execute(_NAMED, given).fetchone():
                    self._codes.check_vectors(connection, [vector[1]])
                    found[row] = to_vector(vector[0])
        return found

    def vector_names(self, row: int) -> list[str]:
        """Return the names of the vectors that a record has and got with *row*."""
        found = self._connections.rows(
            "SELECT name FROM journal JOIN records USING (id) JOIN named_vectors "
            "ON named_vectors.row = records.row WHERE seq = ? AND since = ? ORDER BY name",
            row,
            row,
        )
        return [name for (name,) in found]

    def had_vector(self, name: str, seq: int) -> bool:
        """Tell whether a vector called *name*, one of those that are left, was there by then."""
        given = "SELECT 1 FROM named_vectors WHERE name = ? AND since <= ? LIMIT 1"
        return bool(self._connections.rows(given, name, seq))

    def links(self, ids: Sequence[str], seq: int) -> list[Link]:
        """Return the links from and to any of the records that held then, oldest first."""
        held = "since <= ? AND (until IS NULL OR until > ?)"
        one = f"SELECT since, source, kind, target FROM links WHERE {held} AND"
        wanted = json.dumps(list(ids))
        found = self._connections.rows(
            f"SELECT source, kind, target, seq, at FROM ({one} source IN {JSON_LIST} UNION "
            f"{one} target IN {JSON_LIST}) JOIN journal ON seq = since ORDER BY seq",
            *(seq, seq, wanted) * 2,
        )
        return [Link(*_LINK(columns)) for columns in found]

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots in the order in which they were taken."""
        with self._connections.reading() as connection:
            return read_snapshots(connection)

    @contextmanager
    def full_scan(self) -> Iterator[SQLiteFullScan]:
        """Open all that there is now to be read, for however long that takes."""
        with (
            self._connections.lasting() as connection,
            closing(SQLiteFullScan(connection, self._codes)) as everything,
        ):
            yield everything


def to_log_entry(entry: Entry) -> LogEntry:
    """Return *entry* as the log shows it."""
    return LogEntry(*entry[:5], entry.changes or {})


def _time_of(connection: sqlite3.Connection, seq: int) -> float:
    found = connection.execute("SELECT at FROM journal WHERE seq = ?", (seq,)).fetchone()
    (at,) = _TIME(_require(found))
    return float(at)


def _read_history(
    connection: sqlite3.Connection, codes: Authenticator, current: Current, seq: int
) -> RecordHistory:
    told: list[Entry] = []
    selected = f"SELECT {codes.entry_columns} FROM journal"
    with closing(connection.execute(f"{selected} {_BEFORE}", (current.record.id, seq))) as entries:
        for columns in entries:
            told.append(codes.to_entry(columns))
            if told[-1].whole is not None:
                break
        else:
            first = connection.execute(f"{selected} WHERE seq = ?", (current.ordinal,)).fetchone()
            told.append(codes.to_entry(_require(first)))
    accessed = None
    if current.record.access_count:  # it never falls
        accessed = connection.execute(_ACCESSED, (current.ordinal, seq)).fetchone()
    return RecordHistory(current, tuple(reversed(told)), _COUNTED(accessed) if accessed else None)


def _require(entry: Sequence[Any] | None) -> Sequence[Any]:
    """Return *entry*, which must be there."""
    if entry is None:
        raise CorruptStoreError(None, "a journal entry is missing")
    return entry
