"""Repetitions: memories whose words another memory has in equal order.

Any possible difference in fact keeps both: a further word, number or negation, a password in
other capitals, a different author, key, value, or day. Vectors are not used: by vectors, London
is near Paris.
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

_SEPARATOR: Final = "\0"  # stands between texts
_FOREIGN: Final = lazy_pattern(r"[^\w\0-\x7f]+")
_START: Final = 64  # the code before each text; 0 is the code of signs between runs
_DIGITS: Final = 32  # digits have the codes 48 to 57; other bytes share the codes 1 to 31
_BATCH_PAIRS: Final = 1 << 16  # pairs of texts compared in one array

Codes: TypeAlias = npt.NDArray[np.uint8]
Signatures: TypeAlias = npt.NDArray[np.uint64]


def _code_of(byte: int) -> int:
    if chr(byte) == _SEPARATOR:
        return _START
    if byte < 128 and _SEPARATED_RUNS[byte] == ord(" "):
        return 0
    return byte if chr(byte) in "0123456789" else ord(chr(byte).lower()) % (_DIGITS - 1) + 1


_CODED: Final = bytes(map(_code_of, range(256)))


def _pairs(codes: Codes) -> npt.NDArray[np.uint16]:
    """Return a code for each two adjacent codes."""
    letters = (codes % _START).astype(np.uint16)
    pairs: npt.NDArray[np.uint16] = letters[:-1] * _START + letters[1:]
    return pairs


def _signature_bits(marks: npt.NDArray[np.int64]) -> Signatures:
    """Return the bit of each pair's mark, no bit for a pair in an idle word."""
    bits: Signatures = np.uint64(1) << marks.astype(np.uint64)
    idle = " ".join(["", "", *_FILLER_WORDS, ""]).encode().translate(_CODED)
    bits[_pairs(np.frombuffer(idle, dtype=np.uint8))] = 0
    return bits


_PAIRS: Final = np.arange(_START**2)
_HAS_DIGIT: Final = (_PAIRS >= _DIGITS * _START) | (_PAIRS % _START >= _DIGITS)
_PLAIN: Final = _signature_bits(_PAIRS % 61)
_DIGITS_SEPARATE: Final = _signature_bits(np.where(_HAS_DIGIT, 41 + _PAIRS % 23, _PAIRS % 41))
"""Texts of a kind often differ in a number alone, so digits and letters share no marks."""


def find_repetitions(memories: Iterable[MemoryRecord]) -> list[bool]:
    """Return, for each memory, whether an earlier memory that is no repetition has all of the text.

    Only pairs with one memory's marks among the marks of the second are compared word by word.
    """
    memories = list(memories)
    words = cache(lambda place: _Words(memories[place]))
    found = [False] * len(memories)
    for place, other in _candidate_pairs(*_signatures([memory.content for memory in memories])):
        if not (found[place] or found[other]):
            found[place] = words(place).repeats(words(other))
    return found


def _signatures(texts: Iterable[str]) -> tuple[Signatures, Signatures]:
    """Return two bit sets for each text: the marks of adjacent codes within runs.

    A text with all meaning runs of a second text has all of the second text's marks.
    """
    codes = np.frombuffer(_encode(texts), dtype=np.uint8)
    starts, pairs = (codes == _START).nonzero()[0][:-1], _pairs(codes)
    plain = np.bitwise_or.reduceat(_PLAIN.take(pairs), starts)
    apart = np.bitwise_or.reduceat(_DIGITS_SEPARATE.take(pairs), starts)
    return plain, apart


def _encode(texts: Iterable[str]) -> bytes:
    """Return the codes of *texts*, with a start before each and at the end."""
    joined = _SEPARATOR.join(["", *(text.replace(_SEPARATOR, " ") for text in texts), ""])
    if not joined.isascii():
        joined = _FOREIGN.sub(" ", _APOSTROPHES.sub("", joined.casefold()))
    return joined.encode("utf-8", "surrogatepass").translate(_CODED, b"'")


def _candidate_pairs(plain: Signatures, apart: Signatures) -> Iterator[tuple[int, int]]:
    """Yield the place of each text, with the places of earlier texts that have all of the marks."""
    step = max(_BATCH_PAIRS // max(len(plain), 1), 1)
    for start in range(0, len(plain), step):
        # A bit set is inside a second set if "or" adds nothing; later texts are never compared.
        others = plain[: start + step]
        places, earlier = ((plain[start : start + step, None] | others) == others).nonzero()
        places += start
        # The second bit set is checked for the few pairs left, so that no large array is needed.
        alike = (earlier < places) & ((apart[places] | apart[earlier]) == apart[earlier])
        yield from zip(places[alike].tolist(), earlier[alike].tolist(), strict=True)


def _word_runs(text: str) -> list[str]:
    """Return the runs of letters and digits in the words of *text*."""
    text = text.casefold()
    if text.isascii():  # bytes take a third of the time
        return text.encode().translate(_SEPARATED_RUNS, b"'").decode().split()
    return _RUNS.findall(_APOSTROPHES.sub("", text))


class _Words:
    def __init__(self, memory: MemoryRecord) -> None:
        self._memory = memory
        self._thing = fact_identity(memory)
        self._word_runs = frozenset(_word_runs(memory.content)) - _FILLER_WORDS

    @cached_property
    def words(self) -> Sequence[str]:
        """The words, without idle words if any are left."""
        content = self._memory.content
        words = _WORDS.findall(_APOSTROPHES.sub("", content.casefold()))
        return [word for word in words if word not in _FILLER_WORDS] or words or [content]

    def repeats(self, other: _Words) -> bool:
        """Return whether *other* has all words, idle words aside."""
        # Sets first: most candidates fail here, before words are split.
        if not self._word_runs <= other._word_runs or self._thing != other._thing:
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
        return are_duplicates(parse_record(self._memory), parse_record(other._memory), 1.0)


def fact_identity(memory: MemoryRecord) -> tuple[Hashable, ...]:
    """Return the fields that two memories must share to be one fact, and the exact names."""
    dated = memory.occurred_at != memory.created_at
    day = memory.occurred_at // 86_400 if dated else None
    value = None if memory.value is None else to_json(memory.value)
    return memory.author, memory.key, value, day, tuple(sorted(EXACT_NAMES.findall(memory.content)))
