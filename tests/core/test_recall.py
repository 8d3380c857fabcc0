from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bethink import (
    EVERYWHERE,
    DecayProduct,
    FiveSignal,
    HashEmbedder,
    MemoryStore,
    NotFoundError,
    Subtree,
    ValidationError,
    WeightedSum,
)
from bethink import index as resident
from bethink.index import bm25, keyword, scope, vectors
from bethink.memory import search
from bethink.memory.ranking import Scored, Signals
from bethink.model.arrays import Vector

from .inside import engine_of
from .kernels import KERNELS, NUMPY, SIMSIMD
from .twin import Answer, Asked, Twin, assert_same

NOW = 1.7e9
DAY = 86_400.0
WORDS = ["red", "cat", "dog", "pet", "paris", "run", "runs", "today", "the", "東京", "color42"]
NAMESPACES = ("default", "a", "a/b", "a/b/c", "ab")

INTENTS = (
    *("", "", "any gotchas with the ", "command for your ", "error: ", "where is my "),
    "when was the ",
)
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
said = st.builds(
    "{}{}{}".format, st.sampled_from(["", "", "Always "]), phrases, st.sampled_from(["", "", "?"])
)
long_texts = st.sampled_from(["cat " * 150, "red pet " * 120, "dog " * 40 + "?"])
directions = st.lists(st.integers(-4, 4), min_size=3, max_size=3)
picks = st.integers(0, 7)
sides = st.integers(0, 1)
changes = st.fixed_dictionaries(
    {},
    optional={
        "content": said | long_texts,
        "namespace": st.sampled_from(NAMESPACES),
        "thread": st.sampled_from(["s", "t", None]),
        "author": st.sampled_from(["Ann", "red", "assistant", None]),
        "occurred_at": st.integers(-40, 40).map(lambda days: NOW + days * DAY),
        "importance": st.sampled_from([0.0, 0.3, 1.0]),
        "confidence": st.sampled_from([0.2, 1.0]),
        "category": st.sampled_from(["x", "gotcha", "command", None]),
        "expires_at": st.sampled_from([NOW - 5, NOW + 50, NOW + 500 * DAY, None]),
        "vectors": st.fixed_dictionaries({"v": directions}),
    },
)
items = st.builds(lambda content, given: {**given, "content": content}, said, changes)
filters = st.sampled_from(
    [None, None, None, {"category": "x"}, {"importance": {"$gt": 0.2}}, {"author": {"$ne": "Ann"}}]
)
rankings = st.sampled_from(
    [None, None, FiveSignal(), DecayProduct(0.0), DecayProduct(0.05), DecayProduct(2.0)]
)
questions = st.builds(
    Asked,
    query=st.builds(str.__add__, st.sampled_from(INTENTS), phrases),
    k=st.sampled_from([1, 2, 5, 50]),
    namespace=st.sampled_from([*NAMESPACES, Subtree("a"), Subtree("a/b"), EVERYWHERE]),
    mode=st.sampled_from(["hybrid", "keyword", "semantic"]),
    where=filters,
    min_score=st.sampled_from([0.0, 0.0, 0.25]),
    min_similarity=st.sampled_from([0.0, 0.0, 0.15]),
    min_share=st.sampled_from([0.0, 0.0, 0.6]),
    now=st.sampled_from([NOW, NOW - DAY, NOW + 3.5 * DAY]),
    ranking=rankings,
)
by_vector = st.builds(
    lambda asked, query, vector: replace(asked, query=query, vector=("v", vector)),
    questions,
    phrases | st.none(),
    directions,
)


class Calibrated(HashEmbedder):
    """Count cosines from 0 up, but without a common word only above 0.25."""

    zero, floor, share = 0.0, 0.25, 0.5


class Recalling(RuleBasedStateMachine):
    """Two stores on one file, written to in turn, answer like their twins all the while.

    The index is told to seal, merge, save and drop what it holds every few records.
    """

    kernel: Callable[[], Any] = staticmethod(SIMSIMD or NUMPY)
    embedder: type[HashEmbedder] = HashEmbedder
    resident = 25_000

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for module, name, small in (
            (keyword, "BLOCK_DOCUMENTS", 4),
            (keyword, "MERGED_BLOCKS", 2),
            (resident, "BLOCK_DOCUMENTS", 4),
            (resident, "_BATCH_ROWS", 8),
            (resident, "_MIN_SAVED_ROWS", 2),
            (scope, "RELINK_FROM", 3),
            (scope, "MIN_DEAD", 1),
            (bm25, "RARE_DOCUMENTS", 3),
            (vectors, "_kernel", self.kernel),
            (search, "_PREFILTER_FROM", 4),
            (search, "_SAMPLE_SIZE", 4),
            (search, "_FIRST_POSITIONS", 1),
            (search, "_MAX_STRONG_SHARE", 1.0),
        ):
            self.patch.setattr(module, name, small)
        self.now, self.numbers, self.steps = NOW, count(1), count()
        self.folder = TemporaryDirectory()
        self.stores = [self.opened(), self.opened()]
        first = self.stores[0].store("", value=0, namespace="else", vectors={"v": [1, 2, 3]})
        self.ids = [first.id]

    def opened(self) -> MemoryStore:
        return MemoryStore(
            Path(self.folder.name) / "memories.db",
            embedder=self.embedder(16),
            ranking=WeightedSum.classic(),
            clock=self.later,
            durability="normal",
            max_resident=self.resident,
            new_id=lambda: f"{next(self.numbers) * 7919 % 10_007:05d}",
        )

    def later(self) -> float:
        self.now += 7
        return self.now

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()
        self.patch.undo()

    def id(self, pick: int) -> str:
        return self.ids[-1 - pick % len(self.ids)]

    @rule(side=sides, batch=st.lists(items, min_size=1, max_size=5), key=st.sampled_from("kl "))
    def store(self, side: int, batch: list[dict[str, Any]], key: str) -> None:
        if key.strip():
            batch = [{**batch[0], "key": key}, *batch[1:]]
        self.ids += [record.id for record in self.stores[side].store_many(batch)]

    @rule(side=sides, pick=picks, given=changes)
    def update(self, side: int, pick: int, given: dict[str, Any]) -> None:
        with suppress(NotFoundError, ValidationError):
            self.stores[side].update(self.id(pick), **given)

    @rule(side=sides, pick=picks)
    def forget(self, side: int, pick: int) -> None:
        self.stores[side].forget(self.id(pick))

    @rule(side=sides, pick=picks)
    def restore(self, side: int, pick: int) -> None:
        with suppress(ValidationError):
            self.stores[side].restore(self.id(pick))

    @rule(side=sides, pick=picks)
    def touch(self, side: int, pick: int) -> None:
        self.stores[side].touch(self.id(pick))

    @rule(side=sides)
    def reopen(self, side: int) -> None:
        self.stores[side].close()
        self.stores[side] = self.opened()

    @rule(side=sides, asked=questions | by_vector, touch=st.booleans())
    def recall(self, side: int, asked: Asked, touch: bool) -> None:
        store = self.stores[side]
        expected = Twin.of(store, "v").recall(asked)
        assert_same(asked.of(store, touch=touch), expected)

    @rule(side=sides, asked=questions | by_vector, pick=picks)
    def why_not(self, side: int, asked: Asked, pick: int) -> None:
        store, id = self.stores[side], self.id(pick)
        everyone = ids(Twin.of(store, "v").recall(replace(asked, k=10**6)))
        told = store.why_not(id, **vars(asked))
        if id in everyone:
            assert told.rank == everyone.index(id) + 1
            assert told.reason == ("returned" if told.rank <= asked.k else "outranked")
        else:
            assert told.rank is None
            assert told.reason not in ("returned", "outranked")

    @invariant()
    def answers_like_its_twin(self) -> None:
        if next(self.steps) % 3 == 0:  # in between, a store falls behind the other
            return
        store = self.stores[int(self.now) % 2]
        twin = Twin.of(store)
        for namespace in ("a", EVERYWHERE):
            asked = Asked("red cat in tokyo", k=9, namespace=namespace, now=self.now)
            assert_same(asked.of(store), twin.recall(asked))


class RecallingWithoutSimsimd(Recalling):
    kernel = staticmethod(NUMPY)
    embedder = Calibrated
    resident = 10_000_000


for machine in (Recalling, RecallingWithoutSimsimd):
    machine.TestCase.settings = settings(max_examples=12, stateful_step_count=30, deadline=None)
TestRecalling = pytest.mark.slow(Recalling.TestCase)
TestRecallingWithoutSimsimd = pytest.mark.slow(RecallingWithoutSimsimd.TestCase)


def opened(**options: Any) -> MemoryStore:
    numbers = count()
    given = {"clock": lambda: NOW, "new_id": lambda: f"{next(numbers):06d}", **options}
    return MemoryStore(**given)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with opened() as store:
        yield store


def ids(answer: Answer) -> list[str]:
    return [id for id, _ in answer]


@pytest.mark.slow
def test_thousands_of_ties_are_ordered_by_id() -> None:
    names = [f"{number * 7919 % 10_007:05d}" for number in range(3000)]
    with opened() as store:
        store.store_many({"id": name, "content": "a red cat"} for name in names)
        for mode in ("hybrid", "keyword", "semantic"):
            asked = Asked("red cat", k=30, now=NOW, mode=mode)
            assert ids(asked.of(store)) == sorted(names)[:30]


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_vectors_that_are_mostly_zero_find_the_others(
    kernel: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_kernel", kernel)
    with opened() as store:
        store.store_many([*["?!"] * 400, "a red cat", *["..."] * 400, "some red dogs"])
        asked = Asked("red cats", k=600, mode="semantic", now=NOW)
        assert ids(asked.of(store)) == ["000400", "000801"]
        assert_same(asked.of(store), Twin.of(store).recall(asked))


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_contributions_sum_to_the_score(store: MemoryStore, mode: Any) -> None:
    store.store_many(["the red cat", "a red dog", "green paint", "catalogue of cats"])
    hits = store.recall("red cats", mode=mode)
    assert hits
    for hit in hits:
        explained = hit.explain()
        assert explained.score == hit.score
        assert sum(explained.contributions.values()) == pytest.approx(hit.score, abs=1e-9)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_an_unrelated_query_finds_nothing_however_important(store: MemoryStore, mode: Any) -> None:
    store.store("the ferry leaves at noon", importance=1.0)
    assert store.recall("quantum zebra", mode=mode) == []
    assert store.recall("", mode=mode) == []


def test_min_score_cuts_on_the_number_shown(store: MemoryStore) -> None:
    store.store_many(["red cat", "red dog and a long story of a journey", "red paint house"])
    hits = store.recall("red cat")
    scores = [hit.score for hit in hits]
    assert len(scores) == 3
    for cut, score in enumerate(scores):
        shown = store.recall("red cat", min_score=score, touch=False)
        assert [hit.score for hit in shown] == scores[: cut + 1]
        above = store.recall("red cat", min_score=score + 1e-9, touch=False)
        assert [hit.score for hit in above] == scores[:cut]


def test_min_share_cuts_below_a_share_of_the_best_score(store: MemoryStore) -> None:
    store.store_many(["red cat", "red dog and a long story of a journey", "red paint house"])
    scores = [hit.score for hit in store.recall("red cat")]
    for cut, score in enumerate(scores):
        share = score / scores[0]
        options: Any = {"min_share": max(share - 1e-9, 0.0), "touch": False}
        assert [hit.score for hit in store.recall("red cat", **options)] == scores[: cut + 1]
        assert [hit.score for hit in store.pack("red cat", **options).results] == scores[: cut + 1]
    assert store.recall("quantum zebra", min_share=0.5) == []


def test_min_share_keeps_the_best_of_a_ranking_without_positive_scores(store: MemoryStore) -> None:
    class Negative:
        def rank(self, signals: Signals) -> Scored:
            return Scored({}, {"distance": signals.similarity - 2.0})

    store.store_many(["red cat", "red paint house"])
    options: Any = {"ranking": Negative(), "min_score": -9.0}
    assert len(store.recall("red cat", **options)) == 2
    (best,) = store.recall("red cat", min_share=0.5, **options)
    assert best.content == "red cat"


def test_min_similarity_cuts_on_likeness_alone(store: MemoryStore) -> None:
    store.store("red cat", importance=0.0)
    store.store("red dog and a long story of a journey", importance=1.0)
    near, far = store.recall("red cat")
    floor = far.explain().signals["similarity"]
    assert [hit.memory.id for hit in store.recall("red cat", min_similarity=floor)] == ["000000"]
    assert near.explain().signals["similarity"] > floor


def test_nothing_is_asked_of_k_zero(store: MemoryStore) -> None:
    assert store.recall("red cat", k=0) == []
    store.store("a red cat")
    assert store.recall("red cat", k=0) == []
    assert store.get("000000") == store.all()[0]
    assert store.all()[0].access_count == 0


def test_k_counts_what_may_be_returned(store: MemoryStore) -> None:
    store.store_many({"content": f"red cat {n}", "category": "xy"[n % 2]} for n in range(40))
    hits = store.recall("red cat", k=7, where={"category": "y"})
    assert len(hits) == 7
    assert {hit.memory.category for hit in hits} == {"y"}


def test_what_has_expired_is_not_recalled(store: MemoryStore) -> None:
    store.store("a red cat", expires_at=NOW + 10)
    assert len(store.recall("red cat", now=NOW + 9.9, touch=False)) == 1
    assert store.recall("red cat", now=NOW + 10) == []


def test_an_expiry_that_is_set_later_counts(store: MemoryStore) -> None:
    id = store.store("a red cat").id
    assert len(store.recall("red cat")) == 1
    store.update(id, expires_at=NOW)
    assert store.recall("red cat") == []
    store.update(id, expires_at=None)
    assert len(store.recall("red cat")) == 1


def test_a_word_in_common_lowers_the_bar_for_the_vector() -> None:
    with opened(embedder=Calibrated(256)) as store:
        store.store("cat and dog and house and ferry and paint")
        query = "cats of tokyo, berlin, madrid, lisbon"
        (hit,) = store.recall(query)
        signals = hit.explain().signals
        assert 0 < signals["vector"] < Calibrated.floor
        assert store.recall(query, mode="semantic") == []


def test_keyword_mode_sees_no_vectors_and_semantic_mode_no_words(store: MemoryStore) -> None:
    store.store("notebooks", vectors={"v": [1, 0]})
    assert store.recall("notebook cover", mode="keyword")[0].explain().signals["vector"] == 0
    hit = store.recall("notebook", mode="semantic", vector=("v", [1, 1]))[0]
    assert hit.explain().signals["keyword"] == 0
    assert hit.explain().signals["vector"] == pytest.approx(0.5**0.5)


def test_survivors_are_the_records_whose_vectors_are_read(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.store_many(f"cat {number} {WORDS[number % 9]}" for number in range(600))
    store.recall("cat 5", k=1, touch=False)  # the index is filled
    backend, read = engine_of(store).backend, [0]
    fetch = backend.vectors

    def counted(rows: Sequence[int], name: str) -> dict[int, Vector]:
        read[0] += len(rows)
        return fetch(rows, name)

    monkeypatch.setattr(backend, "vectors", counted)
    first, *others = [hit.explain() for hit in store.recall("red cat 77", touch=False)]
    assert 5 < first.survivors == read[0] < 600
    assert {other.survivors for other in others} == {first.survivors}
    assert store.recall("red cat 77", mode="keyword")[0].explain().survivors == 0


def test_a_vector_alone_is_a_query(store: MemoryStore) -> None:
    store.store_many({"content": "x", "vectors": {"v": [1, n]}} for n in range(5))
    hits = store.recall(None, vector=("v", [0, 9]), k=2)
    assert [hit.memory.id for hit in hits] == ["000004", "000003"]
    assert store.recall(None, vector=("w", [0, 9])) == []
    assert store.recall(None, vector=("v", [0, 0])) == []


def test_a_vector_joins_the_words_of_a_query(store: MemoryStore) -> None:
    store.store("red cat", vectors={"v": [0, 1]})
    store.store("red dog", vectors={"v": [1, 0]})
    store.store("red fox")
    hits = store.recall("red", vector=("v", [1, 0]))
    assert [hit.memory.content for hit in hits] == ["red dog", "red cat", "red fox"]
    assert hits[1].score == hits[2].score


@pytest.mark.slow
def test_a_right_angle_is_no_likeness(store: MemoryStore) -> None:
    for x in range(1, 12):
        for y in range(1, 12):
            store.store("x", namespace=f"{x}/{y}", vectors={"v": [-y, x]})
            assert store.recall(None, namespace=f"{x}/{y}", vector=("v", [x, y])) == []


def test_a_short_turn_is_found_by_the_turn_before_it(store: MemoryStore) -> None:
    store.store_many(["which paint for the boat?", "the blue one", "unrelated"], thread="s")
    store.store("the blue one")
    found = store.recall("paint for the boat", k=9)
    assert {hit.memory.id for hit in found[:2]} == {"000000", "000001"}
    assert "000003" not in [hit.memory.id for hit in found]


def test_an_answer_comes_before_its_question(store: MemoryStore) -> None:
    turns = ["how long have you been married?", "five years already, time flies"]
    store.store_many(turns, thread="s")
    found = store.recall("how long have Ann and Bo been married", mode="keyword")
    assert [hit.memory.id for hit in found] == ["000001", "000000"]


def test_a_turn_that_says_little_comes_after_one_that_says_something(store: MemoryStore) -> None:
    talk = ["I left the hospital", "Wow!", "The night shifts were killing me, I hardly slept"]
    store.store_many(talk, thread="s")
    found = store.recall("why did Ann leave the hospital?", mode="keyword")
    assert [hit.memory.id for hit in found] == ["000000", "000002", "000001"]


def test_a_name_finds_what_its_owner_wrote_before_what_others_told_them(store: MemoryStore) -> None:
    store.store("thanks, Ann, I paint boats", author="Bo")
    store.store("these days I do paint boats", author="Ann")
    assert [hit.memory.author for hit in store.recall("does Ann paint boats?")] == ["Ann", "Bo"]
    assert [hit.memory.author for hit in store.recall("Ann")] == ["Ann", "Bo"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what about the trip to Rome?", "user"),
        ("what did you say about the trip to Rome?", "Assistant"),
        ("which trip to Rome did the assistant plan?", "Assistant"),
        ("was ist mit der Reise nach Rome?", "Assistant"),
    ],
)
def test_an_assistant_s_words_come_first_only_where_they_may_be_meant(
    store: MemoryStore, query: str, first: str
) -> None:
    for author in ("Assistant", "user"):
        store.store("the trip to Rome is in May", author=author)
    assert store.recall(query, mode="keyword")[0].memory.author == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("when did Ann paint the boat?", "Ann was painting the boat on Friday"),
        ("how long did Ann paint the boat?", "Ann was painting the boat on Friday"),
        ("what did Ann paint when she had a boat?", "Ann was painting the boat"),
        ("Ann paints the boat", "Ann was painting the boat"),
    ],
)
def test_what_tells_a_time_comes_first_where_one_is_asked_for(
    store: MemoryStore, query: str, first: str
) -> None:
    store.store_many(["Ann was painting the boat", "Ann was painting the boat on Friday"])
    assert store.recall(query, mode="keyword")[0].memory.content == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("how do I write a date?", "Always show a date with its year"),
        ("how did we write a date?", "the date palm grew"),
        ("how do I write a number?", None),
    ],
)
def test_a_standing_instruction_comes_early_to_what_it_touches(
    store: MemoryStore, query: str, first: str | None
) -> None:
    store.store_many(["the date palm grew", "Always show a date with its year"])
    found = store.recall(query, mode="keyword")
    assert (found[0].memory.content if found else None) == first


def test_the_same_thread_name_elsewhere_is_another_thread(store: MemoryStore) -> None:
    store.store("which paint for the boat?", thread="s", namespace="a")
    store.store("the blue one", thread="s", namespace="b")
    found = store.recall("paint for the boat", namespace=EVERYWHERE)
    assert [hit.memory.id for hit in found] == ["000000"]


def test_a_date_is_found_where_it_was_told(store: MemoryStore) -> None:
    store.store("we met", occurred_at=0.0)
    store.store("we met")
    found = store.recall("what happened in January 1970?")
    assert [hit.memory.id for hit in found] == ["000000"]


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("Who painted the boat yesterday?", [1, 0, 9, 40]),
        ("who painted the boat last week", [9, 1, 0, 40]),
        ("Who painted the boat?", [0, 1, 9, 40]),
        ("What happened yesterday?", [1]),
        ("What was that about last week?", [9]),
        ("what did we do yesterday", [1]),
        ("Summarise last week.", [9]),
        ("What was going on in 2020?", []),
        ("I was tired yesterday", []),
    ],
)
def test_what_occurred_in_the_period_of_a_question_comes_first(
    store: MemoryStore, query: str, days: list[int]
) -> None:
    now = datetime(2023, 6, 14, 10, tzinfo=UTC)  # a Wednesday
    for ago in (0, 1, 9, 40):
        store.store("Ann painted the boat", occurred_at=now - timedelta(ago), metadata={"ago": ago})
    store.store("", value={"call": 1}, author="Ann", occurred_at=now - timedelta(1))
    found = store.recall(query, mode="keyword", now=now)
    assert [hit.memory.metadata["ago"] for hit in found] == days


class Silent:
    """Rank by confidence, and tell no signal."""

    def rank(self, evidence: Signals) -> Scored:
        return Scored({}, {"confidence": evidence.confidence})


def test_a_ranking_need_not_tell_a_signal() -> None:
    with opened(ranking=Silent()) as store:
        store.store_many(["red cat", "a red cat"])
        assert [hit.explain().signals for hit in store.recall("cat")] == [{}, {}]


class MostConfident:
    """Rank by confidence alone."""

    def rank(self, evidence: Signals) -> Scored:
        return Scored({"confidence": evidence.confidence}, {"confidence": evidence.confidence})


def test_a_ranking_of_ones_own_is_exact_too() -> None:
    with opened(ranking=MostConfident()) as store:
        store.store_many(
            {"content": f"red cat {n}", "confidence": n * 7 % 1000 / 1000} for n in range(1000)
        )
        hits = store.recall("red cat", k=3)
        assert [hit.score for hit in hits] == [0.999, 0.998, 0.997]
        assert hits[0].explain().contributions == {"confidence": 0.999}


def test_the_answer_is_the_same_after_reopening(tmp_path: Path) -> None:
    asked = Asked("red cat in tokyo", k=20, now=NOW + DAY)
    dice = random.Random(3)
    with opened(location=tmp_path / "m.db", durability="normal") as store:
        store.store_many(" ".join(dice.choices(WORDS, k=5)) for _ in range(700))
        before = asked.of(store)
    with opened(location=tmp_path / "m.db") as store:
        assert asked.of(store) == before
