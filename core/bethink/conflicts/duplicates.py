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

    What has a run of letters and digits of its own repeats none. Of the others the rarest runs are
    noted, and each is held against those that have all of them that it has.
    """
    memories = list(memories)
    runs = [_runs(memory.content) for memory in memories]
    counts = Counter(chain.from_iterable(runs))
    lone = {run for run, count in counts.items() if count == 1} - _IDLE
    rarest = [_rarest(own, counts) if lone.isdisjoint(own) else None for own in runs]
    asked = frozenset(rarest)
    having: defaultdict[Hashable, set[_Told]] = defaultdict(set)
    found = []
    for memory, own, rare in zip(memories, runs, rarest, strict=True):
        repeated = False
        if shared := asked.intersection(own):
            told, thing = _Told(memory), about(memory)
            tellings = [having[thing, run] for run in shared]
            repeated = rare is not None and any(map(told.repeats, set.intersection(*tellings)))
            if not repeated:
                for telling in tellings:
                    telling.add(told)
        found.append(repeated)
    return found


def _runs(text: str) -> list[str]:
    """Return the runs of letters and digits in the words of *text*."""
    text = text.casefold()
    if text.isascii():  # as most are, and so it takes a third of the time
        found = text.encode().translate(_PARTED, b"'").decode().split()
    else:
        found = _RUNS.findall(_APOSTROPHES.sub("", text))
    return [*found, _ANY]


def _rarest(runs: Iterable[str], counts: Mapping[str, int]) -> str:
    return min((run for run in runs if run not in _IDLE), key=counts.__getitem__)


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
