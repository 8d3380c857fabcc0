"""Which memories only repeat another: its words in its order, and nothing else.

Whatever could make two of them two facts keeps both: another word, number or negation, another
author, key, value, or day on which it happened. Vectors are not asked: to them, London is near
Paris.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from ..fields import to_json
from ..records import MemoryRecord
from . import are_duplicates, read
from .lexicon import MANNER

_FEW: Final = 5  # a memory says what another says in so many words if it needs one word more

_IDLE: Final = frozenset(
    ("a", "an", "the", "that", "very", "really", "quite", "also", "now", "so", "please")
)
"""Words that change nothing."""

# Numbers with their sign, words, and the signs that are not mere punctuation: "C++", "$", "?".
_WORDS: Final = re.compile(r"[-\u2212]?\d+(?:[.,]\d+)*|\w+|[^\w\s.,;:!\"()\u2026\u201c\u201d-]")
_APOSTROPHES: Final = re.compile("['\u2019]")
_RUNS: Final = re.compile(r"\w+")
_PARTED: Final = bytes(code if _RUNS.match(chr(code)) else ord(" ") for code in range(256))
_ANY: Final = ""  # is among the runs of every text, so that one without words is found, too


def repeats(memories: Iterable[MemoryRecord]) -> list[bool]:
    """Tell of each memory whether one before it, itself no repetition, says all that it says.

    What is the first to have some run of letters and digits repeats none. Of each of the others the
    rarest run is noted, and it is held against those before it that have this one.
    """
    memories = list(memories)
    runs = [_runs(memory.content) for memory in memories]
    rarest = _rarest(_nothing_new(runs))
    asked = frozenset(rarest.values())
    having: defaultdict[str, list[_Told]] = defaultdict(list)
    found = [False] * len(memories)
    for place, own in enumerate(runs):
        if asked.isdisjoint(own):
            continue
        told = _Told(memories[place], own)
        if place in rarest and any(map(told.repeats, having[rarest[place]])):
            found[place] = True
        else:
            for run in asked.intersection(own):
                having[run].append(told)
    return found


def _runs(text: str) -> list[str]:
    """Return the runs of letters and digits in the words of *text*."""
    text = text.casefold()
    if text.isascii():  # as most are, and so it takes a third of the time
        found = text.encode().translate(_PARTED, b"'").decode().split()
    else:
        found = _RUNS.findall(_APOSTROPHES.sub("", text))
    found.append(_ANY)
    return found


def _nothing_new(runs: Iterable[list[str]]) -> dict[int, set[str]]:
    """Return, by place, the runs of those whose runs are all idle or occur before them."""
    seen, found = {_ANY, *_IDLE}, {}
    for place, own in enumerate(runs):
        known = len(seen)
        seen.update(own)
        if len(seen) == known:
            found[place] = set(own) - _IDLE
    return found


def _rarest(runs: Mapping[int, set[str]]) -> dict[int, str]:
    """Return the run of each that the fewest have, of several the longest."""
    counts = Counter(chain.from_iterable(runs.values()))
    return {
        place: min(sorted(own, key=len, reverse=True), key=counts.__getitem__)
        for place, own in runs.items()
    }


class _Told:
    def __init__(self, memory: MemoryRecord, runs: Sequence[str]) -> None:
        self._memory, self._listed = memory, runs

    @cached_property
    def runs(self) -> frozenset[str]:
        """The runs of letters and digits that change something."""
        return frozenset(self._listed) - _IDLE

    @cached_property
    def thing(self) -> Hashable:
        """What it is about."""
        return about(self._memory)

    @cached_property
    def words(self) -> Sequence[str]:
        """The words, without those that change nothing if there are others."""
        content = self._memory.content
        words = _WORDS.findall(_APOSTROPHES.sub("", content.casefold()))
        return [word for word in words if word not in _IDLE] or words or [content]

    def repeats(self, other: _Told) -> bool:
        """Tell whether *other* says the same, or that with a few words that do not change it."""
        if not self.runs <= other.runs or self.thing != other.thing:
            return False
        if len(self.words) == len(other.words):
            return self.words == other.words
        if not 0 < len(other.words) - len(self.words) <= len(self.words) / _FEW:
            return False
        rest = iter(other.words)
        added = Counter(other.words) - Counter(self.words)
        if not MANNER.isdisjoint(added) or not all(word in rest for word in self.words):
            return False
        return are_duplicates(read(self._memory), read(other._memory), 1.0)


def about(memory: MemoryRecord) -> Hashable:
    """Return what two memories must share to be one fact: author, key, value, day."""
    dated = memory.occurred_at != memory.created_at
    day = memory.occurred_at // 86_400 if dated else None
    value = None if memory.value is None else to_json(memory.value)
    return memory.author, memory.key, value, day
