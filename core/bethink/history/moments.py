"""Moments of a store's past: named, found by time, and asked like the present."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal, TypeAlias

from .. import fields, reading
from ..engine import Engine
from ..errors import NotFoundError, ValidationError
from ..filters import parse
from ..index import ResidentIndex
from ..namespaces import EVERYWHERE, Scope, check_namespace, check_scope
from ..records import MemoryRecord, Snapshot
from .fold import Moment
from .past import PastBackend

When: TypeAlias = str | int | float | datetime
"""A snapshot's name, the number of a journal entry, or a time (float seconds or aware datetime)."""

REMEMBERED: Final = 2
"""So many moments keep the index that recall made of them."""


class Moments:
    """The moments of the store behind *engine*."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._indexes: dict[int, tuple[PastBackend, ResidentIndex]] = {}
        self._seen = engine.backend.head()

    def take(self, name: str) -> Snapshot:
        """Name the present; accesses that are not written yet are written first."""
        with self._engine.writing(closing=True) as transaction:
            transaction.writer.snapshot(name, transaction.now)
            return Snapshot(name, transaction.writer.head(), transaction.now)

    def all(self) -> list[Snapshot]:
        """Return the named moments, oldest first."""
        self._engine.check_open()
        return self._engine.backend.chronicle.snapshots()

    def now(self) -> Moment:
        """Return the present as a moment."""
        self._engine.check_open()
        return Moment(self._engine.backend.head(), self._engine.clock())

    def find(self, when: When) -> Moment:
        """Return the moment that *when* means."""
        self._engine.check_open()
        if isinstance(when, str):
            return self._named(when)
        if isinstance(when, int) and not isinstance(when, bool):
            return self._numbered(when)
        time = fields.timestamp("a moment", when)
        return Moment(self._engine.backend.chronicle.seq_at(time), time)

    def _named(self, name: str) -> Moment:
        for snapshot in self._engine.backend.chronicle.snapshots():
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
        entry = self._engine.backend.chronicle.entry(seq)
        return Moment(seq, 0.0 if entry is None else entry.at)

    def engine(self, moment: Moment) -> Engine:
        """Return an engine that reads what the store held at *moment*, and never writes."""
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
        return _PastEngine(self._engine, backend, index, moment.at)

    def _forget_what_was_erased(self) -> None:
        backend = self._engine.backend
        seen, self._seen = self._seen, backend.head()
        if self._indexes and seen != self._seen and backend.chronicle.erased(seen):
            self._indexes.clear()


class _PastEngine(Engine):
    def __init__(
        self, present: Engine, backend: PastBackend, index: ResidentIndex, at: float
    ) -> None:
        super().__init__(backend, present.embedder, lambda: at, present.new_id)
        self.index = index
        self._present = present

    def check_open(self) -> None:
        self._present.check_open()

    def before_fork(self) -> None:
        """Rest with the present."""

    def after_fork(self, *, in_child: bool) -> None:
        """Go on with the present."""


class Past:
    """What a store held right after journal entry ``seq``, at the time ``at``; to be read only.

    Its records are as they were, with the accesses that were written by then.
    """

    def __init__(self, engine: Engine, moment: Moment) -> None:
        self._engine = engine
        self.seq = moment.seq
        self.at = moment.at

    def get(
        self, id: str | None = None, *, namespace: str = "default", key: str | None = None
    ) -> MemoryRecord | None:
        """Return the record with *id*, or the live one that held *key*; None if there was none."""
        if (id is None) == (key is None):
            fields.fail("get needs an id or a key, and not both")
        if key is not None:
            return reading.by_key(
                self._engine, check_namespace(namespace), fields.label("key", key)
            )
        return reading.by_id(self._engine, fields.label("id", id))

    def all(
        self,
        *,
        namespace: Scope = "default",
        where: Mapping[str, object] | None = None,
        limit: int | None = None,
        offset: int = 0,
        order: Literal["oldest", "newest"] = "oldest",
    ) -> list[MemoryRecord]:
        """Return the records of *namespace* that lived and pass *where*, in order of insertion."""
        fields.one_of("order", order, ("oldest", "newest"))
        return reading.listed(
            self._engine,
            check_scope(namespace),
            parse(where),
            fields.limit("limit", limit),
            fields.integer("offset", offset, 0),
            newest_first=order == "newest",
        )

    def count(
        self, *, namespace: Scope = "default", where: Mapping[str, object] | None = None
    ) -> int:
        """Count the records of *namespace* that lived and pass *where*."""
        return reading.count(self._engine, check_scope(namespace), parse(where))

    def namespaces(self, within: Scope = EVERYWHERE) -> dict[str, int]:
        """Return the namespaces that had live records and how many, sorted by name."""
        return reading.namespaces(self._engine, check_scope(within))

    def __repr__(self) -> str:
        return f"Past(seq={self.seq}, at={self.at})"
