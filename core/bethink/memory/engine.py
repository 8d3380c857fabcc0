"""What the verbs work with: a backend, the index beside it, an embedder, a clock.

And the way of a write.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ..embedders import Embedder, Matrix, checked_rows
from ..errors import CorruptStoreError, EmbedderMismatchError, NotAnchoredError, StoreClosedError
from ..index import MAX_RESIDENT, ResidentIndex
from ..model.fields import identifier, integer, number
from ..model.filters import Filter, sees_accesses
from ..model.ids import IdFactory
from ..model.port import DIMENSION, EMBEDDED, Backend, Changes, Row, Vector, Writer
from ..model.records import MemoryRecord, Snapshot, embedded_text

_WHOSE: Final = "it is not known which embedder made its vectors: the fact 'embedder' is missing"
_INDEXED: Final = frozenset(("content", "author", "thread", "occurred_at", "namespace"))
_SAID: Final = frozenset(("content", "value", "key", "namespace", "state"))


@dataclass
class Transaction:
    """One write: every method is a mutation with its journal entry; all commit together."""

    writer: Writer
    now: float
    base: int
    rows: set[int] = field(default_factory=set)
    live: dict[int, Row] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=set)
    erased: set[str] = field(default_factory=set)
    keys: set[tuple[str, str]] = field(default_factory=set)
    """With their namespaces, under which something else is said now, or by another record."""

    def add(
        self, record: MemoryRecord, vectors: Mapping[str, Vector], changes: Mapping[str, Any]
    ) -> None:
        """Insert a new record."""
        row = self.writer.insert(record, vectors)
        self._note_key(record)
        if record.state == "live":
            self._note(row)
        self.writer.journal("store", self.now, record, None, row.row, changes)

    def add_all(
        self, records: Sequence[MemoryRecord], vectors: Iterable[Mapping[str, Vector]]
    ) -> None:
        """Insert new live records."""
        rows = self.writer.insert_all(records, vectors, self.now)
        self.live.update((row.row, row) for row in rows)
        self.rows.update(row.row for row in rows)
        self.namespaces.update(record.namespace for record in records)

    def change(
        self,
        row: int,
        before: MemoryRecord,
        after: MemoryRecord,
        vectors: Mapping[str, Vector],
        action: str,
        changes: Mapping[str, Any],
        *,
        anew: bool = False,
    ) -> None:
        """Change the fields named in *changes*; *after* may be in another state than *before*.

        A live record moves to a new row if anything indexed changes, if it was not live before, and
        if it is to be *anew*. Vectors that are not given are kept.
        """
        if not _SAID.isdisjoint(changes):
            self._note_key(before)
            self._note_key(after)
        moves = anew or before.state != "live" or vectors or not _INDEXED.isdisjoint(changes)
        if moves and after.state == "live":
            left = self.writer.replace(row, after, vectors)
        else:
            self.writer.patch(row, after)
            earlier = self.live.get(row)
            left = Row(
                row, earlier.ordinal if earlier else row, after, earlier.vectors if earlier else {}
            )
        self._drop(row, before.namespace)
        if after.state == "live":
            self._note(left)
        self.writer.journal(action, self.now, after, row, left.row, changes)

    def erase(self, row: int, tombstone: MemoryRecord, changes: Mapping[str, Any]) -> None:
        """Leave nothing of a record but its *tombstone*."""
        self.erased |= self.writer.erase(row, tombstone)
        self._drop(row, tombstone.namespace)
        self.writer.journal("erase", self.now, tombstone, row, row, changes)

    def link(
        self,
        source: MemoryRecord,
        kind: str,
        target: str,
        *,
        holds: bool,
        undoes: int | None = None,
    ) -> None:
        """Link a record to another, or take the link back; the records stay as they are."""
        self.writer.link(source.id, kind, target, holds=holds)
        changes = {"kind": kind, "target": target, **({} if undoes is None else {"undoes": undoes})}
        action = "relate" if holds else "unrelate"
        self.writer.journal(action, self.now, source, None, None, changes)

    def touch(self, accesses: Mapping[str, tuple[int, float]]) -> None:
        """Write accesses ``{id: (how many, when last)}``."""
        rows = self.writer.touch(accesses) if accesses else []
        if rows:
            self.writer.journal(
                "touch", self.now, None, None, None, {"rows": rows, "accesses": accesses}
            )

    def snapshot(self, name: str) -> Snapshot:
        """Name the moment before this entry; a name that is taken is refused."""
        taken = Snapshot(name, self.writer.head(), self.now)
        self.writer.snapshot(name, self.now)
        self.writer.journal("snapshot", self.now, None, None, None, {"name": name})
        return taken

    def changes(self) -> Changes:
        """Return what was done, for the index."""
        live, namespaces = tuple(self.live.values()), frozenset(self.namespaces)
        rows, erased = frozenset(self.rows), frozenset(self.erased)
        return Changes(self.base, self.writer.head(), rows, live, namespaces, erased)

    def _note(self, row: Row) -> None:
        self.rows.add(row.row)
        self.live[row.row] = row
        self.namespaces.add(row.record.namespace)

    def _note_key(self, record: MemoryRecord) -> None:
        if record.key is not None:
            self.keys.add((record.namespace, record.key))

    def _drop(self, row: int, namespace: str) -> None:
        self.rows.add(row)
        self.live.pop(row, None)
        self.namespaces.add(namespace)


class Engine:
    """The parts of one open store."""

    def __init__(
        self,
        backend: Backend,
        embedder: Embedder,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        max_resident: int | None = MAX_RESIDENT,
        guards: Sequence[Callable[[Transaction], None]] = (),
        *,
        index: ResidentIndex | None = None,
        is_closed: Callable[[], bool] | None = None,
    ) -> None:
        self.guards = guards
        """Checks of a transaction before its commit; a check raises to refuse the transaction."""
        self.backend = backend
        self.embedder = embedder
        self.clock: Callable[[], float] = lambda: _read(clock)
        self.new_id: Callable[[], str] = (
            new_id if isinstance(new_id, IdFactory) else lambda: identifier("a new id", new_id())
        )
        self.index = index or ResidentIndex(backend, self.dimension, max_resident)
        self._dimension: int | None = None
        self._bound = backend.fact("embedder") is not None
        self._closed = False
        self.is_closed: Callable[[], bool] = is_closed or (lambda: self._closed)
        self._closing = threading.Lock()

    def new_ids(self, count: int) -> Callable[[], str]:
        """Return what gives *count* new ids, one at a call; the store's own are made at once."""
        make = self.new_id
        return iter(make.many(count)).__next__ if isinstance(make, IdFactory) else make

    def dimension(self) -> int:
        """Return the dimension of the embedder's vectors, as the file knows it if it does."""
        if self._dimension is None:
            stored = self.backend.dimension(EMBEDDED)
            if stored is None:
                return self._told_dimension()
            if not self._bound and self.backend.fact("embedder") is None:  # noted with that
                raise CorruptStoreError(self.backend.location, _WHOSE)
            self._dimension = stored
        return self._dimension

    def known_dimension(self) -> int | None:
        """Return what the embedder says of its vectors, None if it cannot or is not the file's."""
        try:
            own = self.backend.fact("embedder") == self.embedder.name
            return self._told_dimension() if own else None
        except Exception:  # whatever a model or a service behind it raises
            return None

    def note_dimension(self, dimension: int) -> None:
        """Note how long the embedder's vectors are, where the file tells it wrongly."""
        with self.writing() as transaction:
            transaction.writer.set(DIMENSION, str(dimension))
        self._dimension = dimension

    @contextmanager
    def writing(self, *, closing: bool = False, guarded: bool = True) -> Iterator[Transaction]:
        """Open a transaction, first of all for accesses that are due (all when *closing*).

        The ``guards`` may refuse a *guarded* transaction before the commit. After the commit the
        index takes the changes in.
        """
        self.check_open()
        touches = {}
        try:
            with self.backend.write() as writer:
                bound = self._bind(writer)
                transaction = Transaction(writer, self.clock(), writer.head())
                due = None if closing else transaction.now
                touches = self.index.touches.take(transaction.base, due)
                transaction.touch(touches)
                yield transaction
                if guarded:
                    for check in self.guards:
                        check(transaction)
                changes = transaction.changes()
        except NotAnchoredError:  # but written
            self.index.touches.written(touches)
            raise
        except BaseException:
            self.index.touches.put_back(touches)
            raise
        self._bound = bound
        self.index.touches.written(touches)
        self.index.apply(changes)

    def embed(self, records: Sequence[MemoryRecord]) -> list[Vector]:
        """Return one vector for each record; a record without content gets zeros."""
        wanted = [embedded_text(record) for record in records if record.content]
        vectors = iter(self.vectors(wanted) if wanted else ())
        absent = np.zeros(self.dimension(), np.float32)
        return [next(vectors) if record.content else absent for record in records]

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """Return the embedder's vectors of *texts*, refusing what it should not have returned."""
        if not self._bound:
            self._check_embedder(self.backend.fact("embedder"))
        return checked_rows(self.embedder.embed(texts), len(texts), self.dimension())

    def current(self, record: MemoryRecord) -> MemoryRecord:
        """Return *record*, fresh from the backend, with the accesses that are not written yet."""
        return self.index.touches.count(record)

    def all_current(self, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Return what ``current`` does of each of *records*."""
        return list(map(self.current, records) if self.index.touches else records)

    def settle(self, where: Filter | None) -> None:
        """Write pending accesses that *where* asks about."""
        self.check_open()
        if sees_accesses(where):
            self.flush()

    def flush(self) -> None:
        """Write all pending accesses."""
        if self.index.touches:
            with self.writing(closing=True):
                pass

    def check_open(self) -> None:
        """Raise ``StoreClosedError`` once the store is closed."""
        if self.is_closed():
            raise StoreClosedError

    def before_fork(self) -> None:
        """Come to rest and hold still."""
        self.index.lock.acquire()
        self.backend.sleep()

    def after_fork(self, *, in_child: bool) -> None:
        """Go on; the accesses that wait to be written are the parent's to write."""
        self.backend.resume(in_child=in_child)
        if in_child:
            self.index.start_anew()
            self._closing = threading.Lock()
        else:
            self.index.lock.release()

    def close(self) -> None:
        """Write what is pending, keep the index for the next start, release the backend."""
        with self._closing:
            if self._closed:
                return
            try:
                self.flush()
                self.index.save(closing=True)
            finally:
                self._closed = True
                self.backend.close()

    def _bind(self, writer: Writer) -> bool:
        """Note the embedder on the first write; refuse to mix two. Tell whether it is noted."""
        if self._bound:
            return True
        stored = writer.fact("embedder")
        self._check_embedder(stored)
        if stored is None and writer.fact(DIMENSION) is not None:  # it was lost
            return False
        writer.set("embedder", self.embedder.name)
        writer.dimension(EMBEDDED, self._told_dimension())
        return True

    def _told_dimension(self) -> int:
        """Return what the embedder says of its vectors, where the file does not know it yet."""
        told: object = self.embedder.dimension
        told = int(told) if isinstance(told, np.integer) else told
        return integer("the embedder's dimension", told, 1)

    def _check_embedder(self, stored: str | None) -> None:
        if stored is not None and stored != self.embedder.name:
            raise EmbedderMismatchError(stored, self.embedder.name)


def _read(clock: Callable[[], float]) -> float:
    """Return what *clock* tells, as it will be stored."""
    told = clock()
    told = float(told) if isinstance(told, np.number) else told
    return number("what the clock tells", told, -1e12, 1e12, "Unix seconds")
