"""The parts of an open store, and the transaction of a write."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias
from weakref import WeakSet

import numpy as np

from ..embedders import Embedder, check_rows, stated_dimension
from ..errors import (
    CorruptStoreError,
    EmbedderMismatchError,
    NotAnchoredError,
    ScreenedError,
    SourceError,
    StorageError,
    StoreClosedError,
)
from ..index import MAX_RESIDENT, ResidentIndex
from ..model import fields
from ..model.arrays import Matrix, Vector
from ..model.fields import MAX_TIME, identifier, number
from ..model.filters import Filter, sees_accesses
from ..model.ids import IdFactory
from ..model.port import DIMENSION_SETTING, EMBEDDED, Changes, Place, Row, Stored
from ..model.progress import STEP, Tell
from ..model.records import RECORD_FIELDS, MemoryRecord, State, embedded_text, with_fields
from ..storage import PART, FullBackend, FullWriter

_logger = logging.getLogger(__name__)

_INDEXED: Final = frozenset(name for name, each in RECORD_FIELDS.items() if each.indexed)
_TEXT_FIELDS: Final = frozenset(name for name, each in RECORD_FIELDS.items() if each.keyed)


Screen: TypeAlias = Callable[[MemoryRecord], str | None]
"""Returns the text to store for a new or changed record; None refuses the record."""


@dataclass(slots=True)
class Transaction:
    """One write: each method is a mutation with a journal entry; all commit together."""

    writer: FullWriter
    now: float
    base: int
    rows: set[int] = field(default_factory=set)
    live: dict[int, Row] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=set)
    erased: set[str] = field(default_factory=set)
    source: str | None = None
    """The only source whose records may be written or changed, if not None."""
    outdated: EmbedderMismatchError | None = None
    """Raised for vectors that were made before the store's embedder changed."""
    keys: set[Place] = field(default_factory=set)
    """Namespaces and keys whose text, value or record changed; for the guards."""
    parts: int | None = None
    """From 0 on, the number of entries written so far that one ``undo`` takes back together."""

    def add(
        self, record: MemoryRecord, vectors: Mapping[str, Vector], changes: Mapping[str, Any]
    ) -> None:
        """Insert a new record."""
        self.check_source(record)
        if EMBEDDED in vectors:
            self._check_vectors()
        row = self.writer.insert(record, vectors)
        self._note_key(record)
        if record.state == "live":
            self._note(row)
        self._journal("store", record, None, row.row, changes)

    def add_all(self, new: Sequence[tuple[MemoryRecord, Mapping[str, Vector]]]) -> None:
        """Insert new live records, each with vectors."""
        if not new:
            return
        self._check_vectors()
        records = [record for record, _ in new]
        for record in records:
            self.check_source(record)
            self._note_key(record)
        for row in self.writer.insert_all(records, (vectors for _, vectors in new), self.now):
            self._note(row)

    def change(
        self,
        row: int,
        before: MemoryRecord,
        after: MemoryRecord,
        vectors: Mapping[str, Vector],
        action: str,
        changes: Mapping[str, Any],
        *,
        new_row: bool = False,
    ) -> None:
        """Change the fields named in *changes*; the state may change, too.

        A live record moves to a new row if an indexed field changes, if the record was not live
        before, or with *new_row*. Vectors that are not given are kept.
        """
        self.check_source(before)
        self.check_source(after)
        if EMBEDDED in vectors:
            self._check_vectors()
        if not _TEXT_FIELDS.isdisjoint(changes):
            self._note_key(before)
            self._note_key(after)
        moves = new_row or before.state != "live" or vectors or not _INDEXED.isdisjoint(changes)
        if moves and after.state == "live":
            left = self.writer.replace(row, after, vectors)
        else:
            self.writer.patch(row, after)
            earlier = self.live.get(row) or Row(row, row, before, {})
            left = Row(row, earlier.ordinal, after, earlier.vectors)
        self._drop(row, before.namespace)
        if after.state == "live":
            self._note(left)
        self._journal(action, after, row, left.row, changes)

    def retire(self, found: Sequence[Stored], state: State, action: str) -> None:
        """Give records, with their rows, a *state* that is not live."""
        if self.parts is not None:
            for row, record in found:
                gone = with_fields(record, state=state, updated_at=self.now)
                self.change(row, record, gone, {}, action, {"state": state})
            return
        for row, record in found:
            self.check_source(record)
            self._note_key(record)
            self._drop(row, record.namespace)
        self.writer.retire_all(found, state, self.now, action)

    def erase(
        self, row: int, record: MemoryRecord, tombstone: MemoryRecord, changes: Mapping[str, Any]
    ) -> None:
        """Replace the *record* by a *tombstone*."""
        self.check_source(record)
        self.erased |= self.writer.erase(row, tombstone)
        self._drop(row, tombstone.namespace)
        self.writer.journal("erase", self.now, tombstone, row, row, changes)

    def touch(self, accesses: Mapping[str, tuple[int, float]]) -> None:
        """Write accesses ``{id: (count, time of the last)}``."""
        rows = self.writer.touch(accesses) if accesses else []
        if rows:
            self.writer.journal(
                "touch", self.now, None, None, None, {"rows": rows, "accesses": accesses}
            )

    def changes(self) -> Changes:
        """Return the changes for the index."""
        live, namespaces = tuple(self.live.values()), frozenset(self.namespaces)
        rows, erased = frozenset(self.rows), frozenset(self.erased)
        return Changes(self.base, self.writer.head(), rows, live, namespaces, erased)

    def _journal(
        self,
        action: str,
        record: MemoryRecord,
        was: int | None,
        row: int,
        changes: Mapping[str, Any],
    ) -> None:
        if self.parts is not None:
            changes = {**changes, PART: self.parts} if self.parts else changes
            self.parts += 1
        self.writer.journal(action, self.now, record, was, row, changes)

    def _note(self, row: Row) -> None:
        self.rows.add(row.row)
        self.live[row.row] = row
        self.namespaces.add(row.record.namespace)

    def _note_key(self, record: MemoryRecord) -> None:
        if record.key is not None:
            self.keys.add((record.namespace, record.key))

    def check_source(self, record: MemoryRecord) -> None:
        """Refuse a record of a foreign source."""
        if self.source is not None and record.source != self.source:
            raise SourceError(record.id, record.source, self.source)

    def _check_vectors(self) -> None:
        if self.outdated is not None:
            raise self.outdated

    def _drop(self, row: int, namespace: str) -> None:
        self.rows.add(row)
        self.live.pop(row, None)
        self.namespaces.add(namespace)


class Engine:
    """The parts of one open store."""

    def __init__(
        self,
        backend: FullBackend,
        embedder: Embedder,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        max_resident: int | None = MAX_RESIDENT,
        guards: Sequence[Callable[[Transaction], None]] = (),
        *,
        index: ResidentIndex | None = None,
        present: Engine | None = None,
    ) -> None:
        self.guards = guards
        self.strict_guards: Sequence[Callable[[Transaction], None]] = ()
        """Checks of a transaction before its commit; a check raises to refuse the transaction."""
        self.backend = backend
        self._present = self if present is None else present
        self._embedder = embedder
        self.clock: Callable[[], float] = partial(_read_clock, clock)
        self.new_id: Callable[[], str] = (
            new_id if isinstance(new_id, IdFactory) else lambda: identifier("a new id", new_id())
        )
        self.index = index or ResidentIndex(
            backend, self.dimension, self.check_embedder, max_resident
        )
        self._dimension: int | None = None
        self._bound = backend.setting("embedder") is not None
        self._closed = False
        self._made = threading.local()
        self.source: str | None = None
        self.screen: Screen | None = None
        self._closing = threading.Lock()
        if present is None:
            _open_engines.add(self)

    def admit(self, record: MemoryRecord) -> MemoryRecord:
        """Return *record* as the store takes it: of the engine's source, and screened."""
        if self.source is not None and record.source is None:
            record = with_fields(record, source=self.source)
        if self.screen is not None:
            content = self.screen(record)
            if content is None:
                raise ScreenedError(record.content)
            if content != record.content:
                content = fields.content("what the screen returns", content)
                record = with_fields(record, content=content)
                fields.check_held(record.content, record.value)
        return record

    def new_ids(self, count: int) -> Callable[[], str]:
        """Return a function that returns one of *count* new ids a call."""
        make = self.new_id
        return iter(make.many(count)).__next__ if isinstance(make, IdFactory) else make

    @property
    def embedder(self) -> Embedder:
        """The embedder of the store, also for sources and moments."""
        return self._present._embedder

    def adopt(self, embedder: Embedder) -> None:
        """Use *embedder*, whose vectors the file has from now on."""
        self._present._embedder = embedder
        self._present._dimension = None

    def dimension(self) -> int:
        """Return the length of the embedder's vectors: the file's note, else the embedder's."""
        if self._present._dimension is None:
            stored = self.backend.dimension(EMBEDDED)
            if stored is None:
                return stated_dimension(self.embedder)
            name = self.backend.setting("embedder")
            self.check_embedder(name)
            if not self._bound and name is None:  # noted with that
                reason = "it is not known which embedder made its vectors: the fact 'embedder'"
                raise CorruptStoreError(self.backend.location, f"{reason} is missing")
            self._present._dimension = stored
        return self._present._dimension

    @contextmanager
    def writing(
        self, places: Collection[Place] = (), *, closing: bool = False, guarded: bool = True
    ) -> Iterator[Transaction]:
        """Open a transaction, first of all for accesses that are due (all when *closing*).

        The body may ask for the records at *places* at no cost. The ``guards`` may refuse a
        *guarded* transaction before the commit, and the ``strict_guards`` every transaction. After
        the commit the index takes the changes in.
        """
        self.check_open()
        touches, buffer, start = {}, self.index.touches, time.perf_counter()
        try:
            with self.backend.write(places) as writer:
                bound = self._bind(writer)
                transaction = Transaction(writer, self.clock(), writer.head(), source=self.source)
                transaction.outdated = self._outdated()
                if buffer:
                    touches = buffer.take(transaction.base, None if closing else transaction.now)
                    transaction.touch(touches)
                yield transaction
                for check in (*self.guards, *self.strict_guards) if guarded else self.strict_guards:
                    check(transaction)
                changes = transaction.changes()
        except NotAnchoredError:  # but written
            buffer.written(touches)
            raise
        except BaseException:
            buffer.put_back(touches)
            raise
        self._bound = bound
        if touches:
            buffer.written(touches)
        self.index.apply(changes)
        if entries := changes.head - changes.base:
            _logger.info("wrote %d journal entries in %.4f s", entries, time.perf_counter() - start)

    def embed(self, records: Sequence[MemoryRecord], tell: Tell | None = None) -> list[Vector]:
        """Return one vector for each record; a record without content gets zeros."""
        if tell is not None:
            found: list[Vector] = []
            for start in range(0, len(records), STEP):
                found += self.embed(records[start : start + STEP])
                tell(len(found), len(records))
            return found
        self._made.embedder = self.embedder
        texts = [embedded_text(record) for record in records if record.content]
        vectors = self.vectors(texts) if texts else ()
        if len(texts) == len(records):
            return list(vectors)
        made, absent = iter(vectors), np.zeros(self.dimension(), np.float32)
        return [next(made) if record.content else absent for record in records]

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """Return the embedder's vectors of *texts*, a matrix; refuse wrong shapes and numbers."""
        if not self._bound:
            self.check_embedder(self.backend.setting("embedder"))
        # Before the embedding, which may take so long that the embedder changes meanwhile.
        embedder, dimension = self.embedder, self.dimension()
        return check_rows(embedder.embed(texts), len(texts), dimension)

    def _outdated(self) -> EmbedderMismatchError | None:
        """Return the error of vectors that this thread has made with a former embedder."""
        made_by: Embedder | None = getattr(self._made, "embedder", None)
        if made_by is None or made_by is self.embedder:
            return None
        return EmbedderMismatchError(self.embedder.name, made_by.name)

    def current(self, record: MemoryRecord) -> MemoryRecord:
        """Return *record*, fresh from the backend, with accesses that are not written yet."""
        return self.index.touches.count(record)

    def all_current(self, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Return *records* with accesses that are not written yet."""
        return list(map(self.current, records) if self.index.touches else records)

    def flush_for(self, where: Filter | None) -> None:
        """Write pending accesses if *where* reads accesses."""
        self.check_open()
        if sees_accesses(where):
            self.flush()

    def flush(self) -> None:
        """Write all pending accesses, unless the store is read only."""
        if self.index.touches and not self.backend.read_only:
            with self.writing(closing=True):
                pass

    @property
    def closed(self) -> bool:
        """Whether the store was closed."""
        return self._present._closed

    def check_open(self) -> None:
        """Raise ``StoreClosedError`` once the store is closed."""
        if self.closed:
            raise StoreClosedError

    def before_fork(self) -> None:
        """Finish, release the file and hold the locks."""
        self.index.lock.acquire()
        self.backend.sleep()

    def after_fork(self, *, in_child: bool) -> None:
        """Continue; pending accesses stay with the parent process."""
        self.backend.resume(in_child=in_child)
        if in_child:
            self.index.start_anew()
            self._closing = threading.Lock()
        else:
            self.index.lock.release()

    def close(self) -> None:
        """Write pending accesses, save the index, release the backend."""
        if self._present is not self:
            return
        with self._closing:
            if self._closed:
                return
            try:
                # Another process may have changed the embedder: the last accesses are lost.
                with suppress(EmbedderMismatchError):
                    self.flush()
                    if not self.backend.read_only:
                        self.index.save(closing=True)
            except StorageError as error:
                if not error.is_unreachable:
                    raise
                _logger.warning("the last accesses were lost at close: %s", error)
            finally:
                self._closed = True
                self.backend.close()

    def _bind(self, writer: FullWriter) -> bool:
        """Note the embedder on the first write, later refuse others; return whether noted."""
        stored = writer.setting("embedder")
        self.check_embedder(stored)
        if self._bound:
            return True
        if stored is None and writer.setting(DIMENSION_SETTING) is not None:  # it was lost
            return False
        writer.set_setting("embedder", self.embedder.name)
        writer.dimension(EMBEDDED, stated_dimension(self.embedder))
        return True

    def check_embedder(self, stored: str | None) -> None:
        """Raise an error if the *stored* setting names a different embedder."""
        if stored is not None and stored != self.embedder.name:
            raise EmbedderMismatchError(stored, self.embedder.name)


_open_engines: Final[WeakSet[Engine]] = WeakSet()


@atexit.register
def _close_all() -> None:
    """Close the stores that the program left open, so that no count of accesses is lost."""
    for engine in list(_open_engines):
        with suppress(Exception):  # such as a file that is gone
            engine.close()


def _read_clock(clock: Callable[[], float]) -> float:
    """Return the time of *clock* as a float, checked."""
    now = clock()
    if type(now) is float and -MAX_TIME <= now <= MAX_TIME:
        return now
    return number("what the clock tells", now, -MAX_TIME, MAX_TIME, "Unix seconds")
