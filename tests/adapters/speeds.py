"""Measures of two storages, call by call in turn: the medians of CPU and wall time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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


def print_table(measured: Iterable[Measured]) -> None:
    """Print one line for each operation; a ratio above 1 says that ours is faster."""
    print(f"{'operation':32}{'ours':>9}{'theirs':>9}{'CPU ÷':>8}{'wall ÷':>8}")
    for each in measured:
        cpu, wall = (their / our for our, their in zip(each.ours, each.theirs, strict=True))
        print(f"{each.name:32}{each.ours[0]:9.3f}{each.theirs[0]:9.3f}{cpu:8.2f}{wall:8.2f}")
