"""Reads and settings of a backend: everything that a statement alone can tell."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import numpy as np

from ...model.arrays import Rows, Vector
from ...model.filters import Filter, descend, fields_of, lookup, matcher, unexpired
from ...model.namespaces import EVERYWHERE, Scope
from ...model.port import EMBEDDED, NO_ROWS, Changes, IndexData, LogQuery, Page, Place, Row, Segment
from ...model.records import LIVE, LogEntry, MemoryRecord
from ..abilities import Entry, Tally, Totals, changed_contents, tally
from .authenticator import Authenticator
from .connection import Connection, Cursor, SQLConnections
from .cut import CUT, to_cut
from .erasing import ENTRIES_OF, former_namespaces
from .journal_reader import SQLJournalReader, to_log_entry
from .loading import load, names_in, save
from .reader import SQLReader, limits, order_sql
from .rows import (
    HEAD,
    LISTED,
    Listed,
    ask_setting,
    from_json,
    read_head,
    read_number,
    read_setting,
    scope_sql,
    scopes_sql,
    to_field,
    to_part,
    to_setting,
    to_vector,
)
from .writer import SQLWriter

T = TypeVar("T")
_Cache: TypeAlias = dict[Scope, tuple[tuple[int, int], T]]
"""By scope: a result, and the journal position and the breaks at that time."""

_LIVE = "WHERE state = 'live'"
_EXPIRED = f"INDEXED BY records_expiring {_LIVE} AND expires_at IS NOT NULL AND expires_at <= ?"
_NAMES = f"SELECT DISTINCT namespace FROM records NOT INDEXED WHERE row IN {LISTED}"
_MAX_COUNTED_SCOPES = 256  # the last counts of so many scopes are kept in memory

_LAST_SEQ: Final = 2**63 - 1


class SQLBackend(SQLReader):
    """A backend over *connections*, but for opening, inspection, erasing and backup.

    The methods are documented in ``FullBackend``.
    """

    _SPELLED_ROWS: ClassVar[int] = 128
    """So many rows are spelled in a statement; more are listed."""

    _OUTCOME: ClassVar[str] = "round(outcome, 1)"
    _DAY: ClassVar[str] = "CAST(created_at / 86400 + 719163 AS INTEGER)"

    def __init__(
        self, connections: SQLConnections, auth: Authenticator, *, hides: bool = False
    ) -> None:
        self._connections = connections
        self._auth = auth
        self._counts: _Cache[int] = {}
        self._namespaces: _Cache[dict[str, int]] = {}
        self.journal_reader = SQLJournalReader(connections, auth, hides=hides)

    @property
    def breaks(self) -> int:
        return 0

    @abstractmethod
    def write(self, places: Collection[Place] = ()) -> AbstractContextManager[SQLWriter]:
        """Open the write transaction."""

    def _rows(self, sql: str, *parameters: object) -> list[Any]:
        return self._connections.rows(sql, *parameters)

    def head(self) -> int:
        with self._connections.reading() as connection:
            return read_head(connection)

    def setting(self, name: str) -> str | None:
        with self._connections.reading() as connection:
            return read_setting(connection, name)

    def dimension(self, name: str) -> int | None:
        with self._connections.reading() as connection:
            return read_number(connection, f"dimension:{name}")

    def by_row(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        given, parameters = self._list_sql(rows)
        found = self._rows(
            f"SELECT row, {self._auth.columns} FROM records WHERE row IN {given}", *parameters
        )
        to_record = self._auth.to_record
        return {row: to_record(values) for row, *values in found}

    def rows(self, rows: Sequence[int]) -> list[Row]:
        with self._connections.reading() as connection:
            asked = self._auth.ask_rows(connection, f"row IN {LISTED}", Listed(rows))
            self._connections.finish_reading(connection)
            return self._auth.to_rows(connection, asked)

    def values(
        self,
        scope: Scope,
        where: Filter | None,
        page: Page | None = None,
        path: tuple[str, ...] = ("value",),
    ) -> list[tuple[int, Any]]:
        page = page or Page()
        sql, parameters, exact, using = self._selection(scope, where)
        if self._auth.keyed or not exact:  # codes and such filters need whole records
            found = self.select(scope, where, page)
            return [(each.row, lookup(each.record, path)) for each in found]
        chosen = f"SELECT row, {path[0]} FROM records {using} WHERE {sql} {order_sql(page)}"
        texts = self._rows(f"{chosen} LIMIT ? OFFSET ?", *parameters, *limits(page))
        if path == ("value",):  # of messages, which differ
            return [(row, None if text is None else from_json(text)) for row, text in texts]
        distinct = {text for _, text in texts}  # many records have the same metadata
        values = {text: descend(to_field(path[0], text), path[1:]) for text in distinct}
        return [(row, values[text]) for row, text in texts]

    def values_and_contents(
        self, scope: Scope, where: Filter | None, page: Page
    ) -> Iterable[tuple[Any, str | None]]:
        sql, parameters, exact, using = self._selection(scope, where)
        if self._auth.keyed or not exact:
            return changed_contents(self.select(scope, where, page))
        changed = "CASE WHEN updated_at <> created_at THEN content END"
        chosen = f"SELECT value, {changed} FROM records {using} WHERE {sql} {order_sql(page)}"
        texts = self._rows(f"{chosen} LIMIT ? OFFSET ?", *parameters, *limits(page))
        return [(None if text is None else from_json(text), told) for text, told in texts]

    def matching(self, scope: Scope, where: Filter) -> Rows:
        sql, parameters, exact, using = self._selection(scope, where)
        columns, to_record = [self._auth.columns], self._auth.to_record
        if not self._auth.keyed:  # codes cover whole records
            columns = sorted(fields_of(where))
            to_record = partial(to_part, columns)
        read = "row" if exact else ", ".join(["row", *columns])
        selected = f"SELECT {read} FROM records {using} WHERE {sql}"
        found, passes = self._rows(selected, *parameters), matcher(where)
        rows = [each[0] for each in found if exact or passes(to_record(each[1:]))]
        return np.sort(np.array(rows, dtype=np.int64))

    def count(self, scope: Scope, where: Filter | None, now: float | None = None) -> int:
        if where is not None:
            return len(self.matching(scope, where if now is None else unexpired(where, now)))
        inside, parameters = scope_sql(scope)
        live = f"SELECT count(*) FROM records WHERE {inside} AND state = 'live'", parameters
        with (
            self._connections.read_transaction() as connection,
            closing(connection.execute(*_by_namespace(scope, _EXPIRED, now))) as expired,
        ):
            count = self._at_head(connection, scope, self._counts, live, _to_number)
            return count - sum(int(gone) for _, gone in expired)

    def namespaces(self, scope: Scope, now: float | None = None) -> dict[str, int]:
        with (
            self._connections.read_transaction() as connection,
            closing(connection.execute(*_by_namespace(scope, _EXPIRED, now))) as asked,
        ):
            live = _by_namespace(scope, _LIVE)
            counts = self._at_head(connection, scope, self._namespaces, live, dict)
            expired = dict(asked)
        left = {name: count - expired.get(name, 0) for name, count in counts.items()}
        return {name: count for name, count in left.items() if count}

    def _at_head(
        self,
        connection: Connection,
        scope: Scope,
        cache: _Cache[T],
        question: tuple[str, tuple[object, ...]],
        read: Callable[[Cursor], T],
    ) -> T:
        """Return the last answer to *question* for *scope*, asked again after a change.

        The *question* is a statement with parameters, the last of the transaction.
        """
        position = read_head(connection), self.breaks
        found = cache.get(scope)
        if found is None or found[0] != position:
            if len(cache) >= _MAX_COUNTED_SCOPES:
                cache.clear()
            with closing(connection.execute(*question)) as asked:
                self._connections.finish_reading(connection)
                found = cache[scope] = position, read(asked)
        return found[1]

    def tallies(self, scope: Scope, now: float) -> list[Tally]:
        if self._auth.keyed:  # codes cover whole records, so whole records are read
            return tally(each.record for each in self.select(scope, unexpired(None, now)))
        sql, parameters, _, using = self._selection(scope, unexpired(None, now), LIVE)
        found = self._rows(
            "SELECT namespace, tags, count(*), min(occurred_at), max(occurred_at) "
            f"FROM records {using} WHERE {sql} GROUP BY 1, 2",
            *parameters,
        )
        return [Tally(name, tuple(json.loads(tags)), *rest) for name, tags, *rest in found]

    def totals(self, scope: Scope, now: float) -> Totals:
        inside, parameters = scope_sql(scope)
        with self._connections.read_transaction() as connection:
            found = connection.execute(
                "SELECT CASE WHEN state = 'live' AND expires_at <= ? THEN 'expired' ELSE state "
                f"END, category, {self._OUTCOME}, {self._DAY}, count(*) "
                f"FROM records {'NOT INDEXED' if inside == 'TRUE' else ''} WHERE {inside} "
                "GROUP BY 1, 2, 3, 4",
                (now, *parameters),
            ).fetchall()
            rows = "SELECT (SELECT count(*) FROM journal), (SELECT count(*) FROM accesses)"
            entries, accesses = connection.execute(rows).fetchone()
            size, free, version = self._file_facts(connection)
        counts = {tuple(group): count for *group, count in found}
        return Totals(counts, entries, accesses, size, free, version, self._auth.keyed)

    @abstractmethod
    def _file_facts(self, connection: Connection) -> tuple[int, int, int]:
        """Return the bytes of all tables, the unused bytes, and the version of the schema."""

    def changes(self, since: int, scopes: Sequence[Scope]) -> Changes:
        inside, parameters = scopes_sql(scopes)
        with (
            self._connections.read_transaction() as connection,
            # Questions first: the answers may travel together.
            closing(connection.execute(HEAD)) as last,
            closing(ask_setting(connection, CUT)) as cut,
            closing(ask_setting(connection, "embedder")) as noted,
        ):
            later = "WHERE seq > ? ORDER BY seq"
            entries = self._auth.read_entries(connection, later, since, new_records=False)
            head = last.fetchone()[0]  # perhaps an entry of another tenant
            embedder = to_setting(noted)
            if since < to_cut(cut).seq:  # nobody knows any more what changed since
                return Changes(since, head, frozenset(), (), erased=None, embedder=embedder)
            rows = {row for each in entries for row in (each.was, each.row) if row is not None}
            for each in entries:
                rows.update((each.changes or {}).get("rows", ()))
            thinned = any(each.action == "touch" and each.changes is None for each in entries)
            if thinned:
                given = (*parameters, since)
                rows.update(row for (row,) in connection.execute(_patched(inside), given))
            gone = {each.id for each in entries if each.action == "erase" and each.id}
            erased = former_namespaces(connection, gone)
            moved = {each.id for each in entries if _is_move(each) and each.id} - gone
            namespaces = erased | former_namespaces(connection, moved)
            with closing(connection.execute(_NAMES, (Listed(rows),))) as names:
                asked = self._auth.ask_rows(
                    connection,
                    f"row IN {LISTED} AND state = 'live' AND {inside}",
                    Listed(rows),
                    *parameters,
                    using="NOT INDEXED",
                )
                self._connections.finish_reading(connection)
                live = self._auth.to_rows(connection, asked)
                namespaces |= {name for (name,) in names}
        return Changes(
            since, head, frozenset(rows), tuple(live), namespaces, erased, thinned, embedder
        )

    def load(
        self,
        scope: Scope,
        limit: int | None = None,
        recent: Mapping[int, Row] = NO_ROWS,
        *,
        aside: bool = False,
    ) -> IndexData:
        use = self._connections.aside if aside else self._connections.read_transaction
        found, skip_segments = None, False
        while found is None:  # a second time if a segment is damaged
            with use() as connection:
                finish = partial(self._connections.finish_reading, connection)
                names = names_in(connection, scope)
                found = load(
                    connection,
                    self._auth,
                    names,
                    limit,
                    recent,
                    finish,
                    skip_segments=skip_segments,
                )
            skip_segments = True
        return found

    def vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        table, named = ("vectors", "") if name == EMBEDDED else ("named_vectors", "AND name = ?")
        given, parameters = self._list_sql([int(row) for row in rows])
        with self._connections.reading() as connection:
            found = connection.execute(
                f"SELECT row, vector FROM {table} WHERE row IN {given} {named} "
                "AND length(vector) = "
                "coalesce((SELECT 4 * CAST(value AS INTEGER) FROM facts WHERE name = ?), "
                "length(vector))",
                (*parameters, *((name,) if named else ()), f"dimension:{name}"),
            ).fetchall()
            self._auth.check_vectors(connection, rows)
        return {row: to_vector(blob) for row, blob in found}

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        return dict(self._rows(f"SELECT id, row FROM records WHERE id IN {LISTED}", Listed(ids)))

    def save(self, segments: Iterable[Segment]) -> list[int | None]:
        numbers: list[int | None] = []
        with self._connections.writing() as connection:
            for segment in segments:
                late = None in numbers
                numbers.append(None if late else save(connection, self._auth, segment))
        return numbers

    def log(self, query: LogQuery) -> list[LogEntry]:
        inside, parameters = scope_sql(EVERYWHERE if query.scope is None else query.scope)
        by_id = "" if query.id is None else f"AND seq IN ({ENTRIES_OF})"
        with self._connections.reading() as connection:
            found = self._auth.read_entries(
                connection,
                f"WHERE {inside} AND seq > ? AND seq <= ? {by_id} ORDER BY seq DESC LIMIT ?",
                *(*parameters, query.since, _LAST_SEQ if query.until is None else query.until),
                *(() if query.id is None else (query.id, query.id)),
                -1 if query.limit is None else query.limit,
                skip_damaged=query.skip_damaged,
            )
        return list(map(to_log_entry, found))

    def _list_sql(self, rows: Sequence[int]) -> tuple[str, tuple[object, ...]]:
        """Return *rows* as an SQL list with parameters; SQLite reads spelled lists faster."""
        if len(rows) <= self._SPELLED_ROWS:
            return f"({','.join('?' * len(rows))})", tuple(rows)
        return LISTED, (Listed(rows),)

    def sleep(self) -> None:
        self._connections.sleep()

    def resume(self, *, in_child: bool) -> None:
        self._connections.resume(in_child=in_child)

    def close(self) -> None:
        self._connections.close()


def _patched(inside: str) -> str:
    """Return the statement for the rows changed in place since an entry."""
    changed = f"{inside} AND revision > ? AND revision <> row"
    return f"SELECT row FROM records INDEXED BY records_patched WHERE {changed}"


def _is_move(entry: Entry) -> bool:
    """Tell whether *entry* put a record into another namespace."""
    return entry.was is not None and "namespace" in (entry.changes or {})


def _by_namespace(scope: Scope, sql: str, *parameters: object) -> tuple[str, tuple[object, ...]]:
    """Return the statement that counts the records in *scope* that satisfy *sql* by namespace."""
    inside, within = scope_sql(scope)
    counts = f"SELECT namespace, count(*) FROM records {sql} AND {inside} GROUP BY 1 ORDER BY 1"
    return counts, (*parameters, *within)


def _to_number(asked: Cursor) -> int:
    (number,) = asked.fetchone()
    return int(number)
