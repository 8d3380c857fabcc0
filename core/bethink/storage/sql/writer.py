"""The open write transaction."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import repeat
from typing import Any, Final

from ...errors import DimensionError, ValidationError
from ...model.arrays import Vector
from ...model.fields import to_json
from ...model.port import EMBEDDED, Place, Row, Stored
from ...model.records import MemoryRecord, State, non_empty_fields
from ..abilities import Compacted
from ..journal import FULL_RECORD, SALT_BYTES, START, chain_hash, digest
from .authenticator import NEW_ENTRY, NO_AUTH, Authenticator
from .compacting import CutJournal, JournalCutter
from .connection import Connection
from .cut import CUT
from .daily_accesses import EXACT_ENTRIES, DailyMark, read_daily_mark, thin_accesses
from .erasing import ERASED, blank_record
from .reader import SQLReader
from .rows import (
    COLUMNS,
    FIELDS,
    LISTED,
    Listed,
    RowTypes,
    entry_texts,
    read_setting,
    to_blob,
    to_number,
    to_values,
    to_vector,
)
from .tombstones import find_folded

_UPDATE: Final = (
    "UPDATE records SET row = ?, revision = ?, "
    f"{', '.join(f'{name} = ?' for name in FIELDS)} WHERE row = ?"
)
_RECORD: Final = (
    f"INSERT INTO records ({COLUMNS}, row, ordinal, revision) VALUES ({'?, ' * len(FIELDS)}?, ?, ?)"
)
_STATE: Final = "UPDATE records SET state = ?, updated_at = ?, revision = ? WHERE row = ?"
_ACCESSED: Final = (
    "SELECT row, ordinal, id, access_count, last_accessed_at FROM records "
    f"WHERE id IN {LISTED} AND state = 'live' ORDER BY row"
)
_TOUCH: Final = (
    "UPDATE records SET access_count = ?, last_accessed_at = ?, revision = ? WHERE row = ?"
)
_VECTOR: Final = "INSERT INTO vectors (row, vector) VALUES (?, ?)"
_NAMED_VECTOR: Final = "INSERT INTO named_vectors (row, name, since, vector) VALUES (?, ?, ?, ?)"
_SET: Final = (
    "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_LINKED: Final = "source = ? AND kind = ? AND target = ? AND until IS NULL"
_LAST: Final = RowTypes(int, bytes, float)
_COUNTED: Final = RowTypes(int, int, str, int, float | None)
FULL_RECORDS_IN_256: Final = 4
"""Of so many in 256 entries that change a record the journal tells the whole record."""


def known_id(id: str, state: str) -> str:
    """Return why a new record with the *id* of a record in *state* is refused."""
    if state == "live":
        return f"a record with id {id!r} exists already; use update"
    return f"a record with id {id!r} exists already, but is {state}; use another id"


def _without_zeros(record: MemoryRecord, given: Mapping[str, Vector]) -> Mapping[str, Vector]:
    """Return the vectors to keep of *given*: the zeros of a record without content are left out."""
    if record.content or EMBEDDED not in given or given[EMBEDDED].any():
        return given
    return {name: vector for name, vector in given.items() if name != EMBEDDED}


class SQLWriter(SQLReader):
    """Change records, vectors and journal inside one transaction of *connection*.

    The methods are documented in ``Writer``; subclasses add ``repairer`` and ``staging``.
    """

    _place: str | None = None
    """The namespace of entries of no record."""

    def __init__(self, connection: Connection, auth: Authenticator = NO_AUTH) -> None:
        self._connection = connection
        self._auth = auth
        self.read_end()

    def read_end(self) -> None:
        """Continue after the last entry of the journal."""
        last = self._connection.execute(
            "SELECT seq, link, at FROM journal ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        self._go_on_after(last)

    def _go_on_after(self, last: Any) -> None:
        """Continue after the last entry: position, link and time; None for an empty journal."""
        self._head: int
        self._link: bytes
        self._at: float
        self._head, self._link, self._at = _LAST(last or (0, START, -math.inf))

    def _rows(self, sql: str, *parameters: object) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def head(self) -> int:
        return self._head

    def by_keys(self, places: Collection[Place]) -> dict[Place, Stored]:
        return {place: found for place in places if (found := self.by_key(*place))}

    def added(self, namespace: str, since: int) -> list[Row]:
        after = "row > ? AND namespace = ? AND state = 'live'"
        return self._auth.read_rows(self._connection, after, since, namespace, using="NOT INDEXED")

    def dimension(self, name: str, wanted: int) -> int:
        noted = f"dimension:{name}"
        stored = to_number(noted, self.setting(noted))
        if stored == wanted:
            return wanted
        if stored is not None:
            carried = self._connection.execute(
                "SELECT 1 FROM named_vectors JOIN records USING (row) "
                "WHERE named_vectors.name = ? AND state = 'live'",
                (name,),
            ).fetchone()
            if carried:
                return stored
            self._drop(name)
        self.set_setting(noted, str(wanted))
        return wanted

    def _drop(self, name: str) -> None:
        self._connection.execute("DELETE FROM named_vectors WHERE name = ?", (name,))

    def insert(self, record: MemoryRecord, vectors: Mapping[str, Vector]) -> Row:
        row, vectors = self._head + 1, _without_zeros(record, vectors)
        try:
            self._connection.executemany(_RECORD, [(*to_values(record), row, row, row)])
        except self._connection.IntegrityError as error:
            raise ValidationError(self._explain_refusal([record])) from error
        self.attach(row, vectors)
        return Row(row, row, record, vectors)

    def insert_all(
        self, records: Sequence[MemoryRecord], vectors: Iterable[Mapping[str, Vector]], at: float
    ) -> list[Row]:
        rows = [
            Row(row, row, record, _without_zeros(record, given))
            for row, (record, given) in enumerate(
                zip(records, vectors, strict=True), self._head + 1
            )
        ]
        columns = list(map(to_values, records))
        for each, values in zip(rows, columns, strict=True):
            values += (each.row, each.row, each.row)
        try:
            self._connection.executemany(_RECORD, columns)
        except self._connection.IntegrityError as error:
            raise ValidationError(self._explain_refusal(records)) from error
        self.attach_all((each.row, each.vectors) for each in rows)
        places = (
            (each.row, at, "store", each.record.id, each.record.namespace, None, each.row)
            for each in rows
        )
        self._append(at, places, entry_texts(columns), len(rows))
        return rows

    def retire_all(
        self, found: Sequence[tuple[int, MemoryRecord]], state: State, at: float, action: str
    ) -> None:
        numbered = list(enumerate(found, self._head + 1))
        self._connection.executemany(_STATE, [(state, at, seq, row) for seq, (row, _) in numbered])
        places = (
            (seq, at, action, record.id, record.namespace, row, row)
            for seq, (row, record) in numbered
        )
        self._append(at, places, repeat(to_json({"state": state})), len(numbered))

    def _explain_refusal(self, records: Sequence[MemoryRecord]) -> str:
        """Return why the first of *records* with a known id was refused."""
        found = self._connection.execute(
            f"SELECT id, row, state FROM records WHERE id IN {LISTED}",
            (Listed(record.id for record in records),),
        )
        known = {id: (row, state) for id, row, state in found.fetchall()}
        for row, record in enumerate(records, self._head + 1):
            held, state = known.setdefault(record.id, (row, "live"))
            if held != row:
                break
        return known_id(record.id, state)

    def _append(
        self,
        at: float,
        places: Iterable[tuple[int, *tuple[object, ...]]],
        texts: Iterable[str],
        count: int,
    ) -> None:
        """Append *count* journal entries of the time *at*, from the first columns and texts."""
        if count:
            self._note_time(at)
        salts, size = os.urandom(SALT_BYTES * count), SALT_BYTES
        own = (salts[start : start + size] for start in range(0, len(salts), size))
        self._connection.executemany(NEW_ENTRY, map(self._chain, places, own, texts))

    def patch(self, row: int, record: MemoryRecord) -> None:
        self._connection.execute(_UPDATE, (row, self._head + 1, *to_values(record), row))

    def replace(self, row: int, record: MemoryRecord, vectors: Mapping[str, Vector]) -> Row:
        new = self._head + 1
        moved = f"{_UPDATE} RETURNING ordinal", (new, new, *to_values(record), row)
        with closing(self._connection.execute(*moved)) as asked:  # the answers travel together
            carried, own = self._carry_vectors(row, new, vectors), _without_zeros(record, vectors)
            ((ordinal,),) = asked.fetchall()
        self.attach(new, own)
        return Row(new, ordinal, record, {**carried, **own})

    def attach(self, row: int, vectors: Mapping[str, Vector]) -> None:
        """Give a row vectors."""
        self.attach_all([(row, vectors)])

    def attach_all(self, given: Iterable[tuple[int, Mapping[str, Vector]]]) -> None:
        """Give rows their vectors: a table at a time."""
        expected: dict[str, int] = {}
        embedded, named = [], []
        for row, vectors in given:
            for name, vector in vectors.items():
                if name == EMBEDDED:
                    embedded.append((row, to_blob(vector)))
                    continue
                if name not in expected:
                    expected[name] = self.dimension(name, len(vector))
                if len(vector) != expected[name]:
                    raise DimensionError(expected[name], len(vector), name)
                named.append((row, name, row, to_blob(vector)))
        self._connection.executemany(_VECTOR, embedded)
        if named:
            self._connection.executemany(_NAMED_VECTOR, named)

    def _carry_vectors(self, row: int, new: int, given: Collection[str]) -> dict[str, Vector]:
        """Move the vectors not *given* again to the *new* row, and return the moved vectors.

        Replaced vectors of the caller stay in the old row, for the past.
        """
        if EMBEDDED in given:
            self._connection.execute("DELETE FROM vectors WHERE row = ?", (row,))
        else:
            self._connection.execute("UPDATE vectors SET row = ? WHERE row = ?", (new, row))
        self._connection.execute(
            f"UPDATE named_vectors SET row = ? WHERE row = ? AND name NOT IN {LISTED}",
            (new, row, Listed(given)),
        )
        carried = self._connection.execute(
            "SELECT '', vector FROM vectors WHERE row = ? UNION ALL "
            "SELECT name, vector FROM named_vectors WHERE row = ?",
            (new, new),
        ).fetchall()
        return {name: to_vector(blob) for name, blob in carried}

    def erase(self, row: int, tombstone: MemoryRecord) -> frozenset[str]:
        self.patch(row, tombstone)
        self.set_setting(ERASED, str(self._head + 1))
        return blank_record(self._connection, tombstone.id)

    def touch(self, accesses: Mapping[str, tuple[int, float]]) -> list[int]:
        found = self._connection.execute(_ACCESSED, (Listed(accesses),)).fetchall()
        seq, left = self._head + 1, []
        for row, ordinal, id, count, last in map(_COUNTED, found):
            times, at = accesses[id]
            left.append((row, ordinal, count + times, at if last is None else max(last, at)))
        self._connection.executemany(
            _TOUCH, [(count, last, seq, row) for row, _, count, last in left]
        )
        self._connection.executemany(
            "INSERT INTO accesses VALUES (?, ?, ?, ?)",
            [(ordinal, seq, count, last) for _, ordinal, count, last in left],
        )
        done = read_daily_mark(self._connection)
        if seq - done.until >= 2 * EXACT_ENTRIES:
            # In steps, for a file with a long past of touches.
            self._thin_accesses(done, min(seq - EXACT_ENTRIES, done.until + 2 * EXACT_ENTRIES))
        return [row for row, *_ in left]

    def _thin_accesses(self, before: DailyMark, until: int) -> None:
        done = thin_accesses(self._connection, self._auth, before, until)
        self.set_setting(*done.to_setting())

    def compact(self, until: int, at: float) -> Compacted:
        self._drop_snapshots(until)
        done = JournalCutter(self._connection, self._auth, until).run()
        left = self._sign_compacted(done)
        self.set_setting(CUT, to_json(done.cut.told()))
        self.set_setting(ERASED, str(self._head + 1))
        self.journal("compact", at, None, None, None, {**done.cut.told(), "left": left})
        return Compacted(done.entries, done.records, frozenset(done.namespaces))

    def find_ever(self, ids: Sequence[str]) -> dict[str, Stored]:
        found = self.find(ids)
        missing = [id for id in ids if id not in found]
        return found | find_folded(self._connection, missing) if missing else found

    def _drop_snapshots(self, before: int) -> None:
        self._connection.execute("DELETE FROM snapshots WHERE seq < ?", (before,))

    def _sign_compacted(self, done: CutJournal) -> int:
        """Sign everything new; return the number of records left."""
        return int(self._connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def link(self, source: str, kind: str, target: str, *, holds: bool) -> bool:
        ends, seq = (source, kind, target), self._head + 1
        if holds:
            made = "INSERT INTO links VALUES (?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING"
            return self._connection.execute(made, (*ends, seq)).rowcount > 0
        ended = f"UPDATE links SET until = ? WHERE {_LINKED}"
        return self._connection.execute(ended, (seq, *ends)).rowcount > 0

    def journal(
        self,
        action: str,
        at: float,
        record: MemoryRecord | None,
        was: int | None,
        row: int | None,
        changes: Mapping[str, object] | None,
    ) -> None:
        salt = os.urandom(SALT_BYTES)
        # By chance: a fixed step could always miss the records with most changes.
        whole = action != "store" and row is not None and salt[0] < FULL_RECORDS_IN_256
        if changes is not None and whole and record and record.state == "live":
            changes = {**changes, FULL_RECORD: non_empty_fields(record)}
        text = None if changes is None else to_json(changes)
        self._note_time(at)
        id, namespace = (record.id, record.namespace) if record else (None, self._place)
        columns = (self._head + 1, at, action, id, namespace, was, row)
        self._connection.executemany(NEW_ENTRY, [self._chain(columns, salt, text)])

    def _note_time(self, at: float) -> None:
        """Note the time of the next entry, and a step back of the clock."""
        if at < self._at:
            self._connection.execute("INSERT INTO clock_steps VALUES (?)", (self._head + 1,))
        self._at = at

    def _chain(
        self, columns: tuple[int, *tuple[object, ...]], salt: bytes, text: str | None
    ) -> tuple[object, ...]:
        """Return all columns of the next entry, from now on the last; *columns* are the first."""
        digested = digest(salt, text or "")
        self._head, self._link = columns[0], chain_hash(self._link, columns, digested)
        kept = (None, None) if text is None else (bytearray(salt), text)
        return (*columns, bytearray(digested), bytearray(self._link), *kept)  # see ``to_blob``

    def snapshot(self, name: str, at: float) -> None:
        try:
            self._connection.execute(
                "INSERT INTO snapshots VALUES (?, ?, ?)", (name, self._head, at)
            )
        except self._connection.IntegrityError as error:
            raise ValidationError(f"a snapshot {name!r} exists already") from error

    def setting(self, name: str) -> str | None:
        return read_setting(self._connection, name)

    def set_setting(self, name: str, value: str) -> None:
        self._connection.execute(_SET, (name, value))
