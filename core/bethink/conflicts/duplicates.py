"""Which memories only repeat another: its words in its order, and nothing else.

Whatever could make two of them two facts keeps both: another word, number or negation, another
author, key, value, or day on which it happened. Vectors are not asked: to them, London is near
Paris.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from ..fields import to_json
from ..records import MemoryRecord
from . import are_duplicates, read
from .screening import Traces, suspects

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
    memories = list(memories)
    known: defaultdict[Hashable, _Known] = defaultdict(_Known)
    suspected = suspects((memory.content for memory in memories), _IDLE)
    return [
        traces is not None and known[about(memory)].says(_Told(memory), traces)
        for memory, traces in zip(memories, suspected, strict=True)
    ]


class _Told:
    def __init__(self, memory: MemoryRecord) -> None:
        self._memory = memory

    @cached_property
    def words(self) -> Sequence[str]:
        """The words, without those that change nothing if there are others."""
        content = self._memory.content
        words = _WORDS.findall(_APOSTROPHES.sub("", content.casefold()))
        return [word for word in words if word not in _IDLE] or words or [content]

    def repeats(self, other: _Told) -> bool:
        """Tell whether *other* says the same, or that with a few words that do not change it."""
        if len(self.words) == len(other.words):
            return self.words == other.words
        if not 0 < len(other.words) - len(self.words) <= len(self.words) / _FEW:
            return False
        rest = iter(other.words)
        in_order = all(word in rest for word in self.words)
        return in_order and are_duplicates(read(self._memory), read(other._memory), 1.0)


class _Known:
    """What was told about one thing, and of each trace a bit for every telling that left it."""

    def __init__(self) -> None:
        self._told: list[_Told] = []
        self._having: dict[int, int] = {}

    def says(self, told: _Told, traces: Traces) -> bool:
        """Tell whether *told* was said before; if not, take note of it."""
        if any(told.repeats(other) for other in self._with_all(traces)):
            return True
        having, bit = self._having, 1 << len(self._told)
        for trace in traces:
            having[trace] = having.get(trace, 0) | bit
        self._told.append(told)
        return False

    def _with_all(self, traces: Traces) -> Iterator[_Told]:
        """Yield what was told that left all of the *traces*."""
        left = (1 << len(self._told)) - 1
        for trace in traces:
            left &= self._having.get(trace, 0)
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
