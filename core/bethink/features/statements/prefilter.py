"""The prefilter: leave out pairs of texts that no rule can find in conflict.

Most pairs of similar texts are hopeless. Each text is read once into columns of bits, and all pairs
are compared at once. ``rules`` judges the pairs that are left. A new rule needs a bit here as well
as a line in ``rules._may_conflict``; a test compares prefilter and rules.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from ...model.arrays import Positions, Truths
from .statement_features import Statement, StatementFeatures

_FIRST, _POSTS, _OPPOSED, _REST = range(4)
_LANES: Final = 4
_DENIAL: Final = 1  # a denial, or a change: the texts must share two words
_PERSONAL: Final = 2
_KINDS: Final = 2  # bits before the kinds of values
_WIDTH: Final = 64
_LEAST_SHARED: Final = 2


def promising_pairs(texts: Sequence[StatementFeatures], pairs: Positions) -> list[tuple[int, int]]:
    """Return the pairs of places in *texts* for which ``compare`` may find a conflict.

    *pairs* has two places a row.
    """
    sure, sharing = _Bits(texts).judge(pairs)
    kept = (sure | sharing).nonzero()[0]
    rows = zip(*pairs[kept].T.tolist(), sure[kept].tolist(), strict=True)
    return [
        (one, other)
        for one, other, certain in rows
        if certain or len(texts[one].bag & texts[other].bag) >= _LEAST_SHARED
    ]


class _Bits:
    """What each text ``asks`` of a second text and what each text ``has``, as bits.

    Equal features have equal bits; a bit may stand for several features.
    """

    def __init__(self, texts: Sequence[StatementFeatures]) -> None:
        self._numbers: tuple[dict[Hashable, int], ...] = tuple({} for _ in range(_LANES))
        self._opposed = frozenset().union(*(s.opposed for text in texts for s in text.statements))
        read = [self._read(text) for text in texts]
        bits = np.array(read, dtype=np.uint64).reshape(-1, 2, _LANES)
        self._asks, self._has = bits[:, 0], bits[:, 1]
        known: dict[Hashable, int] = {}
        same = [known.setdefault((text.main_words, text.figures), len(known)) for text in texts]
        self._same = np.array(same, dtype=np.int64)  # texts of equal words may differ in details

    def judge(self, pairs: Positions) -> tuple[Truths, Truths]:
        """Return which of *pairs* may conflict, and which only when two words are shared."""
        one, other = pairs.T
        met = (self._asks[one] & self._has[other]) | (self._asks[other] & self._has[one])
        shared = (met[:, _REST] & np.uint64(_DENIAL)) != 0
        met[:, _REST] &= ~np.uint64(_DENIAL)
        return (met != 0).any(axis=1) | (self._same[one] == self._same[other]), shared

    def _read(self, text: StatementFeatures) -> tuple[list[int], list[int]]:
        asks, has = [0] * _LANES, [0] * _LANES
        for s in text.statements:
            alike = self._bit(_FIRST, s.first), self._any(_POSTS, s.posts), self._values(s)
            for bits in (asks, has):
                bits[_FIRST] |= alike[0]
                bits[_POSTS] |= alike[1]
                bits[_REST] |= alike[2]
            asks[_OPPOSED] |= self._any(_OPPOSED, s.opposed)
            has[_OPPOSED] |= self._any(_OPPOSED, s.bag & self._opposed)
            # Equal statements of a single word have equal first words, so _FIRST finds them.
            asks[_REST] |= _DENIAL if s.denied or s.changed else 0
            has[_REST] |= _DENIAL
        return asks, has

    def _values(self, s: Statement) -> int:
        """Return the bits of the kinds of values, and of a statement about the speaker."""
        kinds = 0
        for value in s.values:
            kinds |= self._bit(_REST, value.kind, _KINDS)
        return kinds | (_PERSONAL if s.personal else 0)

    def _any(self, lane: int, words: frozenset[str]) -> int:
        bits = 0
        for word in words:
            bits |= self._bit(lane, word)
        return bits

    def _bit(self, lane: int, feature: str, reserved: int = 0) -> int:
        numbers = self._numbers[lane]
        number: int = numbers.setdefault(feature, len(numbers))
        return 1 << (reserved + number % (_WIDTH - reserved))
