"""Which pairs of texts have a chance to be in conflict: they meet what ``verdicts`` asks at least.

That is told of many pairs at once, from how many words they share and from marks of each statement.
Most pairs have none, and only the others are compared word by word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from . import Reading
from . import lexicon as lex
from .pairs import Pairs, Places, Truths
from .traits import Statement
from .verdicts import HALF, NAMED, SWAPPED, TOLD

_AT_ONCE: Final = 1 << 14  # pairs of texts
_FEW: Final = 16  # pairs of statements: in longer texts some have a chance, as a rule
_BITS: Final = 63


def promising(readings: Sequence[Reading], pairs: Pairs) -> list[tuple[int, int]]:
    """Return those *pairs* of *readings* that have a chance, in their order."""
    statements = _Statements(readings)
    found: list[tuple[int, int]] = []
    for start in range(0, len(pairs.first), _AT_ONCE):
        part = pairs.where(slice(start, start + _AT_ONCE))
        found += part.where(statements.chances(part)).places()
    return found


class _Statements:
    """The statements of readings, as columns."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        texts = [reading.traits.statements for reading in readings]
        self._all = [statement for text in texts for statement in text]
        self._counts = np.array([len(text) for text in texts], dtype=np.int64)
        self._starts = np.cumsum(self._counts) - self._counts
        self._sizes = self._column(lambda each: len(each.bag))
        self._scopes = self._column(lambda each: len(each.scope))
        known: dict[str, int] = {}
        self._firsts = self._column(lambda each: known.setdefault(each.first, len(known)))
        self._denied = self._which(lambda each: each.denied)
        self._valued = self._which(lambda each: bool(each.values))
        self._changed = self._which(lambda each: each.changed)
        self._unspaced = self._which(lambda each: not "".join(each.bag).isascii())
        self._posted = self._which(lambda each: not lex.POSTS.isdisjoint(each.bag))
        self._ones = self._which(lambda e: e.personal and not lex.ONES.isdisjoint(e.bag))
        bags = [each.bag for each in self._all]
        self._opposed, self._opposing = _marks([each.opposed for each in self._all], bags)

    def _column(self, tell: Callable[[Statement], int]) -> Places:
        return np.fromiter(map(tell, self._all), np.int64, len(self._all))

    def _which(self, tell: Callable[[Statement], bool]) -> Truths:
        return np.fromiter(map(tell, self._all), np.bool_, len(self._all))

    def chances(self, pairs: Pairs) -> Truths:
        """Tell of each pair of readings whether two of their statements have a chance."""
        others = self._counts[pairs.second]
        counts = self._counts[pairs.first] * others
        found: Truths = counts > _FEW
        counts[found] = 0
        pair = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(pair)) - (np.cumsum(counts) - counts)[pair]
        one, other = np.divmod(place, others[pair])
        x = self._starts[pairs.first][pair] + one
        y = self._starts[pairs.second][pair] + other
        shared = pairs.shared[pair]
        denial = self._denied[x] != self._denied[y]
        chance = np.where(denial, self._denial(x, y, shared), self._other(x, y, shared))
        found[pair[chance | (self._valued[x] & self._valued[y])]] = True
        return found

    def _denial(self, x: Places, y: Places, shared: Places) -> Truths:
        alike = (shared > 1) | (shared >= np.maximum(self._sizes[x], self._sizes[y]))
        covered: Truths = shared >= HALF * np.minimum(self._scopes[x], self._scopes[y])
        return alike & covered

    def _other(self, x: Places, y: Places, shared: Places) -> Truths:
        """Tell where a word may oppose or replace another, or a change be announced."""
        smaller = np.minimum(self._sizes[x], self._sizes[y])
        larger = np.maximum(self._sizes[x], self._sizes[y])
        opposed = (self._opposed[x] & self._opposing[y]) | (self._opposed[y] & self._opposing[x])
        alike = (self._firsts[x] == self._firsts[y]) | (self._posted[x] & self._posted[y])
        most = np.where(self._unspaced[x] | self._unspaced[y], SWAPPED, NAMED) + 1
        found: Truths = (opposed != 0) & (shared >= HALF * (smaller - 1))
        found |= alike & (larger <= shared + most)
        found |= self._ones[x] & self._ones[y]
        changed = self._changed[x] | self._changed[y]
        return found | (changed & (shared >= TOLD) & (shared >= HALF * smaller))


def _marks(one: Sequence[frozenset[str]], other: Sequence[frozenset[str]]) -> list[Places]:
    """Return the words in sets of both kinds as bits: sets that share a word share a bit."""
    words = frozenset[str]().union(*one) & frozenset[str]().union(*other)
    bits = {word: 1 << place % _BITS for place, word in enumerate(sorted(words))}
    marks = [[sum({bits[word] for word in words & each}) for each in sets] for sets in (one, other)]
    return [np.array(column, dtype=np.int64) for column in marks]
