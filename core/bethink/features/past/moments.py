"""Moments of a store: named, found by entry or time, and read like the present.

A moment is a position in the journal, so no clock decides the order. A time means the last entry,
in the journal's order, made by then. Where the clock once stepped back, every entry before belongs
to the moment, even an entry with a later date.
"""

from __future__ import annotations

from datetime import date
from typing import Final

from ...errors import NotFoundError, ValidationError
from ...memory.engine import Engine
from ...model import fields
from ...model.port import LogQuery, Moment, entry_at
from ...model.records import LogEntry, Snapshot, When
from ...storage import PastBackend, refuse_compacted
from .index import PastIndex

_TIMES: Final = "a time is an ISO text, such as '2026-11-24T10:00Z'"

MAX_MOMENTS: Final = 2
"""Number of moments whose index is kept after a recall."""


class Moments:
    """The moments of the store behind *engine*."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._indexes: dict[int, PastIndex] = {}
        self._checked = engine.backend.head(), engine.backend.breaks
        self._embedder = engine.embedder

    def find(self, when: When) -> Moment:
        """Return the moment of *when*; raise ``NotFoundError`` for an unknown snapshot."""
        moment = self._find(when)
        refuse_compacted(self._engine.backend.journal_reader, moment.seq)
        return moment

    def _find(self, when: When) -> Moment:
        self._engine.check_open()
        backend = self._engine.backend
        if isinstance(when, Snapshot | LogEntry):
            when = when.name if isinstance(when, Snapshot) else when.seq
        when = fields.unboxed(when)
        if isinstance(when, str):
            name = fields.label("a snapshot's name", when)
            for snapshot in backend.journal_reader.snapshots():
                if snapshot.name == name:
                    return Moment(snapshot.seq, snapshot.at)
            if name[0] == "#" and name[1:].isdecimal():
                return self._find(int(name[1:]))
            if fields.iso_seconds(name) is None:
                raise NotFoundError("snapshot", name, _TIMES)
        elif isinstance(when, int) and not isinstance(when, bool):
            head = backend.head()
            if not 0 <= when <= head:
                raise ValidationError(
                    f"the journal ends at entry {head}; {fields.describe(when)} is none of its "
                    "entries (a time is given as a float, a datetime or an ISO text)"
                )
            cut = backend.journal_reader.cut()
            if cut is not None and cut.seq == when:
                return cut
            last = backend.log(LogQuery(1, until=when))  # entries of other tenants are hidden
            return Moment(when, last[0].at if last else 0.0)
        elif not isinstance(when, float | date):
            raise ValidationError(
                "a moment must be a snapshot's name, the number of a journal entry or a time (a "
                f"float, an aware datetime, a date or an ISO text), not {type(when).__name__}"
            )
        elif isinstance(when, float) and self._is_entry_number(when):
            raise ValidationError(
                f"{when} is a time before the first entry; {int(when)} is the number of an entry"
            )
        time = fields.timestamp("a moment", when)
        return Moment(backend.journal_reader.seq_at(time), time)

    def _is_entry_number(self, time: float) -> bool:
        """Tell whether *time* counts entries rather than seconds."""
        backend = self._engine.backend
        if not 1 <= time <= backend.head() or not time.is_integer():
            return False
        cut = backend.journal_reader.cut()
        first = cut or entry_at(backend, 1)
        return first is not None and time < first.at

    def engine(self, moment: Moment) -> Engine:
        """Return an engine that reads the store at *moment*, and never writes."""
        present = self._engine
        present.check_embedder(present.backend.setting("embedder"))
        self._drop_stale_indexes()
        with present.index.lock:
            index = self._indexes.pop(moment.seq, None)
            if index is None:
                past = PastBackend(present.backend, present.embed, moment.seq)
                index = PastIndex(past, present.dimension, present.index)
            self._indexes[moment.seq] = index
            gone = [self._indexes.pop(seq) for seq in list(self._indexes)[:-MAX_MOMENTS]]
            present.index.drop_moments(gone)
        at, embedder, new_id = moment.at, present.embedder, present.new_id
        return Engine(index.backend, embedder, lambda: at, new_id, index=index, present=present)

    def _drop_stale_indexes(self) -> None:
        """Drop the indexes of all moments after an erasing, a break or a change of the embedder."""
        backend, embedder = self._engine.backend, self._engine.embedder
        (checked, known_breaks), head, breaks = self._checked, backend.head(), backend.breaks
        stale = (
            embedder is not self._embedder
            or breaks != known_breaks
            or (bool(self._indexes) and head != checked and backend.journal_reader.erased(checked))
        )
        with self._engine.index.lock:
            self._checked, self._embedder = (head, breaks), embedder
            if stale:
                self._engine.index.drop_moments(self._indexes.values())
                self._indexes.clear()
