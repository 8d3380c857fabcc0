"""Caches of the latest reads: recalled records and vectors are likely to be recalled again.

Where all possible reads fit into the cache, all are read once a part had to be read: reading bit
by bit would take two or three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

import numpy as np

from ..model.arrays import Column, Floats, Positions
from .columns import Columns

Value = TypeVar("Value")

AHEAD: Final = 24
"""Once a share of 1 / AHEAD had to be read, all are worth reading."""

_AT_ONCE: Final = 1024  # vectors, so that little room is needed on the way


class _Misses:
    """How much had to be read since all was worth reading."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, missing: int, count: int) -> bool:
        """Count *missing* reads; return whether to read all *count* now.

        The answer is True once enough had to be read, and again when as many more were.
        """
        enough = self._count * AHEAD >= count
        self._count = 0 if enough else self._count + missing
        return enough


class RecordCache(Generic[Value]):
    """The latest reads of rows, by row: about *most* bytes, as *weigh* counts a value's bytes.

    Beyond the bound, all values but the requested values are dropped.
    """

    def __init__(self, most: int, weigh: Callable[[Value], int]) -> None:
        self.nbytes = 0
        self._most = most
        self._weigh = weigh
        self._held: dict[int, Value] = {}
        self._misses = _Misses()

    def of(
        self,
        rows: Sequence[int],
        read: Callable[[list[int]], Mapping[int, Value]],
        count: int,
        every: Callable[[], Sequence[int]],
    ) -> dict[int, Value]:
        """Return the values of *rows*, read with *read* if absent; rows without are left out.

        *every* returns all *count* rows that may be requested. Later callers share the values.
        """
        if missing := [row for row in rows if row not in self._held]:
            self._take(missing, read)
            self._make_room(rows)
            if self._misses.add(len(missing), count) and self._has_room(count):
                self._take([row for row in every() if row not in self._held], read)
        return {row: self._held[row] for row in rows if row in self._held}

    def _take(self, rows: list[int], read: Callable[[list[int]], Mapping[int, Value]]) -> None:
        found = read(rows) if rows else {}
        self._held.update(found)
        self.nbytes += sum(map(self._weigh, found.values()))

    def _make_room(self, rows: Sequence[int]) -> None:
        if self.nbytes > self._most:
            self._held = {row: self._held[row] for row in rows if row in self._held}
            self.nbytes = sum(map(self._weigh, self._held.values()))

    def _has_room(self, count: int) -> bool:
        """Return whether *count* values of the mean size would fit."""
        return 0 < self.nbytes * count <= self._most * len(self._held)

    def forget(self, row: int) -> None:
        """Drop the value of *row*, which has changed or is gone."""
        if row in self._held:
            self.nbytes -= self._weigh(self._held.pop(row))


class VectorCache:
    """The latest reads of vectors of *dimension* numbers, by position: about *most* bytes.

    Beyond the bound, all vectors but the requested vectors are dropped.
    """

    def __init__(self, dimension: int, most: int) -> None:
        self._most = most // (8 * dimension)
        self._held: Floats = np.empty((0, dimension))
        self._used = 0
        self._columns = Columns(types={"place": np.int32})  # in what is held, -1 for nowhere
        self._misses = _Misses()

    @property
    def nbytes(self) -> int:
        """The bytes in use."""
        return self._held.nbytes + self._columns.nbytes

    def append(self, count: int) -> None:
        """Append *count* positions without vectors."""
        self._columns.append(count, place=-1)

    def keep(self, kept: Column) -> None:
        """Remove the positions that are False in *kept* (bool by position)."""
        self._columns.keep(kept)

    def of(
        self,
        positions: Positions,
        read: Callable[[Positions], Floats],
        count: int,
        every: Callable[[], Positions],
    ) -> Floats:
        """Return the vectors of distinct *positions* as rows, read with *read* if absent.

        *every* returns all *count* positions that may be requested.
        """
        place = self._columns["place"]
        if len(missing := positions[place[positions] < 0]):
            self._make_room(positions, len(missing))
            self._take(missing, read)
            if self._misses.add(len(missing), count) and count <= self._most:
                others = every()
                others = others[place[others] < 0]
                self._make_room(positions, len(others))
                self._take(others, read)
        vectors: Floats = self._held[place[positions]]
        return vectors

    def _make_room(self, positions: Positions, count: int) -> None:
        """Drop all vectors but *positions* if there is no room for *count* more."""
        if self._used + count <= self._most:
            return
        place = self._columns["place"]
        kept = positions[place[positions] >= 0]
        vectors = self._held[place[kept]]
        place[:] = -1  # first of all, so that an interruption leaves nothing wrong
        self._held, self._used = vectors, len(kept)
        place[kept] = np.arange(len(kept))

    def _take(self, positions: Positions, read: Callable[[Positions], Floats]) -> None:
        end = self._used + len(positions)
        if end > len(self._held):
            room = max(end, min(2 * self._used, self._most))
            larger = np.empty((room, self._held.shape[1]))
            larger[: self._used] = self._held[: self._used]
            self._held = larger
        for first in range(0, len(positions), _AT_ONCE):
            some = positions[first : first + _AT_ONCE]
            start, end = self._used, self._used + len(some)
            self._held[start:end] = read(some)
            self._used = end
            self._columns["place"][some] = np.arange(start, end)
