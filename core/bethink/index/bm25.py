"""BM25: the weight of each query term, the documents with the term, and the saturation in each.

Statistics (documents, lengths, document frequencies) are exact for the live documents at every
moment. An author's name counts for the author's documents. A rare query word also matches
synonyms or, in queries of another language than English, words with a common beginning. A query
word that no live document has may be misspelt: "recieve" finds "receive".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..model.arrays import Column, Floats
from ..text import LATIN_LETTERS, Synonym
from .keyword import KeywordIndex, Postings, author_term

if TYPE_CHECKING:
    from .joined import JoinedKeywords

K1: Final = 1.2
B: Final = 0.75
MAX_NAME_WEIGHT: Final = 2.0
"""The largest weight of an author's name for a document of the author."""

SYNONYM_WEIGHT: Final = 0.5
"""The weight of a synonym's occurrence, times the square of the similarity."""

RARE_SHARE: Final = 1 / 32
RARE_DOCUMENTS: Final = 8
"""A word in at most so many documents, or in such a share, may have synonyms or be a synonym."""

FORM_PREFIX: Final = 4
"""Words with an equal beginning of so many letters may be forms of one word."""

FORM_LIKENESS: Final = 0.8
"""The similarity of two forms of a word, on the scale of synonyms."""

FUZZY_WEIGHT: Final = 0.7
"""The weight of an occurrence of the word that an unknown word of a query is a slip of."""

MIN_FUZZY: Final = 5
"""A word of fewer letters is no slip: too many words differ by a letter."""

FUZZY_PREFIX: Final = 3
"""A slip has the first letters of the word meant."""

_NO_POSITIONS: Final = np.empty(0, dtype=np.int32)
_Word = tuple[Postings, float]  # where a term or a synonym of it occurs, and the weight
_NO_SYNONYMS: Final[Mapping[str, Sequence[Synonym]]] = MappingProxyType({})


class AuthorPostings(NamedTuple):
    """The documents (positions) of the authors with a name, and the weight of the name."""

    documents: Column
    weight: float


class TermScores(NamedTuple):
    """The terms of a query in a row: ``sizes`` numbers of ``documents`` and ``shares`` each.

    Documents are positions with the term, shares the saturation in [0, 1]. A position with synonyms
    appears once for each synonym; the shares are independent evidence. The first ``plain_count``
    terms have no synonyms and are no names. ``named`` maps the number of a name's term to the
    author's documents.
    """

    weights: Sequence[float]
    sizes: Sequence[int]
    documents: Column
    shares: Floats
    plain_count: int
    named: Mapping[int, AuthorPostings] = MappingProxyType({})


class _Occurrences(NamedTuple):
    """Words in a row: the document count of each, the documents, and the saturation in each."""

    frequencies: Sequence[int]
    sizes: Sequence[int]
    documents: Column
    shares: Floats


class Bm25(NamedTuple):
    """The documents of *keyword*: the number of terms of each, and *live* (bool by position).

    *live_count* counts the live documents, *live_terms* the terms of live documents.
    """

    keyword: KeywordIndex | JoinedKeywords
    lengths: Column
    live: Column
    live_count: int
    live_terms: int

    def score_terms(
        self,
        terms: Sequence[str],
        synonyms: Mapping[str, Sequence[Synonym]] = _NO_SYNONYMS,
        *,
        forms: bool = False,
        fuzzy: bool = False,
    ) -> TermScores | None:
        """Return the BM25 scores of *terms*, None if no term and no synonym of *synonyms* occurs.

        With *forms*, words with a common beginning count as synonyms. With *fuzzy*, a term that no
        live document has stands for a word that differs by a slip.
        """
        near = [(at, *each) for at, term in enumerate(terms) for each in synonyms.get(term, ())]
        if forms:
            near += [(at, *each) for at, term in enumerate(terms) for each in self._forms(term)]
        found = self.keyword.postings([*terms, *(term for _, term, _ in near)])
        named, own = self._author_postings(terms), found[: len(terms)]
        words = [[(postings, 1.0)] for postings in own]
        if fuzzy:
            for at, (term, postings) in enumerate(zip(terms, own, strict=True)):
                unknown = at not in named and (forms or term not in synonyms)
                if unknown and self._is_in_at_most(0, postings):
                    words[at] = [self._fuzzy_match(term)]
        for (at, _, likeness), postings in zip(near, found[len(terms) :], strict=True):
            if postings and at not in named and self._is_rare(postings) and self._is_rare(own[at]):
                words[at].append((postings, SYNONYM_WEIGHT * likeness**2))
        return self._term_scores(words, named)

    def _fuzzy_match(self, term: str) -> _Word:
        """Return where the most frequent word occurs that an unknown *term* may be a slip of."""
        if len(term) < MIN_FUZZY or not (term.isascii() and term.isalpha()):
            return [], 1.0
        near = [*self.keyword.starting_with(term[:FUZZY_PREFIX]), *self._respelt(term)]
        found = self.keyword.postings(each for each in near if _is_slip(term, each))
        return max(found, key=self._live_size, default=[]), FUZZY_WEIGHT

    def _respelt(self, term: str) -> Iterator[str]:
        """Give the words that differ by the "e" of an umlaut in the first letters: "Mueller"."""
        for at in range(1, FUZZY_PREFIX):
            if term[at - 1] in "aou":
                if term[at] == "e":
                    yield from self.keyword.starting_with(term[:at] + term[at + 1 :])
                else:
                    yield f"{term[:at]}e{term[at:]}"[:LATIN_LETTERS]

    def _forms(self, term: str) -> list[Synonym]:
        """Return the possible forms of a word in Latin letters, cut to equal beginnings."""
        if len(term) < FORM_PREFIX or not (term.isascii() and term.isalpha()):
            return []
        found = self.keyword.starting_with(term[:FORM_PREFIX])
        return [Synonym(each, FORM_LIKENESS) for each in found if each != term]

    def _term_scores(
        self, words: Sequence[Sequence[_Word]], named: Mapping[int, Column]
    ) -> TermScores | None:
        """Put the plain terms first, and names last."""
        plain = [each for at, each in enumerate(words) if len(each) == 1 and at not in named]
        extended = [each for each in words if len(each) > 1]
        words = [*plain, *extended, *(words[at] for at in named)]
        found = self._saturate([word for each in words for word in each])
        if not self.live_count or not (named or len(found.documents)):
            return None
        weights, sizes, end = [], [], 0
        for each in words:
            start, end = end, end + len(each)
            weights.append(self._idf(found.frequencies[start]))
            sizes.append(sum(found.sizes[start:end]))
        scores = TermScores(weights, sizes, found.documents, found.shares, len(plain))
        return self._credit_authors(scores, list(named.values())) if named else scores

    def _is_rare(self, postings: Postings) -> bool:
        """Return whether a word is rare enough to have synonyms, or to be a synonym."""
        return self._is_in_at_most(max(RARE_DOCUMENTS, RARE_SHARE * self.live_count), postings)

    def _is_in_at_most(self, most: float, postings: Postings) -> bool:
        """Return whether a word is in *most* live documents or fewer; counts only if in doubt."""
        size, dead = _size(postings), self.keyword.size - self.live_count
        return (self._live_size(postings) if most < size <= most + dead else size) <= most

    def _live_size(self, postings: Postings) -> int:
        """Return the number of live documents."""
        if self.live_count == self.keyword.size:
            return _size(postings)
        return sum(int(np.count_nonzero(self.live[part])) for part, _ in postings)

    def _idf(self, frequency: int) -> float:
        return math.log(1 + (self.live_count - frequency + 0.5) / (frequency + 0.5))

    def _saturate(self, words: Sequence[_Word]) -> _Occurrences:
        """Return the positions of *words*, in a row, and the weight of each occurrence."""
        parts = [part for postings, _ in words for part in postings]
        documents = np.concatenate([_NO_POSITIONS, *(part for part, _ in parts)], dtype=np.int64)
        shares = np.concatenate([_NO_POSITIONS, *(part for _, part in parts)], dtype=float)
        average = self.live_terms / max(self.live_count, 1) or 1.0
        norm = self.lengths[documents] * (K1 * B / average)
        norm += K1 * (1 - B)
        norm += shares
        shares /= norm
        sizes = frequencies = [_size(postings) for postings, _ in words]
        if min(weights := [weight for _, weight in words], default=1.0) < 1:
            shares *= np.array(weights).repeat(sizes)
        if self.live_count < self.keyword.size:
            kept = self.live[documents]
            shares *= kept
            ends = np.cumsum(sizes)[:-1]
            frequencies = [int(np.count_nonzero(part)) for part in np.split(kept, ends)]
        return _Occurrences(frequencies, sizes, documents, shares)

    def _author_postings(self, terms: Sequence[str]) -> dict[int, Column]:
        """Return the live positions of the authors named in *terms*, by number of term."""
        named = {}
        found = self.keyword.postings(map(author_term, terms)) if self.keyword.has_authors else ()
        for number, postings in enumerate(found):
            if postings:
                wrote = np.concatenate([part for part, _ in postings])
                wrote = wrote if self.live_count == self.keyword.size else wrote[self.live[wrote]]
                if len(wrote):
                    named[number] = wrote
        return named

    def _credit_authors(self, scores: TermScores, named: Sequence[Column]) -> TermScores:
        """Count the last terms, names, for documents by the authors and with the name."""
        weights, by_author = list(scores.weights), {}
        first = len(weights) - len(named)
        end = sum(scores.sizes[:first])
        for number, wrote in enumerate(named, first):
            start, end = end, end + scores.sizes[number]
            documents, shares = scores.documents[start:end], scores.shares[start:end]
            by = np.zeros(self.keyword.size, dtype=bool)
            by[wrote] = True
            others = int(np.count_nonzero(~by[documents[shares > 0]]))
            word, name = self._idf(len(wrote) + others), min(self._idf(len(wrote)), MAX_NAME_WEIGHT)
            weights[number] = max(word, name)
            shares *= word / weights[number]
            by_author[number] = AuthorPostings(wrote, name / weights[number])
        return scores._replace(weights=weights, named=by_author)


def _is_slip(one: str, other: str) -> bool:
    """Return whether words differ by a letter more, less or other, or by two letters exchanged."""
    if abs(len(one) - len(other)) > 1:
        return False
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    at = next(differing, min(len(one), len(other)))
    rest, others = one[at:], other[at:]
    cut = len(one) == len(other) == LATIN_LETTERS  # a letter more moves the last letter out
    return (
        (cut and (rest[1:] == others[:-1] or rest[:-1] == others[1:]))
        or rest[1:] in (others, others[1:])
        or rest == others[1:]
        or (rest[1::-1] == others[:2] and rest[2:] == others[2:])
    )


def _size(postings: Postings) -> int:
    return sum([len(part) for part, _ in postings])
