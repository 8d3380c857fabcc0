"""Caches of the latest reads: records and vectors in use are likely to be used again.

Once a part of the live rows had to be read and all fit into the cache, all are read: reading bit by
bit would take two or three times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getsizeof
from typing import Final

import numpy as np

from ..model.arrays import Column, Floats, Positions
from ..model.records import MemoryRecord
from .columns import Columns, grown
from .reader import ScopeReader
from .unit_vectors import unit_rows

RECORD_CACHE_BYTES: Final = 1 << 24
VECTOR_CACHE_BYTES: Final = 1 << 25

READ_ALL_AFTER: Final = 24
"""Once a share of 1 / READ_ALL_AFTER of the live rows had to be read, all are worth reading."""

_RECORD_BYTES: Final = 1200  # of a record beside its texts; measured
_BATCH_VECTORS: Final = 1024  # read at a time, so that copies need little room


class _Misses:
    """How many rows had to be read since all were worth reading."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, missing: int, count: int) -> bool:
        """Count *missing* reads; return whether to read all *count* rows now.

        The answer is True once enough had to be read, and again when as many more were.
        """
        enough = self._count * READ_ALL_AFTER >= count
        self._count = 0 if enough else self._count + missing
        return enough


class RecordCache:
    """The latest records that *reader* read, by row: about *max_bytes* bytes.

    The live rows are those of *columns*. Beyond the bound, all records but the requested records
    are dropped.
    """

    def __init__(
        self, reader: ScopeReader, columns: Columns, max_bytes: int = RECORD_CACHE_BYTES
    ) -> None:
        self.nbytes = 0
        self._reader = reader
        self._columns = columns
        self._max_bytes = max_bytes
        self._records: dict[int, MemoryRecord] = {}
        self._misses = _Misses()

    def get(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Return the records of *rows*, without rows that are gone; later callers share them."""
        missing = [row for row in rows if row not in self._records]
        if not missing:
            self._reader.forget()
        else:
            self._read(missing)
            if self.nbytes > self._max_bytes:
                self._records = {row: self._records[row] for row in rows if row in self._records}
                self.nbytes = sum(map(record_bytes, self._records.values()))
            alive = self._columns["live"]
            live = int(np.count_nonzero(alive))
            if self._misses.add(len(missing), live) and self._has_room(live):
                every = self._columns["row"][alive].tolist()
                self._read([row for row in every if row not in self._records])
        return {row: self._records[row] for row in rows if row in self._records}

    def _read(self, rows: list[int]) -> None:
        found = self._reader.records(rows) if rows else {}
        new = [record for row, record in found.items() if row not in self._records]
        self._records.update(found)
        self.nbytes += sum(map(record_bytes, new))

    def _has_room(self, count: int) -> bool:
        """Return whether *count* records of the mean size would fit."""
        return 0 < self.nbytes * count <= self._max_bytes * len(self._records)

    def forget(self, row: int) -> None:
        """Drop the record of *row*, which has changed or is gone."""
        if row in self._records:
            self.nbytes -= record_bytes(self._records.pop(row))


class VectorCache:
    """The latest vectors called *name* that *reader* read, at length one: about *max_bytes* bytes.

    Positions are those of *columns*. Beyond the bound, all vectors but the requested vectors are
    dropped.
    """

    def __init__(
        self,
        reader: ScopeReader,
        columns: Columns,
        name: str,
        dimension: int,
        max_bytes: int = VECTOR_CACHE_BYTES,
    ) -> None:
        self._reader = reader
        self._columns = columns
        self._name = name
        self._max_vectors = max_bytes // (8 * dimension)
        self._vectors: Floats = np.empty((0, dimension))
        self._used = 0
        self._slots = Columns(types={"slot": np.int32})  # by position, -1 for an absent vector
        self._misses = _Misses()

    @property
    def nbytes(self) -> int:
        """The bytes in use."""
        return self._vectors.nbytes + self._slots.nbytes

    def keep(self, kept: Column) -> None:
        """Remove the positions that are False in *kept* (bool by position)."""
        self._add_new_positions(len(kept))
        self._slots.keep(kept)
        self._keep_vectors((self._slots["slot"] >= 0).nonzero()[0])

    def get(self, positions: Positions) -> Floats:
        """Return the vectors of distinct *positions* as rows; zeros without a vector."""
        self._add_new_positions(self._columns.size)
        slots = self._slots["slot"]
        if len(missing := positions[slots[positions] < 0]):
            self._make_room(positions, len(missing))
            self._read(missing)
            alive = self._columns["live"]
            live = int(np.count_nonzero(alive))
            if self._misses.add(len(missing), live) and live <= self._max_vectors:
                others = (alive & (slots < 0)).nonzero()[0]
                self._make_room(positions, len(others))
                self._read(others)
        vectors: Floats = self._vectors[slots[positions]]
        return vectors

    def _add_new_positions(self, size: int) -> None:
        if new := size - self._slots.size:
            self._slots.append(new, slot=-1)

    def _make_room(self, positions: Positions, count: int) -> None:
        """Drop all vectors but *positions* if there is no room for *count* more."""
        if self._used + count > self._max_vectors:
            self._keep_vectors(positions[self._slots["slot"][positions] >= 0])

    def _keep_vectors(self, positions: Positions) -> None:
        """Drop all vectors but those of *positions*."""
        slots = self._slots["slot"]
        vectors = self._vectors[slots[positions]]
        slots[:] = -1  # before all else, so that an interruption leaves no wrong slot
        self._vectors, self._used = vectors, len(positions)
        slots[positions] = np.arange(len(positions))

    def _read(self, positions: Positions) -> None:
        end, dimension = self._used + len(positions), self._vectors.shape[1]
        if end > len(self._vectors):
            room = max(end, min(2 * self._used, self._max_vectors))
            self._vectors = grown(self._vectors[: self._used], room)
        for first in range(0, len(positions), _BATCH_VECTORS):
            some = positions[first : first + _BATCH_VECTORS]
            rows = self._columns["row"][some].tolist()
            found = self._reader.vectors(rows, self._name)
            start, end = self._used, self._used + len(some)
            self._vectors[start:end] = unit_rows(list(map(found.get, rows)), dimension)
            self._used = end
            self._slots["slot"][some] = np.arange(start, end)


def record_bytes(record: MemoryRecord) -> int:
    """Return about how many bytes a record takes."""
    texts = len(str(record.metadata)) + len(str(record.value)) + len(str(record.tags))
    return _RECORD_BYTES + getsizeof(record.content) + texts
