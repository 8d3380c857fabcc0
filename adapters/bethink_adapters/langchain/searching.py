"""How a vector store of LangChain searches; no search counts an access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bethink import MemoryRecord, MemoryStore, ValidationError
from bethink.adapting import Mode, vector

from ..shared.nearness import Nearness, cosine
from ..shared.texts import askable
from .documents import Filter, part
from .filtering import where_of

Found = tuple[MemoryRecord, float]
Numbers = Sequence[float]


@dataclass(frozen=True, slots=True)
class Search:
    """Search the documents of *namespace* in *store*.

    *name* names the vectors of a given embedding, None the vectors of the store's own embedder.
    """

    store: MemoryStore
    namespace: str
    name: str | None

    def best(
        self, query: str | None, numbers: Numbers | None, k: int, filter: Filter, mode: Mode
    ) -> list[Found]:
        """Return the *k* best documents with scores, the cosine in *mode* "semantic"."""
        if numbers is not None and self.name is None:
            raise ValidationError("a search by vector needs the embedding that made the vectors")
        where = where_of(filter)
        found = self.store.recall(
            askable(query),
            k=k,
            namespace=self.namespace,
            mode=mode,
            where=where,
            vector=None if self.name is None or numbers is None else (self.name, numbers),
            touch=False,
            ranking=Nearness() if mode == "semantic" else None,
        )
        best = [(hit.memory, min(hit.score, 1.0)) for hit in found]
        if numbers is None or len(best) >= k:
            return best
        return best + self._others([hit.memory.id for hit in found], numbers, k - len(best), where)

    def nearness(self, found: Sequence[Found], numbers: Numbers) -> list[Found]:
        """Return the documents *found*, each with the cosine to *numbers*, cut to [0, 1]."""
        held = self.store.vectors([record.id for record, _ in found], self.name)
        scores = {id: cosine(numbers, vector) for id, vector in held.items()}
        return [(each, min(max(scores.get(each.id, 0.0), 0.0), 1.0)) for each, _ in found]

    def diverse(
        self, found: Sequence[Found], numbers: Numbers, k: int, lambda_mult: float
    ) -> list[MemoryRecord]:
        """Return *k* diverse records among *found*."""
        held = self.store.vectors([record.id for record, _ in found], self.name)
        records = [record for record, _ in found if record.id in held]
        vectors = [held[record.id].tolist() for record in records]
        choose = part("vectorstores.utils").maximal_marginal_relevance
        places = choose(np.array(numbers), vectors, lambda_mult, k) if vectors else []
        return [records[place] for place in places]

    def _others(
        self, best: Sequence[str], numbers: Numbers, most: int, where: dict[str, Any] | None
    ) -> list[Found]:
        """Return unlike documents, the nearest first."""
        unlike: dict[str, Any] = {"id": {"$nin": list(best)}}
        both = unlike if where is None else {"$and": [where, unlike]}
        rest = self.store.all(namespace=self.namespace, where=both)
        known = self.store.vectors([each.id for each in rest], self.name)
        asked = vector("query", numbers)

        def near(record: MemoryRecord) -> float:
            held = known.get(record.id)
            return -2.0 if held is None or not held.any() else cosine(asked, held)

        return [(record, 0.0) for record in sorted(rest, key=near, reverse=True)[:most]]
