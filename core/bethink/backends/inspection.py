"""What a backend shows to be checked: what it finds of itself, and every record's whole story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from ..records import MemoryRecord, Problem
from .chronicle import Entry

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
class Life:
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

    def lives(self) -> Iterator[Life]:
        """Yield every record, in any state, with its story."""

    def departures(self) -> Counter[Place]:
        """Return how often each record is noted to have left each place."""
