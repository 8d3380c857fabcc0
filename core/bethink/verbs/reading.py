"""The reading verbs: get, list, recall, and the accesses they leave behind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from .. import packing
from ..backends import EMBEDDED, Backend, Rows, Vector
from ..embedders import Embedder
from ..engine import Engine
from ..errors import CorruptStoreError, DimensionError, ValidationError
from ..filters import Filter, expired
from ..index import Accessed, ScopeIndex
from ..namespaces import Scope, covers
from ..packing import Budget, Packed
from ..ranking import Ranking
from ..recall import Found, Mode, Probe, Question, Search, Standing
from ..records import Listed, MemoryRecord, RecallResult, WhyNot, with_accesses
from ..text import read_query

DEFAULT_SHARE: Final = 0.4
"""The vector's share of hybrid similarity for an embedder that names none; measured."""

_TRIES: Final = 64
"""So often a recall begins anew because others changed what it was reading."""


class Request(NamedTuple):
    """The checked arguments of one ``recall``."""

    query: str | None
    k: int
    scope: Scope
    mode: Mode
    where: Filter | None
    min_score: float
    min_similarity: float
    now: float | None
    touch: bool
    vector: tuple[str, Vector] | None


def by_id(engine: Engine, id: str) -> MemoryRecord | None:
    """Return the record with *id* unless it is unknown, forgotten, erased or expired."""
    engine.check_open()
    return _shown(engine, engine.backend.get([id]).get(id))


def by_key(engine: Engine, namespace: str, key: str) -> MemoryRecord | None:
    """Return the live record that holds *key* in *namespace*."""
    engine.check_open()
    return _shown(engine, engine.backend.holder(namespace, key))


def _shown(engine: Engine, record: MemoryRecord | None) -> MemoryRecord | None:
    """Return *record* with its latest accesses, None if it is gone by now."""
    if record is None or record.state in ("forgotten", "erased"):
        return None
    if record.expires_at is not None and record.expired(engine.clock()):
        return None
    return engine.current(record)


def listed(
    engine: Engine,
    scope: Scope,
    where: Filter | None,
    limit: int | None,
    offset: int,
    *,
    newest_first: bool,
    state: Listed = "live",
) -> list[MemoryRecord]:
    """Return the records of a state in order of insertion."""
    engine.settle(where)
    now = engine.clock()
    select = partial(engine.backend.select, scope)
    match state:
        case "live":
            found = select(where, limit, offset, newest_first, now)
        case "expired":
            found = select(expired(where, now), limit, offset, newest_first)
        case _:
            found = select(where, limit, offset, newest_first, state=state)
    return engine.all_current(found)


def count(engine: Engine, scope: Scope, where: Filter | None) -> int:
    """Count live records that have not expired."""
    engine.settle(where)
    return engine.backend.count(scope, where, engine.clock())


def namespaces(engine: Engine, scope: Scope) -> dict[str, int]:
    """Return how many such records each namespace has."""
    engine.check_open()
    return engine.backend.namespaces(scope, engine.clock())


def vectors(engine: Engine, ids: Sequence[str], name: str) -> dict[str, Vector]:
    """Return the vectors called *name* of the records that have one."""
    engine.check_open()
    rows = engine.backend.rows_of(ids)
    found = engine.backend.vectors(list(rows.values()), name)
    return {id: found[row] for id, row in rows.items() if row in found}


def touch(engine: Engine, ids: Sequence[str]) -> None:
    """Count one access of each live record that has not expired now."""
    engine.check_open()
    found, now = engine.backend.chronicle.current(ids), engine.clock()
    live = [each for each in found if each.record.state == "live" and not each.record.expired(now)]
    _touch(engine, [(each.row, each.record) for each in live])


def recall(engine: Engine, ranking: Ranking, request: Request) -> list[RecallResult]:
    """Answer *request*; see ``MemoryStore.recall``."""
    answer = _answered(engine, ranking, request)
    return list(map(answer.result, range(len(answer.places))))


def pack(engine: Engine, ranking: Ranking, request: Request, budget: Budget) -> Packed:
    """Put the best of the answer to *request* into one block; only what is in it is touched."""
    answer = _answered(engine, ranking, request._replace(touch=False))
    block = packing.best_block(answer.records, answer.scores, budget)
    if request.touch:
        _touch(engine, answer.rows(block.chosen))
    return Packed.from_block(block, len(answer.places), answer.result)


class _Answer(NamedTuple):
    """What was *found* for a request: its *places* there, best first, and what the index has there.

    The records are shared with other answers, and their accesses not counted.
    """

    found: Found
    places: list[int]
    accessed: Mapping[int, Accessed]

    @property
    def records(self) -> list[MemoryRecord]:
        """The records."""
        return [self.accessed[place][0] for place in self.places]

    @property
    def scores(self) -> list[float]:
        """The scores."""
        return [self.found.scores[place] for place in self.places]

    def rows(self, ranks: Iterable[int]) -> list[tuple[int, MemoryRecord]]:
        """Return the rows and records of these *ranks*, the best being 0."""
        places = [self.places[rank] for rank in ranks]
        return [(self.found.rows[place], self.accessed[place][0]) for place in places]

    def result(self, rank: int) -> RecallResult:
        """Return the result of this *rank*, its record a copy."""
        place = self.places[rank]
        return RecallResult.explained_by(
            with_accesses(*self.accessed[place]),
            self.found.scores[place],
            partial(self.found.explanation, place),
        )


def _answered(engine: Engine, ranking: Ranking, request: Request) -> _Answer:
    """Return the answer to *request*."""
    probe, now = _begun(engine, request)
    with engine.index.lock:
        for tries in range(_TRIES):
            index = engine.index.open(request.scope)
            reader = _Reader(engine.backend, index, again=tries > 0)
            search = _search(reader, _question(reader, request, probe, now), ranking)
            answer = _answer(reader, search.found(), request.k)
            if not (reader.overtaken and engine.index.behind):
                break
        if request.touch:
            _touch(engine, answer.rows(range(len(answer.places))))
    return answer


def _touch(engine: Engine, found: Sequence[tuple[int, MemoryRecord]]) -> None:
    """Count an access of each row and record now, whatever moment was asked about."""
    with engine.index.lock:
        engine.index.touch(found, engine.clock())


def why_not(engine: Engine, ranking: Ranking, id: str, request: Request) -> WhyNot:
    """Tell what keeps the record with *id* out of the answer to *request*."""
    probe, now = _begun(engine, request)
    with engine.index.lock:
        for _ in range(_TRIES):
            record, row = engine.backend.get([id]).get(id), engine.backend.rows_of([id]).get(id)
            if record is None or row is None:
                return WhyNot(id, "unknown")
            index = engine.index.open(request.scope)
            if (hidden := _hidden(record, request.scope, now)) is not None:
                return hidden
            place = index.positions([row])[0]
            if place >= 0 and index.columns["alive"][place]:
                break  # else another process changed it just now
        else:
            raise CorruptStoreError(engine.backend.location)
        reader = _Reader(engine.backend, index)
        question = _question(reader, request, probe, now)
        if question.allowed is not None and place not in question.allowed:
            return WhyNot(id, "filtered", detail="it does not pass where")
        search = _search(reader, question._replace(k=index.size + 1), ranking)
        standing = search.standing(row)
        tied = engine.backend.at(standing.tied).values()
    return _placed(id, request, standing, sum(other.id < id for other in tied))


def _hidden(record: MemoryRecord, scope: Scope, now: float) -> WhyNot | None:
    """Tell what hides *record* from every query, if anything does."""
    if record.state != "live":
        by = f"by {record.superseded_by}" if record.superseded_by else ""
        return WhyNot(record.id, record.state, detail=by)
    if record.expires_at is not None and record.expires_at <= now:
        return WhyNot(record.id, "expired", detail=f"{now - record.expires_at:,.0f} seconds ago")
    if not covers(scope, record.namespace):
        return WhyNot(record.id, "other namespace", detail=f"it is in {record.namespace!r}")
    return None


def _placed(id: str, request: Request, standing: Standing, tied: int) -> WhyNot:
    """Tell what became of a record that was weighed, *tied* equals with smaller ids before it."""
    explanation, similarity = standing.explanation, standing.similarity
    told = partial(WhyNot, id, score=explanation.score, explanation=explanation)
    if similarity <= 0:
        return WhyNot(id, "no likeness", detail="neither words nor vectors are alike enough")
    if similarity <= request.min_similarity:
        bar = f"a similarity of {similarity:.3f}, not above {request.min_similarity:g}"
        return told("below min_similarity", detail=bar)
    if not explanation.score >= request.min_score:  # nor is a score that is no number
        return told("below min_score", detail=f"min_score is {request.min_score:g}")
    rank = standing.ahead + tied + 1
    return told("returned" if rank <= request.k else "outranked", rank, detail=f"k is {request.k}")


def _begun(engine: Engine, request: Request) -> tuple[Probe | None, float]:
    """Return the vector side of *request* and its moment."""
    engine.settle(request.where)
    if request.query is None and request.vector is None:
        raise ValidationError("recall needs a query or a vector")
    return _probe(engine, request), engine.clock() if request.now is None else request.now


class _Reader:
    """What a recall reads from the file beside *index*, which others may have written to meanwhile.

    ``overtaken`` tells whether that could show. A filter that has to be looked up *again* is not
    held against it: that may take so long that somebody writes every time.
    """

    def __init__(self, backend: Backend, index: ScopeIndex, *, again: bool = False) -> None:
        self.index = index
        self.overtaken = False
        self._backend = backend
        self._again = again

    def vectors(self, rows: Sequence[int], name: str) -> dict[int, Vector]:
        """Return the vectors called *name* of *rows*."""
        found = self._backend.vectors(rows, name)
        self.overtaken |= len(found) < len(rows)
        return found

    def records(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Return the records of *rows*."""
        found = self._backend.at(rows)
        self.overtaken |= sum(each.state == "live" for each in found.values()) < len(rows)
        return found

    def matching(self, where: Filter) -> Rows:
        """Return the rows that pass *where*."""
        self.overtaken |= not self._again
        return self._backend.matching(self.index.scope, where)


def _question(reader: _Reader, request: Request, probe: Probe | None, now: float) -> Question:
    words = read_query(request.query if request.query and request.mode != "semantic" else "")
    if request.mode == "keyword":
        words = words._replace(synonyms={})
    allowed = None
    if request.where is not None:
        allowed = reader.index.passing(request.where, reader.matching).nonzero()[0]
    return Question(
        query=request.query,
        words=words,
        probe=probe,
        k=request.k,
        now=now,
        min_score=request.min_score,
        min_similarity=request.min_similarity,
        allowed=allowed,
    )


def _search(reader: _Reader, question: Question, ranking: Ranking) -> Search:
    return Search(reader.index, question, ranking, reader.vectors, reader.matching)


def _probe(engine: Engine, request: Request) -> Probe | None:
    """Return the vector side of *request*; None when there is nothing to compare with."""
    alone = request.query is None or request.mode == "semantic"
    if request.vector is not None:
        name, vector = request.vector
        stored = engine.backend.dimension(name)
        if stored is not None and stored != len(vector):
            raise DimensionError(stored, len(vector), name)
        used = stored is not None and request.mode != "keyword"
        return _unit_probe(name, vector, None, alone) if used else None
    if request.query is None or request.mode == "keyword" or not request.query.strip():
        return None
    return _unit_probe(EMBEDDED, engine.vectors([request.query])[0], engine.embedder, alone)


def _unit_probe(name: str, vector: Vector, embedder: Embedder | None, alone: bool) -> Probe | None:
    """Return the probe for *vector*, calibrated as its *embedder* says (None: not at all)."""
    query = vector.astype(np.float64)
    length = math.sqrt(query @ query)
    floor = getattr(embedder, "floor", 0.0)
    share = 1.0 if alone else getattr(embedder, "share", DEFAULT_SHARE)
    zero = getattr(embedder, "zero", floor)
    return Probe(name, query / length, share, floor, zero) if length else None


def _answer(reader: _Reader, found: Found, k: int) -> _Answer:
    """Load the records of what was *found*, order ties by id, and keep *k*."""
    accessed, scores = reader.index.accessed(found.positions, reader.records), found.scores
    places = list(accessed)
    if len(set(scores)) < len(scores):
        places.sort(key=lambda place: (-scores[place], accessed[place][0].id))
    live = [place for place in places[:k] if accessed[place][0].state == "live"]
    return _Answer(found, live, accessed)
