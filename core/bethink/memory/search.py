"""The exact top k of a scope.

The vector signal is first known only as an upper bound. Candidates are scored exactly from the top
of the bound down. Once k exact scores are known, a candidate bounded below the k-th score cannot
enter, and every candidate above is scored exactly. So the answer is the true top k of the
documented formula over the whole scope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from ..index import Scan, ScopeIndex, cosines
from ..model.arrays import Floats, Positions, Truths
from ..model.filters import Compare
from ..model.records import Explanation
from ..text import Query
from .ranking import HasUpperBound, Ranking, Scored, Signals

Mode = Literal["hybrid", "keyword", "semantic"]


class VectorQuery(NamedTuple):
    """The vector side of a query: a unit vector to compare with the vectors called ``name``.

    ``share`` is the vector's share of the similarity. The signal rises from 0 at the cosine
    ``zero`` to 1 for the same direction; a record without any query word counts only above
    ``floor``.
    """

    name: str
    query: Floats
    share: float
    floor: float
    zero: float

    def signal(self, cosine: Floats, keyword: Floats) -> Floats:
        """Return the vector signal of records with the given cosines and keyword scores."""
        signal = (cosine - self.zero) / (1 - self.zero)
        np.minimum(np.maximum(signal, 0.0, out=signal), 1.0, out=signal)
        signal *= (keyword > 0) | (cosine > self.floor)
        return signal

    @property
    def slope(self) -> float:
        """How much similarity a step of the cosine adds."""
        return self.share / (1 - self.zero)


class Question(NamedTuple):
    """A checked recall: the query, and the limits of the answer."""

    query: str | None
    words: Query
    probe: VectorQuery | None
    k: int
    now: float
    min_score: float
    min_similarity: float
    allowed: Positions | None = None


DIGITS: Final = 12
"""Decimals of a score, so that rounding errors cannot decide an order."""

_FEW: Final = 8
_MANY: Final = 1024
_SLIGHT: Final = 0.1
_LARGEST_GROUP: Final = 512
_LARGE: Final = 32_768
_SAMPLE: Final = 1024
_HEAVY: Final = 256
_LIGHT: Final = 0.06
_MORE: Final = 4  # than half as many again as are wanted are read in full at first


class Found(NamedTuple):
    """The top k, best first: positions, rows, scores, and the numbers behind the scores.

    ``survivors`` counts the candidates that were scored exactly.
    """

    positions: Positions
    rows: list[int]
    scores: list[float]
    signals: Mapping[str, Floats]
    contributions: Mapping[str, Floats]
    survivors: int

    def explanation(self, place: int) -> Explanation:
        """Explain the score at *place*."""
        signals, contributions = (
            {name: column.item(place) for name, column in columns.items()}
            for columns in (self.signals, self.contributions)
        )
        return Explanation(self.scores[place], signals, contributions, self.survivors)


_NOTHING: Final = Found(np.empty(0, dtype=np.int64), [], [], {}, {}, 0)


class _Ranked(NamedTuple):
    """The ranking of some positions: rounded scores, and the positions that may be returned."""

    parts: Scored
    score: Floats
    similarity: Floats
    passing: Truths


@dataclass(frozen=True, slots=True)
class Placement:
    """The placement of a row: numbers, the count ``ahead``, and all rows ``tied``.

    A row below the limits of similarity or score has neither.
    """

    explanation: Explanation
    similarity: float
    ahead: int
    tied: Sequence[int]


class Search:
    """One search of *index*."""

    def __init__(
        self,
        index: ScopeIndex,
        question: Question,
        ranking: Ranking,
    ) -> None:
        self._index = index
        self._question = question
        self._ranking = ranking
        self._probe = question.probe
        self._worded = self._keyword = index.keyword_scores(question.words)
        self._scan: Scan | None = None
        self._spread: float = getattr(ranking, "spread", np.inf)
        self._survivors = 0

    def found(self) -> Found:
        """Return the top k, best first, with all ties of the last."""
        if not self._question.k:
            return _NOTHING
        self._look_among(self._worthy())
        return self._best()

    def _best(self) -> Found:
        """Return the top k of the narrowed candidates, with all ties of the last."""
        positions, similar = self._candidates()
        if not len(positions):
            return _NOTHING
        positions, guess = self._narrowed(positions, similar)
        ranked = self._settled(positions, guess)
        score, k, places = ranked.score, self._question.k, ranked.passing.nonzero()[0]
        if len(places) > k:
            places = places[score[places] >= _kth(score[places], k)]
        order = places[(-score[places]).argsort(kind="stable")]
        if len(order) > k:
            order = order[score[order] >= score[order[k - 1]]]
        return self._told(positions, ranked, order)

    def standing(self, row: int) -> Placement:
        """Return the score of *row*, the number of rows before, and the ties, among all rows.

        The question must ask for more rows than the scope has, or the numbers would be incomplete.
        """
        one = self._index.positions([row])
        self._look_among(self._question.allowed)
        own = self._ranked(one, self._cosines(one))
        explanation = self._told(one, own, np.array([0])).explanation(0)
        similarity = float(own.similarity[0])
        if not own.passing[0]:
            return Placement(explanation, similarity, 0, ())
        rivals, _ = self._candidates()
        most = self._ranked(rivals, self._most(rivals)).score
        rivals = rivals[most >= own.score[0]]  # itself among them
        ranked = self._ranked(rivals, self._cosines(rivals))
        ahead = int((ranked.passing & (ranked.score > own.score[0])).sum())
        tied = rivals[ranked.passing & (ranked.score == own.score[0])]
        return Placement(explanation, similarity, ahead, self._index.columns["row"][tied].tolist())

    def _worthy(self) -> Positions | None:
        """Return the positions that may be in the answer, None for all.

        A ranking may have an upper bound. The positions with the highest bounds are searched first,
        and positions that cannot reach the k-th score are left out, if most cannot.
        """
        allowed, k, size = self._question.allowed, self._question.k, self._index.size
        if size < _LARGE or not isinstance(self._ranking, HasUpperBound):
            return allowed
        ceiling = self._ranking.ceiling
        sample = self._ceilings(ceiling, slice(None, None, size // _SAMPLE))
        if (sample >= sample.max() / 2).mean() > _LIGHT:
            return allowed
        most = self._ceilings(ceiling, slice(None))
        if (barred := self._barred(allowed)) is not None:
            most[barred] = -np.inf
        heavy = math.ceil(len(sample) * (_HEAVY + 8 * k) / size)
        heaviest = (most >= np.sort(sample)[-min(heavy, len(sample))]).nonzero()[0]
        self._look_among(heaviest)
        found = self._best()
        if len(found.rows) < k:
            return allowed
        worthy: Positions = (most >= found.scores[k - 1] - 10.0**-DIGITS).nonzero()[0]
        return worthy

    def _ceilings(self, ceiling: Callable[[Floats, Floats], Floats], places: slice) -> Floats:
        """Return the upper bounds of the scores at *places*."""
        return ceiling(self._ages(places), self._index.columns["importance"][places])

    def _ages(self, places: slice) -> Floats:
        """Return the seconds since the records at *places* occurred or were accessed."""
        columns = self._index.columns
        return _since(columns["occurred"][places], columns["accessed"][places], self._question.now)

    def _look_among(self, allowed: Positions | None) -> None:
        """Remove all similarity from the positions that may not be returned."""
        if (probe := self._probe) is not None:
            column = self._index.vector_column(probe.name, len(probe.query))
            self._scan = column.scan(probe.query, allowed)
        barred = self._barred(allowed)
        self._keyword = self._worded if barred is None else np.where(barred, 0.0, self._worded)
        if barred is not None and self._scan is not None:
            self._scan.raw[barred] = -np.inf

    def _barred(self, allowed: Positions | None) -> Truths | None:
        """Return the positions that may not be returned, None if all may."""
        index = self._index
        barred = None if index.live == index.size else ~index.columns["alive"]
        if index.mortal:
            expired = index.columns["expires"] <= self._question.now
            barred = expired if barred is None else barred | expired
        if allowed is not None:
            others = np.ones(index.size, dtype=bool)
            others[allowed] = False
            barred = others if barred is None else barred | others
        return barred

    def _candidates(self) -> tuple[Positions, Floats]:
        """Return the positions that may be in the top k, and bounds of the similarity."""
        bounds, least = self._bounds(), self._question.min_similarity
        if len(bounds) >= self._question.k:
            least = self._outranked(_kth(bounds, self._question.k))
        positions = (bounds > least).nonzero()[0]
        if self._scan is not None and least < (floor := self._unrelated):
            related = (bounds[positions] > floor) | (self._keyword[positions] > 0)
            positions = positions[related]
        return positions, bounds[positions]

    def _bounds(self) -> Floats:
        """Return an upper bound of the similarity of every position."""
        probe, scan = self._probe, self._scan
        if probe is None or scan is None or not probe.share:
            return self._keyword
        bounds = scan.raw * (scan.unit * probe.slope)
        bounds += (scan.margin - probe.zero) * probe.slope
        np.maximum(bounds, 0.0, out=bounds)
        bounds += (1 - probe.share) * self._keyword
        return bounds

    @property
    def _unrelated(self) -> float:
        """The similarity up to which a record without a query word may be unrelated."""
        probe = self._probe
        return 0.0 if probe is None else probe.slope * (probe.floor - probe.zero)

    def _outranked(self, kth: float) -> float:
        """Return a similarity that the top k exceed, if k bounds of similarities reach *kth*.

        The k records are at least as similar as the bound less the width. They outrank every record
        that is less similar by more than the ranking's spread.
        """
        least = sure = self._question.min_similarity
        if self._probe is not None and self._scan is not None:
            kth -= 2 * self._scan.margin * self._probe.slope
            sure = max(sure, self._unrelated)
        return max(least, kth - self._spread - 1e-9) if kth > sure else least

    def _narrowed(self, positions: Positions, similar: Floats) -> tuple[Positions, Floats]:
        """Prune *positions* that k positions outrank whatever the exact signals are.

        Return the rest and a guess of the order: by bounds of the similarity if few other signals
        count, else by bounds of the score. Pruning keeps a ranking of unknown spread from ranking
        all positions again and again.
        """
        k, scan = self._question.k, self._scan
        few = len(positions) <= max(_MANY, 4 * k)
        if scan is None or (few and self._spread <= _SLIGHT):
            return positions, similar
        most = self._ranked(positions, self._most(positions)).score
        if few:
            return positions, most
        best = positions[_top(most, 2 * k + 8)]
        surely = self._ranked(best, self._most(best) - 2 * scan.margin)
        sure = surely.score[surely.passing]
        if len(sure) < k:
            return positions, most
        able = most >= np.partition(sure, -k)[-k]
        return positions[able], most[able]

    def _most(self, positions: Positions) -> Floats:
        """Return upper bounds of the cosines of *positions*."""
        return np.zeros(len(positions)) if self._scan is None else self._scan.most(positions)

    def _cosines(self, positions: Positions) -> Floats:
        """Return the exact cosines of *positions*."""
        if (probe := self._probe) is None:
            return np.zeros(len(positions))
        self._survivors += len(positions)
        return cosines(self._index.directions(probe.name, positions), probe.query)

    def _evidence(self, positions: Positions, cosine: Floats) -> Signals:
        """Return the signals of *positions*, with *cosine* as an upper bound."""
        probe, keyword, now = self._probe, self._keyword[positions], self._question.now
        judged = self._index.columns["judged"].take(positions, axis=0).T
        return Signals(
            keyword=keyword,
            vector=cosine if probe is None else probe.signal(cosine, keyword),
            cosine=cosine,
            share=0.0 if probe is None else probe.share,
            age=_since(judged[0], judged[1], now),
            accesses=judged[2],
            importance=judged[3],
            confidence=judged[4],
            outcome=judged[5],
            query=self._question.query,
            is_category=lambda name: self._of_category(name)[positions],
            within=lambda scope: self._index.within(scope, positions),
            now=now,
        )

    def _of_category(self, name: str) -> Truths:
        return self._index.passing(Compare(("category",), "$eq", name))

    def _settled(self, positions: Positions, guess: Floats) -> _Ranked:
        """Compute exact cosines until no bound is left that could reach the top k.

        The order of *guess* is the order of the computation; only passing positions remain.
        """
        k, cosine = self._question.k, self._most(positions)
        exact = np.full(len(positions), self._probe is None)
        batch = _top(guess, k + k // 2 + _MORE)
        while True:
            cosine[batch] = self._cosines(positions[batch])
            exact[batch] = True
            ranked = self._ranked(positions, cosine)
            passing = ranked.passing & exact
            reached = ranked.score[passing]
            full = len(reached) >= k
            least = _kth(reached, k) if full else self._question.min_score
            rest = (~exact & (ranked.score >= least)).nonzero()[0]
            if not len(rest):
                return ranked._replace(passing=passing)
            batch = rest if full else rest[_top(ranked.score[rest], 4 * int(exact.sum()))]

    def _ranked(self, positions: Positions, cosine: Floats) -> _Ranked:
        """Rank *positions* by *cosine*, exact or an upper bound."""
        evidence = self._evidence(positions, cosine)
        parts = self._ranking.rank(evidence)
        score = parts.score.round(DIGITS)
        passing = evidence.similarity > self._question.min_similarity
        passing &= score >= self._question.min_score
        return _Ranked(parts, score, evidence.similarity, passing)

    def _told(self, positions: Positions, ranked: _Ranked, order: Positions) -> Found:
        """Return the values of the columns at the places *order*."""
        found = positions[order]
        return Found(
            found,
            self._index.columns["row"][found].tolist(),
            ranked.score[order].tolist(),
            {name: column[order] for name, column in ranked.parts.signals.items()},
            {name: column[order] for name, column in ranked.parts.contributions.items()},
            self._survivors,
        )


def _since(occurred: Floats, accessed: Floats, now: float) -> Floats:
    """Return the seconds since the times *accessed* or *occurred*, the later."""
    age: Floats = now - np.maximum(occurred, accessed)
    return np.maximum(age, 0.0, out=age)


def _kth(values: Floats, k: int) -> float:
    """Return a number near and no greater than the k-th largest value, by the maxima of groups."""
    size = min(len(values) // (_FEW * (k + 16)), _LARGEST_GROUP)
    if size > 1:
        values = values[: len(values) // size * size].reshape(size, -1).max(axis=0)
    return float(np.partition(values, -k)[-k])


def _top(values: Floats, count: int) -> Positions:
    """Return where the *count* largest values are, in no order."""
    if count >= len(values):
        return np.arange(len(values))
    return values.argpartition(-count)[-count:]
