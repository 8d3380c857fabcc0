"""The resident index of one scope: columns, postings, threads and vectors by position.

The index starts from ``IndexData`` and then takes changes only: a new row is appended in O(1), a
dead row is marked, a patched row has numbers overwritten. Writes never cause a rebuild; dead
rows are removed once they are the majority.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from ..model.arrays import Column, Floats, Positions, Rows, Truths
from ..model.filters import Filter
from ..model.namespaces import Scope, covers
from ..model.port import EMBEDDED, IndexData, Row, Segment
from ..model.records import MemoryRecord
from .caches import RecordCache, VectorCache
from .columns import FOREVER, MUTABLE, NEVER, ROOM, Columns, numbers, table
from .documents import Document, document
from .field_columns import FieldColumns
from .keyword import BLOCK_DOCUMENTS, KeywordIndex
from .reader import ScopeReader
from .segments import Owners, Piece, to_segment, unpack
from .threads import Threads
from .vectors import VectorColumn

Accessed: TypeAlias = tuple[MemoryRecord, int, float | None]
"""A record shared with other answers, the number of accesses, and the time of the last."""

RELINK_FROM = 256
"""From so many new rows on, threads are linked all at once."""

MIN_DEAD = BLOCK_DOCUMENTS // 2
"""From so many dead rows on, dead rows are removed once they outnumber the live rows."""

MAX_PACKED: Final = 256
"""A namespace of fewer positions can be packed."""

_BATCH_VECTORS: Final = 256  # quantised at a time, within the processor's cache
_OBJECT_BYTES: Final = 7000  # of the objects around the arrays; measured


class ScopeIndex:
    """All that recall needs to know about the live memories of a scope.

    Vectors, records and filters that are not in memory come from *reader*.
    """

    def __init__(self, reader: ScopeReader, dimension: int, room: int = ROOM) -> None:
        self.reader = reader
        self.scope = reader.scope
        self.keyword = KeywordIndex()
        self.vectors: dict[str, VectorColumn] = {EMBEDDED: VectorColumn(dimension, room)}
        self._fields = FieldColumns()
        self.namespaces: dict[str, int] = {}
        self._hold(Columns(room))
        self.loaded_at = 0  # this position of the journal
        self.live_count = 0
        self.live_terms = 0
        self.mortal = False
        self.has_outcomes = False
        self.state = object()
        self._last = 0
        self._order: Rows = np.empty(0, dtype=np.int64)

    def _hold(self, columns: Columns) -> None:
        """Use *columns*, with empty caches."""
        self.columns = columns
        self.threads = Threads(columns)
        self._records = RecordCache(self.reader, columns)
        dimension = self.vectors[EMBEDDED].dimension
        self._exact = {EMBEDDED: VectorCache(self.reader, columns, EMBEDDED, dimension)}

    @classmethod
    def of(
        cls, reader: ScopeReader, dimension: int, data: IndexData, *, whole: bool = True
    ) -> ScopeIndex:
        """Build the index from a backend's ``IndexData``.

        Unless *data* is *whole*, ``rewind`` and ``complete`` must follow.
        """
        pieces = [(segment, unpack(segment.data)) for segment in data.segments]
        held = sum(piece.block.size for _, piece in pieces) + len(data.unindexed)
        index = cls(reader, dimension, held + held // 8 + ROOM)
        index.loaded_at = data.head
        data = replace(data, segments=())  # each segment is freed once adopted
        for _ in range(len(pieces)):
            index._adopt(*pieces.pop(0), data.live_rows)
        index._append(data.unindexed)
        index._index_rows()
        places = index.positions([row.row for row in data.changed])
        for row, position in zip(data.changed, places, strict=True):
            if position >= 0:
                index._patch(int(position), row.record)
        if whole:
            index._settle()
        return index

    def copy(self, reader: ScopeReader) -> ScopeIndex:
        """Return a copy that reads from *reader*; ``rewind`` and ``complete`` must follow.

        Postings and vectors are shared, since neither ever changes.
        """
        twin = ScopeIndex(reader, self.vectors[EMBEDDED].dimension, 0)
        twin._hold(self.columns.copy())
        twin.keyword = self.keyword.shared()
        twin.threads.codes = dict(self.threads.codes)
        twin.vectors[EMBEDDED] = self.vectors[EMBEDDED].shared()
        twin.namespaces = dict(self.namespaces)
        twin.mortal, twin.has_outcomes = self.mortal, self.has_outcomes
        twin._last, twin._order = self._last, self._order
        return twin

    def shared_bytes(self, origin: ScopeIndex) -> int:
        """Return the bytes of a copy that are also in use by *origin*."""
        vectors = self.vectors[EMBEDDED].shared_bytes(origin.vectors[EMBEDDED])
        return vectors + self.keyword.shared_bytes(origin.keyword)

    def rewind(self, seq: int, changed: Iterable[int], live: Sequence[Row]) -> list[Row]:
        """Go back to journal position *seq*; return the rows that are not in the index.

        *changed* are the current rows of the records that changed since, *live* the rows of the
        moment of those that were live. ``complete`` must follow.
        """
        columns = self.columns
        rows, alive = columns["row"], columns["live"]
        alive &= rows <= seq
        places = self.positions(list(changed))
        alive[places[places >= 0]] = False
        places = self.positions([row.row for row in live])
        known = places >= 0
        alive[places[known]] = True
        values = table([row for row, is_known in zip(live, known, strict=True) if is_known])
        for name in MUTABLE:
            columns[name][places[known]] = values[name]
        self.mortal |= bool((columns["expires"][alive] < FOREVER).any())
        self.has_outcomes |= bool(columns["outcome"][alive].any())
        self.live_count = int(alive.sum())
        self.live_terms = int(columns["length"][alive].sum())
        return [row for row, is_known in zip(live, known, strict=True) if not is_known]

    def complete(self, rows: Iterable[Row]) -> None:
        """Add the *rows* that were missing."""
        self._append(sorted(rows, key=lambda row: row.row))
        self._index_rows()
        self._settle()

    def _settle(self) -> None:
        self._link()
        self._compact()

    @property
    def size(self) -> int:
        """The number of positions, dead rows included."""
        return self.columns.size

    @property
    def thread_count(self) -> int:
        """The number of threads, without live turns too."""
        return len(self.threads.codes)

    @property
    def nbytes(self) -> int:
        """The approximate bytes in use."""
        found = self.columns.nbytes + self.keyword.nbytes + self.threads.nbytes
        found += self._fields.nbytes + self._records.nbytes + self._order.nbytes + _OBJECT_BYTES
        found += sum(column.nbytes for column in self.vectors.values())
        return found + sum(cache.nbytes for cache in self._exact.values())

    @property
    def is_small(self) -> bool:
        """Whether the index is of one namespace with few positions, none in a block."""
        return isinstance(self.scope, str) and self.size < MAX_PACKED and not self.keyword.blocks

    def packed(self) -> bytes:
        """Return a small index as bytes for ``unpacked``; the index cannot be used any more."""
        if not self.size:
            return b""
        self.keyword.freeze()
        return bytes(to_segment(self, self.keyword.blocks[0], self.loaded_at, {}).data)

    @classmethod
    def unpacked(cls, reader: ScopeReader, dimension: int, data: bytes) -> ScopeIndex:
        """Return the index that ``packed`` returned as *data*."""
        named = Segment(str(reader.scope), 0, 0, 0, 0, data)
        index = cls.of(reader, dimension, IndexData(0, (named,) if data else (), {}, (), ()))
        index.keyword.thaw()
        index._last = int(index.columns["row"].max(initial=0))
        return index

    @property
    def has_new_blocks(self) -> bool:
        """Whether a block waits to be saved; only a single namespace's blocks are saved."""
        return isinstance(self.scope, str) and self.keyword.has_new_blocks

    def positions(self, rows: Sequence[int] | Rows) -> Positions:
        """Return the position of each of *rows*, -1 for a row outside the scope."""
        wanted = np.asarray(rows, dtype=np.int64)
        base, row = len(self._order), self.columns["row"]
        late = _find_rows(row[base:], wanted)
        if not base:
            return late
        early = _find_rows(row[:base], wanted, self._order)
        return np.where(late >= 0, base + late, early)

    def accessed(self, positions: Positions) -> dict[int, Accessed]:
        """Return the records at *positions*, by place among *positions*, with all accesses.

        A record that is gone is left out.
        """
        rows, counts, lasts = (
            self.columns[name][positions].tolist() for name in ("row", "accesses", "accessed")
        )
        records = self._records.get(rows)
        return {
            place: (records[row], int(count), None if last == NEVER else last)
            for place, (row, count, last) in enumerate(zip(rows, counts, lasts, strict=True))
            if row in records
        }

    def directions(self, name: str, positions: Positions) -> Floats:
        """Return the vectors called *name* of *positions*, at length one."""
        return self._exact[name].get(positions)

    def apply(self, live: Iterable[Row], gone: Iterable[int]) -> None:
        """Add or change rows of the scope, and remove rows that are *gone*.

        Applying a change twice does no harm.
        """
        fresh = []
        self.reader.forget()
        with self.changing():
            for row in live:
                position = -1 if row.row > self._last else self._position(row.row)
                if position < 0:
                    fresh.append(row)
                else:
                    self._patch(position, row.record)
            for number in gone:
                if number <= self._last and (position := self._position(number)) >= 0:
                    self._mark_dead(position)
            if fresh:
                self._append(sorted(fresh, key=lambda row: row.row))
                self._link(len(fresh))
            self._compact()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Open around each change of positions, threads or postings, under the lock.

        ``state`` is a new object after the change. A read without the lock is true if ``state`` was
        the same object before the read and under the lock.
        """
        try:
            yield
        finally:
            self.state = object()

    def _position(self, row: int) -> int:
        return int(self.positions([row])[0])

    def touch(self, rows: Sequence[int], times: int, at: float) -> None:
        """Count *times* more accesses of each of *rows*, the last at the time *at*."""
        positions = self.positions(rows)
        positions = positions[positions >= 0]
        self.columns["accesses"][positions] += times
        accessed = self.columns["accessed"]
        accessed[positions] = np.maximum(accessed[positions], at)

    def _patch(self, position: int, record: MemoryRecord) -> None:
        """Overwrite the mutable numbers of a row in place."""
        self._records.forget(int(self.columns["row"][position]))
        self.mortal |= record.expires_at is not None
        self.has_outcomes |= record.outcome != 0
        for name, value in numbers(record).items():
            self.columns[name][position] = value
        self._fields.patch(position, record)

    def passing(self, where: Filter) -> Truths:
        """Return the positions that pass *where*, as booleans."""
        for path in self._fields.missing(where):
            values = dict(self.reader.values(path))
            places = self.positions(list(values))
            self._fields.add(path, self.size, places, values.values())
        found = self._fields.passing(where, self.size)
        if found is None:
            places = self.positions(self.reader.matching(where))
            found = np.zeros(self.size, dtype=bool)
            found[places[places >= 0]] = True
        return found

    def within(self, scope: Scope, positions: Positions) -> Truths:
        """Return the *positions* that are in *scope*, as booleans."""
        codes = [code for name, code in self.namespaces.items() if covers(scope, name)]
        found: Truths = np.isin(self.columns["namespace"][positions], codes)
        return found

    def vector_column(self, name: str, dimension: int) -> VectorColumn:
        """Return the vectors called *name*, read from the file on first use."""
        column = self.vectors.get(name)
        if column is None or column.dimension != dimension:
            column, rows = VectorColumn(dimension), self.columns["row"].tolist()
            found = self.reader.vectors(rows, name)
            column.append(list(map(found.get, rows)))
            self.vectors[name] = column
            self._exact[name] = VectorCache(self.reader, self.columns, name, dimension)
        return column

    def _adopt(
        self, segment: Segment, piece: Piece, survivors: Mapping[str, frozenset[int]]
    ) -> None:
        piece, living = piece.surviving(survivors.get(segment.namespace))
        rows = piece.columns["row"]
        if not len(rows):
            return
        owners = piece.owners or Owners(
            [segment.namespace], *(np.zeros(len(of), dtype=int) for of in (rows, piece.threads))
        )
        named = zip(owners.threads.tolist(), piece.threads, strict=True)
        codes = np.array(
            [self.threads.code((owners.names[owner], name)) for owner, name in named] + [-1],
            dtype=np.int32,
        )
        namespaces = np.array(list(map(self._namespace, owners.names)))
        self.columns.append(
            len(rows),
            **{**piece.columns, "thread": codes[piece.columns["thread"]], "live": living},
            namespace=namespaces[owners.rows],
        )
        self.keyword.adopt(piece.block, segment.number)
        self.vectors[EMBEDDED].adopt(*piece.vectors)
        self._last = max(self._last, segment.last)
        self.mortal |= bool((piece.columns["expires"] < FOREVER).any())
        self.has_outcomes |= bool(piece.columns["outcome"].any())
        self.live_count += int(living.sum())
        self.live_terms += int(piece.columns["length"][living].sum())

    def _append(self, rows: Sequence[Row]) -> None:
        """Append live rows that are new to the scope, ascending; threads are linked later."""
        if not rows:
            return
        terms, *facts = zip(*(document(row.record) for row in rows), strict=True)
        lengths = list(map(len, terms))
        self.keyword.extend(terms)
        self.columns.append(
            len(rows),
            **table(rows),
            live=True,
            length=lengths,
            **dict(zip(Document._fields[1:], facts, strict=True)),
            thread=[self._thread(row.record) for row in rows],
            namespace=[self._namespace(row.record.namespace) for row in rows],
        )
        self._fields.append([row.record for row in rows])
        for name, column in self.vectors.items():
            for start in range(0, len(rows), _BATCH_VECTORS):
                batch = rows[start : start + _BATCH_VECTORS]
                column.append([row.vectors.get(name) for row in batch])
        self._last = max(self._last, max(row.row for row in rows))
        self.mortal |= any(row.record.expires_at is not None for row in rows)
        self.has_outcomes |= any(row.record.outcome for row in rows)
        self.live_count += len(rows)
        self.live_terms += sum(lengths)

    def _thread(self, record: MemoryRecord) -> int:
        return -1 if record.thread is None else self.threads.code((record.namespace, record.thread))

    def _namespace(self, name: str) -> int:
        return self.namespaces.setdefault(name, len(self.namespaces))

    def thread_names(self, threads: Column) -> tuple[list[tuple[str, str]], Column]:
        """Return the names of *threads* and the column of the threads' numbers among the names."""
        used, numbers = np.unique(threads, return_inverse=True)
        first = int(used[0] < 0)
        return self.threads.names(used[first:]), (numbers - first).astype(np.int32)

    def _index_rows(self) -> None:
        """Keep an order of the rows if the rows are not ascending.

        Rows appended later always ascend.
        """
        rows = self.columns["row"]
        ascending = (rows[1:] > rows[:-1]).all()
        self._order = np.argsort(rows[:0] if ascending else rows, kind="stable")

    def _link(self, fresh: int | None = None) -> None:
        """Link the last *fresh* positions into threads, or all positions."""
        if fresh is None or fresh > RELINK_FROM:
            self.threads.rebuild()
            return
        for position in range(self.size - fresh, self.size):
            self.threads.append(position)

    def _mark_dead(self, position: int) -> None:
        columns = self.columns
        if columns["live"][position]:
            columns["live"][position] = False
            self.threads.remove(position)
            self._records.forget(int(columns["row"][position]))
            self.live_count -= 1
            self.live_terms -= int(columns["length"][position])

    def _compact(self) -> None:
        """Remove dead positions, once many and more than the live positions.

        One position always stays, so that a segment can replace the segments of dead rows.
        """
        if self.size - self.live_count <= max(self.live_count, MIN_DEAD - 1):
            return
        kept = self.columns["live"].copy()
        kept[-1] |= not self.live_count
        self.keyword.keep(kept)
        self.columns.keep(kept)
        self._fields.keep(kept)
        for column in self.vectors.values():
            column.keep(kept)
        for cache in self._exact.values():
            cache.keep(kept)
        names, self.columns["thread"][:] = self.thread_names(self.columns["thread"])
        self.threads = Threads(self.columns)
        for name in names:
            self.threads.code(name)
        self._index_rows()
        self._link()


def _find_rows(rows: Rows, wanted: Rows, order: Positions | None = None) -> Positions:
    """Return the place of each of *wanted* in *rows*, ascending in *order*; -1 if missing."""
    if not len(rows):
        return np.full(len(wanted), -1)
    place = rows.searchsorted(wanted, sorter=order)
    if order is not None:
        place = order.take(place, mode="clip")
    return np.where(rows.take(place, mode="clip") == wanted, place, -1)
