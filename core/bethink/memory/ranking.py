"""Rankings: the way from signals to a score, with an explanation.

A ranking gets columns and returns columns. The contributions add up to the score, and the score
never falls when the vector signal or the cosine rises. So recall can prove the top k from an
upper bound.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeGuard

import numpy as np

from ..calls import suggesting
from ..errors import ValidationError
from ..model.arrays import Floats, Truths
from ..model.fields import number
from ..model.namespaces import Scope

DAY: Final = 86_400.0
LIFT_PER_OUTCOME: Final = 0.4
MAX_LIFT: Final = 0.2
"""The most that an outcome moves a similarity s, as a share of s (1 - s)."""
LIGHT_OUTCOME: Final = 0.1
"""Below this share of the similarity's weight, the weight of outcomes is too light to matter."""


@dataclass(frozen=True)
class Signals:
    """The signals of the candidates, one number each.

    ``keyword`` and ``vector`` lie in [0, 1]; ``share`` in [0, 1] is the vector's share of the
    similarity. ``cosine`` is the bare number behind the vector signal, 0 without a vector; until
    the exact value is known, both are upper bounds. ``age`` is in seconds, from the later of
    occurrence and last access. ``importance`` and ``confidence`` lie in [0, 1], ``outcome`` in
    [-1, 1]. ``is_category`` returns the candidates of a category as booleans, ``within`` the
    candidates in a scope. Age is judged at ``now``, in Unix seconds.
    """

    keyword: Floats
    vector: Floats
    cosine: Floats
    share: float
    age: Floats
    importance: Floats
    confidence: Floats
    outcome: Floats
    accesses: Floats
    query: str | None
    is_category: Callable[[str], Truths]
    within: Callable[[Scope], Truths]
    now: float

    @functools.cached_property
    def similarity(self) -> Floats:
        """How alike query and record are: the two signals mixed by ``share``."""
        return (1 - self.share) * self.keyword + self.share * self.vector


@dataclass(frozen=True, slots=True)
class Scored:
    """The signals behind a ranking and the contributions to the score, as columns."""

    signals: Mapping[str, Floats]
    contributions: Mapping[str, Floats]

    @property
    def score(self) -> Floats:
        """The sum of the contributions."""
        return functools.reduce(np.add, self.contributions.values())


class Ranking(Protocol):
    """A policy that turns signals into a score.

    The score must not fall when ``vector`` or ``cosine`` rises. The optional attribute ``spread``
    is the largest gap in similarity that a record can make up for; without the attribute, any gap.
    The optional attribute ``spread_unjudged`` is the gap if all outcomes are 0.
    """

    def rank(self, evidence: Signals) -> Scored:
        """Return signals and contributions for every candidate, in arrays as long as *evidence*'s.

        Scores alone, one number for each candidate, count as one contribution, "score".
        """


class HasUpperBound(Protocol):
    """A ranking with an upper bound on scores, so that recall can skip records."""

    def ceiling(self, age: Floats, importance: Floats) -> Floats:
        """Return an upper bound on scores, rounding aside, by *age* (seconds) and *importance*."""


def has_upper_bound(ranking: Ranking | HasUpperBound) -> TypeGuard[HasUpperBound]:
    """Return whether *ranking* has an upper bound on scores."""
    # A look at the instance, and isinstance all the more, would take as long as a small scan.
    return hasattr(type(ranking), "ceiling")


def scored_by(ranking: Ranking, signals: Signals) -> Scored:
    """Return the result of *ranking*, checked; numbers alone are one contribution, "score"."""
    result: Any = ranking.rank(signals)
    if isinstance(result, Scored):
        found = result
    else:
        try:
            scores = result if isinstance(result, np.ndarray) else [*result]
            found = Scored({}, {"score": np.asarray(scores, dtype=np.float64)})
        except (TypeError, ValueError):
            raise _wrong_result(ranking, signals, type(result).__name__) from None
    if not found.contributions:
        raise _wrong_result(ranking, signals, "no contribution")
    for columns in (found.signals, found.contributions):
        for name, column in columns.items():
            if type(column) is not np.ndarray or column.shape != signals.keyword.shape:
                raise _wrong_result(ranking, signals, f"{name!r} of shape {np.shape(column)}")
    return found


def _wrong_result(ranking: Ranking, signals: Signals, given: str) -> ValidationError:
    return ValidationError(
        f"{type(ranking).__name__}.rank must return Scored(signals, contributions), or the scores "
        f"alone, as numpy arrays of {len(signals.keyword)} numbers, not {given}"
    )


def checked_ranking(ranking: Ranking) -> Ranking:
    """Return *ranking* if it can rank."""
    if isinstance(ranking, type) or not callable(getattr(ranking, "rank", None)):
        kind = type(ranking).__name__
        given = f"the class {ranking.__name__}" if isinstance(ranking, type) else kind
        raise ValidationError(f"ranking must be a Ranking such as WeightedSum(), not {given}")
    return ranking


@suggesting
@dataclass(frozen=True, slots=True)
class WeightedSum:
    """Score = similarity, recency, importance and outcome, by weights normalised to sum to 1.

    Recency is 2^(-age / half_life), *half_life* in days. The default weights were measured:
    similarity decides, the rest breaks near-ties. ``WeightedSum.classic()`` is the mix of earlier
    systems.

    If outcomes weigh less than a tenth of similarity, as by default, outcomes also move the
    similarity s: to s + lift · s · (1 - s), where lift = 0.4 · outcome, within ±0.2. This is the
    first-order change of s if the log-odds of s rise by *lift* (Bayes' rule: d logit(s) =
    ds / (s (1 - s))). So five helpful marks reorder memories that match nearly alike, and a memory
    that does not match (s = 0) gains nothing. An outcome of 0 changes nothing.
    """

    similarity: float = 0.95
    recency: float = 0.02
    importance: float = 0.015
    outcome: float = 0.015
    half_life: float = field(default=30.0, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("similarity", "recency", "importance", "outcome"):
            number(name, getattr(self, name), 0.0, 1e9)
        number("half_life", self.half_life, 1e-9, 1e9)
        if self.similarity + self.recency + self.importance + self.outcome <= 0:
            raise ValidationError("at least one weight must be positive")

    @classmethod
    def classic(cls) -> WeightedSum:
        """Return the .65/.15/.10/.10 mix with a half-life of seven days."""
        return cls(0.65, 0.15, 0.10, 0.10, half_life=7.0)

    @property
    def spread(self) -> float:
        """The largest gap in similarity that a record can make up for."""
        # s (1 - s) is up to 1/4, in two records.
        return self.spread_unjudged + (MAX_LIFT / 2 if self._lifts else 0.0)

    @property
    def spread_unjudged(self) -> float:
        """The largest gap in similarity that a record can make up for if all outcomes are 0."""
        rest = self.recency + self.importance + self.outcome
        return rest / self.similarity if self.similarity else np.inf

    def rank(self, evidence: Signals) -> Scored:
        """Return signals and contributions for every candidate."""
        total = self.similarity + self.recency + self.importance + self.outcome
        recency = np.exp2(-evidence.age / (self.half_life * DAY))
        outcome = (evidence.outcome + 1) / 2
        signals = {
            "keyword": evidence.keyword,
            "vector": evidence.vector,
            "similarity": evidence.similarity,
            "recency": recency,
            "importance": evidence.importance,
            "outcome": outcome,
        }
        lifted = self._lifted(evidence)
        contributions = {
            "keyword": self.similarity / total * (1 - evidence.share) * evidence.keyword * lifted,
            "vector": self.similarity / total * evidence.share * evidence.vector * lifted,
            "recency": self.recency / total * recency,
            "importance": self.importance / total * evidence.importance,
            "outcome": self.outcome / total * outcome,
        }
        return Scored(signals, contributions)

    @property
    def _lifts(self) -> bool:
        """Whether outcomes also move the similarity."""
        return 0 < self.outcome < LIGHT_OUTCOME * self.similarity

    def _lifted(self, evidence: Signals) -> Floats | float:
        """Return the factor of each candidate's similarity, 1 for an outcome of 0."""
        if not (self._lifts and evidence.outcome.any()):
            return 1.0
        lift = np.clip(LIFT_PER_OUTCOME * evidence.outcome, -MAX_LIFT, MAX_LIFT)
        return 1 + lift * (1 - evidence.similarity)
