"""The measures of one size, in the order of a store's life: fill, open, recall, write."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bethink.bench.child import Writer, first_recall
from bethink.bench.corpus import Corpus
from bethink.bench.embedding import SharedEmbedder
from bethink.bench.engines import MEMORIES, BareSqlite, Bethink, Engine, open_engine
from bethink.bench.findings import Findings, Footprint, Survivors
from bethink.bench.reaches import reach, sweep
from bethink.bench.rounds import Sample, Step, interleave, summed


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of repetitions, and of calls in a row before the next engine's turn.

    Before recalls are timed, ``others`` are asked: questions that no timed call uses.
    """

    rounds: int = 30
    turn: int = 15
    others: int = 50
    openings: int = 5
    stores: int = 200
    budget: float = 60.0
    budget_for_others: float = 5.0

    @property
    def fresh(self) -> int:
        """Return the number of texts to store one by one at a size."""
        return 3 * self.rounds + 2 * self.stores


@dataclass(frozen=True, slots=True)
class Run:
    """One size with one embedder: `measure` fills *findings* and leaves the stores in *folder*.

    *shared* None means that each engine uses an embedder of its own.
    """

    corpus: Corpus
    names: Sequence[str]
    shared: SharedEmbedder | None
    plan: Plan
    folder: Path
    findings: Findings

    @property
    def size(self) -> int:
        """Return the number of memories."""
        return len(self.corpus.texts)

    def measure(self) -> None:
        """Take every measure possible with the embedder."""
        for name in self.names:
            (self.folder / name).mkdir(parents=True)
        self._fill()
        self._open()
        self.findings.samples += sweep(self.names, self.folder, self.shared, self.size)
        self.findings.samples += reach(self.names, self.folder, self.shared, self.corpus)
        with self._engines(self.names) as engines:
            self._recall(engines)
            self._prove(engines)
            self._recall_after_store(engines)
        if self.shared:
            if "bethink" in self.names:
                self._recall_among_turns(self.shared)
            self._recall_after_foreign_store(self.shared)
            self._store_one_by_one(self.shared)

    def _fill(self) -> None:
        """Fill every engine chunk by chunk, beside one bare executemany a chunk.

        The mean counts: some chunks also build an index, for earlier and later chunks.
        """
        texts = self.corpus.texts
        share = max(1, min(1000, self.size // 5))
        chunks = [texts[start : start + share] for start in range(0, self.size, share)]
        with self._engines(self.names) as engines, ExitStack() as stack:
            fills = {name: engine.fill for name, engine in engines.items()}
            if self.shared:
                bare = BareSqlite(self.folder, self.shared, "full")
                fills["bare SQLite"] = stack.enter_context(closing(bare)).fill
            steps = [_step(name, "bulk store", fill, chunks, share) for name, fill in fills.items()]
            filled = self._interleave(steps, len(chunks), budget=math.inf)
            self.findings.samples += [sample.mean() for sample in filled]

    def _open(self) -> None:
        """Open each store in fresh processes, and measure the memory."""
        dimension = self.shared.dimension if self.shared else 0
        opened: dict[str, list[dict[str, float]]] = {name: [] for name in self.names}
        for number in range(self.plan.openings):
            for name in self.names:
                query = self._question(number)
                opened[name].append(first_recall(name, self.folder / name, dimension, query))
        for name, figures in opened.items():
            sample = Sample(self.size, self._label, name, "open and first recall")
            for figure in figures:
                sample.add(figure["cpu"], figure["wall"])
            self.findings.samples.append(sample)
            self.findings.footprints.append(self._footprint(name, figures))

    def _footprint(self, name: str, figures: Sequence[dict[str, float]]) -> Footprint:
        files = (path for path in (self.folder / name).rglob("*") if path.is_file())
        median = {key: statistics.median(row[key] for row in figures) for key in figures[0]}
        return Footprint(
            self.size,
            self._label,
            name,
            bytes_per_memory=sum(path.stat().st_size for path in files) / self.size,
            rss_mb=median["rss"],
            import_rss_mb=median["import_rss"],
            import_cpu_ms=1000 * median["import_cpu"],
        )

    def _recall(self, engines: dict[str, Engine]) -> None:
        """Recall as a long-running process does, beside one scan by numpy.

        First some calls in a row, then each call after an engine with a different store, which has
        filled the processor's caches.
        """
        self._ask_others(engines)
        self._take(self._recall_steps(engines, ""), turn=self.plan.turn)
        self._take(self._recall_steps(engines, ", cold"))

    def _ask_others(self, engines: Mapping[str, Engine]) -> None:
        """Ask every engine questions that are not timed; slow engines get fewer."""
        others = self.corpus.questions[self.plan.rounds :]
        steps = [_step(name, "", engine.recall, others) for name, engine in engines.items()]
        self._interleave(steps, len(others), budget=self.plan.budget_for_others)

    def _prove(self, engines: dict[str, Engine]) -> None:
        """Count the vectors that bethink reads in full for each question; no time is taken."""
        engine = engines.get("bethink")
        if isinstance(engine, Bethink):
            counts = [engine.survivors(question) for question in self.corpus.questions]
            self.findings.survivors.append(Survivors(self.size, self._label, counts))

    def _recall_steps(self, engines: dict[str, Engine], label: str) -> list[Step]:
        steps = []
        if self.shared:
            matrix = self.shared.matrix[: self.size]
            vectors = [self.shared.embed([text])[0] for text in self.corpus.questions]

            def scan(at: int) -> object:
                return np.dot(matrix, vectors[at % len(vectors)])

            steps.append(Step("numpy.dot", f"scan{label}", scan))
        recalls = (
            self._recall_step(name, engine, f"recall{label}") for name, engine in engines.items()
        )
        return [*steps, *recalls]

    def _recall_among_turns(self, shared: SharedEmbedder) -> None:
        """Recall from bethink where every text is a turn of a conversation."""
        folder = self.folder / "turns"
        folder.mkdir()
        with closing(Bethink(folder, shared)) as engine:
            engine.converse(self.corpus.texts)
        with closing(Bethink(folder, shared)) as engine:
            self._ask_others({"bethink": engine})
            step = self._recall_step("bethink", engine, "recall among turns")
            self._take([step], turn=self.plan.turn)

    def _recall_after_store(self, engines: dict[str, Engine]) -> None:
        """Store and recall in turn, as an agent does: some pairs in a row, then each pair cold.

        In a row, an untimed recall goes first, so that the recalls before and after the store find
        equally warm caches.
        """
        plan, fresh, half = self.plan, self.corpus.fresh, self.plan.rounds // 2
        for label, turn, texts in (("", plan.turn, fresh), (", cold", 1, fresh[plan.rounds :])):
            own, after = f"own store{label}", f"recall after own store{label}"
            steps = []
            for name, engine in engines.items():
                if not label:
                    steps.append(self._recall_step(name, engine, "", -1))
                    steps.append(self._recall_step(name, engine, "recall before own store"))
                steps.append(_step(name, own, engine.store, texts))
                steps.append(self._recall_step(name, engine, after, half))
            taken = {(each.engine, each.measure): each for each in self._take(steps, turn=turn)}
            self.findings.samples += [
                summed(taken[name, own], taken[name, after], f"store + recall{label}")
                for name in engines
            ]

    def _recall_after_foreign_store(self, shared: SharedEmbedder) -> None:
        """Recall just after a second process has stored."""
        names = [name for name in MEMORIES if name in self.names]
        texts = self.corpus.fresh[2 * self.plan.rounds :]
        half = self.plan.rounds // 2
        with self._engines(names) as engines, ExitStack() as stack:
            self._ask_others(engines)
            steps = []
            for name, engine in engines.items():
                writer = Writer(name, self.folder / name, shared.dimension)
                stack.enter_context(closing(writer))
                steps += [
                    self._recall_step(name, engine, "", -1),
                    self._recall_step(name, engine, "recall before foreign store"),
                    _step(name, "", writer.store, texts),
                    self._recall_step(name, engine, "recall after foreign store", half),
                ]
            self._take(steps)

    def _store_one_by_one(self, shared: SharedEmbedder) -> None:
        """Store single texts durably, beside bare commits, at both durabilities of bethink."""
        texts = iter(self.corpus.fresh[3 * self.plan.rounds :])
        with self._engines(self.names) as engines:
            self._store_steps(engines, BareSqlite(self.folder, shared, "full"), "full", texts)
        if "bethink" in self.names:
            engine = open_engine("bethink", self.folder / "bethink", shared, durability="normal")
            with closing(engine):
                bare = BareSqlite(self.folder, shared, "normal")
                self._store_steps({"bethink": engine}, bare, "normal", texts)

    def _store_steps(
        self, engines: dict[str, Engine], bare: BareSqlite, durability: str, texts: Iterator[str]
    ) -> None:
        chosen = [next(texts) for _ in range(self.plan.stores)]
        for engine in engines.values():
            engine.recall(self._question(-1))
        measure = f"store, {durability}"
        with closing(bare):
            stores = {"bare SQLite": bare.store}
            stores |= {name: engine.store for name, engine in engines.items()}
            steps = [_step(name, measure, store, chosen) for name, store in stores.items()]
            self._take(steps, self.plan.stores)

    def _recall_step(self, name: str, engine: Engine, measure: str, shift: int = 0) -> Step:
        """Return a step that asks the questions in turn, starting *shift* questions on."""
        return Step(name, measure, lambda at: engine.recall(self._question(at + shift)))

    def _question(self, number: int) -> str:
        """Return a question; the number of different questions is the number of rounds."""
        asked = min(self.plan.rounds, len(self.corpus.questions))
        return self.corpus.questions[number % asked]

    @contextmanager
    def _engines(self, names: Sequence[str]) -> Iterator[dict[str, Engine]]:
        with ExitStack() as stack:
            engines = {}
            for name in names:
                engines[name] = open_engine(name, self.folder / name, self.shared)
                stack.callback(engines[name].close)
            yield engines

    def _take(
        self, steps: Sequence[Step], rounds: int | None = None, turn: int = 1
    ) -> list[Sample]:
        samples = self._interleave(
            steps, rounds or self.plan.rounds, turn=turn, budget=self.plan.budget
        )
        self.findings.samples += samples
        return samples

    def _interleave(self, steps: Sequence[Step], rounds: int, **options: Any) -> list[Sample]:
        return interleave(steps, rounds, size=self.size, embedder=self._label, **options)

    @property
    def _label(self) -> str:
        return "shared" if self.shared else "own"


def _step(
    name: str, measure: str, verb: Callable[[Any], object], given: Sequence[Any], share: int = 1
) -> Step:
    """Return a step that calls *verb* with each of *given* in turn."""
    return Step(name, measure, lambda at: verb(given[at]), share)
