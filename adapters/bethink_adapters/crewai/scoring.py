"""The scores crewAI expects of a search: cosines, the highest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord as CrewRecord


def scored(
    records: list[CrewRecord], query: Sequence[float], min_score: float
) -> list[tuple[CrewRecord, float]]:
    """Pair *records*, best first, with the highest cosine among themselves and those after them.

    crewAI takes the first score for the highest when it looks for near-duplicates.
    """
    pairs: list[tuple[CrewRecord, float]] = []
    best = 0.0
    for record in reversed(records):
        cosine = _cosine(query, record.embedding or ())
        if cosine >= min_score:
            best = max(best, cosine)
            pairs.append((record, best))
    return pairs[::-1]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other):
        return 0.0
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return min(max(float(a @ b) / lengths, 0.0), 1.0) if lengths else 0.0
