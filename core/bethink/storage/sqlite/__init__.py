"""The default backend: one SQLite file in write-ahead-log mode."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Literal

import numpy as np

from ...errors import StorageError
from ...model.arrays import Rows, Vector
from ...model.filters import Filter, matches, unexpired
from ...model.namespaces import EVERYWHERE, Scope
from ...model.port import EMBEDDED, Changes, Loading, Row, Segment, Tally, tallied
from ...model.records import LIVE, LogEntry, MemoryRecord, State
from ..anchors import Anchor
from .authenticator import NO_AUTH
from .connection import BUSY_SECONDS, Connections, Durability
from .erasing import ENTRIES_OF, ERASED, SCRUBBED, former_namespaces
from .inspection import SQLiteInspection
from .journal_reader import SQLiteJournalReader, to_log_entry
from .loading import load, save
from .opening import MEMORY, copy_to
from .reading import read_entries, read_head, read_number, read_rows, read_setting
from .rows import HOLDS_KEY, JSON_LIST, key_range_sql, scope_sql, scopes_sql, to_vector
from .schema import remove_backups
from .sealing import guard, renewed_codes
from .where import selection
from .writer import SQLiteWriter

__all__ = ["SQLiteBackend"]

_logger = logging.getLogger(__name__)

_MAX_LISTED_ROWS = 128
_COUNTED_SCOPES = 1024
"""The most scopes whose last count is kept in memory."""


class SQLiteBackend:
    """Keep records, vectors and journal in the file at *location* (or ":memory:")."""

    def __init__(
        self,
        location: str = ":memory:",
        *,
        durability: Durability = "full",
        integrity_key: bytes | None = None,
        anchor: Anchor | Literal[False] | None = None,
    ) -> None:
        renewal = partial(renewed_codes, key=integrity_key)
        self._connections = Connections(location, durability, renewal)
        self.location = self._connections.path
        self.read_only = self._connections.read_only
        try:
            self._guard = guard(self._connections, integrity_key, anchor)
        except BaseException:
            self._connections.close()
            raise
        self._counted: dict[Scope, tuple[int, int]] = {}
        self._codes = NO_AUTH if self._guard is None else self._guard.codes
        self.journal_reader = SQLiteJournalReader(self._connections, self._codes)
        try:
            self._scrub(patience=0)
        except StorageError as error:
            _logger.warning("what was erased from %s is not yet removed: %s", location, error)

    @contextmanager
    def write(self) -> Iterator[SQLiteWriter]:
        """Open the one write transaction: committed at the end, rolled back on any exception."""
        if self._guard is not None:
            with self._guard.write() as keyed:
                yield keyed
            return
        with self._connections.writing() as connection:
            yield SQLiteWriter(connection)

    def head(self) -> int:
        """Return the last committed journal position."""
        with self._connections.reading() as connection:
            return read_head(connection)

    def fact(self, name: str) -> str | None:
        """Return a fact noted with ``Writer.set``."""
        with self._connections.reading() as connection:
            return read_setting(connection, name)

    def dimension(self, name: str) -> int | None:
        """Return the dimension of the vectors called *name*, None if there are none."""
        with self._connections.reading() as connection:
            return read_number(connection, f"dimension:{name}")

    def get(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return the records among *ids* that exist, in any state."""
        found = self._records(f"id IN {JSON_LIST}", json.dumps(list(ids)))
        return {record.id: record for record in found}

    def by_row(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Return the records whose current row is among *rows*."""
        given, parameters = _list_sql(rows)
        found = self._connections.rows(
            f"SELECT row, {self._codes.columns} FROM records WHERE row IN {given}", *parameters
        )
        to_record = self._codes.to_record
        return {row: to_record(values) for row, *values in found}

    def by_key(self, namespace: str, key: str) -> MemoryRecord | None:
        """Return the live record that holds *key* in *namespace*."""
        found = self._records(HOLDS_KEY, namespace, key)
        return found[0] if found else None

    def span(
        self, namespace: str, low: str, high: str, now: float, *, last: bool = False
    ) -> list[MemoryRecord]:
        """Return the live records whose keys lie from *low* to before *high*, in order of keys."""
        return self._records(key_range_sql(last=last), namespace, low, high, now)

    def select(
        self,
        scope: Scope,
        where: Filter | None,
        limit: int | None,
        offset: int,
        newest_first: bool,
        now: float | None = None,
        by_row: bool = False,
        state: State = "live",
    ) -> list[MemoryRecord]:
        """Return records of a *state* in insertion order, without what has expired by *now*."""
        where = where if now is None else unexpired(where, now)
        sql, parameters, paged, using = selection(scope, where, (state,))
        found = self._records(
            f"{sql} ORDER BY {'row' if by_row else 'ordinal'} {'DESC' if newest_first else ''} "
            "LIMIT ? OFFSET ?",
            *parameters,
            -1 if limit is None or not paged else limit,
            offset if paged else 0,
            using=using,
        )
        if paged:
            return found
        passed = (record for record in found if matches(where, record))
        return list(islice(passed, offset, None if limit is None else offset + limit))

    def _records(self, sql: str, *parameters: object, using: str = "") -> list[MemoryRecord]:
        found = self._connections.rows(
            f"SELECT {self._codes.columns} FROM records {using} WHERE {sql}", *parameters
        )
        return [self._codes.to_record(values) for values in found]

    def matching(self, scope: Scope, where: Filter) -> Rows:
        """Return the rows of the live records in *scope* that pass *where*, ascending."""
        sql, parameters, exact, using = selection(scope, where)
        columns = "row" if exact else f"row, {self._codes.columns}"
        found = self._connections.rows(
            f"SELECT {columns} FROM records {using} WHERE {sql}", *parameters
        )
        if not exact:
            to_record = self._codes.to_record
            found = [values for values in found if matches(where, to_record(values[1:]))]
        return np.sort(
            np.fromiter((values[0] for values in found), dtype=np.int64, count=len(found))
        )

    def count(self, scope: Scope, where: Filter | None, now: float | None = None) -> int:
        """Count live records, without those that have expired by *now*."""
        if where is not None:
            return len(self.matching(scope, where if now is None else unexpired(where, now)))
        inside, parameters = scope_sql(scope)
        with self._connections.snapshot() as connection:
            head = read_head(connection)
            counted_at, count = self._counted.get(scope, (-1, 0))
            if counted_at != head:
                (count,) = connection.execute(
                    f"SELECT count(*) FROM records WHERE {inside} AND state = 'live'", parameters
                ).fetchone()
                if len(self._counted) >= _COUNTED_SCOPES:
                    self._counted.clear()
                self._counted[scope] = head, count
            return count - sum(_expired(connection, scope, now).values())

    def namespaces(self, scope: Scope, now: float | None = None) -> dict[str, int]:
        """Return ``{namespace: live records}``, sorted by name, without what expired by *now*."""
        with self._connections.snapshot() as connection:
            counts, expired = _namespaces(connection, scope), _expired(connection, scope, now)
        left = {name: count - expired.get(name, 0) for name, count in counts.items()}
        return {name: count for name, count in left.items() if count}

    def latest(self, scope: Scope, limit: int, offset: int, now: float) -> list[MemoryRecord]:
        """Return *limit* live records after *offset*, the latest to occur first."""
        sql, parameters, _, using = selection(scope, unexpired(None, now), LIVE)
        order = "ORDER BY occurred_at DESC, ordinal DESC"
        # Only the chosen records are read whole.
        chosen = f"SELECT row FROM records {using} WHERE {sql} {order} LIMIT ? OFFSET ?"
        return self._records(f"row IN ({chosen}) {order}", *parameters, limit, offset)

    def tallies(self, scope: Scope, now: float) -> list[Tally]:
        """Return the tallies of the live records, one for each namespace and tags.

        With a key, whole records are read, for the authentication codes cover whole records.
        """
        if self._guard is not None:
            return tallied(self.select(scope, None, None, 0, newest_first=False, now=now))
        sql, parameters, _, using = selection(scope, unexpired(None, now), LIVE)
        found = self._connections.rows(
            "SELECT namespace, tags, count(*), min(occurred_at), max(occurred_at) "
            f"FROM records {using} WHERE {sql} GROUP BY 1, 2",
            *parameters,
        )
        return [Tally(name, tuple(json.loads(tags)), *rest) for name, tags, *rest in found]

    def changes(self, since: int, scopes: Sequence[Scope]) -> Changes:
        """Return what happened after *since*, with the data of live rows in *scopes*."""
        inside, parameters = scopes_sql(scopes)
        with self._connections.snapshot() as connection:
            entries = read_entries(connection, self._codes, "WHERE seq > ? ORDER BY seq", since)
            rows = {row for each in entries for row in (each.was, each.row) if row is not None}
            for each in entries:
                rows.update((each.changes or {}).get("rows", ()))
            gone = {each.id for each in entries if each.action == "erase" and each.id}
            erased = former_namespaces(connection, gone)
            live = read_rows(
                connection,
                self._codes,
                f"row IN {JSON_LIST} AND state = 'live' AND {inside}",
                json.dumps(list(rows)),
                *parameters,
                using="NOT INDEXED",
            )
        head = entries[-1].seq if entries else since
        return Changes(since, head, frozenset(rows), tuple(live), erased=erased)

    def load(
        self, scope: Scope, loose: int | None = None, held: Mapping[int, Row] = MappingProxyType({})
    ) -> Loading:
        """Read everything an index of *scope* needs, at one consistent journal position.

        With a number, read only so many of the first loose rows, and only the small segments at the
        end once they hold about as many rows together. Of the loose rows, those *held* as they were
        written are then taken from there if they have not changed since.
        """
        with self._connections.snapshot() as connection:
            names = [scope] if isinstance(scope, str) else _namespaces(connection, scope)
            parts = [load(connection, self._codes, name, loose, held) for name in names]
            return Loading(
                head=read_head(connection),
                segments=tuple(segment for part in parts for segment in part.segments),
                alive={name: rows for part in parts for name, rows in part.alive.items()},
                loose=tuple(row for part in parts for row in part.loose),
                changed=tuple(row for part in parts for row in part.changed),
            )

    def vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* of *rows*; rows without one are absent."""
        table, named = ("vectors", "") if name == EMBEDDED else ("named_vectors", "AND name = ?")
        given, parameters = _list_sql([int(row) for row in rows])
        with self._connections.reading() as connection:
            found = connection.execute(
                f"SELECT row, vector FROM {table} WHERE row IN {given} {named} "
                "AND length(vector) = "
                "ifnull((SELECT 4 * value FROM facts WHERE name = ?), length(vector))",
                (*parameters, *((name,) if named else ()), f"dimension:{name}"),
            ).fetchall()
            self._codes.check_vectors(connection, rows)
        return {row: to_vector(blob) for row, blob in found}

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the current row of the records among *ids* that exist."""
        wanted = json.dumps(list(ids))
        return dict(
            self._connections.rows(f"SELECT id, row FROM records WHERE id IN {JSON_LIST}", wanted)
        )

    def save(self, segments: Iterable[Segment]) -> list[int | None]:
        """Keep segments for a faster start.

        Return their numbers, None for one that came too late and for those after it.
        """
        numbers: list[int | None] = []
        with self._connections.writing() as connection:
            for segment in segments:
                late = None in numbers
                numbers.append(None if late else save(connection, self._codes, segment))
        return numbers

    def log(
        self, limit: int | None, id: str | None, scope: Scope | None, since: int
    ) -> list[LogEntry]:
        """Return journal entries, newest first."""
        inside, parameters = scope_sql(EVERYWHERE if scope is None else scope)
        by_id = "" if id is None else f"AND seq IN ({ENTRIES_OF})"
        with self._connections.reading() as connection:
            found = read_entries(
                connection,
                self._codes,
                f"WHERE {inside} AND seq > ? {by_id} ORDER BY seq DESC LIMIT ?",
                *(*parameters, since),
                *(() if id is None else (id, id)),
                -1 if limit is None else limit,
            )
        return list(map(to_log_entry, found))

    @contextmanager
    def inspect(self) -> Iterator[SQLiteInspection]:
        """Open all that there is now to be checked, for however long that takes."""
        known = None if self._guard is None else self._guard.known()
        with self._connections.lasting() as connection:
            yield SQLiteInspection(connection, self.location, self._guard, known)

    def scrub(self) -> None:
        """Remove every byte of what was erased from the file, its log and the copies beside it."""
        self._scrub(BUSY_SECONDS)

    def _scrub(self, patience: float) -> None:
        erased = self.fact(ERASED)
        if erased == self.fact(SCRUBBED):
            return
        if self.location != MEMORY:
            self._connections.rewrite(patience)
            remove_backups(self.location)
        with self.write() as writer:
            writer.set(SCRUBBED, str(erased))

    def backup(self, target: str) -> None:
        """Copy all that there is now into the new file *target*, while writers go on."""
        with self._connections.lasting() as connection:
            copy_to(connection, self.location, target)

    def sleep(self) -> None:
        """Let go of the file and hold still, for a fork."""
        self._connections.sleep()

    def resume(self, *, in_child: bool) -> None:
        """Go on after ``sleep``."""
        self._connections.resume(in_child=in_child)

    def close(self) -> None:
        """Release every resource; closing twice is fine."""
        self._connections.close()


def _list_sql(rows: Sequence[int]) -> tuple[str, tuple[object, ...]]:
    """Return the SQL list that *rows* make, and its parameters; for a few, SQLite is faster so."""
    if len(rows) <= _MAX_LISTED_ROWS:
        return f"({','.join('?' * len(rows))})", tuple(rows)
    return JSON_LIST, (json.dumps(list(rows)),)


def _namespaces(connection: sqlite3.Connection, scope: Scope) -> dict[str, int]:
    inside, parameters = scope_sql(scope)
    return dict(
        connection.execute(
            f"SELECT namespace, count(*) FROM records WHERE {inside} AND state = 'live' "
            "GROUP BY 1 ORDER BY 1",
            parameters,
        )
    )


def _expired(connection: sqlite3.Connection, scope: Scope, now: float | None) -> dict[str, int]:
    """Return how many live records of each namespace have expired by *now*."""
    inside, parameters = scope_sql(scope)
    return dict(
        connection.execute(
            "SELECT namespace, count(*) FROM records INDEXED BY records_expiring "
            "WHERE state = 'live' AND expires_at IS NOT NULL AND expires_at <= ? "
            f"AND {inside} GROUP BY 1",
            (now, *parameters),
        )
    )
