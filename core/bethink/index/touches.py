"""Accesses that are not written yet: a recall only notes them, a later write takes them along.

They are gathered until there are many, or for a minute, because every one of them dirties a page of
the file.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from ..backends import Row
from ..records import MemoryRecord

_set = object.__setattr__  # a copy of the frozen record would cost more than its reading

Pending: TypeAlias = dict[str, tuple[int, float]]

MANY: Final = 128
SECONDS: Final = 60.0


class Touches:
    """Pending accesses by record id: how many times, and when last; safe for threads."""

    def __init__(self) -> None:
        self._pending: Pending = {}
        self._since = 0.0
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._pending)

    def add(self, ids: Iterable[str], at: float) -> None:
        """Note an access *at* of each record."""
        with self._lock:
            if not self._pending:
                self._since = at
            for id in ids:
                earlier, last = self._pending.get(id, (0, at))
                self._pending[id] = (earlier + 1, max(last, at))

    def items(self) -> Pending:
        """Return everything pending."""
        with self._lock:
            return dict(self._pending)

    def take(self, now: float | None = None) -> Pending:
        """Remove and return everything pending; with a time only if it is due by then."""
        with self._lock:
            early = now is not None and self._since <= now < self._since + SECONDS
            if early and len(self._pending) < MANY:
                return {}
            taken, self._pending = self._pending, {}
        return taken

    def put_back(self, taken: Pending) -> None:
        """Note again what could not be written."""
        with self._lock:
            for id, (times, at) in taken.items():
                since, last = self._pending.get(id, (0, at))
                self._pending[id] = (times + since, max(last, at))

    def counted(self, row: Row) -> Row:
        """Return a row that has changed with its pending accesses counted in."""
        if row.record.id not in self._pending:
            return row
        return replace(row, record=self.count(replace(row.record)))

    def count(self, record: MemoryRecord) -> MemoryRecord:
        """Count its pending accesses into *record*, which nobody else may hold yet; return it."""
        pending = self._pending.get(record.id)
        if pending is not None and record.state == "live":
            times, at = pending
            _set(record, "access_count", record.access_count + times)
            _set(record, "last_accessed_at", max(at, record.last_accessed_at or at))
        return record
