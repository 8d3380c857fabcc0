"""VectorMemory: a durable working memory, with values found by the caller's vectors."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from ...calls import suggesting
from ...memory.ranking import WeightedSum
from ...model import fields
from ...model.arrays import Vector
from ...model.fields import plain
from .interface import ScoredRecord
from .keyed import HAS_KEY, KeyedMemory, item_of
from .resident import Numbers, nearest, unit_vector

_COSINE: Final = WeightedSum(1.0, 0.0, 0.0, 0.0)


@suggesting
class VectorMemory(KeyedMemory):
    """A ``KeyedMemory`` with values found by the caller's vectors, as in ``LongTermMemory``.

    All vectors of a *namespace* have the same length, and are kept in single precision. Every
    change supersedes the value before, together with the vector, and makes the key the newest; a
    counter that changes often belongs into a ``KeyedMemory`` in another namespace.
    """

    _in_place: ClassVar = False

    def remember_vector(self, key: str, value: Any, vector: Numbers) -> None:
        """Remember *value*, any JSON, under *key*, to be found by *vector*.

        Every other change of the key removes the vector, which belonged to the value before. A
        vector with a number that is not finite raises ``ValidationError``, a vector of a wrong
        length ``DimensionError``.
        """
        new, single = plain("value", value), unit_vector(key, vector).astype(np.float32)
        self._change(self._checked(key), lambda _: new, vectors={self.namespace: single})

    def search(self, vector: Numbers, top_k: int = 5) -> tuple[ScoredRecord, ...]:
        """Return the *top_k* items with the largest cosines with *vector*, best first.

        The search is exact for the vectors in single precision; with a vector of zeros the cosine
        is 0. Ties go to the earliest value. Items without a vector are not found.
        """
        query = unit_vector("query", vector).astype(np.float32)
        most = fields.integer("top_k", top_k, 0)
        found = self.store.recall(
            None,
            k=most,
            namespace=self.namespace,
            where=HAS_KEY,
            vector=(self.namespace, query),
            ranking=_COSINE,
            touch=False,
        )
        if len(found) < most:  # recall leaves out cosines up to 0
            return self._search_all(query, most)
        return tuple(ScoredRecord(item_of(hit.memory), hit.score) for hit in found)

    def _search_all(self, query: Vector, most: int) -> tuple[ScoredRecord, ...]:
        """Compare *query* with every vector."""
        found = self.store.all(namespace=self.namespace, where=HAS_KEY)
        records = {each.id: each for each in found}
        vectors = self.store.vectors(records, self.namespace)
        items = [item_of(record) for id, record in records.items() if id in vectors]
        directions = [unit_vector(id, vectors[id]) for id in records if id in vectors]
        return nearest(items, np.array(directions), unit_vector("query", query), most)
