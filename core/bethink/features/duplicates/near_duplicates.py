"""Nearness: which records of a store say nearly the same as new ones.

The like of those is looked for before the write lock is taken, by the vectors in memory. Inside the
transaction comes what was stored since: whoever writes at the same time, of two that say the same
the second finds the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from ...errors import SimilarMemoryError
from ...index import Positions, Scan, ScopeIndex, directions, document
from ...memory.engine import Engine, Transaction
from ...memory.writing import OnSimilar
from ...model.port import EMBEDDED, Vector
from ...model.records import MemoryRecord
from ..statements import SAME, ParsedRecord, read
from .merging import absorb
from .similarity import DuplicateFinderIndex, cosine, say_the_same

NEAREST: Final = 256
"""So many are looked at, where texts of one pattern are all near each other."""

Found: TypeAlias = tuple[int, MemoryRecord, float]
"""A row, the record in it, and how alike it is."""

_ROUNDING: Final = 1e-9


class DuplicateSearch:
    """What may say the same as the new *records*, which have these *vectors*."""

    def __init__(
        self, engine: Engine, records: Sequence[MemoryRecord], vectors: Sequence[Vector]
    ) -> None:
        self._engine = engine
        self._vectors = {each.id: vector for each, vector in zip(records, vectors, strict=True)}
        self._known = DuplicateFinderIndex(self._similarity)
        self._since = engine.backend.head()
        self._spaces = defaultdict[str, list[MemoryRecord]](list)
        for record in records:
            if record.thread is None and record.content:
                self._spaces[record.namespace].append(record)
        self._look()

    def begin(self, transaction: Transaction) -> None:
        """Take in what was stored since; to be called before the first of the new is."""
        for namespace in self._spaces:
            for row in transaction.writer.added(namespace, self._since):
                self.add(read(row.record), row.vectors.get(EMBEDDED))

    def add(self, reading: ParsedRecord, vector: Vector | None = None) -> None:
        """Let what a record says be found, too; without a *vector* its last one counts."""
        if vector is not None:
            self._vectors[reading.record.id] = vector
        self._known.add(reading)

    def to(
        self, transaction: Transaction, reading: ParsedRecord, old: str | None = None
    ) -> Found | None:
        """Return the live record most like a new one, None if none says the same.

        The record *old*, which the new one supersedes, is not looked at any more.
        """
        while found := self._known.like(reading):
            other, similarity = found
            row, kept = transaction.writer.find([other.record.id])[other.record.id]
            shows = kept.id != old and kept.state == "live" and not kept.expired(transaction.now)
            if shows and say_the_same(reading, read(kept), similarity):
                return row, kept, similarity
            self._known.forget(kept.id)
        return None

    def absorb(
        self,
        transaction: Transaction,
        found: Found,
        reading: ParsedRecord,
        vector: Vector | None = None,
        *,
        counted: bool = False,
    ) -> MemoryRecord:
        """Have the record that was *found* for a new one take it in; return it as it is then.

        *counted* is as for ``combined``.
        """
        row, kept, _ = found
        after = absorb(transaction, row, kept, [reading.record], vector, counted=counted)
        self.add(read(after), None if after.content == kept.content else vector)
        return after

    def _look(self) -> None:
        """Take in what is in the store and near any of the new records."""
        rows: set[int] = set()
        for namespace, records in self._spaces.items():
            with self._engine.index.lock:
                index = self._engine.index.open(namespace)
                vectors = np.array([self._vectors[record.id] for record in records])
                scans = index.vectors[EMBEDDED].scans(directions(vectors))
                for record, vector, scan in zip(records, vectors, scans, strict=True):
                    near = _near(index, record, scan) if vector.any() else _alike(index, record)
                    rows.update(index.columns["row"][near].tolist())
        found = self._engine.backend.by_row(list(rows))
        theirs = self._engine.backend.vectors(list(found), EMBEDDED)
        for row, record in found.items():
            self.add(read(record), theirs.get(row))

    def _similarity(self, one: str, other: str) -> float:
        if one not in self._vectors or other not in self._vectors:
            return 0.0
        return cosine(self._vectors[one], self._vectors[other])


class WriteFinder:
    """Merges new records of one write into near-duplicates, or refuses them.

    *on_similar* is "merge" or "raise".
    """

    def __init__(self, engine: Engine, on_similar: OnSimilar) -> None:
        self._engine = engine
        self._on_similar = on_similar

    def prepare(self, records: Sequence[MemoryRecord], vectors: Sequence[Vector]) -> None:
        """Search for near-duplicates of *records* before the write lock is taken."""
        self._nearest = DuplicateSearch(self._engine, records, vectors)

    def begin(self, transaction: Transaction) -> None:
        """Add the records that were stored since ``prepare``."""
        self._nearest.begin(transaction)

    def merge(
        self, transaction: Transaction, record: MemoryRecord, vector: Vector, replaced: str | None
    ) -> MemoryRecord | None:
        """Merge *record* into the most similar near-duplicate; see ``DuplicateFinder.merge``."""
        accessed = replace(record, access_count=1, last_accessed_at=transaction.now)
        parsed = read(accessed)
        found = self._nearest.to(transaction, parsed, replaced)
        if found is None:
            self._nearest.add(parsed)
            return None
        if self._on_similar == "raise":
            raise SimilarMemoryError(*found[1:])
        return self._nearest.absorb(transaction, found, parsed, vector)


def _near(index: ScopeIndex, record: MemoryRecord, scan: Scan) -> Positions:
    """Return where live records are that may say the same as *record*, at most ``NEAREST``.

    If there are more, those with the same figures, the nearest first.
    """
    near = _living(index, scan.above(SAME - _ROUNDING))
    if len(near) <= NEAREST:
        return near
    if figures := [term for term in document(record).terms if term[0].isdigit()]:
        having = index.keyword.having(frozenset(figures))
        near = np.intersect1d(near, having, assume_unique=True)
    return near[np.argsort(-scan.most(near), kind="stable")][:NEAREST]


def _alike(index: ScopeIndex, record: MemoryRecord) -> Positions:
    """Return where live records have the words of one that the embedder knows no word of."""
    if terms := frozenset(document(record).terms):
        return _living(index, index.keyword.having(terms))[:NEAREST]
    columns = index.columns  # else there are only signs in it
    return _living(index, ((columns["length"] == 0) & (columns["words"] > 0)).nonzero()[0])


def _living(index: ScopeIndex, places: Positions) -> Positions:
    found: Positions = places[index.columns["alive"][places]]
    return found
