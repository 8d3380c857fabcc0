"""Repetitions: memories whose words another memory has in equal order.

Any possible difference in fact keeps both: a further word, number or negation, a password in
other capitals, a different author, key, value, or day. Vectors are not used: by vectors, London
is near Paris.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Final

from ...model.fields import to_json
from ...model.patterns import lazy_pattern
from ...model.records import MemoryRecord
from ..statements import EXACT_NAMES, MODIFIERS, are_duplicates, are_spelled_apart, parse_record

_WORDS_PER_EXTRA_WORD: Final = 5  # a repetition has at most one word more per five

_FILLER_WORDS: Final = frozenset(
    ("a", "an", "the", "that", "very", "really", "quite", "also", "now", "so", "please")
)
"""Words that change nothing."""

# Numbers with their sign, words, and the signs that are not mere punctuation: "C++", "$", "?".
_WORDS: Final = lazy_pattern(r"[-\u2212]?\d+(?:[.,]\d+)*|\w+|[^\w\s.,;:!\"()\u2026\u201c\u201d-]")
_APOSTROPHES: Final = lazy_pattern("['\u2019]")
_RUNS: Final = re.compile(r"\w+")
_SEPARATED_RUNS: Final = bytes(code if _RUNS.match(chr(code)) else ord(" ") for code in range(256))

_ANY: Final = ""  # is among the runs of every text, so that a text without runs is found, too


def find_repetitions(memories: Iterable[MemoryRecord]) -> list[bool]:
    """Return, for each memory, whether an earlier memory that is no repetition has all of the text.

    Compared are the memories that have the rarest run of the text, if all runs have occurred.
    """
    having = defaultdict[str, list[_Words]](list)
    found = []
    for words in map(_Words, memories):
        is_repeated = False
        if words.runs <= having.keys():
            rarest = min(words.runs, key=lambda run: len(having[run]))
            is_repeated = any(map(words.repeats, having[rarest]))
        found.append(is_repeated)
        if not is_repeated:
            for run in words.runs:
                having[run].append(words)
    return found


def _word_runs(text: str) -> list[str]:
    """Return the runs of letters and digits in the words of *text*."""
    text = text.casefold()
    if text.isascii():  # bytes take a third of the time
        return text.encode().translate(_SEPARATED_RUNS, b"'").decode().split()
    return _RUNS.findall(_APOSTROPHES.sub("", text))


class _Words:
    def __init__(self, memory: MemoryRecord) -> None:
        self._memory = memory
        self.runs = {_ANY, *_word_runs(memory.content)}
        self.runs -= _FILLER_WORDS

    @cached_property
    def _identity(self) -> tuple[Hashable, ...]:
        return fact_identity(self._memory)

    @cached_property
    def words(self) -> Sequence[str]:
        """The words, without idle words if any are left."""
        content = self._memory.content
        words = _WORDS.findall(_APOSTROPHES.sub("", content.casefold()))
        return [word for word in words if word not in _FILLER_WORDS] or words or [content]

    def repeats(self, other: _Words) -> bool:
        """Return whether *other* has all words, idle words aside."""
        # Sets first: most candidates fail here, before words are split.
        if not self.runs <= other.runs or self._identity != other._identity:
            return False
        if len(self.words) == len(other.words):
            texts = self._memory.content, other._memory.content
            return self.words == other.words and not are_spelled_apart(*texts)
        if not 0 < len(other.words) - len(self.words) <= len(self.words) / _WORDS_PER_EXTRA_WORD:
            return False
        # The iterator is used up from word to word, so words count in order only.
        rest = iter(other.words)
        added = Counter(other.words) - Counter(self.words)
        if not MODIFIERS.isdisjoint(added) or not all(word in rest for word in self.words):
            return False
        # Statements are parsed last, since parsing takes longest.
        return are_duplicates(parse_record(self._memory), parse_record(other._memory))


def fact_identity(memory: MemoryRecord) -> tuple[Hashable, ...]:
    """Return the fields that two memories must share to be one fact, and the exact names."""
    dated = memory.occurred_at != memory.created_at
    day = memory.occurred_at // 86_400 if dated else None
    value = None if memory.value is None else to_json(memory.value)
    return memory.author, memory.key, value, day, tuple(sorted(EXACT_NAMES.findall(memory.content)))
