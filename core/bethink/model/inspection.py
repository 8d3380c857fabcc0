"""The parts of the port that read everything, for exports and for checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from .arrays import Vector
from .port import Cut, Entry, Row
from .records import MemoryRecord, Problem, Snapshot


class FullScan(Protocol):
    """All data of a backend at one moment, read piece by piece while writers go on."""

    def head(self) -> int:
        """Return the last journal position."""

    def cut(self) -> Cut | None:
        """Return the end of the compacted history, None for a whole journal."""

    def hides_entries(self) -> bool:
        """Return whether the journal has entries that this scan does not see, of other tenants."""

    def records(self) -> Iterator[Row]:
        """Yield every record, in any state, in order of insertion."""

    def entries(self) -> Iterator[tuple[Entry, Mapping[str, Vector]]]:
        """Yield the journal, oldest first, with the remaining named vectors of each entry.

        A compacted journal begins with the storing of each record as of the cut, in order of
        insertion, and the links of the cut. The entries of compacting are left out.
        """

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots, oldest first."""


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
