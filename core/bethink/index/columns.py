"""Arrays that grow by doubling: one row of numbers per memory, appended in amortised O(1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from ..model.arrays import Column
from ..model.port import Row
from ..model.records import MemoryRecord

ROOM: Final = 4
NEVER: Final = -np.inf
FOREVER: Final = np.inf
JUDGED: Final = ("occurred", "accessed", "accesses", "importance", "confidence", "outcome")
"""The columns of "judged": adjacent in memory, because ranking reads all of them together."""

TYPES: Final[Mapping[str, npt.DTypeLike]] = {
    "row": np.int64,
    "ordinal": np.int64,
    "live": np.bool_,
    "length": np.int32,  # terms in the keyword index
    "words": np.int32,  # words of the content
    "content_words": np.int32,  # distinct words of the content, without stop words
    "is_question": np.bool_,  # whether it is a brief question
    "tells_time": np.bool_,  # whether its content says when something was or how long it took
    "is_instruction": np.bool_,  # whether it is a standing instruction
    "thread": np.int32,  # code of the thread, -1 for none
    "before": np.int32,  # position of the turn before it in its thread, -1 for none
    "after": np.int32,  # position of the turn after it
    "namespace": np.int32,  # code of the namespace
    "judged": (np.float64, (len(JUDGED),)),
    "expires": np.float64,
}
MUTABLE: Final = ("accessed", "accesses", "expires", "importance", "confidence", "outcome")


class ReadColumns(Protocol):
    """Columns to read, of *size* positions."""

    size: int

    def __getitem__(self, name: str) -> Column: ...


class Columns:
    """Arrays of *types* by position; the default types are the numbers of every memory in a scope.

    The arrays take ``nbytes`` bytes, spare room included.
    """

    def __init__(self, room: int = ROOM, types: Mapping[str, npt.DTypeLike] = TYPES) -> None:
        self.size = 0
        self._room = room
        self._hold({name: np.empty(room, dtype=kind) for name, kind in types.items()})

    def _hold(self, arrays: dict[str, Column]) -> None:
        self._arrays = arrays
        self.nbytes = sum(array.nbytes for array in arrays.values())

    def __getitem__(self, name: str) -> Column:
        return self._whole(name)[: self.size]

    def _whole(self, name: str) -> Column:
        """Return the array of a column, spare room included."""
        array = self._arrays.get(name)
        return self._arrays["judged"][:, JUDGED.index(name)] if array is None else array

    def copy(self) -> Columns:
        """Return an independent copy."""
        twin = self.shared()
        twin._hold({name: array.copy() for name, array in twin._arrays.items()})
        return twin

    def shared(self) -> Columns:
        """Return a copy that shares the values until either grows; neither may overwrite values."""
        twin = copy(self)
        twin._room = self.size
        twin._hold({name: array[: self.size] for name, array in self._arrays.items()})
        return twin

    def keep(self, kept: Column) -> None:
        """Remove the positions that are False in *kept* (bool by position)."""
        self._hold({name: array[: self.size][kept] for name, array in self._arrays.items()})
        self.size = self._room = int(np.count_nonzero(kept))

    def append(self, count: int, **values: npt.ArrayLike) -> None:
        """Append *count* positions, with as many values for every column."""
        end = self.size + count
        if end > self._room:
            self._room = max(end, 2 * self._room)
            self._hold({name: grown(array, self._room) for name, array in self._arrays.items()})
        for name, value in values.items():
            self._whole(name)[self.size : end] = value
        self.size = end


def grown(array: Column, room: int) -> Column:
    """Return a copy of *array* with room for more rows."""
    larger = np.empty((room, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def numbers(record: MemoryRecord) -> dict[str, float]:
    """Return the mutable columns of one record."""
    return {
        "accessed": NEVER if record.last_accessed_at is None else record.last_accessed_at,
        "accesses": record.access_count,
        "expires": FOREVER if record.expires_at is None else record.expires_at,
        "importance": record.importance,
        "confidence": record.confidence,
        "outcome": record.outcome,
    }


def table(rows: Sequence[Row]) -> dict[str, Sequence[float]]:
    """Return the columns that depend on *rows* alone."""
    mutable = [numbers(row.record) for row in rows]
    return {
        "row": [row.row for row in rows],
        "ordinal": [row.ordinal for row in rows],
        "occurred": [row.record.occurred_at for row in rows],
        **{name: [each[name] for each in mutable] for name in MUTABLE},
    }
