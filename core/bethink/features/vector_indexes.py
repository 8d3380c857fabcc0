"""Approximate indexes of vectors, for large namespaces that no process keeps in memory."""

from __future__ import annotations

from ..memory.memories import Memories
from ..model import fields
from ..model.namespaces import check_namespace
from ..model.progress import Progress, telling
from ..storage import VectorIndexes


class VectorIndexVerbs(Memories):
    """The verbs ``build_vector_index`` and ``drop_vector_index``."""

    def build_vector_index(
        self, namespace: str = "default", *, rate: float | None = None, progress: Progress = None
    ) -> int:
        """Index the vectors of *namespace* for ``recall(approximate=True)``; return their number.

        For namespaces of more than some 100,000 memories, in a Postgres database with the extension
        pgvector, by the owner of the tables. Programs write and recall meanwhile. A recall reads
        memories newer than the index beside, so build the index again after some thousand writes,
        and after ``reembed`` or a move of a shard. With a *rate* per day, the index orders by
        ``DecayProduct(rate)``, else by the cosine alone. *progress*, see ``reembed``, tells of the
        vectors. Raises ``ValidationError`` for a file, and ``StorageError`` without pgvector.
        """
        place = check_namespace(namespace)
        decay = None if rate is None else fields.number("rate", rate, 0.0, 1e9)
        with telling(progress) as tell:
            return self._vector_indexes().build(place, decay, tell)

    def drop_vector_index(self, namespace: str = "default") -> bool:
        """Drop the index of ``build_vector_index``; return False if there was none."""
        return self._vector_indexes().drop(check_namespace(namespace))

    def _vector_indexes(self) -> VectorIndexes:
        self._engine.check_open()
        indexes = self._engine.backend.vector_indexes
        if indexes is None:
            fields.fail("a vector index needs a Postgres database with the extension pgvector")
        return indexes
