"""The exact top k of a scope.

The vector signal is first known only as an upper bound. Candidates are scored exactly from the top
of the bound down. Once k exact scores are known, a candidate bounded below the k-th score cannot
enter, and every candidate above is scored exactly. So the answer is the true top k of the
documented formula over the whole scope.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from ..index import EarlyScan, Scan, ScopeIndex, SearchedIndex, cosines, keyword_scores
from ..model.arrays import Floats, Positions, Truths
from ..model.filters import Compare
from ..model.records import Explanation
from ..text import Query
from .ranking import HasUpperBound, Ranking, Scored, Signals, has_upper_bound, scored_by

Mode = Literal["hybrid", "keyword", "semantic"]

DIGITS: Final = 12
"""Decimals of a score, so that rounding errors cannot decide an order."""

_PREFILTER_FROM: Final = 32_768  # positions; fewer are scanned faster than prefiltered
_SAMPLE_SIZE: Final = 1024  # positions, to estimate the distribution of upper bounds
_MAX_STRONG_SHARE: Final = 0.06  # no prefilter if more positions reach half the highest bound
_FIRST_POSITIONS: Final = 256  # searched first by the prefilter, plus 8 k

_PRUNE_FROM: Final = 1024  # candidates, or 4 k; fewer are scored as fast as pruned
_SMALL_SPREAD: Final = 0.1  # of similarity; up to here, similarity alone gives the order
_FIRST_BATCH_EXTRA: Final = 4  # the first batch has 1.5 k + this many exact scores

_GROUPS_PER_K: Final = 8  # so many groups for each of k + 16 values, or the k-th is too low
_MAX_GROUP_SIZE: Final = 512


class VectorQuery(NamedTuple):
    """The vector side of a query: a unit vector to compare with the vectors called ``name``.

    ``vector_weight`` is the vector's share of the similarity. The signal rises from 0 at
    ``cosine_at_zero`` to 1 for the same direction; a record without any query word counts only
    above ``min_cosine``.
    """

    name: str
    query: Floats
    vector_weight: float
    min_cosine: float
    cosine_at_zero: float

    def signal(self, cosine: Floats, keyword: Floats) -> Floats:
        """Return the vector signal of records with the given cosines and keyword scores."""
        signal = (cosine - self.cosine_at_zero) / (1 - self.cosine_at_zero)
        np.minimum(np.maximum(signal, 0.0, out=signal), 1.0, out=signal)
        signal *= (keyword > 0) | (cosine > self.min_cosine)
        return signal

    @property
    def slope(self) -> float:
        """How much similarity a step of the cosine adds."""
        return self.vector_weight / (1 - self.cosine_at_zero)


class Question(NamedTuple):
    """A checked recall: the query, the limits of the answer, and an early scan, if any."""

    query: str | None
    words: Query
    vector: VectorQuery | None
    k: int
    now: float
    min_score: float
    min_similarity: float
    allowed: Positions | None = None
    early_scan: EarlyScan | None = None


class TopK(NamedTuple):
    """The top k, best first: positions, rows, scores, and the numbers behind the scores.

    ``exact_count`` is the number of candidates that were scored exactly.
    """

    positions: Positions
    rows: list[int]
    scores: list[float]
    signals: Mapping[str, Floats]
    contributions: Mapping[str, Floats]
    exact_count: int
    approximate: bool = False

    def explanation(self, place: int) -> Explanation:
        """Explain the score at *place*."""
        signals, contributions = (
            {name: column.item(place) for name, column in columns.items()}
            for columns in (self.signals, self.contributions)
        )
        return Explanation(
            self.scores[place], signals, contributions, self.exact_count, self.approximate
        )


NOTHING_FOUND: Final = TopK(np.empty(0, dtype=np.int64), [], [], {}, {}, 0)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What is known of every position before a vector is read in full.

    Positions that may not be returned have no keyword score and a ``raw`` of minus infinity.
    """

    keyword: Floats
    scan: Scan | None

    def cosine_bounds(self, positions: Positions) -> Floats:
        """Return upper bounds of the cosines of *positions*."""
        return np.zeros(len(positions)) if self.scan is None else self.scan.bounds(positions)


class _Narrowed(NamedTuple):
    """The *positions* that may be in the top k of *candidates*, and bounds of the similarity."""

    candidates: _Candidates
    positions: Positions
    similarity: Floats


class _Ranked(NamedTuple):
    """The ranking of some positions: rounded scores, and the positions that may be returned."""

    scored: Scored
    score: Floats
    similarity: Floats
    passing: Truths


class Search:
    """One search of *index*: candidates are narrowed step by step, and never changed."""

    def __init__(self, index: SearchedIndex, question: Question, ranking: Ranking) -> None:
        self._index = index
        self._question = question
        self._ranking = ranking
        self._vector = question.vector
        self._keyword = keyword_scores(index, question.words)
        self._spread: float = getattr(ranking, "spread", np.inf)
        if not index.has_outcomes:
            self._spread = getattr(ranking, "spread_unjudged", self._spread)
        self._narrowed: _Narrowed | None = None
        self._exact_count = 0

    def begin(self) -> None:
        """Narrow the candidates as far as is possible without the lock of the index."""
        self._narrowed = self._narrow(self._question.allowed)

    def top_k(self) -> TopK:
        """Return the top k, best first, with all ties of the last."""
        if not self._question.k:
            return NOTHING_FOUND
        return self._top_k(self._narrowed or self._narrow(self._prefilter()))

    def _prefilter(self) -> Positions | None:
        """Return the positions that may be in the answer, None for all.

        A ranking may have an upper bound. The positions with the highest bounds are searched first,
        and positions that cannot reach the k-th score are left out, if most cannot.
        """
        allowed, k, size = self._question.allowed, self._question.k, self._index.size
        if size < _PREFILTER_FROM or not has_upper_bound(self._ranking):
            return allowed
        sampled = self._score_bounds(self._ranking, slice(None, None, size // _SAMPLE_SIZE))
        if (sampled >= sampled.max() / 2).mean() > _MAX_STRONG_SHARE:
            return allowed
        bounds = self._score_bounds(self._ranking, slice(None))
        if (excluded := self._excluded(allowed)) is not None:
            bounds[excluded] = -np.inf
        strong = math.ceil(len(sampled) * (_FIRST_POSITIONS + 8 * k) / size)
        strongest = (bounds >= np.sort(sampled)[-min(strong, len(sampled))]).nonzero()[0]
        best = self._top_k(self._narrow(strongest))
        if len(best.rows) < k:
            return allowed
        # The k-th score among some positions is no higher than the k-th among all.
        able: Positions = (bounds >= best.scores[k - 1] - 10.0**-DIGITS).nonzero()[0]
        return able

    def _score_bounds(self, ranking: HasUpperBound, places: slice) -> Floats:
        """Return the upper bounds of the scores at *places*."""
        occurred, accessed, importance = (
            self._index.columns[name][places] for name in ("occurred", "accessed", "importance")
        )
        return ranking.ceiling(_since(occurred, accessed, self._question.now), importance)

    def _restrict(self, allowed: Positions | None) -> _Candidates:
        """Return the candidates, without similarity where a position may not be returned."""
        scan, excluded = None, self._excluded(allowed)
        if (vector := self._vector) is not None:
            column = self._index.vector_column(vector.name, len(vector.query))
            scan = column.scan(vector.query, allowed, self._question.early_scan)
        if excluded is None:
            return _Candidates(self._keyword, scan)
        if scan is not None:
            scan = scan._replace(raw=np.where(excluded, -np.inf, scan.raw))
        return _Candidates(np.where(excluded, 0.0, self._keyword), scan)

    def _excluded(self, allowed: Positions | None) -> Truths | None:
        """Return the positions that may not be returned, None if all may."""
        index = self._index
        excluded = None if index.live_count == index.size else ~index.columns["live"]
        if index.mortal:
            expired = index.columns["expires"] <= self._question.now
            excluded = expired if excluded is None else excluded | expired
        if allowed is not None:
            others = np.ones(index.size, dtype=bool)
            others[allowed] = False
            excluded = others if excluded is None else excluded | others
        return excluded

    def _narrow(self, allowed: Positions | None) -> _Narrowed:
        """Return the candidates among *allowed* that may be in the top k by their similarity."""
        candidates = self._restrict(allowed)
        return _Narrowed(candidates, *self._select(candidates))

    def _top_k(self, narrowed: _Narrowed) -> TopK:
        """Return the top k of the *narrowed* candidates, with all ties of the last."""
        candidates, positions, _ = narrowed
        if not len(positions):
            return NOTHING_FOUND
        positions, guess = self._pruned(*narrowed)
        ranked = self._score_exactly(candidates, positions, guess)
        score, k, places = ranked.score, self._question.k, ranked.passing.nonzero()[0]
        if len(places) > k:
            places = places[score[places] >= _kth(score[places], k)]
        order = places[(-score[places]).argsort(kind="stable")]
        if len(order) > k:
            order = order[score[order] >= score[order[k - 1]]]
        return self._result(positions, ranked, order)

    def _select(self, candidates: _Candidates) -> tuple[Positions, Floats]:
        """Return the positions that may be in the top k, and bounds of the similarity."""
        bounds, least = self._similarity_bounds(candidates), self._question.min_similarity
        if len(bounds) >= self._question.k:
            least = self._threshold(candidates.scan, _kth(bounds, self._question.k))
        positions = (bounds > least).nonzero()[0]
        if candidates.scan is not None and least < (unrelated := self._max_unrelated):
            # A bound this low without a query word proves a cosine up to min_cosine: no signal.
            related = (bounds[positions] > unrelated) | (candidates.keyword[positions] > 0)
            positions = positions[related]
        return positions, bounds[positions]

    def _similarity_bounds(self, candidates: _Candidates) -> Floats:
        """Return an upper bound of the similarity of every position."""
        vector, scan = self._vector, candidates.scan
        if vector is None or scan is None or not vector.vector_weight:
            return candidates.keyword
        bounds = scan.raw * (scan.unit * vector.slope)
        bounds += (scan.margin - vector.cosine_at_zero) * vector.slope
        np.maximum(bounds, 0.0, out=bounds)
        bounds += (1 - vector.vector_weight) * candidates.keyword
        return bounds

    @property
    def _max_unrelated(self) -> float:
        """The similarity up to which a record without a query word may be unrelated."""
        vector = self._vector
        if vector is None:
            return 0.0
        return vector.slope * (vector.min_cosine - vector.cosine_at_zero)

    def _threshold(self, scan: Scan | None, kth: float) -> float:
        """Return a similarity that the top k exceed, if k bounds of similarities reach *kth*."""
        least = certain = self._question.min_similarity
        if self._vector is not None and scan is not None:
            # A bound exceeds the similarity by up to two margins: k records are at least so
            # similar, unless a record may be unrelated, with a similarity of 0 whatever the bound.
            kth -= 2 * scan.margin * self._vector.slope
            certain = max(certain, self._max_unrelated)
        # The k records outrank every record that is less similar by more than the spread.
        return max(least, kth - self._spread - 1e-9) if kth > certain else least

    def _pruned(
        self, candidates: _Candidates, positions: Positions, similarity: Floats
    ) -> tuple[Positions, Floats]:
        """Prune *positions* that k positions outrank whatever the exact signals are.

        Return the rest and a guess of the order: by bounds of the similarity if few other signals
        count, else by bounds of the score. Pruning keeps a ranking of unknown spread from ranking
        all positions again and again.
        """
        k, scan = self._question.k, candidates.scan
        few = len(positions) <= max(_PRUNE_FROM, 4 * k)
        if scan is None or (few and self._spread <= _SMALL_SPREAD):
            return positions, similarity
        bounds = self._rank(candidates, positions, scan.bounds(positions)).score
        if few:
            return positions, bounds
        best = positions[_top(bounds, 2 * k + 8)]
        # Two margins below the upper bound is a lower bound, and a score never falls with a cosine.
        lower = self._rank(candidates, best, scan.bounds(best) - 2 * scan.margin)
        certain = lower.score[lower.passing]
        if len(certain) < k:
            return positions, bounds
        able = bounds >= np.partition(certain, -k)[-k]
        return positions[able], bounds[able]

    def _score_exactly(
        self, candidates: _Candidates, positions: Positions, guess: Floats
    ) -> _Ranked:
        """Compute exact cosines until no bound is left that could reach the top k.

        The order of *guess* is the order of the computation; only passing positions remain.
        """
        k, cosine = self._question.k, candidates.cosine_bounds(positions)
        exact = np.full(len(positions), self._vector is None)
        batch = _top(guess, k + k // 2 + _FIRST_BATCH_EXTRA)
        while True:
            cosine[batch] = self._exact_cosines(positions[batch])
            exact[batch] = True
            ranked = self._rank(candidates, positions, cosine)
            passing = ranked.passing & exact
            reached = ranked.score[passing]
            full = len(reached) >= k
            least = _kth(reached, k) if full else self._question.min_score
            rest = (~exact & (ranked.score >= least)).nonzero()[0]
            if not len(rest):
                return ranked._replace(passing=passing)
            # With k exact scores, each bound above is due; without, the best bounds are next.
            batch = rest if full else rest[_top(ranked.score[rest], 4 * int(exact.sum()))]

    def _exact_cosines(self, positions: Positions) -> Floats:
        if (vector := self._vector) is None:
            return np.zeros(len(positions))
        self._exact_count += len(positions)
        return cosines(self._index.directions(vector.name, positions), vector.query)

    def _rank(self, candidates: _Candidates, positions: Positions, cosine: Floats) -> _Ranked:
        """Rank *positions* by *cosine*, exact or an upper bound."""
        index, vector, now = self._index, self._vector, self._question.now
        keyword = candidates.keyword[positions]
        judged = index.columns["judged"].take(positions, axis=0).T
        signals = Signals(
            keyword=keyword,
            vector=cosine if vector is None else vector.signal(cosine, keyword),
            cosine=cosine,
            share=0.0 if vector is None else vector.vector_weight,
            age=_since(judged[0], judged[1], now),
            accesses=judged[2],
            importance=judged[3],
            confidence=judged[4],
            outcome=judged[5],
            query=self._question.query,
            is_category=lambda name: index.passing(Compare(("category",), "$eq", name))[positions],
            within=lambda scope: index.within(scope, positions),
            now=now,
        )
        scored = scored_by(self._ranking, signals)
        score = scored.score.round(DIGITS)
        passing = signals.similarity > self._question.min_similarity
        passing &= score >= self._question.min_score
        return _Ranked(scored, score, signals.similarity, passing)

    def _result(self, positions: Positions, ranked: _Ranked, order: Positions) -> TopK:
        """Return the values of the columns at the places *order*."""
        best = positions[order]
        return TopK(
            best,
            self._index.columns["row"][best].tolist(),
            ranked.score[order].tolist(),
            {name: column[order] for name, column in ranked.scored.signals.items()},
            {name: column[order] for name, column in ranked.scored.contributions.items()},
            self._exact_count,
        )


@dataclass(frozen=True, slots=True)
class EarlySearch:
    """A *search* that began without the lock of the *index*, which had the *state*."""

    search: Search
    index: ScopeIndex
    state: object

    def is_of(self, index: SearchedIndex) -> bool:
        """Whether the search can go on in *index*, which has not changed since."""
        return index is self.index and self.index.state is self.state


def search_early(index: ScopeIndex, question: Question, ranking: Ranking) -> EarlySearch | None:
    """Begin a search without the lock of *index*; None if there was an error.

    Half of a change may have been read. Any other error comes again under the lock.
    """
    state = index.state
    try:
        search = Search(index, question, ranking)
        search.begin()
    except Exception:
        return None
    return EarlySearch(search, index, state)


def _since(occurred: Floats, accessed: Floats, now: float) -> Floats:
    """Return the seconds since the times *accessed* or *occurred*, the later."""
    age: Floats = now - np.maximum(occurred, accessed)
    return np.maximum(age, 0.0, out=age)


def _kth(values: Floats, k: int) -> float:
    """Return a number near and no greater than the k-th largest value, by the maxima of groups."""
    size = min(len(values) // (_GROUPS_PER_K * (k + 16)), _MAX_GROUP_SIZE)
    if size > 1:
        values = values[: len(values) // size * size].reshape(size, -1).max(axis=0)
    return float(np.partition(values, -k)[-k])


def _top(values: Floats, count: int) -> Positions:
    """Return where the *count* largest values are, in no order."""
    if count >= len(values):
        return np.arange(len(values))
    return values.argpartition(-count)[-count:]
