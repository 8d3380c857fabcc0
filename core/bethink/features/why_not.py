"""The reason that keeps a record out of the answer to a recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, Unpack

import numpy as np

from ..calls import spelled_out
from ..errors import CorruptStoreError
from ..memory.memories import Memories
from ..memory.ranking import Ranking
from ..memory.reading import (
    MAX_ATTEMPTS,
    RECALL_DEFAULTS,
    RecallOptions,
    Request,
    asked_question,
    filtered,
)
from ..memory.search import Search
from ..model import fields
from ..model.filters import matches, parse
from ..model.namespaces import Scope, covers
from ..model.records import Explanation, MemoryRecord, When
from ..model.values import Value

Reason: TypeAlias = Literal[
    "unknown", "forgotten", "erased", "superseded", "archived", "expired", "other namespace",
    "filtered", "no likeness", "below min_similarity", "below min_score", "below min_share",
    "outranked", "returned",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class WhyNot(Value):
    """The reason that kept a record out of an answer of *k*: the first that applies, in order.

    "returned" means no reason. ``rank`` counts from 1, for records "outranked" or "returned".
    ``explanation`` exists for any similarity at all. ``detail`` adds facts, such as the id of the
    superseding record.
    """

    id: str
    reason: Reason
    rank: int | None = None
    score: float | None = None
    explanation: Explanation | None = None
    detail: str = ""

    def __str__(self) -> str:
        placed = "" if self.rank is None else f", at rank {self.rank}"
        scored = "" if self.score is None else f" with a score of {self.score:.3f}"
        more = f" ({self.detail})" if self.detail else ""
        return f"{self.id}: {self.reason}{placed}{scored}{more}"


@dataclass(frozen=True, slots=True)
class _Placement:
    """The placement of a row: numbers, the count ``ahead``, all rows ``tied``, the ``best`` score.

    A row below the limits of similarity or score has only the numbers.
    """

    explanation: Explanation
    similarity: float
    ahead: int
    tied: Sequence[int]
    best: float


class _PlacingSearch(Search):
    """A search for the placement of one row."""

    def placement(self, row: int) -> _Placement:
        """Return the score of *row*, the number of rows before, and the ties, among all rows.

        The question must ask for more rows than the scope has, or the numbers would be incomplete.
        """
        own_position = self._index.positions([row])
        candidates = self._restrict(self._question.allowed)
        own = self._rank(candidates, own_position, self._exact_cosines(own_position))
        explanation = self._result(own_position, own, np.array([0])).explanation(0)
        similarity = float(own.similarity[0])
        if not own.passing[0]:
            return _Placement(explanation, similarity, 0, (), 0.0)
        rivals, _ = self._select(candidates)
        bounds = self._rank(candidates, rivals, candidates.cosine_bounds(rivals)).score
        rivals = rivals[bounds >= own.score[0]]  # the row itself among them
        ranked = self._rank(candidates, rivals, self._exact_cosines(rivals))
        ahead = int((ranked.passing & (ranked.score > own.score[0])).sum())
        tied = rivals[ranked.passing & (ranked.score == own.score[0])]
        rows = self._index.columns["row"][tied].tolist()
        best = float(ranked.score[ranked.passing].max(initial=own.score[0]))
        return _Placement(explanation, similarity, ahead, rows, best)


class WhyNotVerbs(Memories):
    """The verb ``why_not``."""

    @spelled_out(RecallOptions, RECALL_DEFAULTS)
    def why_not(
        self,
        id: str,
        query: str | None,
        *,
        k: int = 5,
        ranking: Ranking | None = None,
        as_of: When | None = None,
        **options: Unpack[RecallOptions],
    ) -> WhyNot:
        """Return the reason that keeps the record *id* out of ``recall``'s answer, and the rank.

        The arguments are those of ``recall``; no access is counted. An unknown *id* is a reason,
        too, and no error.
        """
        request = self._request(query, k, False, **options)
        name, engine = fields.identifier("id", id), self._engine_at(as_of)
        judged, embedder = self._ranking(ranking), engine.embedder
        question = asked_question(engine, request)
        with engine.index.lock:
            if engine.embedder is not embedder:
                question = asked_question(engine, request)
            for _ in range(MAX_ATTEMPTS):
                row, record = engine.backend.find([name]).get(name, (0, None))
                if record is None:
                    return WhyNot(name, "unknown")
                index = engine.index.open(request.scope)
                if (hidden := _why_hidden(record, request.scope, question.now)) is not None:
                    return hidden
                place = index.positions([row])[0]
                if place >= 0 and index.columns["live"][place]:
                    break  # else another process changed it just now
            else:
                raise CorruptStoreError(engine.backend.location)
            question = filtered(question, index, request.where)
            if question.allowed is not None and place not in question.allowed:
                passes = matches(parse(options.get("where")), record)
                source = f"the source {record.source!r} is not trusted"
                return WhyNot(
                    name, "filtered", detail=source if passes else "it does not pass where"
                )
            search = _PlacingSearch(index, question._replace(k=index.size + 1), judged)
            placement = search.placement(row)
            tied = engine.backend.by_row(placement.tied).values()
        return _explain_placement(name, request, placement, sum(other.id < name for other in tied))


def _why_hidden(record: MemoryRecord, scope: Scope, now: float) -> WhyNot | None:
    """Return the reason that hides *record* from every query, if any."""
    if record.state != "live":
        by = f"by {record.superseded_by}" if record.superseded_by else ""
        return WhyNot(record.id, record.state, detail=by)
    if record.expires_at is not None and record.expires_at <= now:
        return WhyNot(record.id, "expired", detail=f"{now - record.expires_at:,.0f} seconds ago")
    if not covers(scope, record.namespace):
        return WhyNot(record.id, "other namespace", detail=f"it is in {record.namespace!r}")
    return None


def _explain_placement(id: str, request: Request, placement: _Placement, tied: int) -> WhyNot:
    """Return the reason for a ranked record, with *tied* equal scores of smaller ids before."""
    explanation, similarity = placement.explanation, placement.similarity
    why = partial(WhyNot, id, score=explanation.score, explanation=explanation)
    if similarity <= 0:
        return WhyNot(id, "no likeness", detail="neither words nor vectors are alike enough")
    if similarity <= request.min_similarity:
        bar = f"a similarity of {similarity:.3f}, not above {request.min_similarity:g}"
        return why("below min_similarity", detail=bar)
    if not explanation.score >= request.min_score:  # nor is a score that is no number
        return why("below min_score", detail=f"min_score is {request.min_score:g}")
    if explanation.score < request.least_score(placement.best):
        share = f"min_share is {request.min_share:g} of the best score, {placement.best:.3f}"
        return why("below min_share", detail=share)
    rank = placement.ahead + tied + 1
    return why("returned" if rank <= request.k else "outranked", rank, detail=f"k is {request.k}")
