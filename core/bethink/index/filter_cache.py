"""Filters that were asked for, as columns: who passes is looked up once and known from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ..model.filters import Filter, matches, sees_accesses
from ..model.records import MemoryRecord
from .columns import Column, grown

Truths = npt.NDArray[np.bool_]

KEPT: Final = 8
"""So many filters are kept: each costs every write a little."""

_LONGEST: Final = 1000  # as it is spelled; a longer one is hardly asked for twice


class FilterCache:
    """Which positions pass each of the filters that were asked for last."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[Filter, Column]] = {}

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return sum(column.nbytes for _, column in self._columns.values())

    def of(self, where: Filter, size: int, look: Callable[[], npt.NDArray[np.int64]]) -> Truths:
        """Tell which of *size* positions pass *where*; *look* finds them on first use.

        One that asks about accesses is looked up every time: they change without being told here.
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
        """Take in what a record is now."""
        for where, column in self._columns.values():
            column[position] = matches(where, record)

    def keep(self, kept: Column) -> None:
        """Leave out the positions that are not in *kept* (bool by position)."""
        self._columns = {
            name: (where, column[: len(kept)][kept])
            for name, (where, column) in self._columns.items()
        }
