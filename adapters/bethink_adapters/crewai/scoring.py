"""The scores that crewAI expects from a search: cosines or shares of words, the highest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..shared import nearness
from ..shared.nearness import Numbers

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord as CrewRecord


def scored(
    records: Sequence[CrewRecord],
    query: Sequence[float],
    keywords: Mapping[str, float] | None = None,
) -> list[tuple[CrewRecord, float]]:
    """Pair *records* with their cosine in [0, 1], the highest first.

    Records with *keywords*, the signals of the words by id, keep the given order, and each score is
    raised to the highest score further down: crewAI takes the first score for the highest, in the
    search for near-duplicates. Without a cosine, as for Chinese texts and the built-in embedder,
    the score is the signal of the words.
    """
    pairs = [(record, cosine(query, record.embedding or ())) for record in records]
    if keywords is None:
        return sorted(pairs, key=lambda pair: pair[1], reverse=True)
    pairs = [
        (each, score if np.any(query) and np.any(each.embedding or ()) else keywords[each.id])
        for each, score in pairs
    ]
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
