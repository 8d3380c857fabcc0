"""Rows to read, as the file of a store would have them, and what was read of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bethink.index.reader import ScopeReader
from bethink.model.arrays import Rows, Vector
from bethink.model.filters import Filter, lookup, matches
from bethink.model.namespaces import Scope
from bethink.model.port import Row
from bethink.model.records import MemoryRecord


class Shelf(ScopeReader):
    """A reader of *rows* in place of a file; ``read`` tells the rows of every read."""

    def __init__(self, rows: Iterable[Row] = (), scope: Scope = "a") -> None:
        self.scope = scope
        self.rows = {row.row: row for row in rows}
        self.read: list[list[int]] = []
        self.filters: list[Filter] = []
        self.paths: list[tuple[str, ...]] = []

    def _found(self, rows: Sequence[int]) -> list[Row]:
        self.read.append(list(rows))
        return [self.rows[number] for number in rows if number in self.rows]

    def records(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        return {row.row: row.record for row in self._found(rows)}

    def vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        return {row.row: row.vectors[name] for row in self._found(rows) if name in row.vectors}

    def values(self, path: tuple[str, ...]) -> list[tuple[int, Any]]:
        self.paths.append(path)
        return [(row.row, lookup(row.record, path)) for row in self.rows.values()]

    def matching(self, where: Filter) -> Rows:
        self.filters.append(where)
        found = [row.row for row in self.rows.values() if matches(where, row.record)]
        return np.array(found, dtype=np.int64)
