"""The names of remembrane 0.5, each passed on to bethink: for remembrane's own tests alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import bethink
from bethink import EVERYWHERE, WeightedSum

__version__ = bethink.__version__
MODES = {"vector": "semantic"}
OPS = {"useful": "feedback", "useless": "feedback"}
COMPONENTS = {
    "vector": "vector_similarity",
    "keyword": "keyword_bm25",
    "similarity": "combined_similarity",
    "outcome": "usefulness",
}
SIGNALS = {
    "denial": "change_markers",
    "number": "numeric_mismatch",
    "value": "substitution",
    "identifier": "substitution",
}
DAY = 86_400.0


def scope(namespace: str | None) -> Any:
    """Return bethink's scope for a namespace that may be None, for all."""
    return EVERYWHERE if namespace is None else namespace


def estimate_tokens(text: str) -> int:
    """Estimate as remembrane's ``pack`` does by default."""
    return len(text) // 4 + 1


def ScoringConfig(
    weight_similarity: float = 0.65,
    weight_recency: float = 0.15,
    weight_importance: float = 0.10,
    weight_usefulness: float = 0.10,
    half_life_seconds: float = 7 * DAY,
) -> WeightedSum:
    """Return the ranking with these weights."""
    return WeightedSum(
        weight_similarity,
        weight_recency,
        weight_importance,
        weight_usefulness,
        half_life=half_life_seconds / DAY,
    )


def Memory(content: str, **fields: Any) -> MemoryView:
    """Return a memory whose fields bethink has checked."""
    with bethink.MemoryStore() as store:
        return MemoryView(store.store(content, **fields))


class MemoryView:
    """A record, with remembrane's name for its outcome."""

    def __init__(self, record: bethink.MemoryRecord) -> None:
        self.record = record

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)

    @property
    def usefulness(self) -> float:
        return self.record.outcome


@dataclass
class RecallResult:
    """A result of a recall, with remembrane's names for its signals."""

    memory: MemoryView
    score: float
    explanation: bethink.Explanation

    @classmethod
    def of(cls, hit: bethink.RecallResult) -> RecallResult:
        return cls(MemoryView(hit.memory), hit.score, hit.explain())

    @property
    def similarity(self) -> float:
        return self.explanation.signals["similarity"]

    @property
    def vector_score(self) -> float:
        return self.explanation.contributions.get("vector", 0.0)

    @property
    def keyword_score(self) -> float:
        return self.explanation.contributions.get("keyword", 0.0)

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.memory.content)

    def explain(self) -> dict[str, Any]:
        return {
            "score": self.score,
            "components": {
                COMPONENTS.get(name, name): value
                for name, value in self.explanation.signals.items()
            },
            "memory_id": self.memory.id,
        }

    def explain_text(self) -> str:
        return f"score {self.explanation}"


@dataclass
class Conflict:
    """A pair of memories that hardly both hold."""

    a: MemoryView
    b: MemoryView
    confidence: str
    signals: list[str]
    describe: Callable[[], str]

    @classmethod
    def of(cls, found: bethink.Conflict) -> Conflict:
        signals = [f"{SIGNALS.get(name, name)}={value}" for name, value in found.signals.items()]
        older, newer = MemoryView(found.older), MemoryView(found.newer)
        return cls(older, newer, found.tier, signals, found.describe)


@dataclass
class JournalEntry:
    """An entry of the log, with remembrane's name for its action."""

    entry: bethink.LogEntry

    @property
    def op(self) -> str:
        return OPS.get(self.entry.action, self.entry.action)

    @property
    def payload(self) -> dict[str, Any]:
        return {**self.entry.changes, "useful": self.entry.action == "useful"}


def as_dict(record: bethink.MemoryRecord) -> dict[str, Any]:
    """Return what remembrane's lists tell of a memory."""
    names = ("id", "content", "importance", "namespace", "metadata")
    return {name: getattr(record, name) for name in names}


class MemoryStore:
    """A store with remembrane's verbs, each of them one call of bethink."""

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        embedder: Any = None,
        scoring: WeightedSum | None = None,
    ) -> None:
        ranking = scoring or WeightedSum.classic()
        self.inner = bethink.MemoryStore(path, embedder=embedder, ranking=ranking)

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.inner.close()

    def store(self, content: str, *, memory_id: str | None = None, **fields: Any) -> MemoryView:
        named = {} if memory_id is None else {"id": memory_id}
        return MemoryView(self.inner.store(content, **named, **fields))

    def store_many(self, contents: Sequence[str], **fields: Any) -> list[MemoryView]:
        return [MemoryView(record) for record in self.inner.store_many(contents, **fields)]

    def recall(
        self, query: str, *, namespace: str | None = "default", mode: str = "hybrid", **options: Any
    ) -> list[RecallResult]:
        found = self.inner.recall(
            query, namespace=scope(namespace), mode=MODES.get(mode, mode), **options
        )
        return [RecallResult.of(hit) for hit in found]

    def pack(
        self,
        query: str,
        *,
        token_estimator: Callable[[str], int] = estimate_tokens,
        dedupe_threshold: float | None = None,
        **options: Any,
    ) -> list[RecallResult]:
        """*dedupe_threshold* has no counterpart: bethink leaves out what a text repeats."""
        packed = self.inner.pack(query, count_tokens=token_estimator, **options)
        return [RecallResult.of(hit) for hit in packed.results]

    def get(self, id: str) -> MemoryView | None:
        record = self.inner.get(id)
        return MemoryView(record) if record and record.state == "live" else None

    def all(self, namespace: str | None = None) -> list[MemoryView]:
        return [MemoryView(record) for record in self.inner.all(namespace=scope(namespace))]

    def count(self, namespace: str | None = None) -> int:
        return self.inner.count(namespace=scope(namespace))

    def export(self, namespace: str | None = None) -> list[dict[str, Any]]:
        return [as_dict(record) for record in self.inner.all(namespace=scope(namespace))]

    def forget(self, memory_id: str | None = None, *, namespace: str | None = None) -> int:
        return self.inner.forget(memory_id, namespace=namespace)

    def reinforce(self, id: str) -> MemoryView:
        return MemoryView(self.inner.reinforce(id))

    def consolidate(self) -> int:
        return sum(len(group.others) for group in self.inner.consolidate())

    def mark_useful(self, id: str) -> None:
        self.inner.mark_useful(id)

    def mark_useless(self, id: str) -> None:
        self.inner.mark_useless(id)

    def feedback(self, id: str, useful: bool) -> None:
        self.mark_useful(id) if useful else self.mark_useless(id)

    def conflicts(
        self,
        query: str | None = None,
        *,
        namespace: str = "default",
        min_confidence: str = "possible",
    ) -> list[Conflict]:
        found = self.inner.conflicts(query, namespace=namespace, min_tier=min_confidence)
        return [Conflict.of(conflict) for conflict in found]

    def resolve(self, keep_id: str, drop_ids: Sequence[str], reason: str | None = None) -> int:
        return self.inner.resolve(keep_id, drop_ids, reason)

    def log(self) -> list[JournalEntry]:
        return [JournalEntry(entry) for entry in self.inner.log()]

    def snapshot(self, label: str) -> float:
        return self.inner.snapshot(label).at

    def as_of(self, moment: str | float) -> list[dict[str, Any]]:
        return [as_dict(record) for record in self.inner.as_of(moment).all(namespace=EVERYWHERE)]

    def diff(self, since: str | float, until: str | float | None = None) -> dict[str, Any]:
        found = self.inner.diff(since, until, namespace=EVERYWHERE)
        changed = [
            {
                "id": change.after.id,
                "importance_before": change.before.importance,
                "importance_after": change.after.importance,
            }
            for change in found.changed
        ]
        return {
            "added": [as_dict(record) for record in found.added],
            "removed": [as_dict(record) for record in found.removed],
            "changed": changed,
        }

    def merge_from(
        self,
        source: MemoryStore | str | os.PathLike[str],
        *,
        namespaces: Sequence[str] | None = None,
        dedupe_threshold: float = 0.92,
    ) -> dict[str, int]:
        other = source.inner if isinstance(source, MemoryStore) else source
        chosen = EVERYWHERE if namespaces is None else list(namespaces)
        merged = self.inner.merge_from(other, namespace=chosen, similarity=dedupe_threshold)
        return {"added": merged.added - merged.absorbed, "merged": merged.absorbed}


class HashEmbedder(bethink.HashEmbedder):
    """bethink's hashed vectors, as lists of numbers."""

    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts).tolist()


def cosine_similarity(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors of length 1."""
    return float(np.dot(one, other))
