"""What a run leaves behind: samples of time, and footprints."""

from __future__ import annotations

from dataclasses import dataclass, field

from bethink.bench.rounds import Sample


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


@dataclass(slots=True)
class Findings:
    """All samples and footprints so far."""

    samples: list[Sample] = field(default_factory=list)
    footprints: list[Footprint] = field(default_factory=list)
