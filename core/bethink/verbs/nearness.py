"""Nearness: which records of a store say nearly the same as many new ones, all compared at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..backends import EMBEDDED, Row, Writer
from ..conflicts import SAME, read
from ..engine import Engine
from ..filters import All
from ..index.vectors import directions
from ..records import MemoryRecord
from .similar import say_the_same

_AT_ONCE: Final = 1024
_ROUNDING: Final = 1e-6
_DIGITS: Final = 6


class Nearest:
    """What may say the same as the new *rows*, looked for before there is a transaction."""

    def __init__(self, engine: Engine, rows: Sequence[Row]) -> None:
        self._engine = engine
        self._near: dict[str, list[tuple[float, int]]] = {}
        by_namespace: dict[str, list[Row]] = {}
        for row in rows:
            record = row.record
            if record.state == "live" and record.thread is None and record.content:
                by_namespace.setdefault(record.namespace, []).append(row)
        for namespace, some in by_namespace.items():
            self._by_vectors(namespace, [row for row in some if _directed(row)])
            self._by_text(namespace, [row for row in some if not _directed(row)])
        rows_near = {row for near in self._near.values() for _, row in near}
        self._records = engine.backend.at(list(rows_near))

    def to(self, writer: Writer, record: MemoryRecord) -> tuple[int, MemoryRecord] | None:
        """Return the live record most like *record* and its row; None if none says the same.

        The very text comes first, and of those that are equally alike the oldest.
        """
        ranked = []
        for cosine, number in self._near.get(record.id, ()):
            if (other := self._records.get(number)) is not None:
                alike = 2.0 if other.content == record.content else round(cosine, _DIGITS)
                ranked.append((-alike, number, other.id))
        reading = read(record) if ranked else None
        for distance, _, id in sorted(ranked):
            row, found = writer.find([id])[id]
            if reading and found.state == "live" and say_the_same(reading, read(found), -distance):
                return row, found
        return None

    def _by_vectors(self, namespace: str, some: Sequence[Row]) -> None:
        """Note the live records whose vectors are alike enough to those of *some*."""
        if not some:
            return
        wanted = directions(np.array([row.vectors[EMBEDDED] for row in some])).astype(np.float32)
        rows = self._engine.backend.matching(namespace, All(()))
        for start in range(0, len(rows), _AT_ONCE):
            found = self._engine.backend.vectors(rows[start : start + _AT_ONCE].tolist(), EMBEDDED)
            if not found:
                continue
            numbers = list(found)
            ours = directions(np.array(list(found.values()))).astype(np.float32)
            cosines = ours @ wanted.T
            for place, other in np.argwhere(cosines > SAME - _ROUNDING).tolist():
                near = self._near.setdefault(some[other].record.id, [])
                near.append((float(cosines[place, other]), numbers[place]))

    def _by_text(self, namespace: str, some: Sequence[Row]) -> None:
        """Note the live records with the very text of those that the embedder knows no word of."""
        if not some:
            return
        texts: dict[str, list[str]] = {}
        for row in some:
            texts.setdefault(row.record.content, []).append(row.record.id)
        every = self._engine.backend.select(namespace, None, None, 0, newest_first=False)
        ids = [(id, each.id) for each in every for id in texts.get(each.content, ())]
        rows = self._engine.backend.rows_of([ours for _, ours in ids])
        for id, ours in ids:
            self._near.setdefault(id, []).append((1.0, rows[ours]))


def _directed(row: Row) -> bool:
    """Tell whether the embedder made anything of the text."""
    return EMBEDDED in row.vectors and bool(row.vectors[EMBEDDED].any())
