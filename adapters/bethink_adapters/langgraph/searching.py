"""How a search ranks: the best by likeness, then unlike items, newest first.

With an index configuration likeness is the best cosine of an item's vectors, exactly. In mode
"hybrid" (the default without a configuration) likeness is bethink's score of words and vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from bethink import MemoryRecord, MemoryStore, RecallResult, Subtree

from ..shared.nearness import Nearness, cosine
from .embedding import name_of

if TYPE_CHECKING:
    from .embedding import Vector

Mode = Literal["semantic", "hybrid", "keyword"]
Found = tuple[MemoryRecord, float | None]


@dataclass(frozen=True, slots=True)
class Search:
    """A search of *scope* for *query*, whose vector is None where the store's embedder is asked."""

    store: MemoryStore
    scope: Subtree
    where: Mapping[str, Any] | None
    mode: Mode
    query: str
    vector: Vector | None

    def page(self, offset: int, limit: int, min_score: float | None) -> list[Found]:
        """Return *limit* records after the first *offset*, with their scores.

        With a *min_score* items with a lower score or without a score are left out.
        """
        best = self._best(offset + limit, min_score)
        page: list[Found] = [(hit.memory, hit.score) for hit in best[offset:]]
        if len(page) == limit or (min_score is not None and min_score > 0):
            return page
        rest = self._others(best, max(offset - len(best), 0), limit - len(page))
        return page + [found for found in rest if _reaches(found[1], min_score)]

    def questions(self) -> Iterator[dict[str, Any]]:
        """Yield the arguments of each recall of the search, a recall for each name of vectors."""
        asked: dict[str, Any] = {"namespace": self.scope, "where": self.where}
        if self.vector is None:
            yield {**asked, "query": self.query, "mode": self.mode}
            return
        for name in self._names():
            vector = (name, self.vector)
            if self.mode == "semantic":
                yield {**asked, "query": None, "vector": vector, "ranking": Nearness()}
            else:
                yield {**asked, "query": self.query, "vector": vector}

    def _names(self) -> Iterator[str]:
        yield name_of(0)
        for number in count(1):
            if self.store.dimension(name_of(number)) is None:
                return
            yield name_of(number)

    def _best(self, k: int, min_score: float | None) -> list[RecallResult]:
        """Return the *k* best; each is among the *k* best by a vector."""
        least = 0.0 if min_score is None else min_score
        best: dict[str, RecallResult] = {}
        for asked in self.questions():
            for hit in self.store.recall(k=k, touch=False, min_score=least, **asked):
                known = best.get(hit.memory.id)
                if known is None or hit.score > known.score:
                    best[hit.memory.id] = hit
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.memory.id))[:k]

    def _others(self, best: Sequence[RecallResult], offset: int, limit: int) -> list[Found]:
        """Return unlike records: the least unlike first, then records without a vector."""
        unlike: dict[str, Any] = {"id": {"$nin": [hit.memory.id for hit in best]}}
        where = unlike if self.where is None else {"$and": [self.where, unlike]}
        if self.vector is None or self.mode != "semantic":
            rest = self.store.all(
                namespace=self.scope, where=where, order="newest", limit=limit, offset=offset
            )
            return [(record, None) for record in rest]
        found = self._cosines(self.store.all(namespace=self.scope, where=where, order="newest"))
        found.sort(key=lambda pair: (pair[1] is None, -(pair[1] or 0.0)))
        return found[offset : offset + limit]

    def _cosines(self, records: Sequence[MemoryRecord]) -> list[Found]:
        scores: dict[str, float] = {}
        asked = () if self.vector is None else self.vector
        ids = [record.id for record in records]
        for name in self._names() if ids else ():
            for id, vector in self.store.vectors(ids, name).items():
                scores[id] = max(cosine(asked, vector), scores.get(id, -1.0))
        return [(record, scores.get(record.id)) for record in records]


def _reaches(score: float | None, least: float | None) -> bool:
    return least is None or (score is not None and score >= least)
