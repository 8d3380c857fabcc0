"""Near-duplicates of new records among the records of a store.

The search runs before the write lock is taken, on the vectors in memory. Inside the transaction,
records stored since are added: of two equal memories written at a time, the second finds the
first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np

from ...errors import SimilarMemoryError
from ...index import Scan, SearchedIndex, directions, document
from ...memory.engine import Engine, Transaction
from ...memory.memories import Memories
from ...memory.writing import OnSimilar, build_record
from ...model import fields
from ...model.arrays import Positions, Vector
from ...model.filters import Where, matcher, parse
from ...model.namespaces import Scope, check_scope
from ...model.port import EMBEDDED
from ...model.records import MemoryRecord, with_fields
from ..statements import MIN_DUPLICATE_COSINE, ParsedRecord, parse_record
from .merging import absorb
from .similarity import DuplicateIndex, are_interchangeable, cosine, is_within

MAX_CANDIDATES: Final = 256
"""The most candidates of a new record, where many texts of one pattern are close together."""

Match: TypeAlias = tuple[int, MemoryRecord, float]
"""A row, the record in the row, and the similarity."""

_ROUNDING: Final = 1e-9


class DuplicateSearch:
    """The search for near-duplicates of the new *records* with *vectors*.

    Near-duplicates have a cosine of at least *least*.
    """

    def __init__(
        self,
        engine: Engine,
        records: Sequence[MemoryRecord],
        vectors: Sequence[Vector],
        least: float = MIN_DUPLICATE_COSINE,
    ) -> None:
        self._least = least
        self._vectors = {each.id: vector for each, vector in zip(records, vectors, strict=True)}
        self._known = DuplicateIndex(self._similarity, least)
        self._since = engine.backend.head()
        self._spaces = defaultdict[str, list[MemoryRecord]](list)
        for record in records:
            if record.thread is None and record.content:
                self._spaces[record.namespace].append(record)
        for namespace, new in self._spaces.items():
            theirs = [self._vectors[record.id] for record in new]
            for known, vector in _candidates(engine, namespace, new, theirs, least):
                self.add(parse_record(known), vector)

    def begin(self, transaction: Transaction) -> None:
        """Add the records stored since the search began, before the first new record."""
        for namespace in self._spaces:
            for row in transaction.writer.added(namespace, self._since):
                self.add(parse_record(row.record), row.vectors.get(EMBEDDED))

    def add(self, parsed: ParsedRecord, vector: Vector | None = None) -> None:
        """Add a parsed record to the search; without a *vector* the last vector counts."""
        if vector is not None:
            self._vectors[parsed.record.id] = vector
        self._known.add(parsed)

    def to(
        self, transaction: Transaction, parsed: ParsedRecord, old: str | None = None
    ) -> Match | None:
        """Return the live record most similar to a new record, None without a near-duplicate.

        The record *old*, which the new record supersedes, is skipped from now on.
        """
        while found := self._known.find_nearest(parsed):
            other, similarity = found
            row, kept = transaction.writer.find([other.record.id])[other.record.id]
            shows = kept.id != old and kept.state == "live" and not kept.expired(transaction.now)
            # What a handle of one source says must not change what another source said.
            shows = shows and transaction.source in (None, kept.source)
            if shows and self._are_similar(parsed, parse_record(kept)):
                return row, kept, similarity
            self._known.forget(kept.id)
        return None

    def drain(self, parsed: ParsedRecord) -> Iterator[tuple[MemoryRecord, float]]:
        """Yield the near-duplicates of *parsed* with similarities, the most similar first."""
        while found := self._known.find_nearest(parsed):
            self._known.forget(found[0].record.id)
            yield found[0].record, found[1]

    def absorb(
        self,
        transaction: Transaction,
        found: Match,
        parsed: ParsedRecord,
        vector: Vector | None = None,
        *,
        counted: bool = False,
    ) -> MemoryRecord:
        """Merge the new record into the record *found*; return the merged record.

        *counted* is as for ``combine``.
        """
        row, kept, _ = found
        after = absorb(transaction, row, kept, [parsed.record], vector, counted=counted)
        self.add(parse_record(after), None if after.content == kept.content else vector)
        return after

    def _are_similar(self, a: ParsedRecord, b: ParsedRecord) -> bool:
        wide = self._least < MIN_DUPLICATE_COSINE
        return are_interchangeable(a, b) or (wide and is_within(a, b))

    def _similarity(self, one: str, other: str) -> float:
        if one not in self._vectors or other not in self._vectors:
            return 0.0
        return cosine(self._vectors[one], self._vectors[other])


class WriteFinder(DuplicateSearch):
    """Merges new records of one write into near-duplicates, or refuses new records.

    *on_similar* is "merge" or "raise"; *least* is the least cosine of near-duplicates.
    """

    def __init__(
        self,
        engine: Engine,
        on_similar: OnSimilar,
        least: float,
        records: Sequence[MemoryRecord],
        vectors: Sequence[Vector],
    ) -> None:
        self._on_similar = on_similar
        self._places = {record.id: place for place, record in enumerate(records)}
        super().__init__(engine, records, vectors, least)

    def merge(
        self, transaction: Transaction, record: MemoryRecord, vector: Vector, replaced: str | None
    ) -> MemoryRecord | None:
        """Merge *record* into the most similar near-duplicate; see ``DuplicateFinder.merge``."""
        accessed = with_fields(record, access_count=1, last_accessed_at=transaction.now)
        parsed = parse_record(accessed)
        found = self.to(transaction, parsed, replaced)
        if found is None:
            self.add(parsed)
            return None
        if self._on_similar == "raise":
            _, other, similarity = found
            place = self._places.get(other.id)
            both = None if place is None else (place, self._places[record.id])
            raise SimilarMemoryError(other, similarity, both)
        return self.absorb(transaction, found, parsed, vector)


def find_near_duplicates(
    store: Memories,
    new: str | MemoryRecord,
    *,
    namespace: Scope = "default",
    where: Where = None,
    similarity: float = MIN_DUPLICATE_COSINE,
) -> list[tuple[MemoryRecord, float]]:
    """Return the live records of *namespace* that nearly repeat *new*, the most similar first.

    A record comes with the cosine of both vectors, in [*similarity*, 1]. A text counts as a record
    without other fields, stored now: ``store`` of the text in a namespace, with *on_similar*
    "raise", raises if a record there is returned here. Nothing is written.
    """
    engine, scope, passes = store._engine, check_scope(namespace), matcher(parse(where))
    least, now = fields.number("similarity", similarity, 0.0, 1.0), engine.clock()
    if isinstance(new, str):
        own = {"source": engine.source}
        new, _, _ = build_record(new, own, now, lambda: "\0")  # an id that no record has
    engine.flush_for(parse(where))
    search, found = DuplicateSearch(engine, (), (), least), dict[str, MemoryRecord]()
    [vector] = engine.embed([new])
    search._vectors[new.id] = vector
    for record, its in _candidates(engine, scope, [new], [vector], least):
        if record.id != new.id and passes(record) and not record.expired(now):
            found[record.id] = record
            search.add(parse_record(with_fields(record, namespace=new.namespace)), its)
    return [(found[record.id], cosine) for record, cosine in search.drain(parse_record(new))]


def _candidates(
    engine: Engine,
    scope: Scope,
    records: Sequence[MemoryRecord],
    vectors: Sequence[Vector],
    least: float,
) -> list[tuple[MemoryRecord, Vector | None]]:
    """Return the live records of *scope* near any of *records*, with vectors."""
    rows: set[int] = set()
    with engine.index.lock:
        index = engine.index.open(scope)
        wanted = directions(np.array(vectors))
        scans = index.vector_column(EMBEDDED, wanted.shape[1]).scans(wanted)
        for record, vector, scan in zip(records, vectors, scans, strict=True):
            near = (
                _find_similar(index, record, scan, least)
                if vector.any()
                else _find_same_words(index, record)
            )
            rows.update(index.columns["row"][near].tolist())
    found = engine.backend.by_row(list(rows))
    theirs = engine.backend.vectors(list(found), EMBEDDED)
    return [(record, theirs.get(row)) for row, record in found.items()]


def _find_similar(
    index: SearchedIndex, record: MemoryRecord, scan: Scan, least: float
) -> Positions:
    """Return the positions of live candidates for *record*, at most ``MAX_CANDIDATES``.

    Among more candidates, only those with equal figures count, the nearest first.
    """
    near = _only_live(index, scan.above(least - _ROUNDING))
    if len(near) <= MAX_CANDIDATES:
        return near
    if figures := [term for term in document(record).terms if term[0].isdigit()]:
        having = index.keyword.with_all(frozenset(figures))
        near = np.intersect1d(near, having, assume_unique=True)
    return near[np.argsort(-scan.bounds(near), kind="stable")][:MAX_CANDIDATES]


def _find_same_words(index: SearchedIndex, record: MemoryRecord) -> Positions:
    """Return the positions of live records with all words of a text without a vector."""
    if terms := frozenset(document(record).terms):
        return _only_live(index, index.keyword.with_all(terms))[:MAX_CANDIDATES]
    columns = index.columns  # else there are only signs in it
    return _only_live(index, ((columns["length"] == 0) & (columns["words"] > 0)).nonzero()[0])


def _only_live(index: SearchedIndex, places: Positions) -> Positions:
    found: Positions = places[index.columns["live"][places]]
    return found
