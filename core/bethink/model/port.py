"""Storage is a port: a durable, transactional, ordered log beside a table of current records.

The index and the ranking are the same for every backend. A backend keeps records, vectors and the
journal, and changes all of them together or not at all.

Every record has a *row*: the number of the current indexed form. Rows only grow. A change of an
indexed field (text, author, thread, time, namespace, vectors) gives the record a new row, and so
does a return to life; the old row is dead for ever. So rows are safe and cheap to cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from ..model.filters import Filter
from ..model.namespaces import Scope
from ..model.records import LIVE, LogEntry, MemoryRecord, Snapshot, SortField, State
from .arrays import Rows, Vector

EMBEDDED = ""
"""The vector name under which the store's own embedder writes."""

DIMENSION_SETTING: Final = f"dimension:{EMBEDDED}"
"""The setting with the length of the embedder's vectors."""

SEGMENT_FORMAT: Final = 9
"""Raised when segments change, in layout or in terms; segments of other formats are not loaded."""


@dataclass(slots=True)  # making frozen rows would take three times as long
class Row:
    """A live record with its row, the place in insertion order, and the vectors by name."""

    row: int
    ordinal: int
    record: MemoryRecord
    vectors: Mapping[str, Vector]


class Stored(NamedTuple):
    """A record, in any state, with its row."""

    row: int
    record: MemoryRecord


NO_ROWS: Final[Mapping[int, Row]] = MappingProxyType({})


@dataclass(slots=True)
class Changes:
    """The changes from journal position *base* (exclusive) to *head*.

    ``rows`` are all changed rows; live rows come with data in ``live``. ``namespaces`` held or hold
    these rows. If ``incomplete``, rows outside the scopes asked for may have changed, too.
    ``erased`` are the namespaces that an erased record was ever in: everything made from the texts
    must be made again; None stands for all namespaces. ``embedder`` is the setting at *head*.
    """

    base: int
    head: int
    rows: frozenset[int]
    live: tuple[Row, ...]
    namespaces: frozenset[str] = frozenset()
    erased: frozenset[str] | None = frozenset()
    incomplete: bool = False
    embedder: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A frozen piece of a namespace's index as bytes.

    The piece holds ``count`` live rows from ``first`` to ``last`` as of ``head``; ``replaces``
    names the saved segments that the piece makes superfluous.
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
class IndexData:
    """The data from which a scope's index starts, at journal position ``head``.

    Saved segments; the ``live_rows`` of each namespace that lost some of the segments' rows; rows
    that ``changed`` since; and the ``unindexed`` rows without a segment. ``embedder`` is the
    setting at *head*.
    """

    head: int
    segments: tuple[Segment, ...]
    live_rows: Mapping[str, frozenset[int]]
    unindexed: tuple[Row, ...]
    changed: tuple[Row, ...]
    embedder: str | None = None


class Page(NamedTuple):
    """At most *limit* records after the first *offset*, sorted *by* a column.

    The ordinal is the order of insertion. Equal values, and missing values at the lower end, are in
    order of insertion, too. By ``key`` are sorted only records that all have a key.
    """

    limit: int | None = None
    offset: int = 0
    descending: bool = False
    by: Literal["ordinal", "row", "key"] | SortField = "ordinal"


Place: TypeAlias = tuple[str, str]
"""A namespace and a key."""


class Reader(Protocol):
    """The present: of a backend as committed, of a writer with the writes of the transaction."""

    def head(self) -> int:
        """Return the last journal position; cheap enough to ask before every recall."""

    def setting(self, name: str) -> str | None:
        """Return a setting, None if not stored."""

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        """Return the existing records among *ids*, in any state, by id, in the order of *ids*."""

    def by_key(self, namespace: str, key: str) -> Stored | None:
        """Return the live record with *key* in *namespace*."""

    def select(
        self,
        scope: Scope,
        where: Filter | None,
        page: Page | None = None,
        states: Collection[State] = LIVE,
    ) -> list[Stored]:
        """Return the records in *scope* and *states* that pass *where*, or only a *page*.

        Without a page, the records are in order of insertion. The cost of a range of keys in one
        namespace depends on the result alone, not on the number of records.
        """


class Writer(Reader, Protocol):
    """One open write transaction.

    Each change of a record is followed by the journal entry, whose code covers the change.
    """

    def by_keys(self, places: Collection[Place]) -> dict[Place, Stored]:
        """Return the live records at *places*."""

    def dimension(self, name: str, wanted: int) -> int:
        """Return the dimension of the vectors *name*; *wanted* if no record has any."""

    def outlines(
        self, scope: Scope, where: Filter | None, states: Collection[State] = LIVE
    ) -> list[Stored]:
        """Return the records that ``select`` returns, of which these fields are read at least.

        Id, namespace, time of storing, key, source, expiry and state; other fields may be empty.
        """

    def insert(self, record: MemoryRecord, vectors: Mapping[str, Vector]) -> Row:
        """Add a record. The embedder's zeros for a record without content are not kept."""

    def insert_all(
        self, records: Sequence[MemoryRecord], vectors: Iterable[Mapping[str, Vector]], at: float
    ) -> list[Row]:
        """Add records, each with vectors and a journal entry."""

    def retire_all(self, found: Sequence[Stored], state: State, at: float, action: str) -> None:
        """Give records, with their rows, a *state* that is not live, each with a journal entry."""

    def patch(self, row: int, record: MemoryRecord) -> None:
        """Change fields that are not indexed, keeping the row."""

    def replace(self, row: int, record: MemoryRecord, vectors: Mapping[str, Vector]) -> Row:
        """Change indexed fields: the record moves to a new row, and keeps vectors not given."""

    def erase(self, row: int, tombstone: MemoryRecord) -> frozenset[str]:
        """Replace the record in *row*, in any state, by *tombstone*.

        Vectors, the salt and changes of all earlier journal entries, and every saved segment that
        may hold a word of the record are removed. Return the namespaces that the record was ever
        in. ``Backend.scrub`` removes the bytes.
        """

    def touch(self, accesses: Mapping[str, tuple[int, float]]) -> list[int]:
        """Add accesses ``{id: (count, time of the last)}`` to live records; return the rows."""

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

        With *changes* None the entry is like an entry with erased changes. Entries of snapshots and
        links have no rows, since *record* does not change. The entry of a touch lists the rows
        under ``changes["rows"]``.
        """

    def set_setting(self, name: str, value: str) -> None:
        """Store a setting, such as the embedder's identity."""


class LogQuery(NamedTuple):
    """The last *limit* journal entries after *since*, up to *until*, of a record or a scope.

    With ``skip_damaged``, damage is skipped as ``MemoryStore.log`` does.
    """

    limit: int | None = None
    id: str | None = None
    scope: Scope | None = None
    since: int = 0
    until: int | None = None
    skip_damaged: bool = False


class Moment(NamedTuple):
    """Right after journal entry *seq*, at the time *at*."""

    seq: int
    at: float


class Journal(Protocol):
    """The moments of a journal."""

    def seq_at(self, time: float) -> int:
        """Return the position of the last entry made by *time*, in the journal's order, else 0."""

    def erased(self, since: int) -> bool:
        """Tell whether anything was erased by an entry after *since*."""

    def cut(self) -> Moment | None:
        """Return the first moment that a compacted journal knows, None for a whole journal."""

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots, oldest first."""


class Backend(Reader, Protocol):
    """Where a store's memories live. Safe for threads, processes and forks."""

    @property
    def location(self) -> str:
        """The path, or the address of the database without a password."""

    @property
    def read_only(self) -> bool:
        """Whether every write is refused, for want of permission."""

    @property
    def is_remote(self) -> bool:
        """Whether each read is a round trip, and processes of other machines read the indexes."""

    @property
    def breaks(self) -> int:
        """How often the connection to the data broke; to be asked after ``head``.

        After a break, the last commits that were read may be gone for want of an acknowledgement,
        and later commits may have the same positions. So nothing that was read stays in use.
        """

    @property
    def journal_reader(self) -> Journal:
        """The journal, to be asked about moments."""

    def write(self, places: Collection[Place] = ()) -> AbstractContextManager[Writer]:
        """Open the one write transaction: committed at the end, rolled back on any exception.

        The records at *places* may be read at once, for the first question.
        """

    def by_row(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Return the records whose current row is among *rows*."""

    def rows(self, rows: Sequence[int]) -> list[Row]:
        """Return the existing rows among *rows*, with all vectors."""

    def values(
        self,
        scope: Scope,
        where: Filter | None,
        page: Page | None = None,
        path: tuple[str, ...] = ("value",),
    ) -> list[tuple[int, Any]]:
        """Return row and value at *path* of the live records that ``select`` would return."""

    def matching(self, scope: Scope, where: Filter) -> Rows:
        """Return the rows of the live records in *scope* that pass *where*, ascending."""

    def count(self, scope: Scope, where: Filter | None, now: float | None = None) -> int:
        """Count live records, without records expired by *now*."""

    def namespaces(self, scope: Scope, now: float | None = None) -> dict[str, int]:
        """Return ``{namespace: count}`` of unexpired live records, sorted by name."""

    def changes(self, since: int, scopes: Sequence[Scope]) -> Changes:
        """Return the changes after *since*, with the data of live rows in *scopes*."""

    def load(
        self,
        scope: Scope,
        limit: int | None = None,
        recent: Mapping[int, Row] = NO_ROWS,
        *,
        aside: bool = False,
    ) -> IndexData:
        """Read all data for an index of *scope*, at one consistent journal position.

        With *limit*, read only so many of the first unindexed rows, and only the small segments at
        the end once the segments hold about as many rows together. Unchanged unindexed rows are
        taken from *recent*. With *aside*, other reads and writes do not wait for the load.
        """

    def vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* of *rows*; rows without a vector are absent."""

    def dimension(self, name: str) -> int | None:
        """Return the dimension of the vectors called *name*, None if there are no vectors."""

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the current rows of the existing records among *ids*, without the records."""

    def save(self, segments: Iterable[Segment]) -> list[int | None]:
        """Store segments for a faster start.

        Return the segments' numbers, None for a late segment and for all after. A segment with a
        ``head`` before the last erasing is late: erased words may be in the segment.
        """

    def scrub(self, *, shrink: bool = False) -> None:
        """Remove every erased byte from the places of data; with *shrink* also free the space.

        Raise ``StoreBusyError`` if another process keeps the data for too long; the next call goes
        on. The next opening goes on with an interrupted erasing, too.
        """

    def log(self, query: LogQuery) -> list[LogEntry]:
        """Return the journal entries of *query*, newest first."""

    def sleep(self) -> None:
        """Finish current work, release everything and hold still, for a fork."""

    def resume(self, *, in_child: bool) -> None:
        """Go on after ``sleep``, in the parent or in the child."""

    def close(self) -> None:
        """Release every resource; closing twice is fine."""


def entry_at(backend: Backend, seq: int) -> LogEntry | None:
    """Return journal entry number *seq*, None without a match."""
    found = backend.log(LogQuery(1, since=seq - 1, until=seq))
    return found[0] if found else None
