"""Rows just written, kept until indexed, so that no row is read again from the file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..model.port import Row
from .caches import record_bytes

MAX_RECENT_BYTES: Final = 1 << 24
_ROW_BYTES: Final = 400  # of a row beside its record and vectors; measured


class RecentRows:
    """Rows by number, about *most* bytes; beyond the bound, all rows are dropped."""

    def __init__(self, most: int = MAX_RECENT_BYTES) -> None:
        self.rows: dict[int, Row] = {}
        self._most = most
        self._weights: dict[int, int] = {}
        self._bytes = 0
        self._borrowed: list[int] = []
        self._in_part = False

    def take(self, rows: Iterable[Row], *, in_part: bool) -> None:
        """Keep *rows*, any number until ``trim``.

        The vectors may be rows of a matrix; with *in_part*, of a matrix with more rows.
        """
        for row in rows:
            self.rows[row.row] = row
            weight = _ROW_BYTES + record_bytes(row.record)
            weight += sum([vector.nbytes for vector in row.vectors.values()])
            self._weights[row.row] = weight
            self._bytes += weight
            self._borrowed.append(row.row)
        self._in_part |= in_part

    def of(self, namespace: str) -> list[int]:
        """Return the numbers of the kept rows of *namespace*."""
        return [row for row, held in self.rows.items() if held.record.namespace == namespace]

    def forget(self, numbers: Iterable[int]) -> None:
        """Drop the rows with *numbers*."""
        for number in numbers:
            if self.rows.pop(number, None):
                self._bytes -= self._weights.pop(number)
                self._in_part = True

    def clear(self) -> None:
        """Let go of all rows."""
        self.forget(list(self.rows))

    def trim(self) -> None:
        """Enforce the bound, and copy vectors out of matrices that are used in part."""
        if self._bytes > self._most:
            self.clear()
        if not self._in_part:
            return
        for number in self._borrowed:
            if row := self.rows.get(number):
                owned = {name: vector.copy() for name, vector in row.vectors.items()}
                self.rows[number] = Row(number, row.ordinal, row.record, owned)
        self._borrowed, self._in_part = [], False
