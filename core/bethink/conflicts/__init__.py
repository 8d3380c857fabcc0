"""Conflicts and duplicates: what two records are to each other, told from their words alone.

Nothing here looks into a store or decides what becomes of a record. Read each record once, then
compare the readings: two records that say the same may be merged, two that cannot both hold are a
conflict for someone to judge. No two records are both.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..records import MemoryRecord
from ..text import utc
from .traits import Traits, traits
from .verdicts import SAME, Signals, Tier, Verdict, compare

__all__ = ["SAME", "Conflict", "Reading", "Tier", "are_duplicates", "find_conflict", "read"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A record with what its content states."""

    record: MemoryRecord
    traits: Traits


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two records that hardly both hold.

    ``signals`` names what differs, from older to newer, and has the ``similarity`` of the vectors.
    """

    older: MemoryRecord
    newer: MemoryRecord
    tier: Tier
    signals: Signals

    @property
    def similarity(self) -> float:
        """The cosine of the vectors."""
        return float(self.signals["similarity"])

    def describe(self) -> str:
        """Tell the conflict in three lines: what differs, the older record, the newer."""
        told = [
            f"{name} {value}" if isinstance(value, str) else name
            for name, value in self.signals.items()
            if name != "similarity"
        ]
        lines = [f"{self.tier} conflict: {', '.join(told)}"]
        for name, record in (("older", self.older), ("newer", self.newer)):
            lines.append(f"  {name} ({_day(record.occurred_at)}, {record.id}): {record.content}")
        return "\n".join(lines)


def read(record: MemoryRecord) -> Reading:
    """Read what a record states; to be kept and compared with many."""
    return Reading(record, traits(record.content))


def find_conflict(a: Reading, b: Reading, similarity: float = 0.0) -> Conflict | None:
    """Return the conflict between two records, the same in either order, or None.

    *similarity* is the cosine of their vectors; it is reported, not needed.
    """
    older, newer = _by_age(a, b)
    verdict = _verdict(older, newer, similarity)
    if verdict is None or verdict.relation == "duplicate":
        return None
    return Conflict(older.record, newer.record, verdict.relation, verdict.signals)


def are_duplicates(a: Reading, b: Reading, similarity: float) -> bool:
    """Say whether two records say the same; *similarity* is the cosine of their vectors.

    Records that differ in a number, a denial or a word of each never do, nor do records of
    different keys, values or speakers. One may say a little more than the other.
    """
    if similarity < SAME or a.record.key != b.record.key or a.record.value != b.record.value:
        return False
    verdict = _verdict(*_by_age(a, b), similarity)
    return verdict is not None and verdict.relation == "duplicate"


def _verdict(a: Reading, b: Reading, similarity: float) -> Verdict | None:
    """Compare two records, unless each speaks of its own author."""
    if a.record.id == b.record.id:
        return None
    one, other = a.record.author, b.record.author
    personal = a.traits.personal and b.traits.personal
    if personal and one is not None and other is not None and one != other:
        return None
    return compare(a.traits, b.traits, similarity)


def _by_age(a: Reading, b: Reading) -> tuple[Reading, Reading]:
    return (a, b) if _age(a.record) <= _age(b.record) else (b, a)


def _age(record: MemoryRecord) -> tuple[float, float, str]:
    return record.occurred_at, record.created_at, record.id


def _day(timestamp: float) -> str:
    when = utc(timestamp)
    return f"{timestamp:g}" if when is None else f"{when:%Y-%m-%d}"
