"""The quotients of figures, and the goal of each quotient."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

from bethink.bench.peers import PEERS
from bethink.bench.reaches import REACHES, SWEEPS
from bethink.bench.rounds import Sample

Figure = tuple[str, str]  # engine, measure
OURS = "bethink"

# The most that a recall may cost, in scans of all vectors by numpy.
_SCANS_WITH_SIMSIMD = {10_000: 1.4, 100_000: 0.75, 1_000_000: 0.65}
_SCANS_WITH_NUMPY = {10_000: 1.9, 100_000: 1.35, 1_000_000: 1.3}
# The least that a peer's figure should be, in ours.
_PEER_GOALS: dict[Figure, Mapping[int, float]] = {
    ("remembrane", "recall"): {1_000: 10.0, 10_000: 40.0, 100_000: 100.0},
    ("remembrane", "store + recall"): {10_000: 100.0},
    ("remembrane", "open and first recall"): {100_000: 15.0},
    ("remembrane", "conflicts"): {1_000: 10.0},
    ("remembrane", "consolidate"): {1_000: 10.0},
    ("remembrane", "pack"): {1_000: 10.0, 10_000: 10.0},
    ("remembrane", "as_of"): {1_000: 10.0, 10_000: 10.0},
    ("remembrane", "diff"): {1_000: 10.0, 10_000: 10.0},
    ("remembrane", "merge"): {1_000: 10.0, 10_000: 10.0},
    ("sqlite-vec", "recall"): {10_000: 3.0},
    ("chromadb", "recall"): {10_000: 1.2},
}
_COMPARED = (
    "recall",
    "recall, cold",
    "store + recall",
    "store + recall, cold",
    "open and first recall",
    "bulk store",
    "store, full",
    *SWEEPS,
    *REACHES,
)


@dataclass(frozen=True, slots=True)
class Ratio:
    """One figure over another. *goals* by size; *limit* is the goal at every other size."""

    name: str
    over: Figure
    under: Figure
    goals: Mapping[int, float] = field(default_factory=dict)
    limit: float | None = None
    at_least: bool = False

    def as_row(self, size: int, embedder: str, cpu: Mapping[Figure, float]) -> dict[str, object]:
        """Return the quotient of the medians *cpu*, beside the goal."""
        value = cpu[self.over] / cpu[self.under]
        goal = self.goals.get(size, self.limit) if embedder == "shared" else None
        return {
            "size": size,
            "embedder": embedder,
            "name": self.name,
            "value": round(value, 3),
            "goal": goal,
            "at_least": self.at_least,
            "met": None if goal is None else (value >= goal) == self.at_least or value == goal,
        }


def own_ratios() -> list[Ratio]:
    """Return the ratios of a recall and a store to simpler operations."""
    scans = _SCANS_WITH_SIMSIMD if find_spec("simsimd") else _SCANS_WITH_NUMPY
    bare = "bare SQLite"
    after_own, after_foreign = "recall after own store", "recall after foreign store"
    return [
        Ratio("recall / numpy scan", (OURS, "recall"), ("numpy.dot", "scan")),
        Ratio(
            "recall, cold / numpy scan, cold",
            (OURS, "recall, cold"),
            ("numpy.dot", "scan, cold"),
            scans,
        ),
        Ratio("recall among turns / recall", (OURS, "recall among turns"), (OURS, "recall")),
        _before(after_own, "recall before own store", 1.2),
        _before(after_foreign, "recall before foreign store", 1.5),
        Ratio("store / bare commit", (OURS, "store, normal"), (bare, "store, normal"), limit=8.0),
        Ratio("store / bare commit, full", (OURS, "store, full"), (bare, "store, full")),
        Ratio("bulk / bare executemany", (OURS, "bulk store"), (bare, "bulk store"), limit=6.0),
    ]


def _before(after: str, before: str, limit: float) -> Ratio:
    return Ratio(f"{after} / {before}", (OURS, after), (OURS, before), limit=limit)


def peer_ratios() -> list[Ratio]:
    """Return every compared measure of every peer, over ours."""
    return [
        Ratio(
            f"{peer} / {OURS}: {measure}",
            (peer, measure),
            (OURS, measure),
            _PEER_GOALS.get((peer, measure), {}),
            at_least=True,
        )
        for peer in PEERS
        for measure in _COMPARED
    ]


def ratio_rows(samples: Sequence[Sample]) -> Iterator[dict[str, object]]:
    """Yield a row for every ratio whose two figures were taken, size by size."""
    groups: dict[tuple[int, str], dict[Figure, float]] = {}
    for sample in samples:
        medians = groups.setdefault((sample.size, sample.embedder), {})
        medians[sample.engine, sample.measure] = statistics.median(sample.cpu)
    for (size, embedder), cpu in groups.items():
        for ratio in [*own_ratios(), *peer_ratios()]:
            if ratio.over in cpu and ratio.under in cpu:
                yield ratio.as_row(size, embedder, cpu)
        yield from _growth(size, embedder, cpu, groups.get((size // 10, embedder), {}))


def _growth(
    size: int, embedder: str, cpu: Mapping[Figure, float], fewer: Mapping[Figure, float]
) -> Iterator[dict[str, object]]:
    """Yield the cost of superlinear measures relative to a tenth of the size: n log n, or less."""
    for measure in (*SWEEPS, *REACHES):
        over, under = (OURS, measure), (OURS, f"{measure}, a tenth")
        if over in cpu and over in fewer and size >= 20:
            limit = round(10 * math.log(size) / math.log(size // 10), 1)
            ratio = Ratio(f"{measure} / of a tenth", over, under, {size: limit})
            yield ratio.as_row(size, embedder, {**cpu, under: fewer[over]})
