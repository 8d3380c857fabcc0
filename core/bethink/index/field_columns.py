"""Columns of the fields that filters read: the third filter on a field does not read the file.

A single filter reads few rows, in half the time of a column. So the second use makes the column.

Most columns hold a number for each position, and each distinct value once: a condition is evaluated
for the distinct values only, by the same function as for records. Times and other numbers of a
record are kept as numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain, compress
from sys import getsizeof
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..model.arrays import Column, Floats, Positions, Truths
from ..model.fields import to_json
from ..model.filters import (
    NUMBER_FIELDS,
    RELATIONS,
    TIME_FIELDS,
    All,
    Any_,
    Compare,
    Filter,
    Not,
    kind_of,
    lookup,
    paths_of,
)
from ..model.records import MemoryRecord
from .columns import Columns

Path: TypeAlias = tuple[str, ...]

MAX_FIELDS: Final = 16  # each costs every write a little
MAX_VALUE_BYTES: Final = 1 << 26
"""The distinct values of a field take no more; a field with more has no column."""

_VALUE_BYTES: Final = 150  # of a distinct value beside the text; measured
_MAX_NUMBER: Final = 1e300  # far above the number of any record
_WITHOUT_COLUMN: Final = {"content", "access_count", "last_accessed_at"}
"""Contents are long, and accesses change without notice."""

_RELATIONS: Final[Mapping[str, Callable[[Floats, float], Truths]]] = {
    "$eq": np.equal,
    "$ne": np.not_equal,
    "$gt": np.greater,
    "$gte": np.greater_equal,
    "$lt": np.less,
    "$lte": np.less_equal,
}


class _FieldColumn(ABC):
    """The values of one field by position, each as a number of *kind*."""

    value_bytes = 0

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._columns = Columns(types={"number": kind})

    @property
    def nbytes(self) -> int:
        """The approximate bytes in use."""
        return self._columns.nbytes + self.value_bytes

    @property
    def is_large(self) -> bool:
        """Whether the distinct values take too much, those of former records too."""
        return self.value_bytes > MAX_VALUE_BYTES

    @property
    def _numbers(self) -> Column:
        return self._columns["number"]

    def append(self, values: Iterable[Any]) -> None:
        """Append the values of the next positions."""
        numbers = self._to_numbers(values)
        self._columns.append(len(numbers), number=numbers)

    def set(self, positions: Positions | list[int], values: Iterable[Any]) -> None:
        """Set the values at *positions*."""
        self._numbers[positions] = self._to_numbers(values)

    def keep(self, kept: Column) -> None:
        """Remove the positions that are False in *kept* (bool by position)."""
        self._columns.keep(kept)

    @abstractmethod
    def _to_numbers(self, values: Iterable[Any]) -> Sequence[int] | Floats:
        """Return the number of each of *values*."""

    @abstractmethod
    def passing(self, operator: str, operand: Any) -> Truths:
        """Return the positions whose value has the relation *operator* to *operand*."""


class _ValueColumn(_FieldColumn):
    """Values of any kind, numbered as they come."""

    def __init__(self) -> None:
        super().__init__(np.int32)
        self._values: list[Any] = []
        self._places: dict[Hashable, int] = {}

    def _to_numbers(self, values: Iterable[Any]) -> Sequence[int]:
        return list(map(self._to_number, values))

    def _to_number(self, value: Any) -> int:
        key: Hashable = value
        if isinstance(value, int | float):
            key = type(value), value  # 1 is not True
        elif isinstance(value, list | dict):
            key = (to_json(value),)
        number = self._places.setdefault(key, len(self._values))
        if number == len(self._values):
            self._values.append(value)
            self.value_bytes += _VALUE_BYTES + getsizeof(key)
        return number

    def passing(self, operator: str, operand: Any) -> Truths:
        wanted = {"$eq": [operand], "$in": operand}.get(operator)
        if wanted and all(isinstance(each, str | int | float) for each in wanted):
            keys = chain.from_iterable(map(_equal_keys, wanted))
            found: Truths = np.isin(self._numbers, [self._places.get(key, -1) for key in keys])
            return found
        relation = RELATIONS[operator]
        holds = np.array([relation(value, operand) for value in self._values], dtype=bool)
        return holds[self._numbers]


def _equal_keys(value: str | float) -> Sequence[Hashable]:
    """Return the keys of all values that equal *value*: 1 equals 1.0, and not True."""
    if isinstance(value, bool):
        return [(bool, value)]
    return [value] if isinstance(value, str) else [(int, value), (float, value)]


class _NumberColumn(_FieldColumn):
    """Numbers as they are, NaN for None."""

    def __init__(self) -> None:
        super().__init__(np.float64)

    def _to_numbers(self, values: Iterable[Any]) -> Floats:
        return np.array(list(values), dtype=np.float64)

    def passing(self, operator: str, operand: Any) -> Truths:
        numbers = self._numbers
        known = ~np.isnan(numbers)
        if operator == "$exists":
            return known if operand else ~known
        if operator in ("$in", "$nin"):
            numeric = [each for each in operand if kind_of(each) == "number"]
            listed = [float(each) for each in numeric if abs(each) <= _MAX_NUMBER]
            among: Truths = np.isin(numbers, listed)
            return known & (among if operator == "$in" else ~among)
        if operand is None and operator == "$eq":
            return ~known
        if kind_of(operand) == "number" and operator in _RELATIONS:
            bounded = float(max(min(operand, _MAX_NUMBER), -_MAX_NUMBER))
            return known & _RELATIONS[operator](numbers, bounded)
        return known & (operator == "$ne")


class FieldColumns:
    """The columns of the fields that the most recent filters read."""

    def __init__(self) -> None:
        self._columns: dict[Path, _FieldColumn] = {}
        self._used = set[Path]()
        self._too_large = set[Path]()

    @property
    def nbytes(self) -> int:
        """The bytes in use."""
        return sum(column.nbytes for column in self._columns.values())

    def missing(self, where: Filter) -> list[Path]:
        """Return the fields to ``add`` before ``passing``.

        None is to be added if any is used for the first time or cannot have a column.
        """
        paths = set(paths_of(where))
        is_first = not paths <= self._used
        self._used |= paths
        without = any(path[0] in _WITHOUT_COLUMN or path in self._too_large for path in paths)
        if is_first or without or len(paths) > MAX_FIELDS:
            return []
        for path in paths & self._columns.keys():
            self._columns[path] = self._columns.pop(path)  # the most recent is the last
        return sorted(paths - self._columns.keys())

    def add(self, path: Path, size: int, positions: Positions, values: Iterable[Any]) -> None:
        """Add the column of a field, of *size* positions, in place of the least recently used.

        Positions without a value have None.
        """
        is_number = path[0] in NUMBER_FIELDS or path[0] in TIME_FIELDS
        column = _NumberColumn() if is_number else _ValueColumn()
        column.append([None] * size)
        known = positions >= 0
        column.set(positions[known], compress(values, known))
        if column.is_large:
            self._too_large.add(path)
            return
        if len(self._columns) >= MAX_FIELDS:
            del self._columns[next(iter(self._columns))]
        self._columns[path] = column

    def passing(self, where: Filter, size: int) -> Truths | None:
        """Return the positions among *size* that pass *where*, None without all columns."""
        if not set(paths_of(where)) <= self._columns.keys():
            return None
        return self._passing(where, size)

    def _passing(self, where: Filter, size: int) -> Truths:
        match where:
            case Compare(path, operator, operand):
                return self._columns[path].passing(operator, operand)
            case Not(part):
                return ~self._passing(part, size)
            case All(parts) | Any_(parts):
                is_all = isinstance(where, All)
                each = (self._passing(part, size) for part in parts)
                join = np.logical_and if is_all else np.logical_or
                return reduce(join, each, np.full(size, is_all))

    def append(self, records: Sequence[MemoryRecord]) -> None:
        """Take in the records at the next positions."""
        for path, column in self._columns.items():
            column.append(lookup(record, path) for record in records)
        self._drop_large()

    def patch(self, position: int, record: MemoryRecord) -> None:
        """Update the columns for a changed record."""
        for path, column in self._columns.items():
            column.set([position], [lookup(record, path)])
        self._drop_large()

    def _drop_large(self) -> None:
        """Drop the columns with too many values: of former records, too."""
        for path in [path for path, each in self._columns.items() if each.is_large]:
            del self._columns[path]

    def keep(self, kept: Column) -> None:
        """Remove the positions that are False in *kept* (bool by position)."""
        for column in self._columns.values():
            column.keep(kept)
