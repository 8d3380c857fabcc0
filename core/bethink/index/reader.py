"""The reads of a scope from the file: what the index does not hold is read on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..model.arrays import Rows, Vector
from ..model.filters import Filter
from ..model.namespaces import Scope
from ..model.port import Backend, Row
from ..model.records import MemoryRecord

_MAX_KEPT: Final = 256
_MAX_READ: Final = 64
"""So many rows are read with vectors and records at once: most answers need both."""


class ScopeReader:
    """Reads of *scope* from *backend*, while other processes may write.

    ``overtaken`` tells whether a write may show in the reads since ``start``.
    """

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self.scope = scope
        self.overtaken = False
        self._backend = backend
        self._again = False
        self._kept: dict[int, Row] = {}

    def start(self, *, again: bool) -> None:
        """Begin the reads of one recall.

        A filter looked up *again* does not count as overtaken: the look-up may take so long that a
        write comes in every time.
        """
        self.overtaken, self._again = False, again

    def vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* of *rows*."""
        if (
            self._backend.is_remote
            and len(rows) <= _MAX_READ
            and not self._kept.keys() >= set(rows)
        ):
            self._kept |= {row.row: row for row in self._backend.rows(rows)}
        if self._kept.keys() >= set(rows):
            known = {row: self._kept[row].vectors.get(name) for row in rows}
            found = {row: vector for row, vector in known.items() if vector is not None}
        else:
            found = self._backend.vectors(rows, name)
        self.overtaken |= len(found) < len(rows)
        return found

    def records(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Return the records of *rows*, and of a few rows that were a round trip away."""
        if self._kept.keys() >= set(rows):
            few = self._backend.is_remote and len(self._kept) <= _MAX_READ
            known = self._kept if few else rows
            found = {row: self._kept[row].record for row in known}
        else:
            found = self._backend.by_row(rows)
        self.forget()
        alive = sum(row in found and found[row].state == "live" for row in rows)
        self.overtaken |= alive < len(rows)
        return found

    def keep(self, rows: Sequence[Row]) -> None:
        """Keep a few *rows*, as just read for the index, for the first answer."""
        if len(rows) <= _MAX_KEPT:
            self._kept = {row.row: row for row in rows}

    def forget(self) -> None:
        """Keep no row any more: the rows have changed, or the first answer is read."""
        self._kept = {}

    def values(self, path: tuple[str, ...]) -> list[tuple[int, Any]]:
        """Return row and value of the field at *path* of every live record."""
        self.overtaken |= not self._again
        return self._backend.values(self.scope, None, None, path)

    def matching(self, where: Filter) -> Rows:
        """Return the rows that pass *where*."""
        self.overtaken |= not self._again
        return self._backend.matching(self.scope, where)
