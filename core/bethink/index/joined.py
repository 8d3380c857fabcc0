"""The indexes of a few scopes, searched as one index: scores are those of one index of all.

Nothing is kept twice. Positions are the positions of the largest index, then those of the next,
so that its postings are used as they are. A joined index is for one search, under the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

import numpy as np

from ..model.arrays import Column, Floats, Positions, Rows, Truths
from ..model.filters import Filter
from ..model.namespaces import Scope, Subtree, covers
from .keyword import KeywordIndex, Postings
from .reader import ScopeReader
from .scope import Accessed, ScopeIndex
from .vectors import EarlyScan, Scan, VectorColumn

MAX_JOINED: Final = 16  # scopes; a longer list has an index of its own


class JoinedIndex:
    """The indexes *parts* of scopes without a common namespace, as one index to search."""

    def __init__(self, parts: Iterable[ScopeIndex]) -> None:
        self._parts = sorted(parts, key=lambda part: part.size, reverse=True)
        *self._starts, self.size = accumulate([part.size for part in self._parts], initial=0)
        self.columns = _JoinedColumns(self._parts, self._starts, self.size)
        self.keyword = JoinedKeywords([part.keyword for part in self._parts], self._starts)
        self.reader = _JoinedReaders([part.reader for part in self._parts])
        self.live_count = sum(part.live_count for part in self._parts)
        self.live_terms = sum(part.live_terms for part in self._parts)
        self.thread_count = sum(part.thread_count for part in self._parts)
        self.mortal = any(part.mortal for part in self._parts)
        self.has_outcomes = any(part.has_outcomes for part in self._parts)

    def positions(self, rows: Sequence[int] | Rows) -> Positions:
        """Return the position of each of *rows*, -1 for a row outside the scopes."""
        found = np.full(len(rows), -1)
        for part, start in zip(self._parts, self._starts, strict=True):
            own = part.positions(rows)
            found = np.where(own >= 0, own + start, found)
        return found

    def accessed(self, positions: Positions) -> dict[int, Accessed]:
        """Return the records at *positions*, by place among *positions*, with all accesses."""
        found: dict[int, Accessed] = {}
        for part, places, own in self._split(positions):
            records = part.accessed(own)
            found.update(zip(places[list(records)].tolist(), records.values(), strict=True))
        return dict(sorted(found.items()))

    def directions(self, name: str, positions: Positions) -> Floats:
        """Return the vectors called *name* of *positions*, at length one."""
        return self._gathered(positions, lambda part, own: part.directions(name, own))

    def within(self, scope: Scope, positions: Positions) -> Truths:
        """Return the *positions* that are in *scope*, as booleans."""
        return self._gathered(positions, lambda part, own: part.within(scope, own))

    def passing(self, where: Filter) -> Truths:
        """Return the positions that pass *where*, as booleans."""
        return np.concatenate([part.passing(where) for part in self._parts])

    def vector_column(self, name: str, dimension: int) -> JoinedVectors:
        """Return the vectors called *name*."""
        columns = [part.vector_column(name, dimension) for part in self._parts]
        return JoinedVectors(columns, self._starts)

    def _split(self, positions: Positions) -> Iterator[tuple[ScopeIndex, Positions, Positions]]:
        """Yield each part of *positions*, the places in *positions*, the positions in the part."""
        owners = np.searchsorted([*self._starts[1:], self.size], positions, side="right")
        for number, part in enumerate(self._parts):
            if len(places := (owners == number).nonzero()[0]):
                yield part, places, positions[places] - self._starts[number]

    def _gathered(
        self, positions: Positions, read: Callable[[ScopeIndex, Positions], Column]
    ) -> Column:
        """Return what *read* returns for each part of *positions*, in the order of *positions*."""
        found = None
        for part, places, own in self._split(positions):
            values = read(part, own)
            if found is None:
                found = np.empty((len(positions), *values.shape[1:]), dtype=values.dtype)
            found[places] = values
        return read(self._parts[0], positions) if found is None else found


class _JoinedColumns:
    """The columns of *parts*, one part after the other; joined on first use."""

    def __init__(self, parts: Sequence[ScopeIndex], starts: Sequence[int], size: int) -> None:
        self.size = size
        self._parts = parts
        threads = accumulate([part.thread_count for part in parts[:-1]], initial=0)
        self._shifts = {"before": starts, "after": starts, "thread": list(threads)}
        self._columns: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            columns = [part.columns[name] for part in self._parts]
            if (shifts := self._shifts.get(name)) is not None:  # -1 stays: no turn, no thread
                shifted = zip(columns, shifts, strict=True)
                columns = [column + shift * (column >= 0) for column, shift in shifted]
            self._columns[name] = np.concatenate(columns)
        return self._columns[name]


class JoinedKeywords:
    """The postings of *parts*, each from the position in *starts* on."""

    def __init__(self, parts: Sequence[KeywordIndex], starts: Sequence[int]) -> None:
        self._parts = list(zip(parts, starts, strict=True))
        self.size = sum(part.size for part in parts)
        self.has_authors = any(part.has_authors for part in parts)

    def postings(self, terms: Iterable[str]) -> list[Postings]:
        """Return where each of *terms* occurs and how often, part by part."""
        terms = list(terms)
        found: list[Postings] = [[] for _ in terms]
        for part, start in self._parts:
            for all_of, own in zip(found, part.postings(terms), strict=True):
                all_of += [(where + start if start else where, count) for where, count in own]
        return found

    def starting_with(self, head: str) -> list[str]:
        """Return the terms, of dead documents too, that begin with *head*."""
        return sorted({term for part, _ in self._parts for term in part.starting_with(head)})

    def by_authors(self, names: Iterable[str]) -> Column:
        """Return the positions, dead documents included, with a term in the author's name."""
        names = list(names)
        return np.concatenate([part.by_authors(names) + start for part, start in self._parts])

    def with_all(self, terms: Iterable[str]) -> Column:
        """Return the positions, dead documents included, that have all of *terms*."""
        terms = list(terms)
        return np.concatenate([part.with_all(terms) + start for part, start in self._parts])


class JoinedVectors:
    """The vectors of *parts*, each from the position in *starts* on."""

    def __init__(self, parts: Sequence[VectorColumn], starts: Sequence[int]) -> None:
        self._parts = parts
        self._starts = starts

    def scan(
        self, query: Floats, among: Positions | None = None, early: EarlyScan | None = None
    ) -> Scan:
        """Compare every position, or at least *among*; see ``VectorColumn.scan``."""
        scans = []
        for part, start in zip(self._parts, self._starts, strict=True):
            own = None
            if among is not None:
                own = among[(among >= start) & (among < start + part.size)] - start
            scans.append(part.scan(query, own, early))
        return _joined_scan(scans)

    def scans(self, queries: Floats) -> Iterator[Scan]:
        """Compare every position with each of the unit vectors *queries*, in turn."""
        each = [part.scans(queries) for part in self._parts]
        return map(_joined_scan, zip(*each, strict=True))


class _JoinedReaders:
    """The readers of several scopes."""

    def __init__(self, parts: Sequence[ScopeReader]) -> None:
        self._parts = parts

    @property
    def overtaken(self) -> bool:
        """Whether a write may show in the reads since ``start``."""
        return any(part.overtaken for part in self._parts)

    def start(self, *, again: bool) -> None:
        """Begin the reads of one recall."""
        for part in self._parts:
            part.start(again=again)


def _joined_scan(scans: Sequence[Scan]) -> Scan:
    """Return the scans of neighbouring positions as one scan.

    The unit follows from the query; only a scan of no position at all has the unit 1.
    """
    unit, margin = min(each.unit for each in scans), max(each.margin for each in scans)
    return Scan(np.concatenate([each.raw for each in scans]), unit, margin)


def parts_of(scope: Scope) -> Sequence[Scope]:
    """Return the scopes whose indexes make up the index of *scope*; no namespace is in two."""
    if not isinstance(scope, tuple) or len(scope) > MAX_JOINED:
        return [scope]
    trees = [each for each in scope if isinstance(each, Subtree)]

    def is_covered(scope: str | Subtree) -> bool:
        path = scope.path if isinstance(scope, Subtree) else scope
        return any(tree != scope and covers(tree, path) for tree in trees)

    return [each for each in scope if not is_covered(each)]
