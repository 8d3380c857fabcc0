"""Approximate indexes of vectors, for large namespaces that no process keeps in memory."""

from __future__ import annotations

from typing import Final

from ..errors import ValidationError
from ..memory.engine import Engine
from ..memory.memories import Memories
from ..memory.ranking import Ranking
from ..memory.reading import (
    MAX_ATTEMPTS,
    Answer,
    Answerer,
    Request,
    answered,
    asked_question,
    load_answer,
    touch_rows,
)
from ..memory.search import NOTHING_FOUND, Search
from ..model import fields
from ..model.namespaces import check_namespace
from ..model.progress import Progress, telling
from ..storage import VectorIndexes

_NEARBY_FACTOR: Final = 20  # rows of an approximate index for each of k
_LEAST_NEARBY: Final = 200
MAX_NEARBY: Final = 1_000
"""The most rows that pgvector searches for, and so the most k of an approximate recall."""


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

    def _answerer(self, request: Request, approximate: bool, *, past: bool) -> Answerer:
        """Refuse what needs the whole scope, if *approximate*."""
        if not fields.boolean("approximate", approximate):
            return answered
        near = request.query is not None and request.mode == "semantic"
        narrowed = request.where is not None or request.vector is not None or past
        if not near or narrowed or not isinstance(request.scope, str):
            fields.fail(
                "an approximate recall takes a query, mode='semantic' and one namespace, and no "
                "where, trusted, vector or as_of"
            )
        if request.k > MAX_NEARBY:
            fields.fail(f"an approximate recall returns at most {MAX_NEARBY:,} memories")
        return _answered_nearby

    def _vector_indexes(self) -> VectorIndexes:
        self._engine.check_open()
        indexes = self._engine.backend.vector_indexes
        if indexes is None:
            fields.fail("a vector index needs a Postgres database with the extension pgvector")
        return indexes


def _answered_nearby(engine: Engine, ranking: Ranking, request: Request) -> Answer:
    """Return the answer to *request*, scored among the records that an approximate index chose."""
    scope, indexes = request.scope, engine.backend.vector_indexes
    question = asked_question(engine, request)
    assert isinstance(scope, str)
    if question.vector is None:
        return Answer(NOTHING_FOUND, [], {})
    most = min(max(_LEAST_NEARBY, _NEARBY_FACTOR * request.k), MAX_NEARBY)
    for _ in range(MAX_ATTEMPTS):
        data = None if indexes is None else indexes.nearest(scope, question.vector.query, most)
        if data is None:
            raise ValidationError(
                f"{scope!r} has no vector index; build_vector_index makes an index in a Postgres "
                "database with the extension pgvector"
            )
        with engine.index.lock:
            index = engine.index.of(scope, data)
            found = Search(index, question, ranking).top_k()._replace(approximate=True)
            answer = load_answer(index, found, request)
            if not index.reader.overtaken:
                break
    if request.touch:
        touch_rows(engine, answer.rows(range(len(answer.places))))
    return answer
