"""Moments of a store: named, found by entry or time, and read like the present."""

from __future__ import annotations

from datetime import datetime
from typing import Final, TypeAlias

from ...errors import NotFoundError, ValidationError
from ...index import ResidentIndex
from ...model import fields
from ...model.records import LogEntry, Snapshot
from ...model.replay import Moment
from ...storage import PastBackend
from ..engine import Engine

When: TypeAlias = str | int | float | datetime | Snapshot | LogEntry
"""A snapshot or its name, a journal entry or its number, or a time (float or aware datetime)."""

REMEMBERED: Final = 2
"""Number of moments whose index is kept after a recall."""


class Moments:
    """The moments of the store behind *engine*."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._indexes: dict[int, tuple[PastBackend, ResidentIndex]] = {}
        self._seen = engine.backend.head()

    def take(self, name: str) -> Snapshot:
        """Name the present, after writing pending accesses."""
        with self._engine.writing(closing=True) as transaction:
            return transaction.snapshot(name)

    def all(self) -> list[Snapshot]:
        """Return the named moments, oldest first."""
        self._engine.check_open()
        return self._engine.backend.journal_reader.snapshots()

    def now(self) -> Moment:
        """Return the present as a moment."""
        self._engine.check_open()
        return Moment(self._engine.backend.head(), self._engine.clock())

    def find(self, when: When) -> Moment:
        """Return the moment of *when*; raise ``NotFoundError`` for an unknown snapshot."""
        self._engine.check_open()
        if isinstance(when, Snapshot | LogEntry):
            return self.find(when.name if isinstance(when, Snapshot) else when.seq)
        if isinstance(when, str):
            return self._named(when)
        if isinstance(when, int) and not isinstance(when, bool):
            return self._numbered(when)
        if not isinstance(when, float | datetime):
            raise ValidationError(
                "a moment must be a snapshot's name, the number of a journal entry or a time "
                f"(a float or an aware datetime), not {type(when).__name__}"
            )
        time = fields.timestamp("a moment", when)
        return Moment(self._engine.backend.journal_reader.seq_at(time), time)

    def _named(self, name: str) -> Moment:
        fields.label("a snapshot's name", name)
        for snapshot in self._engine.backend.journal_reader.snapshots():
            if snapshot.name == name:
                return Moment(snapshot.seq, snapshot.at)
        raise NotFoundError("snapshot", name)

    def _numbered(self, seq: int) -> Moment:
        head = self._engine.backend.head()
        if not 0 <= seq <= head:
            raise ValidationError(
                f"the journal ends at entry {head}; {seq} is none of its entries "
                "(a time is given as a float or a datetime)"
            )
        entry = self._engine.backend.journal_reader.entry(seq)
        return Moment(seq, 0.0 if entry is None else entry.at)

    def engine(self, moment: Moment) -> Engine:
        """Return an engine that reads the store at *moment*, and never writes."""
        with self._engine.index.lock:
            self._forget_what_was_erased()
            found = self._indexes.pop(moment.seq, None)
            if found is None:
                backend = PastBackend(self._engine.backend, self._engine.embed, moment.seq)
                found = backend, ResidentIndex(backend, self._engine.dimension)
            self._indexes[moment.seq] = found
            for seq in list(self._indexes)[:-REMEMBERED]:
                del self._indexes[seq]
        backend, index = found
        index.lock = self._engine.index.lock  # one for all: a fork takes no second one
        present = self._engine
        at, embedder, new_id = moment.at, present.embedder, present.new_id
        return Engine(backend, embedder, lambda: at, new_id, index=index, present=present)

    def _forget_what_was_erased(self) -> None:
        backend = self._engine.backend
        seen, self._seen = self._seen, backend.head()
        if self._indexes and seen != self._seen and backend.journal_reader.erased(seen):
            self._indexes.clear()
