"""The journal: reads of any moment, and reads of everything."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final

from ...errors import CorruptStoreError
from ...model.arrays import Vector
from ...model.namespaces import EVERYWHERE, Scope
from ...model.port import Moment, Row
from ...model.records import LogEntry, Snapshot, non_empty_fields
from ..abilities import Current, Entry, Link, RecordHistory
from ..journal import BASE
from .authenticator import Authenticator
from .connection import Connection, Cursor, SQLConnections
from .cut import CutMark, read_cut
from .daily_accesses import DailyAccesses
from .rows import (
    LISTED,
    Listed,
    RowTypes,
    read_head,
    read_lenient,
    read_snapshots,
    scope_sql,
    to_vector,
)

_BATCH_RECORDS: Final = 256  # between two batches other threads may use the connection
_HISTORY: Final = (
    "WHERE id = ? AND action <> 'store' AND row IS NOT NULL AND seq <= ? ORDER BY seq DESC"
)
_ACCESSED: Final = (
    "SELECT seq, count, last FROM accesses WHERE ordinal = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
)
_FORMER_VECTOR: Final = (  # the vector stayed in the given row or in a later row of the record
    "SELECT vector, row FROM named_vectors WHERE name = :name AND since <= :row AND row IN "
    "(SELECT :row UNION ALL "
    "SELECT row FROM journal WHERE id = (SELECT id FROM journal WHERE seq = :row) "
    "AND action <> 'store' AND seq > :row) LIMIT 1"
)
_NAMED_VECTORS: Final = (
    "SELECT since, row, name FROM named_vectors WHERE since > ? ORDER BY since, name"
)
_NAMED_SINCE: Final = (  # the vectors given by an entry, in the rows of the record
    "SELECT row, name FROM named_vectors WHERE since = :seq AND row IN (SELECT :seq UNION ALL "
    "SELECT row FROM journal WHERE id = :id AND action <> 'store' AND row IS NOT NULL) "
    "ORDER BY name"
)
_BASE_OF: Final = f"id = ? AND action <> 'store' AND action = '{BASE}'"
_VECTOR_OF_ROW: Final = "SELECT vector FROM named_vectors WHERE row = ? AND name = ?"
_CLOCK_STEPS: Final = "SELECT seq FROM clock_steps WHERE seq BETWEEN 2 AND ? ORDER BY seq"
_TIME: Final = RowTypes(float)
_NAMED_TYPES: Final = RowTypes(int, int, str)
_ACCESS: Final = RowTypes(int, int, float)
_LINK: Final = RowTypes(str, str, str, int, float)


class SQLJournalReader:
    """Read the journal through *connections*; *hides* tells of hidden entries of other tenants.

    The methods are documented in ``JournalReader``.
    """

    def __init__(
        self, connections: SQLConnections, auth: Authenticator, *, hides: bool = False
    ) -> None:
        self._connections = connections
        self._auth = auth
        self._hides = hides
        self._current = f"SELECT row, ordinal, revision, {auth.columns} FROM records"

    def seq_at(self, time: float) -> int:
        with self._connections.reading() as connection:
            end, cut = read_head(connection), read_cut(connection)
            # Between two steps back of the clock, times ascend and can be bisected.
            steps = [seq for (seq,) in connection.execute(_CLOCK_STEPS, (end,)).fetchall()]
            for start in reversed([cut.seq + 1, *steps]):
                stretch = range(start, end + 1)
                passed = bisect_right(stretch, time, key=lambda seq: _time_of(connection, seq))
                if passed:
                    return stretch[passed - 1]
                end = start - 1
        return cut.seq if time >= cut.at else 0

    def erased(self, since: int) -> bool:
        erasing = "SELECT 1 FROM journal WHERE seq > ? AND action = 'erase' LIMIT 1"
        with self._connections.reading() as connection:
            is_cut = since < read_cut(connection).seq  # entries of erasings may be gone
            return is_cut or connection.execute(erasing, (since,)).fetchone() is not None

    def cut(self) -> Moment | None:
        with self._connections.reading() as connection:
            return _cut_of(connection)

    def current(self, ids: Sequence[str]) -> list[Current]:
        found = self._connections.rows(f"{self._current} WHERE id IN {LISTED}", Listed(ids))
        return list(map(partial(current_of, self._auth), found))

    def ids_of_rows(self, rows: Sequence[int]) -> dict[int, str]:
        made = f"SELECT seq, id FROM journal WHERE seq IN {LISTED}"
        return dict(self._connections.rows(made, Listed(rows)))

    def key_holders(self, namespace: str, key: str, seq: int, most: int = -1) -> list[Current]:
        place = "namespace = ? AND key = ?"
        return self._found(
            f"{self._current} WHERE ordinal <= ? AND id IN "
            f"(SELECT id FROM records WHERE {place} AND state = 'live' "
            f"UNION SELECT id FROM records WHERE {place} AND state <> 'live' AND ordinal <= ? "
            f"UNION SELECT id FROM departures WHERE {place}) ORDER BY revision DESC LIMIT ?",
            *(seq, namespace, key, namespace, key, seq, namespace, key, most),
        )

    def candidates(self, scope: Scope, seq: int, since: int | None = None) -> list[Current]:
        inside, parameters = scope_sql(scope)
        last = seq if since is None else since
        existed, span = "ordinal <= ? AND revision > ?", (seq, last)
        patched = f"{self._current} INDEXED BY records_patched WHERE {inside} AND revision <> row"
        if since is None:
            here = (
                f"{self._current} WHERE {inside} AND state = 'live' AND ordinal <= ? UNION ALL "
                f"{patched} AND state <> 'live' AND {existed}"
            )
            given = (*parameters, seq, *parameters, *span)
        else:
            here = (
                f"{self._current} NOT INDEXED WHERE row > ? AND revision = row AND {inside} "
                f"AND ordinal <= ? UNION ALL {patched} AND {existed}"
            )
            given = (last, *parameters, seq, *parameters, *span)
        moved = "id IN (SELECT id FROM departures WHERE"
        return self._found(  # in a single query, since other threads may write between two
            f"{here} UNION ALL "
            f"{self._current} WHERE {moved} {inside}) AND NOT {inside} AND {existed}",
            *(*given, *parameters, *parameters, *span),
        )

    def expiring(self, scope: Scope, after: float, until: float) -> list[Current]:
        inside, parameters = scope_sql(scope)
        span = "state = 'live' AND expires_at > ? AND expires_at <= ?"
        return self._found(
            f"{self._current} INDEXED BY records_expiring WHERE {span} AND {inside}",
            after,
            until,
            *parameters,
        )

    def _found(self, sql: str, *parameters: object) -> list[Current]:
        """Return the records of a query that may take long."""
        with self._connections.aside() as connection:
            # An error keeps its frames: a name for the cursor would keep the statement open.
            return list(map(partial(current_of, self._auth), connection.execute(sql, parameters)))

    def histories(self, records: Sequence[Current], seq: int) -> list[RecordHistory]:
        found: list[RecordHistory] = []
        for start in range(0, len(records), _BATCH_RECORDS):
            with self._connections.aside() as connection:
                some = records[start : start + _BATCH_RECORDS]
                for record in some:
                    read = partial(read_history, connection, self._auth, record, seq)
                    found.append(read_lenient(connection, read))
        return found

    def former_vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        found = {}
        with self._connections.reading() as connection:
            for row in rows:
                given = {"name": name, "row": row}
                if vector := connection.execute(_FORMER_VECTOR, given).fetchone():
                    self._auth.check_vectors(connection, [vector[1]])
                    found[row] = to_vector(vector[0])
        return found

    def vector_names(self, row: int) -> list[str]:
        found = self._connections.rows(
            "SELECT name FROM journal JOIN records USING (id) JOIN named_vectors "
            "ON named_vectors.row = records.row WHERE seq = ? AND since = ? ORDER BY name",
            row,
            row,
        )
        return [name for (name,) in found]

    def had_vector(self, name: str, seq: int) -> bool:
        given = "SELECT 1 FROM named_vectors WHERE name = ? AND since <= ? LIMIT 1"
        return bool(self._connections.rows(given, name, seq))

    def links(self, ids: Sequence[str], seq: int) -> list[Link]:
        held = "since <= ? AND (until IS NULL OR until > ?)"
        one = f"SELECT since, source, kind, target FROM links WHERE {held} AND"
        wanted = Listed(ids)
        found = self._connections.rows(
            f"SELECT source, kind, target, seq, at FROM ({one} source IN {LISTED} UNION "
            f"{one} target IN {LISTED}) JOIN journal ON seq = since ORDER BY seq",
            *(seq, seq, wanted) * 2,
        )
        return [Link(*_LINK(columns)) for columns in found]

    def snapshots(self) -> list[Snapshot]:
        with self._connections.reading() as connection:
            return read_snapshots(connection)

    @contextmanager
    def full_scan(self) -> Iterator[SQLFullScan]:
        with (
            self._connections.long_read_transaction() as connection,
            closing(SQLFullScan(connection, self._auth, hides=self._hides)) as scan,
        ):
            yield scan


class SQLFullScan:
    """Read everything that *connection* sees; only keys are ever all in memory.

    The methods are documented in ``FullScan``.
    """

    def __init__(self, connection: Connection, auth: Authenticator, *, hides: bool) -> None:
        self._connection = connection
        self._auth = auth
        self._hides = hides
        self._cursors = ExitStack()

    def close(self) -> None:
        """Close all cursors, also cursors that a kept exception refers to."""
        self._cursors.close()

    def head(self) -> int:
        return read_head(self._connection)

    def cut(self) -> Moment | None:
        return _cut_of(self._connection)

    def hides_entries(self) -> bool:
        return self._hides

    def records(self, scope: Scope = EVERYWHERE) -> Iterator[Row]:
        inside, parameters = scope_sql(scope)
        selected = f"SELECT row FROM records WHERE {inside} ORDER BY ordinal"
        with closing(self._connection.execute(selected, parameters)) as ordered:
            rows = array("q", (row for (row,) in ordered))
        for start in range(0, len(rows), _BATCH_RECORDS):
            batch = Listed(rows[start : start + _BATCH_RECORDS])
            found = self._auth.read_rows(self._connection, f"row IN {LISTED}", batch)
            yield from sorted(found, key=attrgetter("ordinal"))

    def entries(
        self, ids: Collection[str] | None = None
    ) -> Iterator[tuple[Entry, dict[str, Vector]]]:
        cut = read_cut(self._connection)
        accesses = DailyAccesses(self._open, self._connection)
        among, parameters = ("TRUE", ()) if ids is None else (f"id IN {LISTED}", (Listed(ids),))
        for base, vectors in self._bases(cut, among, parameters):
            yield accesses.told(base), vectors
        named = self._open(_NAMED_VECTORS, cut.seq)
        by_entry = groupby(map(_NAMED_TYPES, named), key=itemgetter(0))
        since, named_rows = next(by_entry, (0, iter(())))
        later = f"seq > ? AND (id IS NULL OR {among}) ORDER BY seq"
        selected = f"SELECT {self._auth.entry_columns} FROM journal WHERE {later}"
        for read in map(self._auth.to_entry, self._open(selected, cut.seq, *parameters)):
            if read.action == "compact":
                continue
            while 0 < since < read.seq:  # an entry that is left out
                since, named_rows = next(by_entry, (0, iter(())))
            entry = accesses.told(read)
            vectors = {}
            if entry.seq == since:
                vectors = {name: self._vector(row, name) for _, row, name in named_rows}
                since, named_rows = next(by_entry, (0, iter(())))
            yield entry, vectors

    def snapshots(self) -> list[Snapshot]:
        return read_snapshots(self._connection)

    def _bases(
        self, cut: CutMark, among: str, parameters: tuple[Listed, ...]
    ) -> Iterator[tuple[Entry, dict[str, Vector]]]:
        """Yield the entries up to *cut*: each record stored, then the links, at the cut's time.

        The SQL condition *among* selects records and links by the column ``id``.
        """
        selected = f"SELECT {self._auth.entry_columns} FROM journal WHERE"
        early = f"ordinal <= ? AND {among} ORDER BY ordinal"
        ordered = f"SELECT {self._auth.columns} FROM records WHERE {early}"
        for columns in self._open(ordered, cut.seq, *parameters):
            record = self._auth.to_record(columns)
            found = self._connection.execute(f"{selected} {_BASE_OF}", (record.id,)).fetchone()
            if found is None:  # a tombstone
                told = non_empty_fields(record)
                place = record.id, record.namespace, None, 0, told, None
                yield Entry(0, cut.at, "store", *place), {}
                continue
            entry = self._auth.to_entry(found)
            named = self._connection.execute(_NAMED_SINCE, {"seq": entry.seq, "id": entry.id})
            vectors = {name: self._vector(row, name) for row, name in named.fetchall()}
            yield entry._replace(action="store", at=cut.at), vectors
        related = f"{selected} seq <= ? AND action = 'relate' AND {among} ORDER BY seq"
        for entry in map(self._auth.to_entry, self._open(related, cut.seq, *parameters)):
            yield entry._replace(at=cut.at), {}

    def _open(self, sql: str, *parameters: object) -> Cursor:
        """Run *sql*; the cursor is closed with the scan."""
        return self._cursors.enter_context(closing(self._connection.execute(sql, parameters)))

    def _vector(self, row: int, name: str) -> Vector:
        self._auth.check_vectors(self._connection, [row])
        return to_vector(self._connection.execute(_VECTOR_OF_ROW, (row, name)).fetchone()[0])


def to_log_entry(entry: Entry) -> LogEntry:
    """Return *entry* without rows, as ``log`` returns entries."""
    return LogEntry(*entry[:5], entry.changes or {})


def _cut_of(connection: Connection) -> Moment | None:
    cut = read_cut(connection)
    return Moment(cut.seq, cut.at) if cut.seq else None


def _time_of(connection: Connection, seq: int) -> float:
    found = connection.execute("SELECT at FROM journal WHERE seq = ?", (seq,)).fetchone()
    (at,) = _TIME(_require(found, seq))
    return float(at)


def current_of(auth: Authenticator, values: Sequence[Any]) -> Current:
    """Return the record with the columns row, ordinal, revision and *auth*'s columns."""
    row, ordinal, revision = values[:3]
    if type(ordinal) is not int or type(revision) is not int:  # faster than ``RowTypes``
        raise CorruptStoreError(None, "damaged record in the store")
    return Current(row, ordinal, revision, auth.to_record(values[3:]))


def read_history(
    connection: Connection, auth: Authenticator, current: Current, seq: int
) -> RecordHistory:
    """Return the history of the record up to entry *seq*."""
    found: list[Entry] = []
    selected = f"SELECT {auth.entry_columns} FROM journal"
    with closing(connection.execute(f"{selected} {_HISTORY}", (current.record.id, seq))) as entries:
        for columns in entries:
            found.append(auth.to_entry(columns))
            if found[-1].full_record is not None or found[-1].action == BASE:
                break
        else:
            first = connection.execute(f"{selected} WHERE seq = ?", (current.ordinal,)).fetchone()
            found.append(auth.to_entry(_require(first, current.ordinal)))
    accessed = None
    if current.record.access_count:  # never falls, so 0 means no journaled access
        accessed = connection.execute(_ACCESSED, (current.ordinal, seq)).fetchone()
    return RecordHistory(current, tuple(reversed(found)), _ACCESS(accessed) if accessed else None)


def _require(entry: Sequence[Any] | None, seq: int) -> Sequence[Any]:
    if entry is None:
        reason = f"journal entry {seq} is missing; repair() puts an empty entry in the place"
        raise CorruptStoreError(None, reason)
    return entry
