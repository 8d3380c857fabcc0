"""Time what goes through a whole store: telling its conflicts, merging what repeats.

Both are taken from a copy, for merging changes the store.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

from bethink.bench.embedding import SharedEmbedder
from bethink.bench.engines import Sweeps, open_engine
from bethink.bench.rounds import Sample, Step, interleave

ROUNDS: Final[dict[str, int]] = {"bethink": 3, "remembrane": 1}
LARGEST: Final[dict[str, int]] = {"bethink": 10_000, "remembrane": 1_000}
"""Who compares all pairs is asked once, and not about more: 10,000 memories would take hours."""

SWEEPS: Final = ("conflicts", "consolidate")


def sweep(
    names: Sequence[str], folder: Path, shared: SharedEmbedder | None, size: int
) -> Iterator[Sample]:
    """Yield the times of those engines of *names* that can, of *size* texts stored in *folder*."""
    label = "shared" if shared else "own"
    for name in names:
        if size > LARGEST.get(name, 0):
            continue
        with TemporaryDirectory(dir=folder) as scratch, ExitStack() as stack:
            copied = Path(shutil.copytree(folder / name, Path(scratch, name)))
            engine = open_engine(name, copied, shared)
            stack.callback(engine.close)
            steps = _steps(name, cast(Sweeps, engine))
            yield from interleave(steps, ROUNDS[name], size=size, embedder=label, budget=math.inf)


def _steps(name: str, engine: Sweeps) -> list[Step]:
    return [
        Step(name, "conflicts", lambda _: engine.conflicts()),
        Step(name, "consolidate", lambda _: engine.consolidate()),
    ]
