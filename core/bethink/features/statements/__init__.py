"""Conflicts and duplicates: what two records are to each other, told from their words alone.

Nothing here looks into a store or decides what becomes of a record. Read each record once, then
compare the readings: two records that say the same may be merged, two that cannot both hold are a
conflict for someone to judge. No two records are both.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from ...model.records import MemoryRecord
from ...text import is_english, utc
from .lexicon import BEING, MANNER, NUMBERS, SHORT, TOWARDS, WEAK
from .rules import Signals, Tier, compare, differ
from .statement_features import StatementFeatures, spelled, traits

__all__ = [
    "BEING",
    "MANNER",
    "NUMBERS",
    "SAME",
    "SHORT",
    "TOWARDS",
    "WEAK",
    "Conflict",
    "Reading",
    "Tier",
    "are_duplicates",
    "find_conflict",
    "read",
]

SAME: Final = 0.92
"""The cosine from which two texts may be duplicates."""

_PUNCTUATION: Final = ".,;:!?\u2026\u3002\uff01\uff0c\u3001\u060c"


@dataclass(frozen=True, slots=True)
class ParsedRecord:
    """A record with what its content states, and its ``age``: of two the older has the lesser."""

    record: MemoryRecord
    traits: StatementFeatures
    age: tuple[float, float, str]


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
            content = " ".join(record.content.split())
            lines.append(f"  {name} ({_day(record.occurred_at)}, {record.id}): {content}")
        return "\n".join(lines)


def read(record: MemoryRecord) -> ParsedRecord:
    """Read what a record states; to be kept and compared with many."""
    age = record.occurred_at, record.created_at, record.id
    return ParsedRecord(record, traits(record.content), age)


def find_conflict(a: ParsedRecord, b: ParsedRecord) -> Conflict | None:
    """Return the conflict between two records, the same in either order, or None.

    How similar they are does not matter, and is left to be told: 0 for now. A text that is at odds
    with itself is not so with its repetition.
    """
    older, newer = (a, b) if a.age <= b.age else (b, a)
    found = compare(older.traits, newer.traits)
    if found is None or a.record.content == b.record.content or not _comparable(a, b):
        return None
    tier, signals = found
    told = {name: _in_words(value, older, newer) for name, value in signals.items()}
    return Conflict(older.record, newer.record, tier, {**told, "similarity": 0.0})


def _in_words(signal: str | float, older: ParsedRecord, newer: ParsedRecord) -> str | float:
    """Return what differs in the words of the records, not in terms."""
    if not isinstance(signal, str):
        return signal
    one, between, two = signal.partition(" / ")
    return spelled(one, older.record.content) + between + spelled(two, newer.record.content)


def are_duplicates(a: ParsedRecord, b: ParsedRecord, similarity: float) -> bool:
    """Say whether two records say the same; *similarity* is the cosine of their vectors.

    Records that differ in a number, a denial or a word of each never do, nor do those in which two
    authors speak of themselves; other fields are not looked at. In English one may say a little
    more than the other; of other languages the little words are not known, so there both have the
    same words.
    """
    if similarity < SAME or not _comparable(a, b):
        return False
    if differ(a.traits, b.traits) or find_conflict(a, b) is not None:
        return False
    texts = a.record.content, b.record.content
    return any(map(is_english, texts)) or len(set(map(_words, texts))) == 1


def _words(text: str) -> tuple[str, ...]:
    """Return the words in order, accents and all; numbers as digits, without punctuation."""
    words = unicodedata.normalize("NFC", text).lower().split()
    bare = (word.strip(_PUNCTUATION) for word in words)
    return tuple(NUMBERS.get(word, word) for word in bare if word)


def _comparable(a: ParsedRecord, b: ParsedRecord) -> bool:
    """Tell whether these are two records, and each does not speak of its own author."""
    one, other = a.record, b.record
    if one.id == other.id:
        return False
    if one.author is None or other.author is None or one.author == other.author:
        return True
    return not (a.traits.personal and b.traits.personal)


def _day(timestamp: float) -> str:
    when = utc(timestamp)
    return f"{timestamp:g}" if when is None else when.date().isoformat()
