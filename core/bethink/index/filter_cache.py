"""Filters in use, as columns: the rows that pass are looked up once and then kept current."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..model.arrays import Column, Truths
from ..model.filters import Filter, matcher, matches, sees_accesses
from ..model.records import MemoryRecord
from .columns import grown

MAX_FILTERS: Final = 8  # each costs every write a little
MAX_FILTER_CHARACTERS: Final = 1000  # of its repr; a longer filter is hardly used twice


class FilterCache:
    """The positions that pass each of the most recent filters."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[Filter, Column]] = {}

    @property
    def nbytes(self) -> int:
        """The bytes in use."""
        return sum(column.nbytes for _, column in self._columns.values())

    def get(self, where: Filter, size: int) -> Truths | None:
        """Return the positions among *size* that pass *where*, None if not in the cache."""
        name = repr(where)  # equal filters may differ in meaning, as 1 and True do
        if name not in self._columns:
            return None
        self._columns[name] = found = self._columns.pop(name)  # the most recent is the last
        return found[1][:size]

    def add(self, where: Filter, passing: Truths) -> None:
        """Keep *passing*, by position, for the next use of *where*, in place of the oldest filter.

        A filter on accesses is not kept: accesses change without notice to the cache.
        """
        name = repr(where)
        if len(name) <= MAX_FILTER_CHARACTERS and not sees_accesses(where):
            if len(self._columns) >= MAX_FILTERS:
                del self._columns[next(iter(self._columns))]
            self._columns[name] = where, passing

    def append(self, records: Sequence[MemoryRecord], start: int) -> None:
        """Take in the records at the positions from *start* on."""
        end = start + len(records)
        for name, (where, held) in self._columns.items():
            column = grown(held, end)
            column[start:end] = list(map(matcher(where), records))
            self._columns[name] = where, column

    def patch(self, position: int, record: MemoryRecord) -> None:
        """Update the cached filters for a changed record."""
        for where, column in self._columns.values():
            column[position] = matches(where, record)

    def keep(self, kept: Column) -> None:
        """Remove the positions that are False in *kept* (bool by position)."""
        self._columns = {
            name: (where, column[: len(kept)][kept])
            for name, (where, column) in self._columns.items()
        }
