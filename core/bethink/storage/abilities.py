"""The abilities of storage that features use, beside the kernel's port in ``model/port.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from ..model.arrays import Floats, Vector
from ..model.filters import Filter
from ..model.namespaces import EVERYWHERE, Scope
from ..model.port import Backend, IndexData, Journal, Moment, Page, Place, Row, Stored, Writer
from ..model.progress import Tell
from ..model.records import MemoryRecord, Snapshot
from ..model.values import Value

T = TypeVar("T")


def cut_page(page: Page, sorted: Iterable[T]) -> list[T]:
    """Return the *page* of *sorted* items."""
    end = None if page.limit is None else page.offset + page.limit
    return list(islice(sorted, page.offset, end))


class Current(NamedTuple):
    """A current record, with row, ordinal, and the journal position of the last change."""

    row: int
    ordinal: int
    revision: int
    record: MemoryRecord

    @property
    def current(self) -> Current:
        """The record: an unchanged record is equal to the past record."""
        return self


class Entry(NamedTuple):
    """A stored journal entry; the record moved from row ``was`` to ``row``.

    ``row`` is None without a change of fields. ``changes`` are None once erased. ``full_record``
    holds all fields of the record, in some entries only.
    """

    seq: int
    at: float
    action: str
    id: str | None
    namespace: str | None
    was: int | None
    row: int | None
    changes: Mapping[str, Any] | None
    full_record: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class RecordHistory:
    """The journal of a record up to a moment.

    ``entries`` are oldest first, beginning with an entry of all fields.
    ``accessed`` is the state after the last journaled touch: ``(seq, count, time of the last)``.
    """

    current: Current
    entries: tuple[Entry, ...]
    accessed: tuple[int, int, float] | None


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a *kind* from one record to another, made by entry ``seq`` at the time ``at``."""

    source: str
    kind: str
    target: str
    seq: int
    at: float


class JournalReader(Journal, Protocol):
    """The journal of a backend, to be asked about any moment. *seq* is always the moment."""

    def current(self, ids: Sequence[str]) -> list[Current]:
        """Return the existing records among *ids*, in any state."""

    def ids_of_rows(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the id of the record of each of *rows*."""

    def key_holders(self, namespace: str, key: str, seq: int, most: int = -1) -> list[Current]:
        """Return holders, past or present, of *key* at *seq*: all, or the *most* last changed."""

    def candidates(self, scope: Scope, seq: int, since: int | None = None) -> list[Current]:
        """Return all records that may have been live in *scope* at *seq*, and perhaps more.

        With *since*, return the records of any state that changed since and existed at *seq*.
        """

    def expiring(self, scope: Scope, after: float, until: float) -> list[Current]:
        """Return the live records in *scope* that expire between the two times."""

    def histories(self, records: Sequence[Current], seq: int) -> list[RecordHistory]:
        """Return the histories of *records*, all of which existed at *seq*."""

    def former_vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* that records had in *rows*.

        A record may have left the row since.
        """

    def vector_names(self, row: int) -> list[str]:
        """Return the names of the vectors that a record got with *row* and still has.

        The record may be in a later row by now.
        """

    def had_vector(self, name: str, seq: int) -> bool:
        """Return whether any remaining vector called *name* existed at *seq*."""

    def links(self, ids: Sequence[str], seq: int) -> list[Link]:
        """Return the links from and to *ids* at *seq*, oldest first."""

    def full_scan(self) -> AbstractContextManager[FullScan]:
        """Open all current data for reading that may take long."""


class FullScan(Protocol):
    """All data of a backend at one moment, read piece by piece while writers go on."""

    def head(self) -> int:
        """Return the last journal position."""

    def cut(self) -> Moment | None:
        """Return the end of the compacted history, None for a whole journal."""

    def hides_entries(self) -> bool:
        """Return whether the journal has entries that this scan does not see, of other tenants."""

    def records(self, scope: Scope = EVERYWHERE) -> Iterator[Row]:
        """Yield every record in *scope*, in any state, in order of insertion."""

    def entries(
        self, ids: Collection[str] | None = None
    ) -> Iterator[tuple[Entry, Mapping[str, Vector]]]:
        """Yield the journal, oldest first, with the remaining named vectors of each entry.

        With *ids*, entries of other records are left out; entries without a record stay.

        A compacted journal begins with the storing of each record as of the cut, in order of
        insertion, and the links of the cut. The entries of compacting are left out.
        """

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots, oldest first."""


ProblemKind: TypeAlias = Literal[
    "file", "journal", "record", "access", "departure", "link", "vector", "segment", "snapshot",
    "fact", "anchor",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem(Value):
    """A damage of a *kind*: *where* the damage is, and *what* is wrong."""

    kind: ProblemKind
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind} {self.where}: {self.what}"


Move = tuple[str, str, str | None]
"""The id of a record, and the namespace and key that the record left."""


@dataclass(frozen=True, slots=True)
class Access:
    """The state of a record after a journaled touch, and the entry's own count and time.

    ``journaled`` is None without an entry, or once the entry is empty.
    """

    seq: int
    count: int
    last: float
    journaled: tuple[int, float] | None


@dataclass(frozen=True, slots=True)
class RecordTrace:
    """A record, None if unreadable, and the record's journal entries, oldest first.

    ``cut`` is the position up to which the journal is compacted, ``daily`` the position up to
    which accesses are kept by the day and touches are empty; both else 0.
    """

    id: str
    row: int
    ordinal: int
    revision: int
    cut: int
    daily: int
    record: MemoryRecord | None
    entries: tuple[Entry, ...]
    accesses: tuple[Access, ...]


class Inspection(Protocol):
    """All data of a backend at one moment, for checks while writers go on."""

    def damage(self, dimension: Callable[[], int | None] = lambda: None) -> Iterator[Problem]:
        """Yield the damage that shows without the meaning of records and entries.

        *dimension* returns the embedder's dimension, None if unknown; called only if vectors differ
        from the setting.
        """

    def usual_dimension(self, name: str) -> int | None:
        """Return the most frequent length of the vectors called *name*, None without vectors."""

    def traces(self) -> Iterator[RecordTrace]:
        """Yield every record, in any state, with all journal entries."""

    def moves(self) -> Counter[Move]:
        """Return how often each record is noted to have made each move."""


class Repairer(Protocol):
    """Repairs of damaged data, inside one write transaction."""

    def repair_indexes(self) -> bool:
        """Build the lookup indexes of records and entries again; return whether any was damaged."""

    def empty_lost_entries(self) -> dict[int, str | None]:
        """Empty unreadable journal entries, and add missing entries of records without contents.

        Return the ids of the records by entry, None if unknown. With a key, nothing is done.
        """

    def embed(self, row: int, vector: Vector) -> None:
        """Give the record in *row*, which is not live, a new vector of the store's embedder.

        A ``patch`` of the record must follow.
        """

    def discard(self) -> frozenset[str]:
        """Remove every saved segment and all data without a record; return the namespaces."""


class Staging(Protocol):
    """The vectors of a new embedder, kept beside the present vectors until all are made."""

    def add(self, embedder: str, dimension: int, vectors: Mapping[int, Vector]) -> None:
        """Keep *vectors* of a new *embedder*, by row.

        Vectors staged for a different embedder, and vectors of rows that are gone, are dropped.
        """

    def missing(self, after: int, limit: int) -> list[Stored]:
        """Return at most *limit* records with a vector and without a staged vector.

        The rows ascend, and begin *after* a row.
        """

    def count(self) -> tuple[int, int]:
        """Return the numbers of staged and of present vectors of the embedder."""

    def adopt(self) -> frozenset[str]:
        """Put the staged vectors in place of the present vectors, and discard every segment.

        Return the namespaces as ``Repairer.discard`` does; ``Backend.scrub`` removes the bytes.
        """


class VectorIndexes(Protocol):
    """Approximate indexes of the embedder's vectors, by namespace, for namespaces of any size."""

    def nearest(self, namespace: str, query: Floats, most: int) -> IndexData | None:
        """Read about *most* rows near the unit vector *query*, and all rows newer than the index.

        The data are for an index of these rows alone. None if *namespace* has no index, or an index
        of vectors of a different embedder.
        """

    def build(self, namespace: str, rate: float | None, tell: Tell | None = None) -> int:
        """Index the live rows of *namespace* anew, while writers go on; return their number.

        With a *rate* per day, vectors count times importance · e^(-rate · days since the last use).
        """

    def drop(self, namespace: str) -> bool:
        """Drop the index of *namespace*; return whether there was any."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of records with a namespace and tags, and the times of occurrence."""

    namespace: str
    tags: tuple[str, ...]
    count: int
    oldest: float
    newest: float


def tally(records: Iterable[MemoryRecord]) -> list[Tally]:
    """Return the tallies of *records*, one for each namespace and tags."""
    times: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    for record in records:
        times.setdefault((record.namespace, record.tags), []).append(record.occurred_at)
    return [Tally(*key, len(found), min(found), max(found)) for key, found in times.items()]


def is_changed(record: MemoryRecord) -> bool:
    """Return whether *record* changed since the storing."""
    return record.updated_at != record.created_at


def changed_contents(found: Iterable[Stored]) -> list[tuple[Any, str | None]]:
    """Return the values of the records *found*, each with the content of a changed record."""
    records = (each.record for each in found)
    return [(each.value, each.content if is_changed(each) else None) for each in records]


class Totals(NamedTuple):
    """The numbers of records by state, category, outcome and day, and the facts of the file.

    Outcomes are rounded to tenths. The day of creation, in UTC, is a ``datetime.date`` ordinal.
    ``entries`` and ``accesses`` are the rows of both tables; ``free_bytes`` a next write uses.
    """

    counts: Mapping[tuple[str, str | None, float, int], int]
    entries: int
    accesses: int
    bytes: int
    free_bytes: int
    schema_version: int
    keyed: bool


class Compacted(NamedTuple):
    """The numbers of removed entries and records, and the namespaces that lost saved segments."""

    entries: int
    records: int
    namespaces: frozenset[str]


class FullWriter(Writer, Protocol):
    """A write transaction with the abilities that features use."""

    @property
    def repairer(self) -> Repairer:
        """The repairs of this transaction."""

    @property
    def staging(self) -> Staging:
        """The vectors for a change of the embedder, in this transaction."""

    def added(self, namespace: str, since: int) -> list[Row]:
        """Return the live rows of *namespace* made since journal position *since*, ascending.

        Uncommitted rows are included.
        """

    def compact(self, until: int, at: float) -> Compacted:
        """Cut the journal after entry *until*: earlier history goes, the state there stays.

        *until* lies after the last cut and before the last entry, and no snapshot names *until*.
        Moments from *until* on stay as before. Superseded and forgotten records that did not change
        since go, unless a link holds; so do earlier snapshots. Of an erased record without a key
        only a digest stays, see ``find_ever``. ``Backend.scrub`` removes the bytes.
        """

    def find_ever(self, ids: Sequence[str]) -> dict[str, Stored]:
        """Return what ``find`` returns, and the erased records that ``compact`` left as digests.

        Of the latter, a tombstone in row 0 knows no more than the id. The order is open.
        """

    def link(self, source: str, kind: str, target: str, *, holds: bool) -> bool:
        """Create the link from the next journal entry on, or end the link; return whether changed.

        Erasing either end removes the link from the past and from the journal entries, too.
        """

    def snapshot(self, name: str, at: float) -> None:
        """Name the last journal position, at the time *at*; refuse a name in use."""


class FullBackend(Backend, Protocol):
    """A backend with the abilities that features use."""

    @property
    def vector_indexes(self) -> VectorIndexes | None:
        """The approximate indexes of vectors, None where there are none."""

    @property
    def journal_reader(self) -> JournalReader:
        """The journal, to be asked about any moment."""

    def write(self, places: Collection[Place] = ()) -> AbstractContextManager[FullWriter]:
        """Open the one write transaction; see ``Backend``."""

    def tallies(self, scope: Scope, now: float) -> list[Tally]:
        """Return the tallies of the unexpired live records, one for each namespace and tags."""

    def values_and_contents(
        self, scope: Scope, where: Filter | None, page: Page
    ) -> Iterable[tuple[Any, str | None]]:
        """Return the values that ``values`` would return, each with the content of the record.

        The content is None for a record that never changed.
        """

    def totals(self, scope: Scope, now: float) -> Totals:
        """Return the totals of *scope* at present; records expire by *now*."""

    def inspect(self, tell: Tell | None = None) -> AbstractContextManager[Inspection]:
        """Open all current data for checks that may take long; *tell* hears of the progress."""

    def backup(self, target: str) -> bool:
        """Copy all data at one moment into the new file *target*, while writers go on.

        Return False if the backend has no file to copy. The caller then copies by an export.
        Raise ``CorruptStoreError`` if the copy is damaged as the original is; no file is left.
        """
