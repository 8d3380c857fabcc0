"""Rankings: how signals become a score, and how the score explains itself.

A ranking gets columns and returns columns. Its contributions add up to the score, and the score
never falls when the vector signal rises: that is what lets recall prove its top k from an upper
bound.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from .errors import ValidationError
from .fields import number

Floats = npt.NDArray[np.float64]

DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about the candidates, one number each.

    ``keyword`` and ``vector`` lie in [0, 1]; ``share`` in [0, 1] is the vector's share of the
    similarity. ``age`` is in seconds, from the later of occurrence and last access. ``importance``
    and ``confidence`` lie in [0, 1], ``outcome`` in [-1, 1].
    """

    keyword: Floats
    vector: Floats
    share: float
    age: Floats
    importance: Floats
    confidence: Floats
    outcome: Floats
    accesses: Floats

    @property
    def similarity(self) -> Floats:
        """How alike query and record are: the two signals mixed by ``share``."""
        return (1 - self.share) * self.keyword + self.share * self.vector


@dataclass(frozen=True, slots=True)
class Parts:
    """The signals behind a ranking and what each contributes to the score, as columns."""

    signals: Mapping[str, Floats]
    contributions: Mapping[str, Floats]

    @property
    def score(self) -> Floats:
        """The sum of the contributions."""
        return functools.reduce(np.add, self.contributions.values())


class Ranking(Protocol):
    """A policy that turns evidence into a score; the score must not fall when ``vector`` rises."""

    @property
    def spread(self) -> float:
        """How much less alike a record may be and still outrank another; infinity if unknown."""
        ...

    def rank(self, evidence: Evidence) -> Parts:
        """Return signals and contributions for every candidate."""
        ...


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """Score = similarity, recency, importance and outcome, by weights normalised to sum to 1.

    Recency is 2^(-age / half_life), *half_life* in days. The weights default to what was measured
    to help: what is alike decides, the rest breaks near-ties. ``WeightedSum.classic()`` is the mix
    of earlier systems.
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
        """How much less alike a record may be and still outrank another."""
        rest = self.recency + self.importance + self.outcome
        return rest / self.similarity if self.similarity else np.inf

    def rank(self, evidence: Evidence) -> Parts:
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
        contributions = {
            "keyword": self.similarity / total * (1 - evidence.share) * evidence.keyword,
            "vector": self.similarity / total * evidence.share * evidence.vector,
            "recency": self.recency / total * recency,
            "importance": self.importance / total * evidence.importance,
            "outcome": self.outcome / total * outcome,
        }
        return Parts(signals, contributions)
