"""Filters in use, as columns: the rows that pass are looked up once and then kept current."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ..model.arrays import Column, Truths
from ..model.filters import Filter, matches, sees_accesses
from ..model.records import MemoryRecord
from .columns import grown

KEPT: Final = 8
"""So many filters are kept: each costs every write a little."""

_LONGEST: Final = 1000  # as it is spelled; a longer one is hardly asked for twice


class FilterCache:
    """The positions that pass each of the most recent filters."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[Filter, Column]] = {}

    @property
    def nbytes(self) -> int:
        """The bytes in use."""
        return sum(column.nbytes for _, column in self._columns.values())

    def of(self, where: Filter, size: int, look: Callable[[], npt.NDArray[np.int64]]) -> Truths:
        """Return the positions among *size* that pass *where*; *look* finds the rows on first use.

        A filter on accesses is looked up every time: accesses change without notice to the cache.
        """
        name = repr(where)  # equal filters may differ in meaning, as 1 and True do
        _, column = self._columns.pop(name, (where, None))
        if column is None:
            column = np.zeros(size, dtype=bool)
            column[look()] = True
        if len(name) <= _LONGEST and not sees_accesses(where):
            if len(self._columns) >= KEPT:
                del self._columns[next(iter(self._columns))]
            self._columns[name] = where, column
        return column[:size]

    def append(self, records: Sequence[MemoryRecord], start: int) -> None:
        """Take in the records at the positions from *start* on."""
        end = start + len(records)
        for name, (where, held) in self._columns.items():
            column = grown(held, end)
            column[start:end] = [matches(where, record) for record in records]
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
