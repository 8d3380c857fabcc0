"""Which of many texts may repeat another, told from all their bytes at once.

A text that repeats another has no word of its own. Words are compared by their runs of ASCII
letters or digits and by their other characters, and those by a hash: what is told apart is
different for certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Traces: TypeAlias = list[int]
"""Hashes of what the words of a text are made of."""

_BITS: Final = 14
_SPREAD: Final = np.uint32(2_654_435_761)  # 2**32 over the golden ratio
_WEIGHT: Final = np.arange(1, 257, dtype=np.uint32) * _SPREAD
_LEADING: Final = 0xC0  # a character outside ASCII begins with such a byte, or a higher one
_KIND: Final = np.zeros(256, dtype=np.uint8)
_KIND[ord("a") : ord("z") + 1] = 1
_KIND[ord("0") : ord("9") + 1] = 2
_KIND[128:] = 3
_NOTHING: Final = b"0"  # for empty texts, which are all alike
_MERE: Final = (  # spaces and punctuation outside ASCII, which part words
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000\u2026\u201c\u201d"
)


def suspects(texts: Iterable[str], idle: frozenset[str]) -> list[Traces | None]:
    """Return the traces of those of *texts* that may repeat another or be repeated; else None.

    Text a repeats b if all words of a but *idle* ones are in b, without case and apostrophes.
    """
    given = [_bytes(text) for text in texts]
    line, trace = _traces(given)
    count = np.bincount(trace, minlength=1 << _BITS)
    count[_mere(idle)] = 0
    able = np.bincount(line[count[trace] == 1], minlength=len(given)) == 0
    telling = count[trace] > 0
    line, trace = line[telling], trace[telling]
    least = np.full(len(given), len(line) + 1)
    np.minimum.at(least, line, count[trace])
    asked = np.zeros(1 << _BITS, dtype=np.bool_)
    asked[trace[able[line] & (count[trace] == least[line])]] = True  # the rarest of each
    wanted = able | (np.bincount(line[asked[trace]], minlength=len(given)) > 0)
    if (able & (least > len(line))).any():  # nothing is known of its words
        wanted[:] = True
    starts = line.searchsorted(np.arange(len(given) + 1)).tolist()
    return [
        trace[starts[place] : starts[place + 1]].tolist() if might else None
        for place, might in enumerate(wanted.tolist())
    ]


@cache
def _mere(words: frozenset[str]) -> Ints:
    """Return the traces that tell nothing."""
    return _traces([_bytes(word) for word in (*words, *_MERE)])[1]


def _bytes(text: str) -> bytes:
    folded = text.casefold().replace("'", "").replace("\u2019", "")
    return folded.encode("utf-8", "surrogatepass") or _NOTHING


def _traces(given: Sequence[bytes]) -> tuple[Ints, Ints]:
    """Return of every run and character in which text it is, ascending, and its hash."""
    signs = np.frombuffer(b"\0".join([b"", *given, b""]), dtype=np.uint8)
    kind = _KIND[signs]
    turns = np.flatnonzero((kind[1:] != kind[:-1]) | (signs[1:] >= _LEADING))
    begins = kind[turns + 1] > 0
    before, last = turns[begins], turns[1:][begins[:-1]]
    weight = _WEIGHT[signs]
    total = weight.cumsum(dtype=np.uint32)
    trace = (total[last] - total[before]) * _SPREAD + weight[before + 1]
    ends = np.cumsum([len(text) + 1 for text in given])
    return ends.searchsorted(before, "right"), (trace >> np.uint32(32 - _BITS)).astype(np.int64)
