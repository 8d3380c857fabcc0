"""The findings of a run: samples of time, footprints, and the work behind an answer."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from bethink.bench.rounds import Sample, percentile

MOST_SURVIVORS = 50


@dataclass(frozen=True, slots=True)
class Footprint:
    """The memory and disk of one engine after the first recall."""

    size: int
    embedder: str
    engine: str
    bytes_per_memory: float
    rss_mb: float
    import_rss_mb: float
    import_cpu_ms: float


@dataclass(frozen=True, slots=True)
class Survivors:
    """The number of vectors that bethink read in full to prove each answer."""

    size: int
    embedder: str
    counts: Sequence[int]

    def as_row(self) -> dict[str, object]:
        """Return the median and the 95th percentile, the latter compared with the goal."""
        p95 = percentile(self.counts, 0.95)
        return {
            "size": self.size,
            "embedder": self.embedder,
            "median": statistics.median(self.counts),
            "p95": p95,
            "goal": MOST_SURVIVORS,
            "met": p95 <= MOST_SURVIVORS,
        }


@dataclass(slots=True)
class Findings:
    """Everything found so far."""

    samples: list[Sample] = field(default_factory=list)
    footprints: list[Footprint] = field(default_factory=list)
    survivors: list[Survivors] = field(default_factory=list)
