"""Accesses that are not written yet: recall counts in memory, a later write stores the counts.

Accesses are gathered up to a number, or for a minute, because each written access dirties a page
of the file.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from ..model.namespaces import EVERYWHERE, Scope, covers
from ..model.port import Changes, Row
from ..model.records import MemoryRecord, with_accesses

Pending: TypeAlias = dict[str, tuple[int, float]]

FLUSH_RECORDS: Final = 128
FLUSH_SECONDS: Final = 60.0


class AccessBuffer:
    """Pending accesses by record id: how many times, and when last; safe for threads."""

    def __init__(self) -> None:
        self._pending: Pending = {}
        self._leaving: list[tuple[int, Pending]] = []
        # By id, of all unwritten and perhaps of others; None if not known.
        self._namespaces: dict[str, str | None] = {}
        self._since = 0.0
        self._lock = threading.RLock()

    def __bool__(self) -> bool:
        return bool(self._pending)

    def add(self, namespaces: Mapping[str, str], at: float) -> None:
        """Note an access *at* of each record of *namespaces*, ``{id: namespace}``."""
        with self._lock:
            if not self._pending:
                self._since = at
                if not self._leaving:
                    self._namespaces.clear()
            _add(self._pending, dict.fromkeys(namespaces, (1, at)))
            self._namespaces.update(namespaces)

    def follow(self, changes: Changes) -> None:
        """Note the namespaces of records that may have moved, None for a place not in *changes*."""
        with self._lock:
            if not self._namespaces:
                return
            if changes.erased is None or len(changes.rows) > len(changes.live):
                for id, name in self._namespaces.items():
                    if changes.erased is None or name in changes.namespaces:
                        self._namespaces[id] = None
            for row in changes.live:
                if row.record.id in self._namespaces:
                    self._namespaces[row.record.id] = row.record.namespace

    def unwritten(self, scope: Scope = EVERYWHERE, head: int = 0) -> Pending:
        """Return accesses that a reader of the journal up to *head* finds unwritten.

        All accesses in *scope* are among them, and perhaps more.
        """
        with self._lock:
            found = dict(self._pending)
            for layer in self._layers(head)[1:]:
                _add(found, layer)
            if scope is EVERYWHERE:
                return found
            places = self._namespaces
            return {
                id: accesses
                for id, accesses in found.items()
                if (place := places[id]) is None or covers(scope, place)
            }

    def take(self, base: int, now: float | None = None) -> Pending:
        """Remove and return all pending accesses; with a time, only if due by then.

        The caller reports the accesses as ``written`` after journal position *base*, or else
        ``put_back``.
        """
        with self._lock:
            early = now is not None and self._since <= now < self._since + FLUSH_SECONDS
            if early and len(self._pending) < FLUSH_RECORDS:
                return {}
            taken, self._pending = self._pending, {}
            self._leaving.append((base, taken))
        return taken

    def written(self, taken: Pending) -> None:
        """Mark the taken accesses as committed."""
        with self._lock:
            self._leaving = [each for each in self._leaving if each[1] is not taken]

    def put_back(self, taken: Pending) -> None:
        """Keep accesses again that could not be written."""
        with self._lock:
            self.written(taken)
            _add(self._pending, taken)

    def counted(self, rows: Iterable[Row], head: int) -> tuple[Row, ...]:
        """Return *rows* with the accesses not written at *head*."""
        with self._lock:
            layers = self._layers(head)
            counts = ((row, _counted(row.record, layers)) for row in rows)
            return tuple(
                row if record is row.record else replace(row, record=record)
                for row, record in counts
            )

    def count(self, record: MemoryRecord) -> MemoryRecord:
        """Return *record* with pending accesses."""
        return _counted(record, (self._pending,))

    def _layers(self, head: int) -> list[Pending]:
        return [self._pending, *(taken for base, taken in self._leaving if base >= head)]


def _add(pending: Pending, more: Pending) -> None:
    for id, (times, at) in more.items():
        earlier, last = pending.get(id, (0, at))
        pending[id] = (earlier + times, max(last, at))


def _counted(record: MemoryRecord, layers: Iterable[Pending]) -> MemoryRecord:
    for pending in layers:
        waiting = pending.get(record.id)
        if waiting is not None and record.state == "live":
            times, at = waiting
            last = max(at, record.last_accessed_at or at)
            record = with_accesses(record, record.access_count + times, last)
    return record
