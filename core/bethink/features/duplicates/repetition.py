"""Which memories only repeat another: its words in its order, and nothing else.

Whatever could make two of them two facts keeps both: another word, number or negation, a password
in other letters, another author, key, value, or day on which it happened. Vectors are not asked: to
them, London is near Paris.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...model.fields import to_json
from ...model.patterns import lazy_pattern
from ...model.records import MemoryRecord
from ..statements import MANNER, are_duplicates, read

_FEW: Final = 5  # a memory says what another says in so many words if it needs one word more

_IDLE: Final = frozenset(
    ("a", "an", "the", "that", "very", "really", "quite", "also", "now", "so", "please")
)
"""Words that change nothing."""

# Numbers with their sign, words, and the signs that are not mere punctuation: "C++", "$", "?".
_WORDS: Final = lazy_pattern(r"[-\u2212]?\d+(?:[.,]\d+)*|\w+|[^\w\s.,;:!\"()\u2026\u201c\u201d-]")
# What is another thing in other letters: options, paths, keys, grades; and signs that are meant.
_EXACT: Final = lazy_pattern(
    r"(?<!\S)--?[^\W\d_][\w-]*|/[^\s)\".,;:!?]+|\b[^\W\d_](?=\w*\d)\w{4,}"
    r"|\b[A-Z][-\u2212](?!\S)|(?<!\S)[.,;:](?!\S)"
)
_APOSTROPHES: Final = lazy_pattern("['\u2019]")
_RUNS: Final = re.compile(r"\w+")
_PARTED: Final = bytes(code if _RUNS.match(chr(code)) else ord(" ") for code in range(256))

_APART: Final = "\0"  # stands between texts
_FOREIGN: Final = lazy_pattern(r"[^\w\0-\x7f]+")
_START: Final = 64  # codes of bytes are below, several may share one; 0 is that of what parts runs
_DIGITS: Final = 32  # their codes are the highest
_AT_ONCE: Final = 1 << 16  # pairs of texts

Authenticator: TypeAlias = npt.NDArray[np.uint8]
Marks: TypeAlias = npt.NDArray[np.uint64]


def _code(byte: int) -> int:
    if chr(byte) == _APART:
        return _START
    if byte < 128 and _PARTED[byte] == ord(" "):
        return 0
    return byte if chr(byte) in "0123456789" else ord(chr(byte).lower()) % (_DIGITS - 1) + 1


_CODED: Final = bytes(map(_code, range(256)))


def _pairs(codes: Authenticator) -> npt.NDArray[np.uint16]:
    """Return what stands for each two codes side by side."""
    letters = (codes % _START).astype(np.uint16)
    pairs: npt.NDArray[np.uint16] = letters[:-1] * _START + letters[1:]
    return pairs


def _table(marks: npt.NDArray[np.int64]) -> Marks:
    """Return the bit of each pair's mark, no bit if the pair is in a word that is idle."""
    bits: Marks = np.uint64(1) << marks.astype(np.uint64)
    idle = " ".join(["", "", *_IDLE, ""]).encode().translate(_CODED)
    bits[_pairs(np.frombuffer(idle, dtype=np.uint8))] = 0
    return bits


_PAIRS: Final = np.arange(_START**2)
_NUMERIC: Final = (_PAIRS >= _DIGITS * _START) | (_PAIRS % _START >= _DIGITS)
_PLAIN: Final = _table(_PAIRS % 61)
_APART_FROM_DIGITS: Final = _table(np.where(_NUMERIC, 41 + _PAIRS % 23, _PAIRS % 41))
"""Texts of one kind often differ in a number alone, so digits share no marks with letters here."""


def repeats(memories: Iterable[MemoryRecord]) -> list[bool]:
    """Tell of each memory whether one before it, itself no repetition, says all that it says.

    Those are compared of which one has the marks of the other.
    """
    memories = list(memories)
    told = cache(lambda place: _Told(memories[place]))
    found = [False] * len(memories)
    for place, other in _marked_alike(*_marks([memory.content for memory in memories])):
        if not (found[place] or found[other]):
            found[place] = told(place).repeats(told(other))
    return found


def _marks(texts: Iterable[str]) -> tuple[Marks, Marks]:
    """Return two bit sets of each text: the marks of what stands side by side in its runs.

    Whatever has all runs of a text that change something has all of its marks.
    """
    codes = np.frombuffer(_coded(texts), dtype=np.uint8)
    starts, pairs = (codes == _START).nonzero()[0][:-1], _pairs(codes)
    plain = np.bitwise_or.reduceat(_PLAIN.take(pairs), starts)
    apart = np.bitwise_or.reduceat(_APART_FROM_DIGITS.take(pairs), starts)
    return plain, apart


def _coded(texts: Iterable[str]) -> bytes:
    """Return the codes of *texts*, with a start before each of them and at the end."""
    joined = _APART.join(["", *(text.replace(_APART, " ") for text in texts), ""])
    if not joined.isascii():
        joined = _FOREIGN.sub(" ", _APOSTROPHES.sub("", joined.casefold()))
    return joined.encode("utf-8", "surrogatepass").translate(_CODED, b"'")


def _marked_alike(plain: Marks, apart: Marks) -> Iterator[tuple[int, int]]:
    """Yield where each text stands with any before it that has all of its marks."""
    step = max(_AT_ONCE // max(len(plain), 1), 1)
    for start in range(0, len(plain), step):
        others = plain[: start + step]
        places, earlier = ((plain[start : start + step, None] | others) == others).nonzero()
        places += start
        alike = (earlier < places) & ((apart[places] | apart[earlier]) == apart[earlier])
        yield from zip(places[alike].tolist(), earlier[alike].tolist(), strict=True)


def _runs(text: str) -> list[str]:
    """Return the runs of letters and digits in the words of *text*."""
    text = text.casefold()
    if text.isascii():  # as most are, and so it takes a third of the time
        return text.encode().translate(_PARTED, b"'").decode().split()
    return _RUNS.findall(_APOSTROPHES.sub("", text))


class _Told:
    def __init__(self, memory: MemoryRecord) -> None:
        self._memory = memory
        self._thing = about(memory)
        self._runs = frozenset(_runs(memory.content)) - _IDLE

    @cached_property
    def words(self) -> Sequence[str]:
        """The words, without those that change nothing if there are others."""
        content = self._memory.content
        words = _WORDS.findall(_APOSTROPHES.sub("", content.casefold()))
        return [word for word in words if word not in _IDLE] or words or [content]

    def repeats(self, other: _Told) -> bool:
        """Tell whether *other* says the same, or that with a few words that do not change it."""
        if not self._runs <= other._runs or self._thing != other._thing:
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
    """Return what two memories must share to be one fact: author, key, value, day, exact names."""
    dated = memory.occurred_at != memory.created_at
    day = memory.occurred_at // 86_400 if dated else None
    value = None if memory.value is None else to_json(memory.value)
    return memory.author, memory.key, value, day, tuple(sorted(_EXACT.findall(memory.content)))
