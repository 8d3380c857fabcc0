"""Storage is a port: a durable, transactional, ordered log beside a table of current records.

The index and the ranking are the same for every backend. A backend keeps records, their vectors and
the journal, and changes them together or not at all.

Every record has a *row*: the number of its current indexed form. Rows only grow. A change of what
is indexed (text, author, thread, time, namespace, vectors) gives the record a new row, and so does
its coming back to life; the old row is dead for ever. That makes rows safe to cache and the cache
cheap to catch up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..model.filters import Filter
from ..model.namespaces import Scope
from ..model.records import LIVE, LogEntry, MemoryRecord, Problem, Snapshot, State

Vector = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

EMBEDDED = ""
"""The vector name under which the store's own embedder writes."""

DIMENSION: Final = f"dimension:{EMBEDDED}"
"""The fact that tells how long the vectors of the store's own embedder are."""

SHORTEST_KEY: Final = 16
"""So many bytes an integrity key has at least."""

SEGMENT_FORMAT: Final = 8
"""Raised when segments change: in layout, or in how text becomes terms. Others are not loaded."""


@dataclass(slots=True)  # frozen, it would take three times as long to make
class Row:
    """A live record with its row, its place in insertion order and its vectors by name."""

    row: int
    ordinal: int
    record: MemoryRecord
    vectors: Mapping[str, Vector]


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened from journal position *base* (exclusive) to *head*.

    ``rows`` are all rows that changed; those of them that still live come with their data in
    ``live``. ``namespaces`` are those that changed, None if unknown; ``erased`` those that a record
    was ever in that was erased: what was made from their texts must be made anew.
    """

    base: int
    head: int
    rows: frozenset[int]
    live: tuple[Row, ...]
    namespaces: frozenset[str] | None = None
    erased: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Segment:
    """A sealed piece of a namespace's index as bytes.

    It holds ``count`` live rows from ``first`` to ``last`` as they were at ``head``; ``replaces``
    names the saved segments that this one makes superfluous.
    """

    namespace: str
    first: int
    last: int
    count: int
    head: int
    data: bytes | memoryview
    number: int = 0
    replaces: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Loading:
    """What a scope's index starts from, at journal position ``head``.

    Saved segments; the rows still ``alive`` of each namespace that lost some of its segments' rows;
    rows that ``changed`` since; and the ``loose`` rows that are in no segment.
    """

    head: int
    segments: tuple[Segment, ...]
    alive: Mapping[str, frozenset[int]]
    loose: tuple[Row, ...]
    changed: tuple[Row, ...]


class Writer(Protocol):
    """One open write transaction; it sees its own writes.

    Whoever changes a record appends its journal entry next: with a key, that vouches for it.
    """

    def head(self) -> int:
        """Return the last journal position."""

    def find(self, ids: Sequence[str]) -> dict[str, tuple[int, MemoryRecord]]:
        """Return ``{id: (row, record)}`` of the records among *ids* that exist, in any state."""

    def by_key(self, namespace: str, key: str) -> tuple[int, MemoryRecord] | None:
        """Return the live record that holds *key*."""

    def span(
        self, namespace: str, low: str, high: str, now: float, *, last: bool = False
    ) -> list[tuple[int, MemoryRecord]]:
        """Return the rows and records that ``Backend.span`` would return."""

    def matching(
        self, scope: Scope, where: Filter | None, states: Collection[State] = LIVE
    ) -> list[tuple[int, MemoryRecord]]:
        """Return the records in *scope* in one of *states* that pass *where*, with their rows.

        Oldest first.
        """

    def added(self, namespace: str, since: int) -> list[Row]:
        """Return the live rows of *namespace* made since journal position *since*, ascending.

        Uncommitted ones are among them.
        """

    def dimension(self, name: str, wanted: int) -> int:
        """Return the dimension of the vectors *name*; it becomes *wanted* if nothing has any."""

    def insert(self, record: MemoryRecord, vectors: Mapping[str, Vector]) -> Row:
        """Add a record."""

    def insert_all(
        self, records: Sequence[MemoryRecord], vectors: Iterable[Mapping[str, Vector]], at: float
    ) -> list[Row]:
        """Add records, each with its vectors and its journal entry."""

    def patch(self, row: int, record: MemoryRecord) -> None:
        """Change fields that are not indexed, keeping the row."""

    def replace(self, row: int, record: MemoryRecord, vectors: Mapping[str, Vector]) -> Row:
        """Change indexed fields: the record moves to a new row.

        Vectors that are not given are kept.
        """

    def erase(self, row: int, tombstone: MemoryRecord) -> frozenset[str]:
        """Leave *tombstone* of the record in *row*, whatever its state, and nothing else.

        Its vectors go, salt and changes of its journal entries so far, and every saved segment that
        may hold a word of it. Return the namespaces it was ever in. ``Backend.scrub`` does the
        rest.
        """

    def embed(self, row: int, vector: Vector) -> None:
        """Give the record in *row*, which is not live, another vector of the store's embedder.

        To be followed by a ``patch`` of it.
        """

    def discard(self) -> frozenset[str]:
        """Remove every saved segment and what belongs to no record; return their namespaces."""

    def mend_indexes(self) -> bool:
        """Make again what finds records and entries faster; tell whether any of it was damaged."""

    def touch(self, accesses: Mapping[str, tuple[int, float]]) -> list[int]:
        """Add accesses ``{id: (how many, when last)}`` to live records; return their rows."""

    def linked(self, source: str, kind: str, target: str) -> bool:
        """Tell whether the link holds."""

    def link(self, source: str, kind: str, target: str, *, holds: bool) -> None:
        """Have the link hold from the next journal entry on, or no longer.

        Erasing either end takes it out of the past, too, and out of its entries.
        """

    def journal(
        self,
        action: str,
        at: float,
        record: MemoryRecord | None,
        was: int | None,
        row: int | None,
        changes: Mapping[str, object] | None,
    ) -> None:
        """Append one entry; *was* is the row before, *row* the row after.

        With *changes* None it tells nothing, like one whose changes were erased.

        The entry of a touch has neither; it lists the rows under ``changes["rows"]``. Nor has that
        of a snapshot, or of a link: it leaves *record*, whose link it is, as it was.
        """

    def snapshot(self, name: str, at: float) -> None:
        """Name the last journal position, *at* this time; refuse a name that is taken."""

    def fact(self, name: str) -> str | None:
        """Return a noted fact."""

    def set(self, name: str, value: str) -> None:
        """Note a fact about the store, such as its embedder's identity."""


class Backend(Protocol):
    """Where a store's memories live. Safe for threads, processes and forks."""

    location: str

    @property
    def journal_reader(self) -> JournalReader:
        """The journal, to be asked about any moment."""

    def write(self) -> AbstractContextManager[Writer]:
        """Open the one write transaction: committed at the end, rolled back on any exception."""

    def head(self) -> int:
        """Return the last committed journal position; cheap enough to ask before every recall."""

    def fact(self, name: str) -> str | None:
        """Return a fact noted with ``Writer.set``."""

    def get(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return the records among *ids* that exist, in any state."""

    def by_row(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Return the records whose current row is among *rows*."""

    def by_key(self, namespace: str, key: str) -> MemoryRecord | None:
        """Return the live record that holds *key* in *namespace*."""

    def span(
        self, namespace: str, low: str, high: str, now: float, *, last: bool = False
    ) -> list[MemoryRecord]:
        """Return the live records whose keys lie from *low* to before *high*, in order of keys.

        Without those that have expired by *now*; with *last* only the last one. It costs what is
        returned, however many records there are.
        """

    def select(
        self,
        scope: Scope,
        where: Filter | None,
        limit: int | None,
        offset: int,
        newest_first: bool,
        now: float | None = None,
        by_row: bool = False,
        state: State = "live",
    ) -> list[MemoryRecord]:
        """Return records of a *state* in insertion order, without what has expired by *now*.

        With *by_row* they come in the order in which they got their rows.
        """

    def matching(self, scope: Scope, where: Filter) -> Rows:
        """Return the rows of the live records in *scope* that pass *where*, ascending."""

    def count(self, scope: Scope, where: Filter | None, now: float | None = None) -> int:
        """Count live records, without those that have expired by *now*."""

    def namespaces(self, scope: Scope, now: float | None = None) -> dict[str, int]:
        """Return ``{namespace: live records}``, sorted by name, without what expired by *now*."""

    def changes(self, since: int, scopes: Sequence[Scope]) -> Changes:
        """Return what happened after *since*, with the data of live rows in *scopes*."""

    def load(
        self, scope: Scope, loose: int | None = None, held: Mapping[int, Row] = MappingProxyType({})
    ) -> Loading:
        """Read everything an index of *scope* needs, at one consistent journal position.

        With a number, read only so many of the first loose rows, and only the small segments at the
        end once they hold about as many rows together. Of the loose rows, those *held* as they were
        written are then taken from there if they have not changed since.
        """

    def vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* of *rows*; rows without one are absent."""

    def dimension(self, name: str) -> int | None:
        """Return the dimension of the vectors called *name*, None if there are none."""

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the current row of the records among *ids* that exist."""

    def save(self, segments: Iterable[Segment]) -> list[int | None]:
        """Keep segments for a faster start.

        Return their numbers, None for one that came too late and for those after it. What is true
        at a ``head`` before the last erasing comes too late: it may hold erased words.
        """

    def inspect(self) -> AbstractContextManager[Inspection]:
        """Open all that there is now to be checked, for however long that takes."""

    def scrub(self) -> None:
        """Remove every byte of what was erased from wherever the backend keeps it.

        Raise ``StoreBusyError`` if others hold on to it for too long; calling again goes on. So
        does opening, for an erasing that was cut short.
        """

    def log(
        self, limit: int | None, id: str | None, scope: Scope | None, since: int
    ) -> list[LogEntry]:
        """Return journal entries, newest first."""

    def sleep(self) -> None:
        """Let what is being done end, let go of everything and hold still, for a fork."""

    def resume(self, *, in_child: bool) -> None:
        """Go on after ``sleep``, in the parent or in the child."""

    def close(self) -> None:
        """Release every resource; closing twice is fine."""


class Current(NamedTuple):
    """A record as it is, its row and ordinal, and the journal position of its last change."""

    row: int
    ordinal: int
    revision: int
    record: MemoryRecord

    @property
    def current(self) -> Current:
        """Itself: where nothing has changed since, a record is what it was."""
        return self


class Entry(NamedTuple):
    """A journal entry as it is kept; it took its record from row ``was`` to ``row``.

    ``row`` is None where it changed no record's fields. ``changes`` are None once they have been
    erased. ``whole`` is all of the record, where the entry tells that, too.
    """

    seq: int
    at: float
    action: str
    id: str | None
    namespace: str | None
    was: int | None
    row: int | None
    changes: Mapping[str, Any] | None
    whole: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class RecordHistory:
    """What is told of a record up to a moment.

    ``told`` are its entries, oldest first, beginning with one that tells all of it. ``accessed`` is
    what the last journaled touch left: ``(seq, how many, when last)``.
    """

    current: Current
    told: tuple[Entry, ...]
    accessed: tuple[int, int, float] | None


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a *kind* from one record to another, made by entry ``seq`` at the time ``at``."""

    source: str
    kind: str
    target: str
    seq: int
    at: float


class FullScan(Protocol):
    """All that a backend holds at one moment, read piece by piece; writers go on meanwhile."""

    def head(self) -> int:
        """Return the last journal position."""

    def records(self) -> Iterator[Row]:
        """Yield every record, in any state, in order of insertion."""

    def entries(self) -> Iterator[tuple[Entry, Mapping[str, Vector]]]:
        """Yield the journal, oldest first, with the named vectors that each entry gave.

        As far as they are still there.
        """

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots in the order in which they were taken."""


class JournalReader(Protocol):
    """The journal of a backend, to be asked about any moment. *seq* is always the moment."""

    def seq_at(self, time: float) -> int:
        """Return the position of the last entry, in the journal's order, made at *time* or before.

        0 if there is none.
        """

    def entry(self, seq: int) -> LogEntry | None:
        """Return entry number *seq*, None if there is none."""

    def erased(self, since: int) -> bool:
        """Tell whether anything was erased by an entry after *since*."""

    def current(self, ids: Sequence[str]) -> list[Current]:
        """Return those of the records that exist, in any state."""

    def ids_of_rows(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the id of the record that each of *rows* was made for."""

    def key_holders(self, namespace: str, key: str, seq: int) -> list[Current]:
        """Return every record that holds or ever held *key* in *namespace*, in any state.

        Only those that existed at *seq*.
        """

    def candidates(self, scope: Scope, seq: int, since: int | None = None) -> list[Current]:
        """Return all records that may have been live in *scope* then, and perhaps some others.

        With *since*, return those that changed after it and existed at *seq*, in any state.
        """

    def expiring(self, scope: Scope, after: float, until: float) -> list[Current]:
        """Return the records live now in *scope* whose time of expiry lies in that span."""

    def histories(self, records: Sequence[Current], seq: int) -> list[RecordHistory]:
        """Return what is told of *records*, all of which existed then."""

    def former_vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* that records had in *rows*, where they had one.

        A row may be one that its record has left since.
        """

    def vector_names(self, row: int) -> list[str]:
        """Return the names of the vectors that a record has and got with *row*.

        It may be in another row by now.
        """

    def had_vector(self, name: str, seq: int) -> bool:
        """Tell whether a vector called *name*, one of those that are left, was there by then."""

    def links(self, ids: Sequence[str], seq: int) -> list[Link]:
        """Return the links from and to any of the records that held then, oldest first."""

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots in the order in which they were taken."""

    def full_scan(self) -> AbstractContextManager[FullScan]:
        """Open all that there is now to be read, for however long that takes."""


Place = tuple[str, str, str | None]
"""A record's id, and a namespace and key that it had."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a journaled touch left of a record, and what its entry tells: how often, and when last.

    ``told`` is None if there is no such entry.
    """

    seq: int
    count: int
    last: float
    told: tuple[int, float] | None


@dataclass(frozen=True, slots=True)
class RecordTrace:
    """A record, None if it cannot be read, and all that the journal tells of it, oldest first."""

    id: str
    row: int
    ordinal: int
    revision: int
    record: MemoryRecord | None
    steps: tuple[Entry, ...]
    accesses: tuple[Access, ...]


class Inspection(Protocol):
    """Everything of a backend at one moment, to be checked; writers go on meanwhile."""

    def damage(self, told: Callable[[], int | None] = lambda: None) -> Iterator[Problem]:
        """Yield what can be found wrong without knowing what records and entries mean.

        Where the embedder's vectors are not as long as the fact ``DIMENSION`` says, *told* tells
        what the embedder says, None if that is unknown.
        """

    def usual_length(self, name: str) -> int | None:
        """Return how long most of the vectors called *name* are, None if there are none."""

    def traces(self) -> Iterator[RecordTrace]:
        """Yield every record, in any state, with its story."""

    def moves(self) -> Counter[Place]:
        """Return how often each record is noted to have left each place."""
