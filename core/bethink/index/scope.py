"""The resident index of one scope: its columns, postings, threads and vectors by position.

It starts from a ``Loading`` and then only takes changes: a new row is appended in O(1), a dead one
is marked, a patched one has its numbers overwritten. Nothing is ever rebuilt because something was
written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..backends import EMBEDDED, Changes, Loading, Row, Rows, Segment, Vector
from ..namespaces import Scope, covers
from ..records import MemoryRecord
from .columns import Column, Columns, numbers, table
from .document import record_terms
from .keyword import Block, Floats, KeywordIndex
from .segments import STORED, Piece, pack, unpack
from .threads import Threads
from .vectors import VectorColumn

BULK = 256
"""From this many new rows on, threads are linked all at once."""


class ScopeIndex:
    """Everything that recall needs to know about the live memories of *scope*."""

    def __init__(self, scope: Scope, dimension: int) -> None:
        self.scope = scope
        self.columns = Columns()
        self.keyword = KeywordIndex()
        self.threads = Threads()
        self.vectors: dict[str, VectorColumn] = {EMBEDDED: VectorColumn(dimension)}
        self.live = 0
        self.total = 0
        self._sorted: Rows = np.empty(0, dtype=np.int64)
        self._order: Rows = np.empty(0, dtype=np.int64)

    @classmethod
    def of(cls, scope: Scope, dimension: int, loading: Loading) -> ScopeIndex:
        """Build the index from what a backend loaded."""
        index = cls(scope, dimension)
        for segment in loading.segments:
            index._adopt(segment, loading.alive.get(segment.namespace))
        index._append(loading.loose)
        index._index_rows()
        index._link()
        for row in loading.changed:
            index.patch(row.row, row.record)
        return index

    @property
    def size(self) -> int:
        """How many positions there are, dead ones included."""
        return self.columns.size

    def position(self, row: int) -> int | None:
        """Return the position of *row*, None if the scope has never held it."""
        base = len(self._sorted)
        rows, offset = (
            (self._sorted, 0)
            if base and row <= self._sorted[-1]
            else (self.columns["row"][base:], base)
        )
        found = int(np.searchsorted(rows, row))
        if found == len(rows) or rows[found] != row:
            return None
        return found + offset if offset or not base else int(self._order[found])

    def positions(self, rows: Rows) -> Column:
        """Return the positions of those of *rows* that the scope holds."""
        found = (self.position(int(row)) for row in rows)
        return np.array([position for position in found if position is not None], dtype=np.int64)

    def apply(self, changes: Changes) -> None:
        """Take in *changes*; taking them in twice does no harm."""
        living = {row.row: row for row in changes.live if covers(self.scope, row.record.namespace)}
        for number in sorted(changes.rows):
            position = self.position(number)
            if position is not None and number not in living:
                self._kill(position)
        fresh = [row for row in living.values() if self.position(row.row) is None]
        for row in living.values():
            self.patch(row.row, row.record)
        if fresh:
            self._append(sorted(fresh, key=lambda row: row.row))
            self._link(len(fresh))

    def patch(self, row: int, record: MemoryRecord) -> None:
        """Overwrite the numbers of *row* that can change in place."""
        position = self.position(row)
        if position is not None:
            for name, value in numbers(record).items():
                self.columns[name][position] = value

    def touch(self, row: int, times: int, at: float) -> None:
        """Count *times* more accesses of *row*, the last one *at*."""
        position = self.position(row)
        if position is not None:
            self.columns["accesses"][position] += times
            accessed = self.columns["accessed"]
            accessed[position] = max(accessed[position], at)

    def keyword_scores(self, terms: Sequence[str]) -> Floats:
        """Return every position's keyword score for the query *terms*, in [0, 1]."""
        columns = self.columns
        weighed = self.keyword.weigh(
            terms, columns["length"], columns["alive"], self.live, self.total
        )
        return (
            self.threads.score(weighed, columns["thread"], columns["words"])
            if weighed
            else np.zeros(self.size)
        )

    def vector_column(
        self, name: str, dimension: int, fetch: Callable[[Sequence[int], str], dict[int, Vector]]
    ) -> VectorColumn:
        """Return the vectors called *name*, read with *fetch* on first use."""
        column = self.vectors.get(name)
        if column is None or column.dimension != dimension:
            column = self.vectors[name] = VectorColumn(dimension)
            rows = self.columns["row"].tolist()
            found = fetch(rows, name)
            column.append(_stacked([found.get(row) for row in rows], dimension))
        return column

    def unsaved(self, head: int) -> list[tuple[int, Segment]]:
        """Return the blocks that are not saved yet, by number, as segments true at *head*."""
        blocks = self.keyword.blocks
        late = any(block.settled and not block.saved for block in blocks)
        if late or not isinstance(self.scope, str):
            return []  # what follows a block that came too late would leave a gap before it
        return [
            (number, self._segment(block, head))
            for number, block in enumerate(blocks)
            if not block.settled
        ]

    def _segment(self, block: Block, head: int) -> Segment:
        span = slice(block.start, block.start + block.size)
        columns = {name: self.columns[name][span] for name in STORED}
        used, thread = np.unique(columns["thread"], return_inverse=True)
        first = int(used[0] < 0)
        names = [name[1] for name in self.threads.names(used[first:])]
        piece = Piece(
            {**columns, "thread": (thread - first).astype(np.int32)},
            block,
            names,
            self.vectors[EMBEDDED].quantised(span.start, span.stop),
        )
        rows = columns["row"]
        count = int(columns["alive"].sum())
        return Segment(
            str(self.scope), int(rows[0]), int(rows[-1]), count, head, pack(piece), 0, block.saved
        )

    def _adopt(self, segment: Segment, alive: frozenset[int] | None) -> None:
        piece = unpack(segment.data)
        rows = piece.columns["row"]
        living = piece.columns["alive"] if alive is None else np.isin(rows, list(alive))
        codes = np.array(
            [self.threads.code((segment.namespace, name)) for name in piece.threads] + [-1],
            dtype=np.int32,
        )
        self.columns.append(
            **{**piece.columns, "thread": codes[piece.columns["thread"]], "alive": living}
        )
        self.keyword.adopt(piece.block, segment.number)
        self.vectors[EMBEDDED].adopt(*piece.vectors)
        self.live += int(living.sum())
        self.total += int(piece.columns["length"][living].sum())

    def _append(self, rows: Sequence[Row]) -> None:
        """Append live rows that are new to the scope, ascending; threads are linked later."""
        if not rows:
            return
        documents = [record_terms(row.record) for row in rows]
        lengths = [len(terms) for terms in documents]
        self.keyword.extend(documents)
        self.columns.append(
            **table(rows),
            alive=np.ones(len(rows), dtype=bool),
            length=lengths,
            words=[len(row.record.content.split()) for row in rows],
            thread=[self._thread(row.record) for row in rows],
        )
        for name, column in self.vectors.items():
            column.append(_stacked([row.vectors.get(name) for row in rows], column.dimension))
        self.live += len(rows)
        self.total += sum(lengths)

    def _thread(self, record: MemoryRecord) -> int:
        return -1 if record.thread is None else self.threads.code((record.namespace, record.thread))

    def _index_rows(self) -> None:
        """Remember where the rows loaded first stand.

        Those appended later are in ascending order.
        """
        self._order = np.argsort(self.columns["row"], kind="stable")
        self._sorted = self.columns["row"][self._order]

    def _link(self, fresh: int | None = None) -> None:
        """Link the last *fresh* positions into their threads, or all of them."""
        columns = self.columns
        threads, occurred, ordinals = columns["thread"], columns["occurred"], columns["ordinal"]
        if fresh is None or fresh > BULK:
            self.threads.rebuild(threads, occurred, ordinals, columns["alive"])
            return
        for position in range(self.size - fresh, self.size):
            self.threads.append(position, threads, occurred, ordinals)

    def _kill(self, position: int) -> None:
        columns = self.columns
        if columns["alive"][position]:
            columns["alive"][position] = False
            self.threads.remove(position, int(columns["thread"][position]))
            self.live -= 1
            self.total -= int(columns["length"][position])


def _stacked(vectors: Sequence[Vector | None], dimension: int) -> Vector:
    """Return the vectors as rows of a matrix, zero where there is none of that dimension."""
    stacked = np.zeros((len(vectors), dimension), dtype=np.float32)
    for position, vector in enumerate(vectors):
        if vector is not None and len(vector) == dimension:
            stacked[position] = vector
    return stacked
