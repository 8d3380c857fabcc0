"""Time what reaches beyond a recall: packing a prompt, asking the past, merging another store.

All are taken from a copy that holds more than it did at the marked moment, for merging changes it.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

from bethink.bench.corpus import Corpus
from bethink.bench.embedding import SharedEmbedder
from bethink.bench.engines import MEMORIES, Reaches, open_engine
from bethink.bench.rounds import Sample, Step, interleave

LARGEST: Final = 10_000
"""Who compares every incoming memory with every other takes a minute for ten of them here."""
ROUNDS: Final = {"pack": 20, "as_of": 5, "as_of, all": 5, "diff": 5, "merge": 3}
REACHES: Final = tuple(ROUNDS)

_MERGED: Final = 10  # memories at once
_SINCE: Final = 50  # memories since the marked moment


def reach(
    names: Sequence[str], folder: Path, shared: SharedEmbedder | None, corpus: Corpus
) -> Iterator[Sample]:
    """Yield the times of those engines of *names* that can, of *corpus* stored in *folder*."""
    size, label = len(corpus.texts), "shared" if shared else "own"
    if size > LARGEST:
        return
    with TemporaryDirectory(dir=folder) as scratch, ExitStack() as stack:
        engines: dict[str, Reaches] = {}
        for name in (each for each in MEMORIES if each in names):
            copied = Path(shutil.copytree(folder / name, Path(scratch, name)))
            engine = open_engine(name, copied, shared)
            stack.callback(engine.close)
            engines[name] = cast(Reaches, engine)
            engines[name].mark()
            engine.fill(corpus.fresh[-_SINCE:])
        sources = _sources(engines, Path(scratch), shared, corpus.fresh)
        for measure, rounds in ROUNDS.items():
            steps = [
                Step(name, measure, _call(measure, engine, corpus.questions, sources[name]))
                for name, engine in engines.items()
            ]
            yield from interleave(steps, rounds, size=size, embedder=label, budget=math.inf)


def _sources(
    names: Mapping[str, object], scratch: Path, shared: SharedEmbedder | None, texts: Sequence[str]
) -> dict[str, list[Path]]:
    """Make the stores that are merged, a folder for each round and engine."""
    sources: dict[str, list[Path]] = {name: [] for name in names}
    for name, folders in sources.items():
        for start in range(0, ROUNDS["merge"] * _MERGED, _MERGED):
            folders.append(scratch / f"{name} {start}")
            folders[-1].mkdir()
            engine = open_engine(name, folders[-1], shared)
            engine.fill(texts[start : start + _MERGED])
            engine.close()
    return sources


def _call(
    measure: str, engine: Reaches, questions: Sequence[str], sources: Sequence[Path]
) -> Callable[[int], object]:
    calls: dict[str, Callable[[int], object]] = {
        "pack": lambda at: engine.pack(questions[at % len(questions)]),
        "as_of": lambda _: engine.as_of(),
        "as_of, all": lambda _: engine.as_of_all(),
        "diff": lambda _: engine.diff(),
        "merge": lambda at: engine.merge(sources[at]),
    }
    return calls[measure]
