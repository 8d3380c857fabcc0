"""What becomes of a memory that says nearly what the store holds: it is merged, or refused.

The like of it is looked for before the write lock is taken, by the vectors in memory. Inside the
transaction that is looked through again, with all that was stored since: whoever writes at the same
time, of two that say the same the second finds the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, TypeAlias

import numpy as np

from ..backends import EMBEDDED, Rows, Vector
from ..conflicts import SAME, Reading, read
from ..engine import Engine, Transaction
from ..errors import SimilarMemoryError
from ..index import ScopeIndex
from ..index.document import record_terms
from ..index.vectors import directions
from ..records import MemoryRecord
from .lifecycle import Admission
from .merging import absorb
from .similar import Known, cosine

OnSimilar: TypeAlias = Literal["keep", "merge", "raise"]
ON_SIMILAR: Final[tuple[OnSimilar, ...]] = ("keep", "merge", "raise")

NEAREST: Final = 256
"""So many are looked at, where texts of one pattern are all near each other."""

_ROUNDING: Final = 1e-9


def admission(engine: Engine, on_similar: OnSimilar) -> Admission | None:
    """Return how new records are admitted; None stands for all of them as they are."""
    return None if on_similar == "keep" else partial(_Gate, engine, on_similar)


@dataclass(frozen=True, slots=True)
class _Near:
    """A record whose vector is near that of a new one, as it was when that was found out."""

    row: int
    reading: Reading


class _Gate:
    def __init__(
        self,
        engine: Engine,
        on_similar: OnSimilar,
        records: Sequence[MemoryRecord],
        vectors: Sequence[Vector],
    ) -> None:
        self._engine = engine
        self._merges = on_similar == "merge"
        self._vectors = {each.id: vector for each, vector in zip(records, vectors, strict=True)}
        alone = [record for record in records if record.thread is None]
        self._namespaces = {record.namespace for record in alone}
        self._since = engine.backend.head()
        self._near = self._nearby(alone)
        self._known: Known | None = None

    def __call__(
        self, transaction: Transaction, record: MemoryRecord, vector: Vector, old: str | None
    ) -> MemoryRecord | None:
        """Return the record that *record* was merged into; None if nothing is like it."""
        if self._known is None:
            self._known = self._gathered(transaction)
        if old is not None:
            self._known.forget(old)
        found = self._like(self._known, transaction, read(record))
        if found is None:
            self._known.add(read(record))
            return None
        row, kept, similarity = found
        if not self._merges:
            raise SimilarMemoryError(kept, similarity)
        seen = replace(record, access_count=1, last_accessed_at=transaction.now)
        after = absorb(transaction, row, kept, [seen], vector)
        if after.content != kept.content:
            self._vectors[after.id] = vector
        self._known.add(read(after))
        return after

    def _like(
        self, known: Known, transaction: Transaction, reading: Reading
    ) -> tuple[int, MemoryRecord, float] | None:
        """Return the row of the live record most like a new one, the record, and how alike."""
        while found := known.like(reading):
            id = found[0].record.id
            row, kept = transaction.writer.find([id])[id]
            if kept.state == "live" and not kept.expired(transaction.now):
                return row, kept, found[1]
            known.forget(id)
        return None

    def _nearby(self, records: Sequence[MemoryRecord]) -> dict[str, _Near]:
        """Return, by id, what is in the store and near any of the new *records*."""
        rows: set[int] = set()
        for namespace in self._namespaces:
            with self._engine.index.lock:
                index = self._engine.index.open(namespace)
                for record in records:
                    if record.namespace == namespace:
                        rows.update(_rows_near(index, record, self._vectors[record.id]).tolist())
        found = self._engine.backend.at(list(rows))
        vectors = self._engine.backend.vectors(list(found), EMBEDDED)
        self._vectors |= {found[row].id: vector for row, vector in vectors.items()}
        return {record.id: _Near(row, read(record)) for row, record in found.items()}

    def _gathered(self, transaction: Transaction) -> Known:
        """Return what was found near, if it still is what it was, and all that came since."""
        known, writer = Known(self._similarity), transaction.writer
        for id, (number, record) in writer.find(list(self._near)).items():
            if record.state == "live" and number == self._near[id].row:
                known.add(replace(self._near[id].reading, record=record))
        for namespace in self._namespaces:
            for row in writer.added(namespace, self._since):
                if EMBEDDED in row.vectors:
                    self._vectors[row.record.id] = row.vectors[EMBEDDED]
                known.add(read(row.record))
        return known

    def _similarity(self, one: str, other: str) -> float:
        if one not in self._vectors or other not in self._vectors:
            return 0.0
        return cosine(self._vectors[one], self._vectors[other])


def _rows_near(index: ScopeIndex, record: MemoryRecord, vector: Vector) -> Rows:
    """Return the rows of live records that may say the same as *record*, at most ``NEAREST``.

    They have the same figures. Where the embedder knows no word of it, they have the same words.
    """
    known = frozenset(record_terms(record))
    if not vector.any():
        near = index.keyword.having(known)
        near = near[index.columns["alive"][near]]
    else:
        scan = index.vectors[EMBEDDED].scan(directions(vector[None])[0])
        near = scan.above(SAME - _ROUNDING)
        near = near[index.columns["alive"][near]]
        if len(near) > NEAREST and (figures := [term for term in known if term[0].isdigit()]):
            near = np.intersect1d(near, index.keyword.having(figures))
        near = near[np.argsort(-scan.most(near), kind="stable")]
    rows: Rows = index.columns["row"][near[:NEAREST]]
    return rows
