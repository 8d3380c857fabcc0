"""Storage is a port: a durable, transactional, ordered log beside a table of current records.

The index and the ranking are the same for every backend. A backend keeps records, their vectors and
the journal, and changes them together or not at all.

Every record has a *row*: the number of its current indexed form. Rows only grow. A change of what
is indexed (text, author, thread, time, namespace, vectors) gives the record a new row, and so does
its coming back to life; the old row is dead for ever. That makes rows safe to cache and the cache
cheap to catch up.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from .. import fields
from ..errors import ValidationError
from ..filters import Filter
from ..namespaces import Scope
from ..records import LIVE, LogEntry, MemoryRecord, State
from .anchors import Anchor, FileAnchor

if TYPE_CHECKING:
    from .chronicle import Chronicle
    from .inspection import Inspection

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

    def holder(self, namespace: str, key: str) -> tuple[int, MemoryRecord] | None:
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
    def chronicle(self) -> Chronicle:
        """The journal, to be asked about any moment."""

    def write(self) -> AbstractContextManager[Writer]:
        """Open the one write transaction: committed at the end, rolled back on any exception."""

    def head(self) -> int:
        """Return the last committed journal position; cheap enough to ask before every recall."""

    def fact(self, name: str) -> str | None:
        """Return a fact noted with ``Writer.set``."""

    def get(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return the records among *ids* that exist, in any state."""

    def at(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Return the records whose current row is among *rows*."""

    def holder(self, namespace: str, key: str) -> MemoryRecord | None:
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


def open_backend(
    location: str | os.PathLike[str],
    durability: Literal["full", "normal"] = "full",
    integrity_key: bytes | None = None,
    anchor: str | os.PathLike[str] | Anchor | None = None,
) -> Backend:
    """Open the backend that *location*, a path or a URL, asks for.

    With *integrity_key* what it holds is authenticated, and compared with *anchor*. Raises
    ``ValidationError`` for a location it cannot read, ``StorageError`` for a file that cannot be
    used, ``IntegrityKeyError`` for a file with another key.
    """
    from .sqlite import SQLiteBackend

    if durability not in ("full", "normal"):
        raise ValidationError(f"durability must be 'full' or 'normal', not {durability!r}")
    if not isinstance(location, str | os.PathLike):
        kind = type(location).__name__
        raise ValidationError(f"location must be a path, a URL or ':memory:', not {kind}")
    if anchor is not None and integrity_key is None:
        raise ValidationError("an anchor needs an integrity_key")
    if not (path := str(location)):
        raise ValidationError("location must not be empty")
    path = path.removeprefix("sqlite:///")
    if "://" in path:
        raise ValidationError(f"no backend for {path!r}; use a path, sqlite:///path or ':memory:'")
    if not isinstance(anchor, str | os.PathLike | Anchor | None):
        raise ValidationError(f"anchor must be a path or an Anchor, not {type(anchor).__name__}")
    if isinstance(anchor, str | os.PathLike):
        anchor = FileAnchor(anchor, durable=durability == "full")
    return SQLiteBackend(
        fields.path("location", path or os.curdir),
        durability=durability,
        integrity_key=None if integrity_key is None else _checked_key(integrity_key),
        anchor=anchor,
    )


def _checked_key(key: object) -> bytes:
    if not isinstance(key, bytes) or len(key) < SHORTEST_KEY:
        given = len(key) if isinstance(key, bytes) else type(key).__name__
        raise ValidationError(
            f"integrity_key must be at least {SHORTEST_KEY} secret bytes, not {given}"
        )
    return key
