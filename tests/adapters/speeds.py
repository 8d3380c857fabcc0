"""Measures of two storages, call by call in turn: the medians of CPU and wall time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Measured:
    """The medians of one operation, in milliseconds: (CPU, wall) of ours and of theirs."""

    name: str
    ours: tuple[float, float]
    theirs: tuple[float, float]

    @classmethod
    def of(
        cls,
        name: str,
        ours: Any,
        theirs: Any,
        rounds: int,
        make: Callable[[], Callable[[Any], object]],
    ) -> Measured:
        """Measure *rounds* calls that *make* makes, each on *ours* and then on *theirs*.

        A call before the first round warms both up.
        """
        taken: list[list[tuple[float, float]]] = [[], []]
        for _ in range(rounds + 1):
            call = make()
            for times, storage in zip(taken, (ours, theirs), strict=True):
                times.append(_timed(call, storage))
        medians = [
            (median(each[0] for each in times[1:]), median(each[1] for each in times[1:]))
            for times in taken
        ]
        return cls(name, medians[0], medians[1])


def _timed(call: Callable[[Any], object], storage: Any) -> tuple[float, float]:
    """Return the CPU and the wall time of a call, in milliseconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    call(storage)
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def print_table(sides: str, packages: Iterable[str], measured: Iterable[Measured]) -> None:
    """Print what was compared, and a line for each operation; above 1, ours is faster."""
    installed = ", ".join(f"{name} {version(name)}" for name in packages)
    print(f"{sides}: medians in milliseconds, theirs ÷ ours ({installed})\n")
    print("| operation | CPU ours | theirs | ÷ | wall ours | theirs | ÷ |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for each in measured:
        times = zip(each.ours, each.theirs, strict=True)
        columns = (f"{_figure(our)} | {_figure(their)} | {their / our:.2f}" for our, their in times)
        print(f"| {each.name} | {' | '.join(columns)} |", flush=True)


def _figure(milliseconds: float) -> str:
    """Return *milliseconds* with two significant digits, or with all digits before the point."""
    return f"{milliseconds:.{2 if milliseconds < 1 else 1 if milliseconds < 10 else 0}f}"
