"""More rankings: decay as a product, and five signals with a boost for a category."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...calls import suggesting
from ...memory.ranking import DAY, Scored, Signals
from ...model.arrays import Floats
from ...model.fields import number
from .categories import CATEGORIES as CATEGORIES
from .categories import guess_category as guess_category
from .categories import query_intent as query_intent

BOOSTS: Final[Mapping[str, float]] = {
    "troubleshooting": 1.5,
    "gotcha": 1.4,
    "decision": 1.4,
    "pattern": 1.3,
    "convention": 1.3,
    "architecture": 1.2,
    "command": 1.2,
    "workaround": 1.1,
}
BOOST_FROM: Final = 0.15
"""The similarity up to which a category is not boosted: the memory is barely related."""
FULL_BOOST_FROM: Final = 0.25
"""The similarity from which a category is boosted in full; in between, the boost grows evenly."""


@suggesting
@dataclass(frozen=True, slots=True)
class DecayProduct:
    """Score = cosine · importance · e^(-rate · age), *rate* per day: the formula of pgmemai.

    The age counts days since ``occurred_at`` or the last access, the later; pgmemai counts from
    the creation. Recalls with ``touch=False`` are no accesses, and keep the age of pgmemai.
    The cosine is the bare cosine of the two vectors, at least 0. Words decide about relevance; in
    keyword mode the keyword score takes the place of the cosine. A rate may differ from query to
    query. One contribution, "decay product", is the whole score; the factors are among the signals.
    """

    rate: float

    def __post_init__(self) -> None:
        number("rate", self.rate, 0.0, 1e9)

    def rank(self, evidence: Signals) -> Scored:
        """Return signals and contributions for every candidate."""
        alike = np.clip(evidence.cosine, 0.0, 1.0) if evidence.share else evidence.keyword
        decay = self._decay(evidence.age)
        signals = {
            "keyword": evidence.keyword,
            "vector": evidence.vector,
            "similarity": evidence.similarity,
            **({"cosine": alike} if evidence.share else {}),
            "importance": evidence.importance,
            "decay": decay,
        }
        return Scored(signals, {"decay product": alike * evidence.importance * decay})

    def ceiling(self, age: Floats, importance: Floats) -> Floats:
        """Return the score of records of an age and importance with a cosine of 1."""
        return importance * self._decay(age)

    def _decay(self, age: Floats) -> Floats:
        return np.exp(-self.rate / DAY * age)


@suggesting
@dataclass(frozen=True, slots=True)
class FiveSignal:
    """Score = the signals below by fixed weights, times a boost for the category of the query.

    Weights and boosts are those of Memory Layer. Memory Layer's recency is e^(-d/30), with d days
    since the last update; here, recency is 2^(-d/30), with d days since ``occurred_at`` or the last
    access, the later. Recalls with ``touch=False`` are no accesses.
    .35 similarity, .25 outcome, .15 recency (half-life 30 days), .15 frequency and .10 confidence.
    Frequency is min(log(accesses + 1) / log(100), 1). A record of the query's category
    (see ``query_intent``) is boosted: troubleshooting 1.5, gotcha and decision 1.4,
    pattern and convention 1.3, architecture and command 1.2, workaround 1.1. The boost orders
    relevant records and makes no record relevant: up to a similarity of .15 the boost is 1, from
    .25 on the full boost counts, and in between the boost grows evenly.
    """

    def rank(self, evidence: Signals) -> Scored:
        """Return signals and contributions for every candidate."""
        signals = {
            "keyword": evidence.keyword,
            "vector": evidence.vector,
            "similarity": evidence.similarity,
            "outcome": (evidence.outcome + 1) / 2,
            "recency": np.exp2(-evidence.age / (30 * DAY)),
            "frequency": np.minimum(np.log1p(evidence.accesses) / math.log(100), 1.0),
            "confidence": evidence.confidence,
            "boost": _boost(evidence),
        }
        weights = {
            "keyword": 0.35 * (1 - evidence.share),
            "vector": 0.35 * evidence.share,
            "outcome": 0.25,
            "recency": 0.15,
            "frequency": 0.15,
            "confidence": 0.10,
        }
        boost = signals["boost"]
        return Scored(
            signals, {name: weight * signals[name] * boost for name, weight in weights.items()}
        )


def _boost(evidence: Signals) -> Floats:
    """Return the boost of each candidate's category, given the query."""
    boost = np.ones(len(evidence.keyword))
    intent = None if evidence.query is None else query_intent(evidence.query)
    if intent is not None and intent in BOOSTS:
        relevant = (evidence.similarity - BOOST_FROM) / (FULL_BOOST_FROM - BOOST_FROM)
        boosted = 1 + (BOOSTS[intent] - 1) * np.clip(relevant, 0.0, 1.0)
        boost = np.where(evidence.is_category(intent), boosted, boost)
    return boost
