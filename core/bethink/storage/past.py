"""A read-only backend at a moment of the past.

Records are replayed from the journal. Vectors of the store's embedder are made again where the text
has changed since; the caller's own vectors are kept for the past.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from typing import Any

import numpy as np

from ..errors import ValidationError
from ..model.arrays import Rows, Vector
from ..model.filters import Filter, lookup, matcher
from ..model.namespaces import Scope, covers
from ..model.port import (
    EMBEDDED,
    NO_ROWS,
    Changes,
    IndexData,
    LogQuery,
    Page,
    Place,
    Row,
    Segment,
    Stored,
)
from ..model.progress import Tell
from ..model.records import LIVE, LogEntry, MemoryRecord, State, embedded_text
from .abilities import (
    Current,
    FullBackend,
    FullWriter,
    Inspection,
    Tally,
    Totals,
    changed_contents,
    cut_page,
    tally,
)
from .replay import RecordAt, records_at, refuse_compacted

Embed = Callable[[Sequence[MemoryRecord]], list[Vector]]

_PLACES = {"row": attrgetter("row"), "ordinal": attrgetter("current.ordinal")}


class PastBackend:
    """*backend* as of journal position *seq*; *embed* makes vectors of records.

    The methods are documented in ``FullBackend``.
    """

    def __init__(self, backend: FullBackend, embed: Embed, seq: int) -> None:
        self.location = backend.location
        self.read_only = True
        self.is_remote = False
        self.breaks = 0
        self.vector_indexes = None
        self.journal_reader = backend.journal_reader
        self._present = backend
        self._embed = embed
        self._seq = seq
        self._made: dict[int, Vector] = {}  # by row

    def write(self, places: Collection[Place] = ()) -> AbstractContextManager[FullWriter]:
        raise ValidationError("the past cannot be changed")

    def save(self, segments: Iterable[Segment]) -> list[int | None]:
        return [None for _ in segments]

    def head(self) -> int:
        return self._seq

    def changes(self, since: int, scopes: Sequence[Scope]) -> Changes:
        return Changes(self._seq, self._seq, frozenset(), ())

    def setting(self, name: str) -> str | None:
        return self._present.setting(name)

    def dimension(self, name: str) -> int | None:
        known = name == EMBEDDED or self.journal_reader.had_vector(name, self._seq)
        return self._present.dimension(name) if known else None

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        found = {each.record.id: each for each in self._records_of(ids)}
        return {id: Stored(found[id].row, found[id].record) for id in ids if id in found}

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        return {each.record.id: each.row for each in self._records_of(ids)}

    def by_row(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        return {each.row: each.record for each in self._records_in(rows)}

    def rows(self, rows: Sequence[int]) -> list[Row]:
        return [
            Row(each.row, each.current.ordinal, each.record, {}) for each in self._records_in(rows)
        ]

    def by_key(self, namespace: str, key: str) -> Stored | None:
        wanted = (namespace, key, "live")
        found = self.journal_reader.key_holders(namespace, key, self._seq)
        for each in self._replayed(found):
            if (each.record.namespace, each.record.key, each.record.state) == wanted:
                return Stored(each.row, each.record)
        return None

    def select(
        self,
        scope: Scope,
        where: Filter | None,
        page: Page | None = None,
        states: Collection[State] = LIVE,
    ) -> list[Stored]:
        if states != LIVE:
            raise ValidationError(f"only the present lists what is {' or '.join(states)}")
        if self._present.head() == self._seq:
            present = self._present.select(scope, where, page)
            if self._present.head() == self._seq:  # nothing was written meanwhile
                return present
        page, passes = page or Page(), matcher(where)
        found = [each for each in self._live(scope) if passes(each.record)]
        found.sort(key=_sort_key(page.by), reverse=page.descending)
        return cut_page(page, (Stored(each.row, each.record) for each in found))

    def values(
        self,
        scope: Scope,
        where: Filter | None,
        page: Page | None = None,
        path: tuple[str, ...] = ("value",),
    ) -> list[tuple[int, Any]]:
        found = self.select(scope, where, page)
        return [(each.row, lookup(each.record, path)) for each in found]

    def matching(self, scope: Scope, where: Filter) -> Rows:
        passes = matcher(where)
        found = [each.row for each in self._live(scope) if passes(each.record)]
        return np.array(sorted(found), dtype=np.int64)

    def count(self, scope: Scope, where: Filter | None, now: float | None = None) -> int:
        passes = matcher(where)
        return sum(passes(each.record) for each in self._live(scope, now))

    def namespaces(self, scope: Scope, now: float | None = None) -> dict[str, int]:
        names = Counter(each.record.namespace for each in self._live(scope, now))
        return dict(sorted(names.items()))

    def values_and_contents(
        self, scope: Scope, where: Filter | None, page: Page
    ) -> Iterable[tuple[Any, str | None]]:
        return changed_contents(self.select(scope, where, page))

    def tallies(self, scope: Scope, now: float) -> list[Tally]:
        return tally(each.record for each in self._live(scope, now))

    def totals(self, scope: Scope, now: float) -> Totals:
        return self._present.totals(scope, now)

    def load(
        self,
        scope: Scope,
        limit: int | None = None,
        recent: Mapping[int, Row] = NO_ROWS,
        *,
        aside: bool = True,
    ) -> IndexData:
        """Read the data of the present about rows that existed at the moment."""
        data = self._present.load(scope, aside=aside)
        return replace(
            data,
            segments=tuple(each for each in data.segments if each.first <= self._seq),
            unindexed=tuple(row for row in data.unindexed if row.row <= self._seq),
        )

    def changed(self, scope: Scope, ids: Sequence[str] = ()) -> tuple[list[int], list[Row]]:
        """Return the current rows of the records that changed since the moment, and *ids*.

        The second list has the rows of the moment, without vectors, of those that were live in
        *scope*.
        """
        found = {
            each.ordinal: each
            for each in self.journal_reader.candidates(scope, self._seq, self._seq)
        }
        found |= {each.ordinal: each for each in self.journal_reader.current(ids)}
        rows = [
            Row(each.row, each.current.ordinal, each.record, {})
            for each in self._live_among(scope, list(found.values()))
        ]
        return [each.row for each in found.values()], rows

    def vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        found = self._present.vectors(rows, name)
        if len(found) < len(rows):
            left = [
                each
                for each in self._records_in([row for row in rows if row not in found])
                if _has_moved(each)
            ]
            if name == EMBEDDED:
                found |= self._vectors(left)
            else:
                found |= self.journal_reader.former_vectors([each.row for each in left], name)
        return found

    def log(self, query: LogQuery) -> list[LogEntry]:
        end = self._seq if query.until is None else min(query.until, self._seq)
        return self._present.log(query._replace(until=end))

    def inspect(self, tell: Tell | None = None) -> AbstractContextManager[Inspection]:
        return self._present.inspect(tell)

    def backup(self, target: str) -> bool:
        """Copy the present, since the copy has the same past."""
        return self._present.backup(target)

    # Only the present has a file and connections.
    def scrub(self, *, shrink: bool = False) -> None: ...
    def sleep(self) -> None: ...
    def resume(self, *, in_child: bool) -> None: ...
    def close(self) -> None: ...

    def _live(self, scope: Scope, now: float | None = None) -> list[RecordAt]:
        found = self.journal_reader.candidates(scope, self._seq)
        return self._live_among(scope, found, now)

    def _live_among(
        self, scope: Scope, candidates: Sequence[Current], now: float | None = None
    ) -> list[RecordAt]:
        """Return the *candidates* that were live in *scope*, unexpired by *now*."""
        found = self._replayed(candidates)
        inside = cache(partial(covers, scope))
        last = -math.inf if now is None else now
        return [
            each
            for each in found
            if (record := each.record).state == "live"
            and inside(record.namespace)
            and not record.expired(last)
        ]

    def _records_of(self, ids: Sequence[str]) -> list[RecordAt]:
        return self._replayed(self.journal_reader.current(ids))

    def _replayed(self, found: Sequence[Current]) -> list[RecordAt]:
        """Return the records *found* as of the moment; refuse a moment before the cut."""
        try:
            return records_at(self.journal_reader, found, self._seq)
        finally:  # last, since another process may compact at any time
            refuse_compacted(self.journal_reader, self._seq)

    def _records_in(self, rows: Sequence[int]) -> list[RecordAt]:
        wanted = self.journal_reader.ids_of_rows(rows)
        found = self._records_of(list(wanted.values()))
        return [each for each in found if each.row in wanted]

    def _vectors(self, found: Sequence[RecordAt]) -> dict[int, Vector]:
        """Return the embedder's vectors of *found* by row, made again where the text changed."""
        same = {each.current.row: each.row for each in found if _has_same_text(each)}
        stored = self._present.vectors(list(same), EMBEDDED)
        vectors = {same[row]: vector for row, vector in stored.items()}
        known = vectors.keys() | self._made.keys()
        gone = [each for each in found if each.row not in known]
        made = self._embed([each.record for each in gone])
        self._made |= {each.row: vector for each, vector in zip(gone, made, strict=True)}
        rows = [each.row for each in found]
        return {row: vectors[row] if row in vectors else self._made[row] for row in rows}


def _has_moved(each: RecordAt) -> bool:
    """Tell whether the record has another row now."""
    return each.row != each.current.row


def _has_same_text(each: RecordAt) -> bool:
    return not _has_moved(each) or (
        each.record.content != ""
        and embedded_text(each.record) == embedded_text(each.current.record)
    )


def _sort_key(by: str) -> Callable[[RecordAt], Any]:
    """Return the key that sorts records as a ``Page`` does."""
    if by in _PLACES:
        return _PLACES[by]

    def key(each: RecordAt) -> tuple[bool, float, int]:
        value = getattr(each.record, by)
        return value is not None, value or 0.0, each.current.ordinal

    return key
