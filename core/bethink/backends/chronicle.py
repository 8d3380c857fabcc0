"""What a backend tells of the past: its journal by record, so that any moment can be read again.

A moment is a journal position. A record that did not change after it is what it was; of the others
the backend tells the entries up to the moment, from the last one on that tells all of the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..namespaces import Scope
from ..records import LogEntry, MemoryRecord, Snapshot
from . import Row, Vector


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
class Story:
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


class Everything(Protocol):
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


class Chronicle(Protocol):
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

    def made(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the id of the record that each of *rows* was made for."""

    def holders(self, namespace: str, key: str, seq: int) -> list[Current]:
        """Return every record that holds or ever held *key* in *namespace*, in any state.

        Only those that existed at *seq*.
        """

    def candidates(self, scope: Scope, seq: int, since: int | None = None) -> list[Current]:
        """Return all records that may have been live in *scope* then, and perhaps some others.

        With *since*, return those that changed after it and existed at *seq*, in any state.
        """

    def expiring(self, scope: Scope, after: float, until: float) -> list[Current]:
        """Return the records live now in *scope* whose time of expiry lies in that span."""

    def stories(self, records: Sequence[Current], seq: int) -> list[Story]:
        """Return what is told of *records*, all of which existed then."""

    def named(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* that records had in *rows*, where they had one.

        A row may be one that its record has left since.
        """

    def given(self, row: int) -> list[str]:
        """Return the names of the vectors that a record has and got with *row*.

        It may be in another row by now.
        """

    def was_given(self, name: str, seq: int) -> bool:
        """Tell whether a vector called *name*, one of those that are left, was there by then."""

    def links(self, ids: Sequence[str], seq: int) -> list[Link]:
        """Return the links from and to any of the records that held then, oldest first."""

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots in the order in which they were taken."""

    def everything(self) -> AbstractContextManager[Everything]:
        """Open all that there is now to be read, for however long that takes."""
