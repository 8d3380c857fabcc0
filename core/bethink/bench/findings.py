"""What a run leaves behind: samples of time, footprints, and the work behind an answer."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from bethink.bench.rounds import Sample, percentile

MOST_SURVIVORS = 50


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one engine occupies after its first recall, in memory and on disk."""

    size: int
    embedder: str
    engine: str
    bytes_per_memory: float
    rss_mb: float
    import_rss_mb: float
    import_cpu_ms: float


@dataclass(frozen=True, slots=True)
class Survivors:
    """How many vectors bethink read in full to prove each of its answers."""

    size: int
    embedder: str
    counts: Sequence[int]

    def as_row(self) -> dict[str, object]:
        """Return their median and 95th percentile, the latter held against its goal."""
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
