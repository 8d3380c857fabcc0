"""Times of the verbs beyond recall: packing, the past, merging, consolidating.

Every measure uses a copy, since merging changes the store.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from bethink.bench.corpus import Corpus
from bethink.bench.embedding import SharedEmbedder
from bethink.bench.engines import MEMORIES, open_engine
from bethink.bench.rounds import Sample, Step, interleave

LARGEST: Final = 10_000
"""Comparing every incoming memory with every stored memory takes a minute for ten memories."""
LARGEST_SWEPT: Final = {"bethink": 10_000, "remembrane": 1_000}
"""Comparing all pairs is asked once, for few memories: 10,000 would take hours."""


class Rounds(NamedTuple):
    """How many rounds a measure takes, and how many of an engine's in a row."""

    many: int
    turn: int = 1


ROUNDS: Final = {
    "pack": Rounds(30, 15),
    "pack, cold": Rounds(20),
    "as_of": Rounds(5),
    "as_of, all": Rounds(5),
    "diff": Rounds(5),
    "merge": Rounds(3),
}
ROUNDS_SWEPT: Final = {"bethink": 3, "remembrane": 1}
REACHES: Final = tuple(ROUNDS)
SWEEPS: Final = ("conflicts", "consolidate")

_MERGED: Final = 10  # memories at once
_SINCE: Final = 50  # memories since the marked moment


def sweep(
    names: Sequence[str], folder: Path, shared: SharedEmbedder | None, size: int
) -> Iterator[Sample]:
    """Yield the times of the able engines of *names*, for *size* texts stored in *folder*."""
    label = "shared" if shared else "own"
    for name in names:
        if size <= LARGEST_SWEPT.get(name, 0):
            with _copies([name], folder, shared) as (engines, _):
                steps = [Step(name, each, _call(each, engines[name])) for each in SWEEPS]
                rounds = ROUNDS_SWEPT[name]
                yield from interleave(steps, rounds, size=size, embedder=label, budget=math.inf)


def reach(
    names: Sequence[str], folder: Path, shared: SharedEmbedder | None, corpus: Corpus
) -> Iterator[Sample]:
    """Yield the times of the able engines of *names*, for *corpus* stored in *folder*.

    The copies hold more texts than at the marked moment.
    """
    size, label = len(corpus.texts), "shared" if shared else "own"
    able = [each for each in MEMORIES if each in names and size <= LARGEST]
    with _copies(able, folder, shared) as (engines, scratch):
        for engine in engines.values():
            engine.mark()
            engine.fill(corpus.fresh[-_SINCE:])
        sources = _sources(engines, scratch, shared, corpus.fresh)
        for measure, (rounds, turn) in ROUNDS.items():
            steps = [
                Step(name, measure, _call(measure, engine, corpus.questions, sources[name]))
                for name, engine in engines.items()
            ]
            yield from interleave(
                steps, rounds, size=size, embedder=label, turn=turn, budget=math.inf
            )


@contextmanager
def _copies(
    names: Sequence[str], folder: Path, shared: SharedEmbedder | None
) -> Iterator[tuple[dict[str, Any], Path]]:
    """Open copies of the engines' stores in *folder*; yield the copies and a folder with room."""
    with TemporaryDirectory(dir=folder) as scratch, ExitStack() as stack:
        engines: dict[str, Any] = {}
        for name in names:
            copied = Path(shutil.copytree(folder / name, Path(scratch, name)))
            engines[name] = open_engine(name, copied, shared)
            stack.callback(engines[name].close)
        yield engines, Path(scratch)


def _sources(
    names: Mapping[str, object], scratch: Path, shared: SharedEmbedder | None, texts: Sequence[str]
) -> dict[str, list[Path]]:
    """Make the stores to merge, a folder for each round and engine."""
    sources: dict[str, list[Path]] = {name: [] for name in names}
    for name, folders in sources.items():
        for start in range(0, ROUNDS["merge"].many * _MERGED, _MERGED):
            folders.append(scratch / f"{name} {start}")
            folders[-1].mkdir()
            engine = open_engine(name, folders[-1], shared)
            engine.fill(texts[start : start + _MERGED])
            engine.close()
    return sources


def _call(
    measure: str, engine: Any, questions: Sequence[str] = (), sources: Sequence[Path] = ()
) -> Callable[[int], object]:
    calls: dict[str, Callable[[int], object]] = {
        "conflicts": lambda _: engine.conflicts(),
        "consolidate": lambda _: engine.consolidate(),
        "pack": lambda at: engine.pack(questions[at % len(questions)]),
        "as_of": lambda _: engine.as_of(),
        "as_of, all": lambda _: engine.as_of_all(),
        "diff": lambda _: engine.diff(),
        "merge": lambda at: engine.merge(sources[at]),
    }
    return calls[measure.removesuffix(", cold")]
