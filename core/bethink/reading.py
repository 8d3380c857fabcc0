"""The reading verbs: get, list, recall, and the accesses they leave behind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from .backends import EMBEDDED, Vector
from .embedders import Embedder
from .engine import Engine
from .errors import DimensionError, ValidationError
from .filters import Filter
from .index import ScopeIndex
from .namespaces import Scope
from .ranking import Ranking
from .recall import Hit, Mode, Probe, Question, search
from .records import Explanation, MemoryRecord, RecallResult
from .text import query_terms

DEFAULT_SHARE: Final = 0.4
"""The vector's share of hybrid similarity for an embedder that names none; measured."""


@dataclass(frozen=True, slots=True)
class Request:
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
    """Return the record with *id* unless it is unknown or forgotten."""
    engine.check_open()
    record = engine.backend.get([id]).get(id)
    return None if record is None or record.state == "forgotten" else engine.current(record)


def by_key(engine: Engine, namespace: str, key: str) -> MemoryRecord | None:
    """Return the live record that holds *key* in *namespace*."""
    engine.check_open()
    record = engine.backend.holder(namespace, key)
    return None if record is None else engine.current(record)


def listed(
    engine: Engine,
    scope: Scope,
    where: Filter | None,
    limit: int | None,
    offset: int,
    *,
    newest_first: bool,
) -> list[MemoryRecord]:
    """Return live records in order of insertion."""
    engine.settle(where)
    return [
        engine.current(record)
        for record in engine.backend.select(scope, where, limit, offset, newest_first)
    ]


def vectors(engine: Engine, ids: Sequence[str], name: str) -> dict[str, Vector]:
    """Return the vectors called *name* of the records that have one."""
    engine.check_open()
    rows = engine.backend.rows_of(ids)
    found = engine.backend.vectors(list(rows.values()), name)
    return {id: found[row] for id, row in rows.items() if row in found}


def touch(engine: Engine, ids: Sequence[str]) -> None:
    """Count one access of each live record now."""
    engine.check_open()
    rows, now = engine.backend.rows_of(ids), engine.clock()
    found = engine.backend.get(ids)
    with engine.index.lock:
        live = [(rows[id], record) for id, record in found.items() if record.state == "live"]
        engine.index.touch(live, now)


def recall(engine: Engine, ranking: Ranking, request: Request) -> list[RecallResult]:
    """Answer *request*; see ``MemoryStore.recall``."""
    engine.settle(request.where)
    if request.query is None and request.vector is None:
        raise ValidationError("recall needs a query or a vector")
    probe = _probe(engine, request)
    now = engine.clock() if request.now is None else request.now
    with engine.index.lock:
        index = engine.index.open(request.scope)
        question = Question(
            terms=()
            if request.query is None or request.mode == "semantic"
            else query_terms(request.query),
            probe=probe,
            k=request.k,
            now=now,
            min_score=request.min_score,
            min_similarity=request.min_similarity,
            allowed=_allowed(engine, index, request),
        )
        hits = search(index, question, ranking, engine.backend.vectors)
        results = _results(engine, hits, request.k)
        if request.touch:
            engine.index.touch([(row, result.memory) for row, result in results], now)
    return [result for _, result in results]


def _allowed(
    engine: Engine, index: ScopeIndex, request: Request
) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    if request.where is None:
        return None
    positions = index.positions(engine.backend.matching(request.scope, request.where))
    return positions[positions >= 0]


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


def _results(engine: Engine, hits: Sequence[Hit], k: int) -> list[tuple[int, RecallResult]]:
    """Load the records of *hits*, order ties by id, keep *k*."""
    records = engine.backend.at([hit.row for hit in hits])
    found = [(hit, engine.current(records[hit.row])) for hit in hits if hit.row in records]
    found.sort(key=lambda pair: (-pair[0].score, pair[1].id))
    return [
        (hit.row, RecallResult(record, hit.score, _explanation(hit)))
        for hit, record in found[:k]
        if record.state == "live"
    ]


def _explanation(hit: Hit) -> Explanation:
    return Explanation(hit.score, hit.signals, hit.contributions, hit.survivors)
