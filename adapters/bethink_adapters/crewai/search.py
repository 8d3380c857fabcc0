"""Search for the records most relevant to words, or nearest to a vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bethink import MemoryRecord, MemoryStore, RecallResult, Subtree, ValidationError
from bethink.adapting import integer, number, vector

from ..shared.texts import askable
from .scopes import View
from .scoring import cosine, signed_cosine
from .translate import VECTOR

NO_LIMIT: Final = 1 << 30
COSINE_TOLERANCE: Final = 1e-6  # closer cosines count as equal


@dataclass(frozen=True, slots=True)
class Search:
    """A search for at most *limit* records in *place* that meet all *conditions*."""

    store: MemoryStore
    place: Subtree
    conditions: Sequence[Mapping[str, Any]]
    limit: int

    def most_relevant(self, text: str, embedding: Sequence[float] | None) -> list[RecallResult]:
        """Return the hits most relevant to *text*, best first.

        The relevant records share words with *text* or are near *embedding*; without an embedding,
        near the vector that the store's own embedder gives *text*.
        """
        return self._recall(text, embedding, self.limit)

    def nearest(self, embedding: Sequence[float]) -> list[MemoryRecord]:
        """Return the *limit* nearest records at any distance, and possibly more, unordered."""
        found = [hit.memory for hit in self._recall(None, embedding, self.limit)]
        if len(found) < self.limit:
            return found + self._fill_up(found, embedding)
        # Recall ranks by more than nearness, so add every record nearer than the farthest hit.
        vectors = self.store.vectors([record.id for record in found], VECTOR)
        farthest = min((cosine(embedding, vector) for vector in vectors.values()), default=1.0)
        least = min(farthest + COSINE_TOLERANCE, 1.0)
        nearer = [hit.memory for hit in self._recall(None, embedding, NO_LIMIT, least)]
        return list({record.id: record for record in (*nearer, *found)}.values())

    def _fill_up(
        self, found: Sequence[MemoryRecord], embedding: Sequence[float]
    ) -> list[MemoryRecord]:
        """Return the nearest records besides *found*, up to the limit; ties newest first.

        Recall leaves out records without a vector or with a cosine of 0 or less.
        """
        unlike = {"id": {"$nin": [record.id for record in found]}}
        where = {"$and": [*self.conditions, unlike]}
        rest = self.store.all(namespace=self.place, where=where, order="newest")
        vectors = self.store.vectors([record.id for record in rest], VECTOR)
        rest.sort(key=lambda record: -signed_cosine(embedding, vectors.get(record.id, ())))
        return rest[: self.limit - len(found)]

    def _recall(
        self, text: str | None, embedding: Sequence[float] | None, k: int, least: float = 0.0
    ) -> list[RecallResult]:
        return self.store.recall(
            askable(text),
            k=k,
            namespace=self.place,
            where={"$and": self.conditions} if self.conditions else None,
            vector=None if embedding is None else (VECTOR, embedding),
            min_similarity=least,
            touch=False,
        )


def asks_for_any(embedding: Sequence[float], limit: int, min_score: float) -> bool:
    """Check the arguments of a search; return whether the search asks for any record."""
    number("min_score", min_score, -1e9, 1e9)
    if not has_any(limit) or np.size(embedding) == 0:
        return False
    vector("query_embedding", embedding)
    return True


def has_any(limit: int, offset: int = 0) -> bool:
    """Return whether a page of *limit* records after *offset* holds any record."""
    return integer("limit", limit, -NO_LIMIT) > 0 and integer("offset", offset, -NO_LIMIT) >= 0


def build_conditions(
    metadata: Mapping[str, Any] | None, categories: Iterable[str] | None
) -> list[dict[str, Any]]:
    """Return the conditions for records with all of *metadata* and any of *categories*.

    An argument of None sets no condition; a value of None in *metadata* asks for records without
    the name.
    """
    if not isinstance(metadata, Mapping | None):
        raise ValidationError(f"metadata_filter must be a mapping, not {type(metadata).__name__}")
    if isinstance(categories, str):
        raise ValidationError("categories must be a list of str, not str")
    found: list[dict[str, Any]] = [
        {f"metadata.{key}": {"$eq": value}} for key, value in (metadata or {}).items()
    ]
    tagged = [] if categories is None else [{"tags": {"$contains_any": list(categories)}}]
    return found + tagged


def find_removed(store: MemoryStore, view: View, ids: Iterable[str]) -> dict[str, str]:
    """Return "forget" or "erase", the last action, by id for the removed records in *view*."""
    last = [entry for id in ids for entry in store.log(id=id, limit=1)]
    return {
        entry.id: entry.action
        for entry in last
        if entry.id and entry.action in ("forget", "erase") and view.sees(entry.namespace)
    }
