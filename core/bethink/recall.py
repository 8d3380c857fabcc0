"""The way of a read: scope, signals, ranking, exact top k.

The vector signal is first known only as an upper bound. Candidates are scored exactly from the top
of the bound down; once k exact scores are known, whatever is bounded below the k-th cannot enter,
and everything else is scored exactly too. So the answer is the true top k of the documented formula
over the whole scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from .backends import Vector
from .index import ScopeIndex
from .index.vectors import cosines
from .ranking import Evidence, Floats, Parts, Ranking

Mode = Literal["hybrid", "keyword", "semantic"]
Positions = npt.NDArray[np.int64]

DIGITS: Final = 12
"""Scores are rounded to so many decimals, so that rounding errors cannot decide an order."""

_FEW: Final = 8
_BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class Probe:
    """The vector side of a query: a unit vector to compare with the vectors called ``name``.

    ``share`` is the vector's share of the similarity. Its signal rises from 0 at the cosine
    ``zero`` to 1 for the same direction; a record without any word of the query counts only above
    ``floor``.
    """

    name: str
    query: Floats
    share: float
    floor: float
    zero: float

    def signal(self, cosine: Floats, keyword: Floats) -> Floats:
        """Return the vector signal of records with these cosines and keyword scores."""
        signal = np.clip((cosine - self.zero) / (1 - self.zero), 0.0, 1.0)
        signal[(keyword <= 0) & (cosine <= self.floor)] = 0.0
        return signal

    @property
    def slope(self) -> float:
        """How much similarity a step of the cosine adds."""
        return self.share / (1 - self.zero)


@dataclass(frozen=True, slots=True)
class Question:
    """One recall, checked: what to look for and what may be returned."""

    terms: Sequence[str]
    probe: Probe | None
    k: int
    now: float
    min_score: float
    min_similarity: float
    allowed: Positions | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that made it, with its score and the numbers behind it."""

    row: int
    score: float
    signals: Mapping[str, float]
    contributions: Mapping[str, float]


Fetch = Callable[[Sequence[int], str], dict[int, Vector]]


def search(index: ScopeIndex, question: Question, ranking: Ranking, fetch: Fetch) -> list[Hit]:
    """Return the top k of *index*, best first, together with all that tie with the last of them."""
    return _Search(index, question, ranking, fetch).hits()


class _Search:
    def __init__(
        self, index: ScopeIndex, question: Question, ranking: Ranking, fetch: Fetch
    ) -> None:
        self._index = index
        self._question = question
        self._ranking = ranking
        self._fetch = fetch
        self._probe = question.probe
        self._keyword = index.keyword_scores(question.terms)
        self._cosine, self._margin = self._scan()

    def hits(self) -> list[Hit]:
        positions = self._candidates()
        if not len(positions) or not self._question.k:
            return []
        evidence = self._evidence(positions)
        parts, exact = self._settled(positions, evidence)
        k, score = self._question.k, np.round(parts.score, DIGITS)
        passing = np.flatnonzero(exact & self._passes(evidence, score))
        if len(passing) > k:
            last = score[passing[_top(score[passing], k)]].min()
            passing = passing[score[passing] >= last]
        order = passing[np.argsort(-score[passing], kind="stable")]
        rows = self._index.columns["row"][positions[order]]
        return _hits(rows, score[order], parts, order)

    def _scan(self) -> tuple[Floats, float]:
        """Return an upper bound of every position's cosine, and the width of the bound."""
        if self._probe is None:
            return np.empty(0), 0.0
        dimension = len(self._probe.query)
        column = self._index.vector_column(self._probe.name, dimension, self._fetch)
        cosine, margin = column.scan(self._probe.query)
        cosine += margin
        return cosine, 2 * margin

    def _candidates(self) -> Positions:
        """Return the positions that may count: alive, in time, allowed, and alike enough."""
        similar, least = self._similar(), self._question.min_similarity
        barred = self._barred()
        if barred is not None:
            similar[barred] = -1.0
        if len(similar) > _FEW * (self._question.k + 16):
            least = max(least, self._cutoff(similar))
        return np.flatnonzero(similar > least)

    def _similar(self) -> Floats:
        """Return an upper bound of every position's similarity."""
        probe = self._probe
        if probe is None:
            return self._keyword.copy()
        similar = self._cosine - probe.zero
        similar *= probe.slope
        np.maximum(similar, 0.0, out=similar)
        if probe.floor > probe.zero:
            similar[(self._cosine <= probe.floor) & (self._keyword <= 0)] = 0.0
        similar += (1 - probe.share) * self._keyword
        return similar

    def _barred(self) -> npt.NDArray[np.bool_] | None:
        """Return which positions may not be returned, None if all may."""
        index, question = self._index, self._question
        barred = None if index.live == index.size else ~index.columns["alive"]
        if index.mortal:
            expired = index.columns["expires"] <= question.now
            barred = expired if barred is None else barred | expired
        if question.allowed is not None:
            others = np.ones(index.size, dtype=bool)
            others[question.allowed] = False
            barred = others if barred is None else barred | others
        return barred

    def _cutoff(self, similar: Floats) -> float:
        """Return a similarity at or below which nothing can be in the top k.

        The k positions with the highest bound are at least as alike as their bound less its width;
        what is less alike than they are by more than the ranking's spread, they all outrank.
        """
        certain, least = _kth(similar, self._question.k), self._question.min_similarity
        if self._probe is not None:
            certain -= self._margin * self._probe.slope
            below = self._probe.slope * (self._probe.floor - self._probe.zero)
            least = max(least, below)  # up to there a record may turn out to be unrelated
        spread = getattr(self._ranking, "spread", np.inf)
        return certain - spread - 1e-9 if certain > least else 0.0

    def _evidence(self, positions: Positions) -> Evidence:
        columns = self._index.columns
        latest = np.maximum(columns["occurred"][positions], columns["accessed"][positions])
        probe, keyword = self._probe, self._keyword[positions]
        return Evidence(
            keyword=keyword,
            vector=(
                np.zeros(len(positions))
                if probe is None
                else probe.signal(self._cosine[positions], keyword)
            ),
            share=0.0 if probe is None else probe.share,
            age=np.maximum(self._question.now - latest, 0.0),
            importance=columns["importance"][positions],
            confidence=columns["confidence"][positions],
            outcome=columns["outcome"][positions],
            accesses=columns["accesses"][positions].astype(np.float64),
        )

    def _settled(
        self, positions: Positions, evidence: Evidence
    ) -> tuple[Parts, npt.NDArray[np.bool_]]:
        """Replace bounds by exact signals until no bound is left that could reach the top k.

        Return the ranking of all *positions*, and which of them it is exact for.
        """
        question, parts = self._question, self._ranking.rank(evidence)
        exact = np.full(len(positions), self._probe is None)
        batch = _top(parts.score, 0 if self._probe is None else question.k + 8)
        while len(batch):
            exact[batch] = True
            self._settle(positions[batch], evidence, batch)
            parts = self._ranking.rank(evidence)
            score = parts.score
            passing = score[exact & self._passes(evidence, score)]
            full = len(passing) >= question.k
            least = np.partition(passing, -question.k)[-question.k] if full else question.min_score
            rest = np.flatnonzero(~exact & (score >= least - 10.0**-DIGITS))
            batch = rest if full else rest[_top(score[rest], 4 * int(exact.sum()))]
        return parts, exact

    def _settle(self, positions: Positions, evidence: Evidence, places: Positions) -> None:
        """Put the exact vector signal of *positions* into their *places* in *evidence*."""
        assert self._probe is not None
        rows = self._index.columns["row"][positions].tolist()
        found = self._fetch(rows, self._probe.name)
        absent = np.zeros(len(self._probe.query), dtype=np.float32)
        vectors = np.array([found.get(row, absent) for row in rows])
        cosine = cosines(vectors, self._probe.query)
        evidence.vector[places] = self._probe.signal(cosine, evidence.keyword[places])

    def _passes(self, evidence: Evidence, score: Floats) -> npt.NDArray[np.bool_]:
        alike = evidence.similarity > self._question.min_similarity
        passing: npt.NDArray[np.bool_] = alike & (score >= self._question.min_score)
        return passing


def _hits(rows: Positions, scores: Floats, parts: Parts, order: Positions) -> list[Hit]:
    signals, added = _told(parts.signals, order), _told(parts.contributions, order)
    return [Hit(*each) for each in zip(rows.tolist(), scores.tolist(), signals, added, strict=True)]


def _told(columns: Mapping[str, Floats], order: Positions) -> list[dict[str, float]]:
    """Return the numbers of *columns* for each place in *order*, by name."""
    numbers = {name: column[order].tolist() for name, column in columns.items()}
    return [{name: told[at] for name, told in numbers.items()} for at in range(len(order))]


def _kth(values: Floats, k: int) -> float:
    """Return a number no greater than the k-th largest value, near it: by the maxima of blocks."""
    block = min(len(values) // (_FEW * (k + 16)), _BLOCK)
    if block > 1:
        values = values[: len(values) // block * block].reshape(-1, block).max(axis=1)
    return float(np.sort(values)[-k])


def _top(values: Floats, count: int) -> Positions:
    """Return where the *count* largest values are, in no order."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, count)[:count]
