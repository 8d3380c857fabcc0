"""Recall as its documentation states it: plain Python over a list of records, slow and plain."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bethink import (
    DecayProduct,
    Embedder,
    FiveSignal,
    MemoryRecord,
    MemoryStore,
    Ranking,
    Subtree,
    WeightedSum,
    query_intent,
)
from bethink.index import bm25
from bethink.index.bm25 import K1, MAX_NAME_WEIGHT, SYNONYM_WEIGHT, B
from bethink.index.documents import Document, document
from bethink.index.keyword import author_term
from bethink.index.keyword_scoring import (
    ASSISTANT_TERMS,
    BORROW_WORDS,
    ENOUGH_WORDS,
    INSTRUCTION_BONUS,
    LEND_ANSWER,
    LEND_BACK,
    LEND_ONWARD,
    MISMATCH_FACTOR,
    QUESTION_SHARE,
    REACH,
    SMALL_TALK_DISCOUNT,
    THREAD_BONUS,
)
from bethink.memory.reading import DEFAULT_SHARE
from bethink.memory.search import DIGITS
from bethink.model.filters import matches, parse
from bethink.model.namespaces import EVERYWHERE, Scope
from bethink.model.records import When, embedded_text
from bethink.text import Query, read_query

from .inside import engine_of

DAY = 86_400
BOOSTS = {
    "troubleshooting": 1.5,
    "gotcha": 1.4,
    "decision": 1.4,
    "pattern": 1.3,
    "convention": 1.3,
    "architecture": 1.2,
    "command": 1.2,
    "workaround": 1.1,
}
Vector = Sequence[float] | npt.NDArray[np.floating[Any]]
Answer = list[tuple[str, float]]


@dataclass(frozen=True)
class Asked:
    """The arguments of one recall."""

    query: str | None = None
    k: int = 5
    namespace: Scope = "default"
    mode: str = "hybrid"
    where: Mapping[str, Any] | None = None
    min_score: float = 0.0
    min_similarity: float = 0.0
    min_share: float = 0.0
    now: float | None = 0.0
    vector: tuple[str, Vector] | None = None
    ranking: Ranking | None = None

    def of(self, store: MemoryStore, *, touch: bool = False, as_of: When | None = None) -> Answer:
        """Return what *store* answers, once its parts sum to its scores."""
        hits = store.recall(**vars(self), touch=touch, as_of=as_of)
        for hit in hits:
            parts = hit.explain().contributions.values()
            assert math.fsum(parts) == pytest.approx(hit.score, abs=1e-9)
        return [(hit.memory.id, hit.score) for hit in hits]

    def at(self, now: float) -> Asked:
        """Return the same, asked at the time *now*."""
        return replace(self, now=now)


@dataclass(frozen=True)
class Twin:
    """A memory that reads every live record anew for every question."""

    records: Sequence[MemoryRecord]
    embedder: Embedder
    ranking: Ranking = field(default_factory=WeightedSum)
    named: Mapping[str, Mapping[str, Vector]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: MemoryStore, *names: str) -> Twin:
        """Return the twin of *store*, with the vectors called *names*."""
        stored = engine_of(store).backend.select(EVERYWHERE, None)  # expired records, too
        records = [engine_of(store).current(each.record) for each in stored]
        ids = [record.id for record in records]
        named = {name: store.vectors(ids, name) for name in names}
        return cls(records, store.embedder, store.ranking, named)

    def recall(self, asked: Asked) -> Answer:
        """Return ids and scores, best first, ties by id."""
        assert asked.now is not None
        records = [record for record in self.records if covers(asked.namespace, record.namespace)]
        words = asked.query if asked.query and asked.mode != "semantic" else ""
        query = read_query(words)
        query = query._replace(synonyms={}) if asked.mode == "keyword" else query
        keyword = keyword_scores(records, query)
        share, cosines, vector = self.vector_signals(records, asked, keyword)
        found = []
        for record, said, meant, cos in zip(records, keyword, vector, cosines, strict=True):
            similarity = (1 - share) * said + share * meant
            alike = max(cos, 0.0) if share else said
            score = round(self.score(record, similarity, alike, asked), DIGITS)
            if (
                similarity > asked.min_similarity
                and score >= asked.min_score
                and (record.expires_at is None or record.expires_at > asked.now)
                and matches(parse(asked.where), record)
            ):
                found.append((record.id, score))
        found.sort(key=lambda pair: (-pair[1], pair[0]))
        least = asked.min_share * found[0][1] if found else 0.0
        return [pair for pair in found if pair[1] >= least][: asked.k]

    def score(self, record: MemoryRecord, similarity: float, alike: float, asked: Asked) -> float:
        """Score a record as its ranking is documented."""
        assert asked.now is not None
        ranking: Ranking = asked.ranking or self.ranking
        last = max(record.occurred_at, record.last_accessed_at or -math.inf)
        days = max(asked.now - last, 0) / DAY
        if isinstance(ranking, DecayProduct):
            return alike * record.importance * math.exp(-ranking.rate * days)
        if isinstance(ranking, FiveSignal):
            intent = query_intent(asked.query or "")
            boost = BOOSTS.get(intent or "", 1.0) if record.category == intent else 1.0
            boost = 1 + (boost - 1) * min(max((similarity - 0.15) / 0.1, 0), 1)
            return boost * (
                0.35 * similarity
                + 0.25 * (record.outcome + 1) / 2
                + 0.15 * math.exp2(-days / 30)
                + 0.15 * min(math.log(record.access_count + 1) / math.log(100), 1)
                + 0.10 * record.confidence
            )
        assert isinstance(ranking, WeightedSum)
        total = ranking.similarity + ranking.recency + ranking.importance + ranking.outcome
        if 0 < ranking.outcome < ranking.similarity / 10:
            lift = min(max(0.4 * record.outcome, -0.2), 0.2)
            similarity += lift * similarity * (1 - similarity)
        return (
            ranking.similarity * similarity
            + ranking.recency * math.exp2(-days / ranking.half_life)
            + ranking.importance * record.importance
            + ranking.outcome * (record.outcome + 1) / 2
        ) / total

    def vector_signals(
        self, records: Sequence[MemoryRecord], asked: Asked, keyword: Sequence[float]
    ) -> tuple[float, list[float], list[float]]:
        """Return the vector's share of the similarity, each record's cosine, and it calibrated."""
        nothing = 0.0, [0.0] * len(records), [0.0] * len(records)
        if asked.mode == "keyword":
            return nothing
        query: Vector
        alone = asked.query is None or asked.mode == "semantic"
        if asked.vector is not None:
            name, query = asked.vector[0], np.array(asked.vector[1], dtype=np.float32)
            vectors = [self.named.get(name, {}).get(record.id) for record in records]
            share, floor, zero = 1.0 if alone else DEFAULT_SHARE, 0.0, 0.0
            if not self.named.get(name):
                return nothing
        else:
            assert asked.query is not None
            query = self.embedder.embed([asked.query])[0]
            vectors = [self.embedded.get(record.id) for record in records]
            share = 1.0 if alone else getattr(self.embedder, "share", DEFAULT_SHARE)
            floor = getattr(self.embedder, "floor", 0.0)
            zero = getattr(self.embedder, "zero", floor)
        if not any(query):
            return nothing
        cosines = [0.0 if vector is None else cosine(vector, query) for vector in vectors]
        calibrated = [
            min(max((each - zero) / (1 - zero), 0.0), 1.0) if said or each > floor else 0.0
            for each, said in zip(cosines, keyword, strict=True)
        ]
        return share, cosines, calibrated

    @cached_property
    def embedded(self) -> Mapping[str, Vector]:
        """Embed every record that has a content."""
        said = [record for record in self.records if record.content]
        rows = self.embedder.embed([embedded_text(record) for record in said])
        return {record.id: row.tolist() for record, row in zip(said, rows, strict=True)}


def assert_same(found: Answer, expected: Answer) -> None:
    """Compare two answers: the same order, and scores equal to nine digits."""
    assert [id for id, _ in found] == [id for id, _ in expected]
    assert [score for _, score in found] == pytest.approx([s for _, s in expected], abs=1e-9)


_READ: dict[tuple[object, ...], tuple[Document, Counter[str]]] = {}


def read(record: MemoryRecord) -> Document:
    """Return the document of a record."""
    return _read(record)[0]


def counted(record: MemoryRecord) -> Counter[str]:
    """Return how often each term occurs in the document of a record."""
    return _read(record)[1]


def _read(record: MemoryRecord) -> tuple[Document, Counter[str]]:
    """Read a record, once for all questions: most of the time of a twin would go there."""
    told = record.content, record.author, record.occurred_at, record.created_at
    if told not in _READ:
        if len(_READ) > 10_000:
            _READ.clear()
        found = document(record)
        _READ[told] = found, Counter(found.terms)
    return _READ[told]


def covers(scope: Scope, namespace: str) -> bool:
    """Tell whether *scope* sees *namespace*, whole segment by whole segment."""
    if isinstance(scope, Subtree):
        path = scope.path.split("/")
        return namespace.split("/")[: len(path)] == path
    return scope is EVERYWHERE or scope == namespace


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors, 0 when one of them is zero."""
    a, b = [float(x) for x in one], [float(x) for x in other]
    length = math.hypot(*a) * math.hypot(*b)
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / length if length else 0.0


def keyword_scores(records: Sequence[MemoryRecord], query: Query) -> list[float]:
    """Return BM25 by what the query could at most attain, with what thread neighbours lend."""
    counts = [counted(record) for record in records]
    threads = turns_by_thread(records)
    attained, attainable = [0.0] * len(records), 0.0
    for word in query.terms:
        wrote = [author_term(word) in count for count in counts]
        said = [word in count for count in counts]
        idf = inverse_frequency(list(map(max, said, wrote)))
        name = min(inverse_frequency(wrote), MAX_NAME_WEIGHT) if any(wrote) else 0.0
        weight = max(idf, name)
        attainable += weight
        lacking = [1 - name / weight if own else 1.0 for own in wrote]
        near = {} if any(wrote) else synonyms(word, query, counts)
        for other, worth in {word: idf / weight, **near}.items():
            shares = [worth * share for share in saturated(other, counts)]
            spreading = spread(shares, records, threads)
            lacking = [lack * (1 - each) for lack, each in zip(lacking, spreading, strict=True)]
        attained = [sum + weight * (1 - lack) for sum, lack in zip(attained, lacking, strict=True)]
    scores = [each / attainable if attainable else 0.0 for each in attained]
    scores = lifted(handed_over(scores, records, threads), threads)
    scores = lowered(scores, records, threads)
    for at, (record, count) in enumerate(zip(records, counts, strict=True)):
        if not query.about_replies and any(author_term(name) in count for name in ASSISTANT_TERMS):
            scores[at] *= MISMATCH_FACTOR
        if not query.about_replies and read(record).is_instruction and scores[at] > 0:
            scores[at] += INSTRUCTION_BONUS * (1 - scores[at])
        if query.about_times and not read(record).tells_time:
            scores[at] *= MISMATCH_FACTOR
    return scores


def saturated(word: str, counts: Sequence[Counter[str]]) -> list[float]:
    """Return how saturated each record is with a word."""
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / len(counts) if any(lengths) else 1.0
    return [
        count[word] / (count[word] + K1 * (1 - B + B * length / average))
        for count, length in zip(counts, lengths, strict=True)
    ]


def synonyms(word: str, query: Query, counts: Sequence[Counter[str]]) -> dict[str, float]:
    """Return what the rare synonyms of a rare word are worth."""

    def rare(term: str) -> bool:
        return sum(term in count for count in counts) <= max(
            bm25.RARE_DOCUMENTS, bm25.RARE_SHARE * len(counts)
        )

    near = query.synonyms.get(word, ()) if rare(word) else ()
    return {other: SYNONYM_WEIGHT * likeness**2 for other, likeness in near if rare(other)}


def inverse_frequency(found: Sequence[bool]) -> float:
    """Return how much a term tells that is found in some of the records."""
    return math.log(1 + (len(found) - sum(found) + 0.5) / (sum(found) + 0.5))


def turns_by_thread(records: Sequence[MemoryRecord]) -> list[list[int]]:
    """Return the positions of every thread's turns, by time, then insertion."""
    threads = defaultdict(list)
    for position, record in enumerate(records):
        if record.thread is not None:
            threads[record.namespace, record.thread].append(position)
    return [
        sorted(turns, key=lambda at: (records[at].occurred_at, at)) for turns in threads.values()
    ]


def spread(
    shares: Sequence[float], records: Sequence[MemoryRecord], threads: Sequence[Sequence[int]]
) -> list[float]:
    """Return each turn's evidence of one term, its neighbours' damped evidence included."""
    missing = [1 - share for share in shares]
    for turns in threads:
        for at, turn in enumerate(turns):
            damping = taken(records[turn])
            if at and read(records[turns[at - 1]]).is_question:
                missing[turn] *= 1 - LEND_ANSWER * shares[turns[at - 1]] * damping
            for distance in range(1, REACH + 1):
                for lend, neighbour in ((LEND_ONWARD, at - distance), (LEND_BACK, at + distance)):
                    if 0 <= neighbour < len(turns):
                        lent = lend / distance * shares[turns[neighbour]]
                        missing[turn] *= 1 - lent * damping
    return [1 - each for each in missing]


def taken(record: MemoryRecord) -> float:
    """Return what part of the lent evidence a record takes: a long one less."""
    return min(1.0, BORROW_WORDS / max(1, len(record.content.split())))


def handed_over(
    scores: Sequence[float], records: Sequence[MemoryRecord], threads: Sequence[Sequence[int]]
) -> list[float]:
    """Lower every brief question for the answer after it."""
    kept = list(scores)
    for turns in threads:
        for turn, answer in pairwise(turns):
            if read(records[turn]).is_question:
                kept[turn] *= 1 - (1 - QUESTION_SHARE) * taken(records[answer])
    return kept


def lifted(scores: Sequence[float], threads: Sequence[Sequence[int]]) -> list[float]:
    """Lift every turn that scores by the best score of its thread."""
    raised = list(scores)
    for turns in threads:
        best = max(scores[turn] for turn in turns)
        for turn in turns:
            if scores[turn] > 0:
                raised[turn] = 1 - (1 - scores[turn]) * (1 - THREAD_BONUS * best)
    return raised


def lowered(
    scores: Sequence[float], records: Sequence[MemoryRecord], threads: Sequence[Sequence[int]]
) -> list[float]:
    """Lower every turn that says little, unless it answers a brief question."""
    told = list(scores)
    for turns in threads:
        for at, turn in enumerate(turns):
            lacking = max(ENOUGH_WORDS - read(records[turn]).content_words, 0)
            if not (at and read(records[turns[at - 1]]).is_question):
                told[turn] *= 1 - SMALL_TALK_DISCOUNT * lacking
    return told
