"""The inspection of a store: chain, codes, segments, vectors, and rows that belong together."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Final, TypeVar

import numpy as np

from ...errors import BethinkError, CorruptStoreError, StorageError
from ...model.port import EMBEDDED, SEGMENT_FORMAT
from ...model.progress import Tell, counted
from ...model.records import MemoryRecord
from ..abilities import Access, Entry, Move, Problem, RecordTrace
from ..journal import START, chain_hash, digest
from .authenticator import (
    EMBEDDED_VECTOR,
    ENTRY,
    NAMED_VECTOR,
    NO_AUTH,
    KeyedAuthenticator,
    parse_code,
)
from .connection import Connection
from .cut import CUT, CUT_SQL, NO_CUT, changed_sum, read_cut
from .daily_accesses import read_daily_mark
from .rows import COLUMNS, ENTRY_COLUMNS, STAGED, from_json, read_setting, to_changes, to_record
from .tombstones import sum_of_digests

T = TypeVar("T")

_BATCH_RECORDS: Final = 64  # so many records are read with their entries at a time
_ACCESSES: Final = "SELECT ordinal, seq, count, last FROM accesses WHERE ordinal IN ({marks})"
_TOUCHES: Final = (  # sorted once: a read of each record's touches would read each touch many times
    "SELECT records.row, seq, told.value FROM journal CROSS JOIN "
    "json_each(CASE WHEN json_valid(changes) THEN changes END, '$.accesses') AS told "
    "CROSS JOIN records ON records.id = told.key WHERE action = 'touch' ORDER BY 1, 2"
)
_ENTRIES: Final = (
    f"SELECT {ENTRY_COLUMNS} FROM journal WHERE seq IN ({{marks}}) AND action = 'store' "
    f"UNION ALL SELECT {ENTRY_COLUMNS} FROM journal "
    "WHERE id IN ({marks}) AND action <> 'store' AND row IS NOT NULL ORDER BY seq"
)
_CHANGED: Final = "it was changed without the store's key"
_CHECKS: Final = """
SELECT 'journal', 'entry ' || seq, 'its record is missing' FROM journal
    WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM records);
SELECT 'journal', 'entry ' || seq, 'the record that it stored is missing' FROM journal
    WHERE action = 'store' AND seq NOT IN (SELECT ordinal FROM records);
SELECT 'record', min(id), 'its key is held by another live record, too' FROM records NOT INDEXED
    WHERE state = 'live' AND key IS NOT NULL GROUP BY namespace, key HAVING count(*) > 1;
SELECT 'snapshot', name, 'it names no journal entry' FROM snapshots
    WHERE typeof(name) <> 'text' OR typeof(seq) <> 'integer' OR typeof(at) <> 'real'
    OR seq < 0 OR seq > (SELECT coalesce(max(seq), 0) FROM journal);
SELECT 'fact', 'embedder', 'it is missing' WHERE EXISTS (SELECT 1 FROM vectors)
    AND NOT EXISTS (SELECT 1 FROM facts WHERE name = 'embedder');
SELECT 'vector', id, 'it is missing' FROM records LEFT JOIN vectors USING (row)
    WHERE vector IS NULL AND content <> '' AND state <> 'erased';
SELECT 'vector', 'row ' || row, 'it belongs to no record' FROM vectors
    WHERE row NOT IN (SELECT row FROM records) AND (row > 0
    OR NOT EXISTS (SELECT 1 FROM facts WHERE name = 'reembedding' AND value <> ''));
SELECT 'vector', 'row ' || row || ', ' || name, 'it belongs to no record' FROM named_vectors
    WHERE row NOT IN (SELECT row FROM journal WHERE row IS NOT NULL) OR since > row;
SELECT 'link', source || ' ' || kind || ' ' || target, 'no journal entry tells of it'
    FROM links LEFT JOIN journal ON seq = since
    WHERE (action = 'relate' AND id = source AND json_extract(changes, '$.kind') = kind
        AND json_extract(changes, '$.target') = target) IS NOT TRUE;
SELECT 'link', source || ' ' || kind || ' ' || target, 'no journal entry tells of its end'
    FROM links LEFT JOIN journal ON seq = until
    WHERE until IS NOT NULL AND (action = 'unrelate' AND id = source
        AND json_extract(changes, '$.kind') = kind
        AND json_extract(changes, '$.target') = target) IS NOT TRUE;
SELECT 'link', 'entry ' || seq, 'the link that it tells of is missing' FROM journal
    WHERE changes IS NOT NULL AND (action = 'relate' AND seq NOT IN (SELECT since FROM links)
        OR action = 'unrelate'
        AND seq NOT IN (SELECT until FROM links WHERE until IS NOT NULL));
SELECT 'access', 'entry ' || seq, 'it is noted of no record' FROM accesses
    WHERE ordinal NOT IN (SELECT ordinal FROM records);
SELECT 'segment', one.namespace || ', rows ' || one.first || ' to ' || one.last,
    'it overlaps with another' FROM segments one JOIN segments two
    ON one.namespace = two.namespace AND one.number < two.number
    AND one.first <= two.last AND two.first <= one.last;
SELECT 'segment', namespace || ', rows ' || since || ' to ' || until, 'it is missing'
    FROM (SELECT namespace, first - 1 AS until,
        1 + lag(last, 1, 0) OVER (PARTITION BY namespace ORDER BY first) AS since
        FROM segments) gap
    WHERE EXISTS (SELECT 1 FROM records INDEXED BY records_scope
        WHERE namespace = gap.namespace AND state = 'live' AND row BETWEEN since AND until);
"""


class SQLInspection:
    """Check the store at *path* as seen by *connection*.

    *tell* hears of the entries and records checked. The methods are documented in ``Inspection``.
    """

    _touches = _TOUCHES

    def __init__(
        self,
        connection: Connection,
        path: str,
        auth: KeyedAuthenticator | None = None,
        tell: Tell | None = None,
    ) -> None:
        self._connection = connection
        self._path = path
        self._auth = auth
        self._tell = tell

    def damage(self, dimension: Callable[[], int | None] = lambda: None) -> Iterator[Problem]:
        vectors = partial(self._vectors, dimension)
        parts = (self._file, self._journal, self._bases, self._snapshots, self._segments, vectors)
        for part in parts:
            yield from self._try(part)
        for query in filter(str.strip, _CHECKS.split(";\n")):
            yield from self._try(partial(self._query, query))
        if self._auth is not None:
            yield from self._try(partial(self._records, self._auth))

    def _try(self, check: Callable[[], Iterator[Problem]]) -> Iterator[Problem]:
        """Yield the problems of *check*, and the error that ends *check*."""
        try:
            yield from check()
        except (self._connection.Error, StorageError, UnicodeDecodeError) as error:
            yield Problem("file", self._path, str(error))

    def _file(self) -> Iterator[Problem]:
        """Yield the damage of pages and tables."""
        yield from ()

    def _journal(self) -> Iterator[Problem]:
        (erased,) = self._one("SELECT max(seq) FROM journal WHERE action = 'erase'")
        cut, clock_steps = read_cut(self._connection), set[int]()
        daily = read_daily_mark(self._connection).until
        previous, last, stored = bytes.fromhex(cut.link), cut.seq, cut.records
        before = cut.at if cut.seq else -math.inf
        entries = self._connection.execute(
            f"SELECT {ENTRY}, salt, changes, code FROM journal WHERE seq > ? ORDER BY seq",
            (cut.seq,),
        )
        for *columns, link, salt, changes, code in self._counted(entries):
            seq, at, action, *_, row, digested = columns
            stored += action == "store"
            if action == "compact":
                stored = (_read_changes(changes)[0] or {}).get("left", stored)
            may_be_empty = action == "touch" and seq <= daily
            is_gone = (
                changes is None
                and row is None
                and not may_be_empty
                and not (erased and seq < erased)
            )
            for is_wrong, what in (
                (seq != last + 1, f"it follows entry {last}"),
                (_breaks_chain(columns, previous, link), "it does not follow from the one before"),
                (_is_altered(digested, salt, changes), "it tells what it did not tell"),
                (is_gone, "what it told is gone, though nothing was erased"),
                (self._is_forged([*columns, link], salt, changes, code, stored), _CHANGED),
            ):
                if is_wrong:
                    yield Problem("journal", f"entry {seq}", what)
            if isinstance(at, float):
                clock_steps |= {seq} if at < before else set()
                before = at
            previous, last = link if isinstance(link, bytes) else START, seq
        noted = self._connection.execute("SELECT seq FROM clock_steps").fetchall()
        for seq in sorted(clock_steps.symmetric_difference(seq for (seq,) in noted)):
            yield Problem("journal", f"entry {seq}", "whether its clock went back is noted wrongly")

    def _bases(self) -> Iterator[Problem]:
        """Yield the damage of the entries up to the cut."""
        cut, links = read_cut(self._connection), list[bytes]()
        told = self._one(
            "SELECT seq, changes FROM journal WHERE action = 'compact' ORDER BY seq DESC LIMIT 1"
        )
        if not cut.seq and told is None:
            return
        stated = NO_CUT.told() | ((_read_changes(told[1])[0] if told else None) or {})
        if {name: stated[name] for name in cut.told()} != cut.told():
            yield Problem("fact", CUT, "it is not what the journal tells")
        entries = self._connection.execute(
            f"SELECT {ENTRY}, salt, changes, code FROM journal WHERE seq <= ? ORDER BY seq",
            (cut.seq,),
        )
        for *columns, link, salt, changes, code in entries:
            seq, digested = columns[0], columns[-1]
            links.append(link if isinstance(link, bytes) else b"")
            for is_wrong, what in (
                (_breaks_chain(columns, START, link), "it is not as it was when history was cut"),
                (_is_altered(digested, salt, changes), "it tells what it did not tell"),
                (self._is_forged([*columns, link], salt, changes, code, 0), _CHANGED),
            ):
                if is_wrong:
                    yield Problem("journal", f"entry {seq}", what)
        if changed_sum("0", [], links) != cut.bases:
            yield Problem("journal", f"entries to {cut.seq}", "one is missing, or was changed")
        if sum_of_digests(self._connection) != cut.erased:
            yield Problem("fact", CUT, "the ids erased before are not as when history was cut")

    def _is_forged(
        self, columns: list[Any], salt: object, changes: object, code: object, stored: int
    ) -> bool:
        if self._auth is None:
            return code is not None
        return (
            not self._auth.is_genuine(columns, salt, changes, code) or parse_code(code)[1] != stored
        )

    def _query(self, query: str) -> Iterator[Problem]:
        for kind, where, what in self._connection.execute(query):
            yield Problem(kind, str(where), what)

    def _snapshots(self) -> Iterator[Problem]:
        """Yield snapshots unlike the journal; the oldest may have no entry."""
        found = self._connection.execute("SELECT name, seq, at FROM snapshots").fetchall()
        kept = {name: tuple(place) for name, *place in found}
        entries = self._connection.execute(
            "SELECT seq, at, changes FROM journal WHERE action = 'snapshot' ORDER BY seq"
        ).fetchall()
        journaled = set[object]()
        for seq, at, text in entries:
            name = (_read_changes(text)[0] or {}).get("name")
            journaled.add(name)
            if kept.get(name) != (seq - 1, at):
                yield Problem("snapshot", str(name), "it is not what the journal tells")
        first = entries[0][0] if entries else None
        late = "SELECT name FROM snapshots WHERE seq >= ?"
        for (name,) in self._connection.execute(late, (first,)):
            if name not in journaled:
                yield Problem("snapshot", str(name), "no journal entry tells of it")

    def _segments(self) -> Iterator[Problem]:
        auth = self._auth or NO_AUTH
        for *columns, checksum, data in self._connection.execute(
            "SELECT format, namespace, first, last, count, head, checksum, data FROM segments"
        ):
            kind, namespace, first, last, *_ = columns
            whole = isinstance(data, bytes)
            if kind == SEGMENT_FORMAT and not (
                whole and auth.checksum(tuple(columns), data) == checksum
            ):
                yield Problem("segment", f"{namespace}, rows {first} to {last}", "it is damaged")

    def _translated(self) -> AbstractContextManager[object]:
        """Raise the store's errors in place of the driver's."""
        return nullcontext()

    def usual_dimension(self, name: str) -> int | None:
        table, named = ("vectors", "? = ''") if name == EMBEDDED else ("named_vectors", "name = ?")
        found = self._one(
            f"SELECT length(vector) / 4 FROM {table} WHERE {named} AND row > 0 "
            "AND typeof(vector) = 'blob' "
            "AND length(vector) > 0 AND length(vector) % 4 = 0 "
            "GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1",
            name,
        )
        return int(found[0]) if found else None

    def _dimensions(self) -> dict[str, str | None]:
        """Return the stored dimension, None if missing, by the name of vectors."""
        names = (
            "SELECT '' WHERE EXISTS (SELECT 1 FROM vectors) UNION SELECT name FROM named_vectors"
        )
        facts = "SELECT substr(name, 11), value FROM facts WHERE name LIKE 'dimension:%'"
        missing = dict.fromkeys(name for (name,) in self._connection.execute(names).fetchall())
        return {**missing, **dict(self._connection.execute(facts))}

    def _vectors(self, dimension: Callable[[], int | None]) -> Iterator[Problem]:
        sizes = dict[str, int | None]()
        for name, setting in self._dimensions().items():
            noted, usual = _number(setting), self.usual_dimension(name)
            contradicted = name == EMBEDDED and noted != usual and dimension() not in (noted, None)
            if noted is None or contradicted:
                wrong = "missing" if setting is None else "not how long these vectors are"
                yield Problem("fact", f"dimension:{name}", f"it is {wrong}")
                noted = usual
            sizes[name] = noted and 4 * noted
        staged = _number((read_setting(self._connection, STAGED) or "").partition(" ")[0])
        for table, selected in (("vectors", EMBEDDED_VECTOR), ("named_vectors", NAMED_VECTOR)):
            for *columns, code in self._connection.execute(
                f"SELECT {selected}, code FROM {table} ORDER BY row"
            ):
                row, name, _, blob = columns
                is_staged = table == "vectors" and row < 0
                size = staged and 4 * staged if is_staged else sizes.get(name)
                is_whole = isinstance(blob, bytes) and len(blob) == size
                is_forged = self._auth is not None and code != self._auth.vector(columns)
                if is_forged or not is_whole or not _is_finite(blob):
                    yield Problem("vector", self._owner(row, name), "it is damaged")

    def _owner(self, row: int, name: str) -> str:
        found = self._one("SELECT id FROM records WHERE row = ?", row)
        return (str(found[0]) if found else f"row {row}") + (f", {name}" if name else "")

    def _records(self, auth: KeyedAuthenticator) -> Iterator[Problem]:
        """Yield the records with a wrong code."""
        for *columns, code in self._connection.execute(f"SELECT {auth.columns} FROM records"):
            if code != auth.record(columns):
                yield Problem("record", str(columns[0]), _CHANGED)

    def traces(self) -> Iterator[RecordTrace]:
        with (
            self._translated(),
            closing(self._connection.execute(self._touches)) as touches,
        ):
            cut = read_cut(self._connection).seq
            daily = read_daily_mark(self._connection).until
            by_row = groupby(touches, key=itemgetter(0))
            touched, told = next(by_row, (None, iter(())))
            records = self._connection.execute(
                f"SELECT row, ordinal, revision, {COLUMNS} FROM records ORDER BY row"
            )
            counted = self._counted(records, after_entries=True)
            while some := list(islice(counted, _BATCH_RECORDS)):
                entries, accesses = self._entries(some), self._accesses(some)
                for row, ordinal, revision, *values in some:
                    journaled = dict[int, tuple[int, float] | None]()
                    if row == touched:
                        journaled = {seq: _read_access(text) for _, seq, text in told}
                        touched, told = next(by_row, (None, iter(())))
                    yield RecordTrace(
                        str(values[0]),
                        row,
                        ordinal,
                        revision,
                        cut,
                        daily,
                        _read_record(values),
                        tuple(entries[values[0]]),
                        tuple(Access(s, n, at, journaled.get(s)) for s, n, at in accesses[ordinal]),
                    )

    def _entries(self, records: Sequence[Sequence[Any]]) -> dict[Any, list[Entry]]:
        """Return the entries of *records*, each a row, an ordinal, a revision, an id and more."""
        ordinals = {id: ordinal for _, ordinal, _, id, *_ in records}
        given = (*(ordinal for _, ordinal, *_ in records), *(id for _, _, _, id, *_ in records))
        # Read at once: a kept exception would keep a half-read cursor, and the log, open.
        found = self._connection.execute(_spelled(_ENTRIES, records), given).fetchall()
        entries = defaultdict[Any, list[Entry]](list)
        for *columns, changes in found:
            entry = Entry._make((*columns, *_read_changes(changes)))
            if entry.action != "store" or ordinals.get(entry.id) == entry.seq:
                entries[entry.id].append(entry)
        return entries

    def _accesses(self, records: Sequence[Sequence[Any]]) -> dict[Any, list[tuple[Any, ...]]]:
        """Return position, count and time of the noted accesses of *records*, by ordinal."""
        given = [ordinal for _, ordinal, *_ in records]
        accesses = defaultdict[Any, list[tuple[Any, ...]]](list)
        found = self._connection.execute(_spelled(_ACCESSES, records), given).fetchall()
        for ordinal, *access in found:
            accesses[ordinal].append(tuple(access))
        return accesses

    def moves(self) -> Counter[Move]:
        with self._translated():
            return Counter(self._connection.execute("SELECT id, namespace, key FROM departures"))

    def _counted(self, items: Iterable[T], *, after_entries: bool = False) -> Iterator[T]:
        """Yield entries or records; tell how many of both have been yielded."""
        if self._tell is None:
            return iter(items)
        sizes = (
            f"SELECT coalesce(max(seq), 0) - {CUT_SQL}, (SELECT count(*) FROM records) FROM journal"
        )
        entries, records = self._one(sizes)
        return counted(items, self._tell, entries + records, entries if after_entries else 0)

    def _one(self, sql: str, *parameters: object) -> Any:
        with self._translated():
            return self._connection.execute(sql, parameters).fetchone()


def _spelled(sql: str, items: Sequence[object]) -> str:
    """Return *sql* with a mark for each of *items*: damaged values cannot be listed as JSON."""
    return sql.format(marks=", ".join("?" * len(items)))


def _read_changes(text: Any) -> tuple[dict[str, Any] | None, Any]:
    """Return the result of ``to_changes``, no changes for a damaged *text*."""
    try:
        return to_changes(text)
    except CorruptStoreError:
        return {}, None  # the digest reveals the damage


def _read_access(text: Any) -> tuple[int, float] | None:
    """Return the count and the time in the JSON *text* of a touch, None for damage."""
    try:
        count_and_time = from_json(text, list)
    except CorruptStoreError:
        return None
    return tuple(count_and_time) if list(map(type, count_and_time)) == [int, float] else None


def _read_record(values: list[Any]) -> MemoryRecord | None:
    try:
        return to_record(values)
    except (BethinkError, TypeError, ValueError):
        return None


def _breaks_chain(columns: list[Any], previous: bytes, link: object) -> bool:
    *hashed, digested = columns
    return not isinstance(digested, bytes) or chain_hash(previous, tuple(hashed), digested) != link


def _is_altered(digested: object, salt: object, changes: object) -> bool:
    if salt is None and changes is None:
        return False
    if not isinstance(salt, bytes) or not isinstance(changes, str):
        return True
    return digest(salt, changes) != digested


def _number(dimension: Any) -> int | None:
    """Return *dimension* as a positive number, else None."""
    try:
        return max(int(dimension), 0) or None
    except (TypeError, ValueError):
        return None


def _is_finite(blob: bytes) -> bool:
    return not len(blob) % 4 and bool(np.isfinite(np.frombuffer(blob, dtype="<f4")).all())
