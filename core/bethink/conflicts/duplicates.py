"""Which memories only repeat another: its words in its order, and nothing else.

Whatever could make two of them two facts keeps both: another word, number or negation, another
author, key, value, or day on which it happened. Vectors are not asked: to them, London is near
Paris.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..fields import to_json
from ..records import MemoryRecord
from . import are_duplicates, read

_FEW: Final = 5  # a memory says what another says in so many words if it needs one word more

_IDLE: Final = frozenset(
    ("a", "an", "the", "that", "very", "really", "quite", "also", "too", "now", "so", "please")
)
"""Words that change nothing."""

# Numbers with their sign, words, and the signs that are not mere punctuation: "C++", "$", "?".
_WORDS: Final = re.compile(r"[-\u2212]?\d+(?:[.,]\d+)*|\w+|[^\w\s.,;:!\"()\u2026\u201c\u201d-]")
_APOSTROPHES: Final = re.compile("['\u2019]")


def repeats(memories: Iterable[MemoryRecord]) -> list[bool]:
    """Tell of each memory whether one before it, itself no repetition, says all that it says."""
    known = _Known()
    return [known.says(memory) for memory in memories]


@dataclass(frozen=True, slots=True)
class _Told:
    memory: MemoryRecord
    words: Sequence[str]

    def repeats(self, other: _Told) -> bool:
        """Tell whether *other* says the same, or that with a few words that do not change it."""
        if len(self.words) == len(other.words):
            return self.words == other.words
        if not 0 < len(other.words) - len(self.words) <= len(self.words) / _FEW:
            return False
        rest = iter(other.words)
        in_order = all(word in rest for word in self.words)
        return in_order and are_duplicates(read(self.memory), read(other.memory), 1.0)


class _Known:
    def __init__(self) -> None:
        self._telling: dict[Hashable, dict[str, list[_Told]]] = {}

    def says(self, memory: MemoryRecord) -> bool:
        """Tell whether *memory* was said before; if not, take note of it."""
        telling, told = self._telling.setdefault(about(memory), {}), _Told(memory, _words(memory))
        with_its_words = [telling.setdefault(word, []) for word in told.words]
        if any(told.repeats(other) for other in min(with_its_words, key=len)):
            return True
        for others in with_its_words:
            others.append(told)
        return False


def about(memory: MemoryRecord) -> Hashable:
    """Return what two memories must share to be one fact: author, key, value, day."""
    dated = memory.occurred_at != memory.created_at
    day = memory.occurred_at // 86_400 if dated else None
    value = None if memory.value is None else to_json(memory.value)
    return memory.author, memory.key, value, day


def _words(memory: MemoryRecord) -> list[str]:
    words = _WORDS.findall(_APOSTROPHES.sub("", memory.content.casefold()))
    return [word for word in words if word not in _IDLE] or words or [memory.content]
