"""Accesses that are not written yet: a recall only notes them, the next write takes them along."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from ..records import MemoryRecord

Pending: TypeAlias = dict[str, tuple[int, int, float]]


class Touches:
    """Pending accesses by record id: its row, how many times, and when last; safe for threads."""

    def __init__(self) -> None:
        self._pending: Pending = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._pending)

    def add(self, id: str, row: int, times: int, at: float) -> None:
        """Note *times* accesses of a record, the last one *at*."""
        with self._lock:
            _, earlier, last = self._pending.get(id, (row, 0, at))
            self._pending[id] = (row, earlier + times, max(last, at))

    def by_row(self) -> Iterable[tuple[int, int, float]]:
        """Return row, times and last access of every pending record."""
        with self._lock:
            return list(self._pending.values())

    def take(self) -> Pending:
        """Remove and return everything pending."""
        with self._lock:
            taken, self._pending = self._pending, {}
        return taken

    def put_back(self, taken: Pending) -> None:
        """Note again what could not be written."""
        for id, (row, times, at) in taken.items():
            self.add(id, row, times, at)

    def on(self, record: MemoryRecord) -> MemoryRecord:
        """Return *record* with its pending accesses counted in."""
        pending = self._pending.get(record.id)
        if pending is None or record.state != "live":
            return record
        _, times, at = pending
        return replace(
            record,
            access_count=record.access_count + times,
            last_accessed_at=max(at, record.last_accessed_at or at),
        )
