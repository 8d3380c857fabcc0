"""Which memories only repeat another: its words in its order, and nothing else.

Whatever could make two of them two facts keeps both: another word, number or negation, another
author, key, value, or day on which it happened. Vectors are not asked: to them, London is near
Paris.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
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
    told = [_Told(memory) for memory in memories]
    counts = Counter(chain.from_iterable(each.said for each in told))
    rare = {word for word, count in counts.items() if count == 1} - _IDLE
    able = [rare.isdisjoint(each.said) for each in told]  # who has a word of its own repeats none
    asked = {word for each, might in zip(told, able, strict=True) if might for word in each.words}
    known: defaultdict[Hashable, _Known] = defaultdict(lambda: _Known(asked))
    return [
        known[about(each.memory)].says(each, might) for each, might in zip(told, able, strict=True)
    ]


class _Told:
    def __init__(self, memory: MemoryRecord) -> None:
        self.memory = memory
        self.said = words_of(memory.content)

    @cached_property
    def words(self) -> Sequence[str]:
        """What was said without idle words, or all of it where nothing is left."""
        words = [word for word in self.said if word not in _IDLE]
        return words or self.said or [self.memory.content]

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
    """What was told about one thing, and of each word that is *asked* who said it, as bits."""

    def __init__(self, asked: set[str]) -> None:
        self._asked = asked
        self._told: list[_Told] = []
        self._having: dict[str, int] = {}

    def says(self, told: _Told, might: bool) -> bool:
        """Tell whether *told*, if it *might* be, was told before; if not, take note of it."""
        if might and any(told.repeats(other) for other in self._with_all(told.words)):
            return True
        having, bit = self._having, 1 << len(self._told)
        for word in self._asked.intersection(told.words if might else told.said):
            having[word] = having.get(word, 0) | bit
        self._told.append(told)
        return False

    def _with_all(self, words: Sequence[str]) -> Iterator[_Told]:
        """Yield what was told that has all of the *words*."""
        left = -1
        for word in words:
            left &= self._having.get(word, 0)
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


def words_of(text: str) -> list[str]:
    """Return the words of *text*, folded, and its signs that are not mere punctuation."""
    text = text.casefold()
    if text.isascii():
        plain = text.encode().translate(_PLAIN, b"'")
        if _OTHER not in plain:
            return plain.decode().split()
    return _WORDS.findall(_APOSTROPHES.sub("", text))
