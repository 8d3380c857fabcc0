"""Which records a search returns: those relevant to words, or those nearest to a vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bethink import MemoryRecord, MemoryStore, Subtree

from ..shared.texts import askable
from .scoring import cosine, direction
from .translate import VECTOR

ALL: Final = 1 << 30
CLOSE: Final = 1e-6  # cosines nearer than this count as equal


@dataclass(frozen=True, slots=True)
class Finder:
    """Find at most *limit* records of *place* that pass every one of *conditions*."""

    store: MemoryStore
    place: Subtree
    conditions: Sequence[Mapping[str, Any]]
    limit: int

    def relevant(self, text: str, embedding: Sequence[float] | None) -> list[MemoryRecord]:
        """Return the records most relevant to *text*, best first.

        With an *embedding* its neighbours are relevant, else those the store's embedder sees.
        """
        return self._recall(text, embedding, self.limit)

    def nearest(self, embedding: Sequence[float]) -> list[MemoryRecord]:
        """Return the nearest records, however far, and perhaps some more, in no order."""
        found = self._recall(None, embedding, self.limit)
        if len(found) < self.limit:
            return found + self._others(found, embedding)
        # The store ranks by a little more than nearness: add what is nearer than its last choice.
        vectors = self.store.vectors([record.id for record in found], VECTOR)
        farthest = min((cosine(embedding, vector) for vector in vectors.values()), default=1.0)
        nearer = self._recall(None, embedding, ALL, min(farthest + CLOSE, 1.0))
        return list({record.id: record for record in (*nearer, *found)}.values())

    def _others(
        self, found: Sequence[MemoryRecord], embedding: Sequence[float]
    ) -> list[MemoryRecord]:
        """Return the nearest of those that look away, the newest first where that is equal."""
        unlike = {"id": {"$nin": [record.id for record in found]}}
        where = {"$and": [*self.conditions, unlike]}
        others = self.store.all(namespace=self.place, where=where, order="newest")
        vectors = self.store.vectors([record.id for record in others], VECTOR)
        others.sort(key=lambda record: -direction(embedding, vectors.get(record.id, ())))
        return others[: self.limit - len(found)]

    def _recall(
        self, text: str | None, embedding: Sequence[float] | None, k: int, least: float = 0.0
    ) -> list[MemoryRecord]:
        hits = self.store.recall(
            askable(text),
            k=k,
            namespace=self.place,
            where={"$and": self.conditions} if self.conditions else None,
            vector=None if embedding is None else (VECTOR, embedding),
            min_similarity=least,
            touch=False,
        )
        return [hit.memory for hit in hits]


def conditions_of(
    metadata: Mapping[str, Any] | None, categories: Iterable[str] | None
) -> list[dict[str, Any]]:
    """Return the conditions that a record has this *metadata* and one of these *categories*.

    None for either asks nothing of it; None for a name in *metadata* stands for its absence.
    """
    found: list[dict[str, Any]] = [
        {f"metadata.{key}": {"$eq": value}} for key, value in (metadata or {}).items()
    ]
    tagged = [] if categories is None else [{"tags": {"$contains_any": list(categories)}}]
    return found + tagged
