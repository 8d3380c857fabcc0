"""The working memories of one process: the latest values, and values found by vector.

Both end with the process; ``KeyedMemory`` is durable.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...calls import suggesting
from ...errors import DimensionError
from ...model import fields
from ...model.arrays import Floats
from ...model.forks import watch
from .atomic import MISSING
from .interface import Memory, MemoryItem, ScoredRecord

Numbers = Sequence[float] | npt.NDArray[np.floating[Any]]

_COSINE_DECIMALS: Final = 12


class _Resident(Memory):
    """Values in a dict, oldest first; a stored value is replaced, never changed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._values: dict[str, Any] = {}
        watch(self)

    def remember(self, key: str, value: Any) -> None:
        """Remember *value* under *key*, in place of any value before; *key* becomes the newest."""
        name, copied = fields.label("key", key), _copy(value)
        with self._lock:
            self._store(name, copied)

    def recall(self, key: str, default: Any = None) -> Any:
        """Return the value under *key*, else *default*; the key does not become newer."""
        name = fields.label("key", key)
        with self._lock:
            found = self._values.get(name, MISSING)
        return default if found is MISSING else _copy(found)

    def recent(self, limit: int) -> tuple[MemoryItem, ...]:
        """Return the *limit* items remembered last, newest last."""
        most = fields.integer("limit", limit, 0)
        with self._lock:
            newest = list(islice(reversed(self._values.items()), most))
        return tuple(MemoryItem(key, _copy(value)) for key, value in reversed(newest))

    def forget(self, key: str) -> bool:
        """Forget *key*; return whether the key existed."""
        name = fields.label("key", key)
        with self._lock:
            return self._remove(name)

    def before_fork(self) -> None:
        """Wait until no thread is in the middle of a change."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Continue; a child makes a new lock."""
        if in_child:
            self._lock = threading.RLock()
        else:
            self._lock.release()

    def _store(self, key: str, value: Any) -> None:
        self._remove(key)
        self._values[key] = value

    def _remove(self, key: str) -> bool:
        return self._values.pop(key, MISSING) is not MISSING


@suggesting
class ShortTermMemory(_Resident):
    """The *max_items* values remembered last, until the process ends; ``KeyedMemory`` is durable.

    Values are any Python objects; older values are dropped.
    An object that cannot be copied, such as a lock, is kept without a copy, with the container.
    """

    def __init__(self, max_items: int = 50) -> None:
        self.max_items = fields.integer("max_items", max_items, 1)
        super().__init__()

    def _store(self, key: str, value: Any) -> None:
        super()._store(key, value)
        if len(self._values) > self.max_items:
            self._remove(next(iter(self._values)))


@suggesting
class LongTermMemory(_Resident):
    """Values found by the caller's vectors, until the process ends; ``VectorMemory`` is durable.

    All vectors have *dimension* numbers.
    Without *dimension* the first vector sets the dimension. Nothing is dropped automatically.
    """

    def __init__(self, dimension: int | None = None) -> None:
        self.dimension = None if dimension is None else fields.integer("dimension", dimension, 1)
        self._vectors: dict[str, Floats] = {}
        self._table: tuple[list[MemoryItem], Floats] | None = None
        super().__init__()

    def remember_vector(self, key: str, value: Any, vector: Numbers) -> None:
        """Remember *value* under *key*, to be found by *vector*.

        ``remember`` removes the vector, which belonged to the value before. A vector with a number
        that is not finite raises ``ValidationError``, a vector of a wrong length
        ``DimensionError``.
        """
        name, direction, copied = fields.label("key", key), unit_vector(key, vector), _copy(value)
        with self._lock:
            self._check_dimension(direction)
            self.dimension = len(direction)
            self._store(name, copied)
            self._vectors[name] = direction
            self._table = None

    def search(self, vector: Numbers, top_k: int = 5) -> tuple[ScoredRecord, ...]:
        """Return the *top_k* items with the largest cosines with *vector*, best first.

        The cosine, rounded to twelve decimals, is exact; with a vector of zeros it is 0. Ties go to
        the earliest value. Items without a vector are not found.
        """
        query, most = unit_vector("query", vector), fields.integer("top_k", top_k, 0)
        with self._lock:
            self._check_dimension(query)
            items, directions = self._searchable()
        return nearest(items, directions, query, most)

    def _check_dimension(self, vector: Floats) -> None:
        if self.dimension is not None and self.dimension != len(vector):
            raise DimensionError(self.dimension, len(vector))

    def _searchable(self) -> tuple[list[MemoryItem], Floats]:
        """Return the items with vectors, and the vectors as rows; made again after a change."""
        if self._table is None:
            items = [MemoryItem(key, self._values[key]) for key in self._vectors]
            self._table = items, np.array(list(self._vectors.values()))
        return self._table

    def _remove(self, key: str) -> bool:
        if self._vectors.pop(key, None) is not None:
            self._table = None
        return super()._remove(key)


def nearest(
    items: Sequence[MemoryItem], directions: Floats, query: Floats, most: int
) -> tuple[ScoredRecord, ...]:
    """Return copies of the *most* items with *directions*, the rows, nearest to a unit *query*."""
    if not items:
        return ()
    scores = np.round(np.einsum("ij,j->i", directions, query), _COSINE_DECIMALS) + 0.0
    best = np.argsort(-scores, kind="stable")[:most].tolist()
    return tuple(
        ScoredRecord(MemoryItem(items[at].key, _copy(items[at].value)), float(scores[at]))
        for at in best
    )


def unit_vector(name: str, vector: Numbers) -> Floats:
    """Return the *vector* called *name* at length one; zeros stay zeros."""
    fields.vector(name, vector)
    numbers = np.array(vector, dtype=np.float64)
    numbers /= np.abs(numbers).max() or 1.0  # so that no square is too small or too large
    direction: Floats = numbers / (np.sqrt((numbers * numbers).sum()) or 1.0)
    return direction


def _copy(value: Any) -> Any:
    """Return a deep copy of *value*, or *value* if no copy can be made."""
    try:
        return copy.deepcopy(value)
    except Exception:  # an object may refuse in its own way
        return value
