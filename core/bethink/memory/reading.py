"""The reading verbs: get, list, recall, and the accesses that recall counts."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from ..embedders import Embedder
from ..errors import DimensionError, ValidationError
from ..index import Accessed, EarlyScan, SearchedIndex
from ..model import fields
from ..model.arrays import Vector
from ..model.filters import All, Filter, Where, expired, parse, unexpired
from ..model.namespaces import Scope, check_scope
from ..model.port import EMBEDDED, Page
from ..model.records import Listed, MemoryRecord, RecallResult, with_accesses
from ..text import read_query
from .engine import Engine
from .ranking import Ranking, has_upper_bound
from .search import EarlySearch, Mode, Question, Search, TopK, VectorQuery, search_early

_logger = logging.getLogger(__name__)
NamedVector = tuple[str, Sequence[float] | npt.NDArray[np.floating[Any]]]

DEFAULT_SHARE: Final = 0.4
"""The vector's share of hybrid similarity for an embedder without a ``share``; measured."""

MAX_ATTEMPTS: Final = 64
"""The most attempts of a recall while other processes change the rows being read."""


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
    min_share: float = 0.0

    def least_score(self, best: float) -> float:
        """Return the least score to return beside the *best* score."""
        if not self.min_share:
            return self.min_score
        return max(self.min_score, min(best, self.min_share * best))


class RecallOptions(TypedDict, total=False):
    """The arguments that ``recall``, ``pack`` and ``why_not`` share; see ``recall``."""

    namespace: Scope
    mode: Mode
    where: Where
    min_score: float
    min_similarity: float
    min_share: float
    trusted: Collection[str | None] | None
    now: fields.Time | None
    vector: NamedVector | None


def recall_request(
    query: str | None,
    k: int,
    touch: bool,
    /,
    *,
    namespace: Scope = "default",
    mode: Mode = "hybrid",
    where: Where = None,
    min_score: float = 0.0,
    min_similarity: float = 0.0,
    min_share: float = 0.0,
    trusted: Collection[str | None] | None = None,
    now: fields.Time | None = None,
    vector: NamedVector | None = None,
) -> Request:
    """Return the arguments of ``recall``, checked."""
    return Request(
        query=query if query is None else fields.text("query", query, fields.MAX_CONTENT),
        k=fields.integer("k", k, 0),
        scope=check_scope(namespace),
        mode=fields.one_of("mode", mode, ("hybrid", "keyword", "semantic")),
        where=_only_trusted(parse(where), trusted),
        min_score=fields.number("min_score", min_score, -1e9, 1e9),
        min_similarity=fields.number("min_similarity", min_similarity, 0.0, 1.0),
        min_share=fields.number("min_share", min_share, 0.0, 1.0),
        now=None if now is None else fields.timestamp("now", now),
        touch=fields.boolean("touch", touch),
        vector=None if vector is None else fields.named_vector(vector),
    )


def check_trusted(trusted: Collection[str | None]) -> list[str | None]:
    """Return the sources *trusted* as a list."""
    if isinstance(trusted, str) or not isinstance(trusted, Collection):
        fields.fail(f"trusted must be a list of sources, not {type(trusted).__name__}")
    return [None if source is None else fields.label("trusted", source) for source in trusted]


def _only_trusted(where: Filter | None, trusted: Collection[str | None] | None) -> Filter | None:
    """Return *where* for the records of the sources *trusted* only."""
    if trusted is None:
        return where
    given = check_trusted(trusted)
    named = [source for source in given if source is not None]
    unnamed = [{"source": None}] if len(named) < len(given) else []
    sources = parse({"$or": [{"source": {"$in": named}}, *unnamed]})
    return sources if where is None or sources is None else All((where, sources))


RECALL_DEFAULTS: Final[Mapping[str, object]] = recall_request.__kwdefaults__ or {}


def by_ids(engine: Engine, ids: Sequence[str]) -> list[MemoryRecord | None]:
    """Return the record of each id, None if unknown, forgotten, erased or expired."""
    engine.check_open()
    found = engine.backend.find(ids)
    return [visible(engine, found[id].record) if id in found else None for id in ids]


def visible(engine: Engine, record: MemoryRecord) -> MemoryRecord | None:
    """Return *record* with the latest accesses, None if gone by now."""
    if record.state in ("forgotten", "erased"):
        return None
    if record.expires_at is not None and record.expired(engine.clock()):
        return None
    return engine.current(record)


def listed(
    engine: Engine,
    scope: Scope,
    where: Filter | None = None,
    page: Page | None = None,
    state: Listed = "live",
    now: float | None = None,
) -> list[MemoryRecord]:
    """Return the *page* of the records of a state at the time *now*, the clock's by default."""
    engine.flush_for(where)
    if page and page.by in ("access_count", "last_accessed_at"):
        engine.flush()
    now = engine.clock() if now is None else now
    select = partial(engine.backend.select, scope)
    match state:
        case "live":
            found = select(unexpired(where, now), page)
        case "expired":
            found = select(expired(where, now), page)
        case _:
            found = select(where, page, (state,))
    return engine.all_current([record for _, record in found])


def touch(engine: Engine, ids: Sequence[str]) -> None:
    """Count one access of each live, unexpired record now."""
    engine.check_open()
    found, now = engine.backend.find(ids).values(), engine.clock()
    live = [each for each in found if each.record.state == "live" and not each.record.expired(now)]
    touch_rows(engine, live)


def recall(
    engine: Engine, ranking: Ranking, request: Request, answer_by: Answerer
) -> list[RecallResult]:
    """Answer *request*; see ``MemoryStore.recall``."""
    start = time.perf_counter()
    answer = answer_by(engine, ranking, request)
    found, seconds = range(len(answer.places)), time.perf_counter() - start
    _logger.debug("recalled %d of at most %d records in %.4f s", len(found), request.k, seconds)
    return list(map(answer.result, found))


class Answer(NamedTuple):
    """The answer to a request: the top k *found*, the *places* to return, and the records there.

    Other answers share the records, and accesses are not counted in them.
    """

    found: TopK
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
        """Return the rows and records of *ranks*; the best rank is 0."""
        places = [self.places[rank] for rank in ranks]
        return [(self.found.rows[place], self.accessed[place][0]) for place in places]

    def result(self, rank: int) -> RecallResult:
        """Return the result of a *rank*, with a copy of the record."""
        place = self.places[rank]
        return RecallResult.lazily(
            lambda _: self.found.explanation(place),
            memory=with_accesses(*self.accessed[place]),
            score=self.found.scores[place],
        )


Answerer: TypeAlias = Callable[[Engine, Ranking, Request], Answer]


def answered(engine: Engine, ranking: Ranking, request: Request) -> Answer:
    """Return the answer to *request*.

    Many vectors are scanned before the lock of the index is taken, in few threads for all threads,
    and for several questions at once. Beside other threads the search begins then, too.
    """
    embedder, question = engine.embedder, asked_question(engine, request)
    index = None
    if (vector := question.vector) and request.where is None and not has_upper_bound(ranking):
        index = engine.index.large(request.scope, vector.name, len(vector.query))
    if index is None or vector is None:
        return _answered(engine, ranking, request, question, embedder)
    combiner = engine.index.combiner

    def answer(scan: EarlyScan) -> Answer:
        asked, early = question._replace(early_scan=scan), None
        if combiner.is_shared and index.scope == request.scope:
            early = search_early(index, asked, ranking)
        return _answered(engine, ranking, request, asked, embedder, early)

    return combiner.run((index.vectors[vector.name], vector.query), answer)


def _answered(
    engine: Engine,
    ranking: Ranking,
    request: Request,
    question: Question,
    embedder: Embedder,
    early: EarlySearch | None = None,
) -> Answer:
    """Return the answer to *request*, asked with the vector of *embedder* as *question*.

    An *early* search goes on, unless the index has changed since.
    """
    with engine.index.lock:
        if engine.embedder is not embedder:  # changed by ``reembed`` just now
            question, early = asked_question(engine, request), None
        for attempt in range(MAX_ATTEMPTS):
            index = engine.index.open(request.scope)
            index.reader.start(again=attempt > 0)
            if early is not None and early.is_of(index):
                search, early = early.search, None
            else:
                search = Search(index, filtered(question, index, request.where), ranking)
            answer = load_answer(index, search.top_k(), request)
            if not (index.reader.overtaken and engine.index.behind):
                break
        if request.touch:
            touch_rows(engine, answer.rows(range(len(answer.places))))
    return answer


def touch_rows(engine: Engine, found: Sequence[tuple[int, MemoryRecord]]) -> None:
    """Count an access of each row and record now, even for a request about the past."""
    with engine.index.lock:
        engine.index.touch(found, engine.clock())


def asked_question(engine: Engine, request: Request) -> Question:
    """Return the question of *request*, asked now, without the limits of a filter."""
    engine.flush_for(request.where)
    if request.query is None and request.vector is None:
        raise ValidationError("recall needs a query or a vector")
    vector = _vector_query(engine, request)
    now = engine.clock() if request.now is None else request.now
    text = request.query if request.query and request.mode != "semantic" else ""
    words = read_query(text, now)
    return Question(
        query=request.query,
        words=words._replace(synonyms={}, fuzzy=False) if request.mode == "keyword" else words,
        vector=vector,
        k=request.k,
        now=now,
        min_score=request.min_score,
        min_similarity=request.min_similarity,
    )


def filtered(question: Question, index: SearchedIndex, where: Filter | None) -> Question:
    """Return *question* about the positions that pass *where*."""
    if where is None:
        return question
    return question._replace(allowed=index.passing(where).nonzero()[0])


def _vector_query(engine: Engine, request: Request) -> VectorQuery | None:
    """Return the vector side of *request*; None without a vector to compare.

    A given vector is not calibrated: a cosine of 0 is worth nothing.
    """
    if request.vector is not None:
        name, vector = request.vector
        stored = engine.backend.dimension(name)
        if stored is not None and stored != len(vector):
            raise DimensionError(stored, len(vector), name)
        if stored is None or request.mode == "keyword":
            return None
        embedder = None
    elif request.query is None or request.mode == "keyword" or not request.query.strip():
        return None
    else:
        name, vector = EMBEDDED, engine.vectors([request.query])[0]
        embedder = engine.embedder
    unit = vector.astype(np.float64)
    if not (length := math.sqrt(unit @ unit)):
        return None
    unit /= length
    alone = request.query is None or request.mode == "semantic"
    weight = 1.0 if alone else getattr(embedder, "share", DEFAULT_SHARE)
    min_cosine = getattr(embedder, "floor", 0.0)
    return VectorQuery(name, unit, weight, min_cosine, getattr(embedder, "zero", min_cosine))


def load_answer(index: SearchedIndex, found: TopK, request: Request) -> Answer:
    """Load the *found* records, order ties by id, and keep the best of *request*."""
    accessed, scores = index.accessed(found.positions), found.scores
    places = list(accessed)
    if len(set(scores)) < len(scores):
        places.sort(key=lambda place: (-scores[place], accessed[place][0].id))
    if request.min_share and scores:
        least = request.least_score(scores[0])
        places = [place for place in places if scores[place] >= least]
    live = [place for place in places[: request.k] if accessed[place][0].state == "live"]
    return Answer(found, live, accessed)
