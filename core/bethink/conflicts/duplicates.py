"""Which memories only repeat another: its words in its order, and nothing else.

Whatever could make two of them two facts keeps both: another word, number or negation, another
author, key, value, or day on which it happened. Vectors are not asked: to them, London is near
Paris.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
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

_OTHER: Final = b"\0"
# Of ASCII letters and what is mere punctuation to them alone; digits and signs take more reading.
_PLAIN: Final = bytes(
    sign
    if chr(sign).isalpha() or sign == ord("_")
    else _OTHER[0]
    if _WORDS.match(chr(sign))
    else 32
    for sign in range(256)
)


def repeats(memories: Iterable[MemoryRecord]) -> list[bool]:
    """Tell of each memory whether one before it, itself no repetition, says all that it says."""
    known: defaultdict[Hashable, _Known] = defaultdict(_Known)
    return [known[about(memory)].says(memory) for memory in memories]


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
    """What was told about one thing, and of each word a bit for every telling that has it."""

    def __init__(self) -> None:
        self._told: list[_Told] = []
        self._having: dict[str, int] = {}

    def says(self, memory: MemoryRecord) -> bool:
        """Tell whether *memory* was said before; if not, take note of it."""
        told, having = _Told(memory, _words(memory)), self._having
        if any(told.repeats(other) for other in self._with_all(told.words)):
            return True
        bit = 1 << len(self._told)
        for word in told.words:
            having[word] = having.get(word, 0) | bit
        self._told.append(told)
        return False

    def _with_all(self, words: Sequence[str]) -> Iterator[_Told]:
        """Yield what was told that has all of the *words*."""
        left = -1
        for word in words:
            left &= self._having.get(word, 0)
            if not left:
                return
        while left:
            place = left.bit_length() - 1
            left ^= 1 << place
            yield self._told[place]


def about(memory: MemoryRecord) -> Hashable:
    """Return what two memories must share to be one fact: author, key, value, day."""
    dated = memory.occurred_at != memory.created_at
    day = memory.occurred_at // 86_400 if dated else None
    value = None if memory.value is None else to_json(memory.value)
    return memory.author, memory.key, value, day


def _words(memory: MemoryRecord) -> list[str]:
    words = _split(memory.content.casefold())
    return [word for word in words if word not in _IDLE] or words or [memory.content]


def _split(text: str) -> list[str]:
    if text.isascii():
        plain = text.encode().translate(_PLAIN, b"'")
        if _OTHER not in plain:
            return plain.decode().split()
    return _WORDS.findall(_APOSTROPHES.sub("", text))
