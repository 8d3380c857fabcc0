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


@dataclass(frozen=True, slots=True)
class Probe:
    """The vector side of a query: a unit vector to compare with the vectors called ``name``.

    ``share`` is the vector's share of the similarity; a cosine of ``floor`` or less counts as
    unrelated.
    """

    name: str
    query: Floats
    share: float
    floor: float

    def signal(self, cosine: Floats) -> Floats:
        """Return the cosine calibrated to [0, 1]: 0 up to the floor, 1 for the same direction."""
        return np.clip((cosine - self.floor) / (1 - self.floor), 0.0, 1.0)


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
        self._keyword = index.keyword_scores(question.terms)
        self._upper = self._bound()

    def hits(self) -> list[Hit]:
        candidates = self._candidates()
        if not len(candidates) or not self._question.k:
            return []
        bound = self._ranking.rank(self._evidence(candidates, self._upper)).score
        if self._question.probe is None:
            return self._chosen(candidates)
        return self._chosen(self._survivors(candidates, bound))

    def _bound(self) -> Floats | None:
        """Return an upper bound of every position's vector signal."""
        probe = self._question.probe
        if probe is None:
            return None
        column = self._index.vector_column(probe.name, len(probe.query), self._fetch)
        return probe.signal(column.upper(probe.query))

    def _candidates(self) -> Positions:
        """Return the positions that may count: alive, in time, allowed, and possibly alike."""
        columns, question = self._index.columns, self._question
        similar = self._keyword
        if question.probe is not None and self._upper is not None:
            similar = (
                1 - question.probe.share
            ) * self._keyword + question.probe.share * self._upper
        found = np.flatnonzero(similar > question.min_similarity)
        found = found[columns["alive"][found] & (columns["expires"][found] > question.now)]
        if question.allowed is not None:
            permitted = np.zeros(self._index.size, dtype=bool)
            permitted[question.allowed] = True
            found = found[permitted[found]]
        return found

    def _evidence(self, positions: Positions, vector: Floats | None) -> Evidence:
        columns, probe = self._index.columns, self._question.probe
        latest = np.maximum(columns["occurred"][positions], columns["accessed"][positions])
        return Evidence(
            keyword=self._keyword[positions],
            vector=np.zeros(len(positions)) if vector is None else vector[positions],
            share=0.0 if probe is None else probe.share,
            age=np.maximum(self._question.now - latest, 0.0),
            importance=columns["importance"][positions],
            confidence=columns["confidence"][positions],
            outcome=columns["outcome"][positions],
            accesses=columns["accesses"][positions].astype(np.float64),
        )

    def _survivors(self, candidates: Positions, bound: Floats) -> Positions:
        """Return all candidates that may be in the top k, with their exact signal in place."""
        question, known = self._question, np.empty(0)
        tried = np.zeros(len(candidates), dtype=bool)
        batch = _top(bound, 2 * question.k + 16)
        while len(batch):
            tried[batch] = True
            exact = self._exact(candidates[batch])
            known = np.sort(np.concatenate([known, exact]))[-question.k :]
            least = known[0] if len(known) == question.k else question.min_score
            rest = np.flatnonzero(~tried & (bound >= least - 10.0**-DIGITS))
            size = len(rest) if len(known) == question.k else 4 * int(tried.sum())
            batch = rest[_top(bound[rest], size)]
        return candidates[tried]

    def _exact(self, positions: Positions) -> Floats:
        """Replace the bound of *positions* by the exact signal.

        Return the scores of those that are alike.
        """
        probe = self._question.probe
        assert probe is not None
        assert self._upper is not None
        rows = self._index.columns["row"][positions].tolist()
        found = self._fetch(rows, probe.name)
        absent = np.zeros(len(probe.query), dtype=np.float32)
        vectors = np.array([found.get(row, absent) for row in rows])
        self._upper[positions] = probe.signal(cosines(vectors, probe.query))
        evidence = self._evidence(positions, self._upper)
        scores = self._ranking.rank(evidence).score
        return scores[evidence.similarity > self._question.min_similarity]

    def _chosen(self, positions: Positions) -> list[Hit]:
        """Return the best k of exactly known *positions* and all that tie with the last."""
        question = self._question
        evidence = self._evidence(positions, self._upper)
        parts = self._ranking.rank(evidence)
        score = np.round(parts.score, DIGITS)
        passing = np.flatnonzero(
            (evidence.similarity > question.min_similarity) & (score >= question.min_score)
        )
        if len(passing) > question.k:
            last = score[passing[_top(score[passing], question.k)]].min()
            passing = passing[score[passing] >= last]
        order = passing[np.argsort(-score[passing], kind="stable")]
        rows = self._index.columns["row"][positions]
        return [_hit(int(rows[at]), float(score[at]), parts, int(at)) for at in order]


def _hit(row: int, score: float, parts: Parts, at: int) -> Hit:
    signals = {name: float(column[at]) for name, column in parts.signals.items()}
    return Hit(
        row,
        score,
        signals,
        {name: float(column[at]) for name, column in parts.contributions.items()},
    )


def _top(values: Floats, count: int) -> Positions:
    """Return where the *count* largest values are, in no order."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, count)[:count]
