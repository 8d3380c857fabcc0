"""Time steps of several engines in turn, so that a drifting machine is unfair to none."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

FEWEST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a round. A step without a *measure* runs untimed.

    *call* takes the number of the round; the time is divided by *share* operations.
    """

    engine: str
    measure: str
    call: Callable[[int], object]
    share: int = 1


@dataclass(slots=True)
class Sample:
    """The times of one measure of one engine, in microseconds per operation."""

    size: int
    embedder: str
    engine: str
    measure: str
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def add(self, cpu: float, wall: float) -> None:
        """Append one round, given in seconds per operation."""
        self.cpu.append(cpu * 1e6)
        self.wall.append(wall * 1e6)

    def mean(self) -> Sample:
        """Return one round of the mean times: rare work counts with its share."""
        cpu, wall = statistics.fmean(self.cpu), statistics.fmean(self.wall)
        return replace(self, cpu=[cpu], wall=[wall])

    def as_row(self) -> dict[str, object]:
        """Return the medians as a flat mapping."""
        return {
            "size": self.size,
            "embedder": self.embedder,
            "engine": self.engine,
            "measure": self.measure,
            "cpu_us": round(statistics.median(self.cpu), 2),
            "cpu_p95_us": round(percentile(self.cpu, 0.95), 2),
            "wall_us": round(statistics.median(self.wall), 2),
            "rounds": len(self.cpu),
        }


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of *values* that at least *share* of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def interleave(
    steps: Sequence[Step],
    rounds: int,
    *,
    size: int,
    embedder: str,
    turn: int = 1,
    budget: float = 60.0,
) -> list[Sample]:
    """Run every step *rounds* times and return the samples, in the order of the steps.

    The engines take turns. A turn runs the engine's neighbouring steps *turn* times over: with 1,
    every call finds the processor's caches filled by a different engine. An engine that has used
    more than *budget* seconds stops after `FEWEST_ROUNDS` rounds. The garbage collector rests
    meanwhile: a collection would charge one engine for the objects of all.
    """
    samples = {
        (step.engine, step.measure): Sample(size, embedder, step.engine, step.measure)
        for step in steps
        if step.measure
    }
    turns = [list(group) for _, group in groupby(steps, lambda step: step.engine)]
    spent: defaultdict[str, float] = defaultdict(float)
    gc.collect()
    gc.disable()
    try:
        for first in range(0, rounds, turn):
            tired = {engine for engine, used in spent.items() if used > budget}
            for taken in turns:
                if first < FEWEST_ROUNDS or taken[0].engine not in tired:
                    numbers = range(first, min(first + turn, rounds))
                    spent[taken[0].engine] += _take(taken, numbers, samples)
    finally:
        gc.enable()
    return list(samples.values())


def _take(
    steps: Sequence[Step], numbers: Iterable[int], samples: Mapping[tuple[str, str], Sample]
) -> float:
    """Run the *steps* of one turn, add the times to *samples*; return the seconds of the turn."""
    spent = 0.0
    for number in numbers:
        for step in steps:
            wall, cpu = time.perf_counter(), time.process_time()
            step.call(number)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            spent += wall
            if step.measure:
                samples[step.engine, step.measure].add(cpu / step.share, wall / step.share)
    return spent


def summed(first: Sample, second: Sample, measure: str) -> Sample:
    """Return the round-by-round sum of two samples of one engine."""
    return Sample(
        first.size,
        first.embedder,
        first.engine,
        measure,
        [a + b for a, b in zip(first.cpu, second.cpu, strict=True)],
        [a + b for a, b in zip(first.wall, second.wall, strict=True)],
    )
