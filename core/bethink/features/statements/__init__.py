"""Statements: the relation of two records, judged from the words alone.

The module reads no store and decides nothing about records. Parse each record once, then compare
the parsed records: two records that say the same may be merged, two records that cannot both
hold are a conflict to be judged. No pair is both.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from ...model.records import MemoryRecord
from ...model.values import Value
from ...text import is_english, utc
from .lexicon import BASE_FORMS as BASE_FORMS
from .lexicon import DIRECTIONS as DIRECTIONS
from .lexicon import FORMS_OF_BE as FORMS_OF_BE
from .lexicon import MODIFIERS as MODIFIERS
from .lexicon import NUMBERS as NUMBERS
from .lexicon import WEAK_VERBS as WEAK_VERBS
from .rules import Signals, compare, differ
from .rules import Tier as Tier
from .spelling import are_spelled_apart as are_spelled_apart
from .statement_features import EXACT_NAMES as EXACT_NAMES
from .statement_features import (
    StatementFeatures,
    extract_features,
    in_words_of,
    split_emoji,
    straighten_quotes,
)

MIN_DUPLICATE_COSINE: Final = 0.92
"""The least cosine of two texts that may be duplicates."""

_PUNCTUATION: Final = ".,;:!?'\"\u2026\u3002\uff01\uff0c\u3001\u060c"


@dataclass(frozen=True, slots=True)
class ParsedRecord:
    """A record with the statements of the content; the older record has the lesser ``age``."""

    record: MemoryRecord
    features: StatementFeatures
    age: tuple[float, float, str]


@dataclass(frozen=True, slots=True)
class Conflict(Value):
    """Two records that can hardly both hold.

    ``signals`` names the differences, from older to newer, and the ``similarity`` of the vectors.
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
        """Describe the conflict in three lines: the difference, the older record, the newer."""
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


def parse_record(record: MemoryRecord) -> ParsedRecord:
    """Parse the statements of a record, for many comparisons."""
    age = record.occurred_at, record.created_at, record.id
    return ParsedRecord(record, extract_features(record.content), age)


def find_conflict(a: ParsedRecord, b: ParsedRecord) -> Conflict | None:
    """Return the conflict between two records in either order, or None.

    Similarity does not matter, and is set to 0 for the caller to fill in. A text in conflict with
    itself is in no conflict with a repetition.
    """
    older, newer = (a, b) if a.age <= b.age else (b, a)
    found = compare(older.features, newer.features)
    if found is None or a.record.content == b.record.content or not _comparable(a, b):
        return None
    tier, signals = found
    told = {name: _in_record_words(value, older, newer) for name, value in signals.items()}
    return Conflict(older.record, newer.record, tier, {**told, "similarity": 0.0})


def _in_record_words(signal: str | float, older: ParsedRecord, newer: ParsedRecord) -> str | float:
    """Return the differing terms in the words of the records."""
    if not isinstance(signal, str):
        return signal
    one, between, two = signal.partition(" / ")
    return in_words_of(one, older.record.content) + between + in_words_of(two, newer.record.content)


def are_duplicates(a: ParsedRecord, b: ParsedRecord) -> bool:
    """Return whether two records of similar vectors are duplicates, by the words.

    Records that differ in a number, a denial or a word of each are no duplicates, nor are records
    in which two authors speak of themselves; further fields are ignored. In English one text may
    say a little more than the second. In languages without a known list of little words, both texts
    must have equal words.
    """
    if not _comparable(a, b) or differ(a.features, b.features):
        return False
    if find_conflict(a, b) is not None:
        return False
    texts = a.record.content, b.record.content
    return any(map(is_english, texts)) or len(set(map(_words, texts))) == 1


def _words(text: str) -> tuple[str, ...]:
    """Return the words in order, accents and all; numbers as digits, without punctuation."""
    words = unicodedata.normalize("NFC", split_emoji(straighten_quotes(text))[0]).lower().split()
    bare = (word.strip(_PUNCTUATION) for word in words)
    return tuple(NUMBERS.get(word, word) for word in bare if word)


def _comparable(a: ParsedRecord, b: ParsedRecord) -> bool:
    """Return whether two records differ in id, and are not both about the author of each."""
    one, other = a.record, b.record
    if one.id == other.id:
        return False
    if one.author is None or other.author is None or one.author == other.author:
        return True
    return not (a.features.personal and b.features.personal)


def _day(timestamp: float) -> str:
    when = utc(timestamp)
    return f"{timestamp:g}" if when is None else when.date().isoformat()
