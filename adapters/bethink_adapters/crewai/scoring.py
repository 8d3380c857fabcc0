"""The scores that crewAI expects from a search: cosines, the highest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..shared import nearness
from ..shared.nearness import Numbers

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord as CrewRecord


def scored(
    records: Sequence[CrewRecord], query: Sequence[float], *, ranked: bool
) -> list[tuple[CrewRecord, float]]:
    """Pair *records* with their cosine in [0, 1], the highest first.

    *ranked* records keep the given order, and each score is raised to the highest score further
    down: crewAI takes the first score for the highest, in the search for near-duplicates.
    """
    pairs = [(record, cosine(query, record.embedding or ())) for record in records]
    if not ranked:
        return sorted(pairs, key=lambda pair: pair[1], reverse=True)
    best, raised = 0.0, []
    for record, score in reversed(pairs):
        best = max(best, score)
        raised.append((record, best))
    return raised[::-1]


def cosine(one: Numbers, other: Numbers) -> float:
    """Return the cosine of two vectors, in [0, 1]: 0 for a negative or undefined cosine."""
    return min(max(signed_cosine(one, other), 0.0), 1.0)


def signed_cosine(one: Numbers, other: Numbers) -> float:
    """Return the cosine of two vectors, 0 for a zero vector and for different lengths."""
    return nearness.cosine(one, other) if len(one) == len(other) else 0.0
