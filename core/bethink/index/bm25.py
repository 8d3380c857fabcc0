"""BM25: how much each term of a query weighs, where it occurs, and how saturated it is there.

Statistics (documents, lengths, document frequencies) are exact for the live documents at every
moment. A name weighs for those who wrote. A rare word of the query is also found in its synonyms
or, where the query looks like another language than English, in words that begin alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..text import Synonym
from .columns import Column
from .keyword import KeywordIndex, Postings, authored

Floats = npt.NDArray[np.float64]

K1: Final = 1.2
B: Final = 0.75
NAME: Final = 2.0
"""The most that a word of an author's name weighs for what that author wrote."""

SYNONYM: Final = 0.5
"""What an occurrence of a synonym is worth, times the square of its likeness."""

RARE: Final = 1 / 32
FEW: Final = 8
"""A word in at most so many memories, or in RARE of them, has synonyms and may be one."""

HEAD: Final = 4
"""Words that begin with the same so many letters may be forms of one."""

ALIKE: Final = 0.8
"""How alike such words count, as synonyms do."""

_NONE: Final = np.empty(0, dtype=np.int32)
_Word = tuple[Postings, float]  # where a term or a synonym of it occurs, and what it is worth
_NO_SYNONYMS: Final[Mapping[str, Sequence[Synonym]]] = MappingProxyType({})


class Written(NamedTuple):
    """What the authors of a name wrote (positions), and what the name is worth as evidence."""

    documents: Column
    worth: float


class TermScores(NamedTuple):
    """The terms of a query, one after the other: ``sizes`` of ``documents`` and ``shares`` each.

    Those are where a term occurs (positions) and how saturated it is there. A position with
    synonyms of the term comes once for each; their shares are independent evidence. The first so
    many terms, ``plain``, have no synonyms and are no names. For terms of an author's name, by
    number, ``named`` says what that author wrote.
    """

    weights: Sequence[float]
    sizes: Sequence[int]
    documents: Column
    shares: Floats
    plain: int
    named: Mapping[int, Written] = MappingProxyType({})


class _Found(NamedTuple):
    """Words, one after the other: in how many documents each is, which, and how saturated."""

    frequencies: Sequence[int]
    sizes: Sequence[int]
    documents: Column
    shares: Floats


class Bm25(NamedTuple):
    """The documents of *keyword*: how many terms each has, and whether it is *alive* (columns).

    *live* counts the live ones and *total* their terms.
    """

    keyword: KeywordIndex
    lengths: Column
    alive: Column
    live: int
    total: int

    def weigh(
        self,
        terms: Sequence[str],
        synonyms: Mapping[str, Sequence[Synonym]] = _NO_SYNONYMS,
        forms: bool = False,
    ) -> TermScores | None:
        """Return what BM25 says of the *terms*, None if none of them or their *synonyms* occurs.

        With *forms*, words that begin like one of the terms count as its synonyms.
        """
        near = [(at, *each) for at, term in enumerate(terms) for each in synonyms.get(term, ())]
        if forms:
            near += [(at, *each) for at, term in enumerate(terms) for each in self._forms(term)]
        found = self.keyword.found([*terms, *(term for _, term, _ in near)])
        named, own = self._named(terms), found[: len(terms)]
        words = [[(postings, 1.0)] for postings in own]
        for (at, _, likeness), postings in zip(near, found[len(terms) :], strict=True):
            if postings and at not in named and self._rare(postings) and self._rare(own[at]):
                words[at].append((postings, SYNONYM * likeness**2))
        return self._weighed(words, named)

    def _forms(self, term: str) -> list[Synonym]:
        """Return what may be other forms of a word in Latin letters; others are cut as short."""
        if len(term) < HEAD or not (term.isascii() and term.isalpha()):
            return []
        found = self.keyword.beginning(term[:HEAD])
        return [Synonym(each, ALIKE) for each in found if each != term]

    def _weighed(
        self, words: Sequence[Sequence[_Word]], named: Mapping[int, Column]
    ) -> TermScores | None:
        """Put the plain terms first, and names last."""
        plain = [each for at, each in enumerate(words) if len(each) == 1 and at not in named]
        wide = [each for each in words if len(each) > 1]
        words = [*plain, *wide, *(words[at] for at in named)]
        found = self._saturated([word for each in words for word in each])
        if not self.live or not (named or len(found.documents)):
            return None
        weights, sizes, end = [], [], 0
        for each in words:
            start, end = end, end + len(each)
            weights.append(self._idf(found.frequencies[start]))
            sizes.append(sum(found.sizes[start:end]))
        weighed = TermScores(weights, sizes, found.documents, found.shares, len(plain))
        return self._credited(weighed, list(named.values())) if named else weighed

    def _rare(self, postings: Postings) -> bool:
        """Tell whether a word is in few enough live documents to have synonyms, or to be one."""
        most = max(FEW, RARE * self.live)
        size, dead = _size(postings), self.keyword.size - self.live
        if most < size <= most + dead:
            size = sum(int(np.count_nonzero(self.alive[part])) for part, _ in postings)
        return size <= most

    def _idf(self, frequency: int) -> float:
        return math.log(1 + (self.live - frequency + 0.5) / (frequency + 0.5))

    def _saturated(self, words: Sequence[_Word]) -> _Found:
        """Return where *words* occur, one after the other, and what each occurrence is worth."""
        parts = [part for postings, _ in words for part in postings]
        documents = np.concatenate([_NONE, *(part for part, _ in parts)], dtype=np.int64)
        shares = np.concatenate([_NONE, *(part for _, part in parts)], dtype=float)
        average = self.total / max(self.live, 1) or 1.0
        norm = self.lengths[documents] * (K1 * B / average)
        norm += K1 * (1 - B)
        norm += shares
        shares /= norm
        sizes = frequencies = [_size(postings) for postings, _ in words]
        if min(worths := [worth for _, worth in words], default=1.0) < 1:
            shares *= np.array(worths).repeat(sizes)
        if self.live < self.keyword.size:
            kept = self.alive[documents]
            shares *= kept
            ends = np.cumsum(sizes)[:-1]
            frequencies = [int(np.count_nonzero(part)) for part in np.split(kept, ends)]
        return _Found(frequencies, sizes, documents, shares)

    def _named(self, terms: Sequence[str]) -> dict[int, Column]:
        """Return what the authors named in *terms* wrote: live positions, by number of term."""
        named = {}
        found = self.keyword.found(map(authored, terms)) if self.keyword.signed else ()
        for number, postings in enumerate(found):
            if postings:
                wrote = np.concatenate([part for part, _ in postings])
                wrote = wrote if self.live == self.keyword.size else wrote[self.alive[wrote]]
                if len(wrote):
                    named[number] = wrote
        return named

    def _credited(self, weighed: TermScores, named: Sequence[Column]) -> TermScores:
        """Count the last terms, names, for those who wrote and, as words, for who says them."""
        weights, written = list(weighed.weights), {}
        first = len(weights) - len(named)
        end = sum(weighed.sizes[:first])
        for number, wrote in enumerate(named, first):
            start, end = end, end + weighed.sizes[number]
            documents, shares = weighed.documents[start:end], weighed.shares[start:end]
            by = np.zeros(self.keyword.size, dtype=bool)
            by[wrote] = True
            others = int(np.count_nonzero(~by[documents[shares > 0]]))
            word, name = self._idf(len(wrote) + others), min(self._idf(len(wrote)), NAME)
            weights[number] = max(word, name)
            shares *= word / weights[number]
            written[number] = Written(wrote, name / weights[number])
        return weighed._replace(weights=weights, named=written)


def _size(postings: Postings) -> int:
    return sum([len(part) for part, _ in postings])
