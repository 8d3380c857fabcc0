"""What a store promises of recall, ranking and packing, each promise in one short test."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from bethink import DecayProduct, FiveSignal, HashEmbedder, MemoryStore, WeightedSum, context_block
from bethink.testing import CountingIds, FrozenClock, assert_not_recalls, assert_recalls_first

DAY = 86_400.0
NOW = 1.7e9


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(clock=FrozenClock(NOW)) as store:
        yield store


def contents(store: MemoryStore, query: str | None, **asked: Any) -> list[str]:
    return [hit.memory.content for hit in store.recall(query, touch=False, **asked)]


@pytest.mark.slow
def test_vector_recall_is_exact(store: MemoryStore) -> None:
    rows = np.random.default_rng(7).normal(size=(1_000, 16))
    store.store_many(
        {"content": str(n), "vectors": {"v": row}, "occurred_at": NOW} for n, row in enumerate(rows)
    )
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for query in rows[:5] + 0.5:
        best = np.argsort(-(units @ query))[:10]
        assert contents(store, None, vector=("v", query), k=10) == [str(n) for n in best]


def test_hybrid_and_its_modes(store: MemoryStore) -> None:
    store.store_many(["a car in the rain", "an automobile", "a cat"])
    both, words, vectors = (
        {hit.memory.content: hit.explain().signals for hit in store.recall("car", mode=mode)}
        for mode in ("hybrid", "keyword", "semantic")
    )
    assert words.keys() == {"a car in the rain"}
    assert all(signals["vector"] == 0 for signals in words.values())
    assert vectors.keys() == {"a car in the rain", "an automobile"}
    assert all(signals["keyword"] == 0 for signals in vectors.values())
    assert both["a car in the rain"]["keyword"] > 0 < both["a car in the rain"]["vector"]


def test_keyword_scores_are_those_of_bm25(store: MemoryStore) -> None:
    """A word's weight is the same for all, so for one word the order is that of the counts."""
    texts = ["whale", "whale whale", "whale boat", "whale whale whale boat sea sky", "boat"]
    store.store_many(texts)
    average = sum(len(text.split()) for text in texts) / len(texts)

    def bm25(text: str, k1: float = 1.2, b: float = 0.75) -> float:
        times, length = text.split().count("whale"), len(text.split())
        return times / (times + k1 * (1 - b + b * length / average))

    order = sorted(texts[:4], key=bm25, reverse=True)
    assert contents(store, "whale", mode="keyword") == order


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("сервер стоит в Берлине", "где стоит сервер"),
        ("会議は東京で行われる", "東京"),
        ("我们每周三部署", "每周三"),
        ("un café à Orléans avec José", "cafe Jose"),
    ],
)
def test_every_script_is_tokenised(store: MemoryStore, text: str, query: str) -> None:
    store.store_many(["the deployment runs on Fridays", "lunch is at noon", text])
    assert_recalls_first(store, query, text)


def test_stop_words_alone_find_nothing(store: MemoryStore) -> None:
    store.store_many(["the deployment runs on AWS in the morning", "the invoice is due"])
    assert contents(store, "where did the otter sleep in the end") == []


def test_weighted_ranking_is_a_closed_form_and_configurable() -> None:
    with MemoryStore(clock=lambda: NOW, ranking=WeightedSum(6, 1, 2, 1, half_life=10)) as store:
        store.store("a red cat", importance=0.8, occurred_at=NOW - 20 * DAY)
        (hit,) = store.recall("red cat")
        similarity = hit.explain().signals["similarity"]
        expected = 0.6 * similarity + 0.1 * 0.25 + 0.2 * 0.8 + 0.1 * 0.5
        assert hit.score == pytest.approx(expected, abs=1e-9)


def test_five_signals_with_boosts() -> None:
    with MemoryStore(clock=lambda: NOW, ranking=FiveSignal()) as store:
        record = store.store("a gotcha: pip caches wheels", category="gotcha", confidence=0.8)
        store.touch([record.id])
        store.record_outcome(record.id, "worked")
        for query, boost in (("any gotchas with pip wheels?", 1.4), ("pip wheels", 1.0)):
            (hit,) = store.recall(query, touch=False)
            frequency = math.log(2) / math.log(100)
            signals = (
                0.35 * hit.explain().signals["similarity"]
                + 0.25 * (1 + 0.2) / 2
                + 0.15 * 1.0
                + 0.15 * frequency
                + 0.10 * 0.8
            )
            assert hit.score == pytest.approx(boost * signals, abs=1e-9)


def test_decay_product_orders_by_cosine_importance_and_age(store: MemoryStore) -> None:
    dice, rate = random.Random(3), 0.05
    query = [1.0, 0.5, 0.2]
    expected = {}
    for number in range(60):
        vector = [dice.uniform(-1, 1) for _ in range(3)]
        importance, days = dice.random(), dice.uniform(0, 400)
        product = sum(x * y for x, y in zip(vector, query, strict=True))
        cosine = product / math.hypot(*vector) / math.hypot(*query)
        if cosine > 0:
            expected[str(number)] = cosine * importance * math.exp(-rate * days)
        store.store(
            str(number),
            vectors={"v": vector},
            importance=importance,
            occurred_at=NOW - days * DAY,
        )
    found = contents(store, None, vector=("v", query), ranking=DecayProduct(rate), k=99)
    assert found == sorted(expected, key=expected.__getitem__)[::-1]


def test_a_decay_product_survives_twenty_years() -> None:
    clock = FrozenClock(NOW)
    with MemoryStore(clock=clock, ranking=DecayProduct(0.001)) as store:
        for year in range(20):
            store.store(f"a red cat in year {year}")
            clock.advance(365 * DAY)
        years = [f"a red cat in year {year}" for year in range(19, -1, -1)]
        assert contents(store, "red cat", k=20) == years
        for hit in store.recall("red cat", k=20, ranking=DecayProduct(5.0)):
            assert 0 <= hit.score <= 1


def test_relevance_comes_before_everything_else(store: MemoryStore) -> None:
    useless = store.store("the invoice is due on Monday", importance=1.0)
    for _ in range(5):
        store.record_outcome(useless.id, "worked")
    store.store("a red cat", importance=0.0, occurred_at=0.0)
    for ranking in (WeightedSum(), WeightedSum(1, 1, 1, 97), FiveSignal(), DecayProduct(0.05)):
        assert contents(store, "red cat", ranking=ranking) == ["a red cat"]


def test_a_given_now_is_deterministic() -> None:
    def told() -> str:
        clock = FrozenClock()
        with MemoryStore(clock=clock, new_id=CountingIds()) as store:
            cat = store.store("a red cat")
            clock.advance(60)
            store.store_many(["a red dog", "a red house"])
            store.record_outcome(cat.id, "worked")
            hits = store.recall("red cat", now=clock() + 5)
            return repr((hits, store.all(), store.log()))

    assert told() == told()


def test_every_component_is_explained(store: MemoryStore) -> None:
    records = store.store_many(["a red cat", "a red dog", "an invoice"])
    store.forget(records[1].id)
    for ranking in (WeightedSum(), FiveSignal(), DecayProduct(0.05)):
        (hit,) = store.recall("red cat", ranking=ranking, touch=False)
        parts = hit.explain().contributions.values()
        assert math.fsum(parts) == pytest.approx(hit.score, abs=1e-9)
    reasons = [store.why_not(record.id, "red cat").reason for record in records]
    assert reasons == ["returned", "forgotten", "no likeness"]


def test_categories_tags_and_metadata_combine(store: MemoryStore) -> None:
    for number in range(8):
        store.store(
            f"note {number} about whales",
            category=("fact", "gotcha")[number % 2],
            tags=[f"t{number % 3}"],
            metadata={"lang": {"code": ("en", "de")[number // 4]}},
        )
    where = {
        "category": "gotcha",
        "tags": {"$contains_any": ["t0", "t1"]},
        "metadata.lang.code": "en",
    }
    assert sorted(contents(store, "whales", where=where)) == [
        "note 1 about whales",
        "note 3 about whales",
    ]
    assert store.count(where=where) == 2


@pytest.mark.slow
def test_a_pack_never_exceeds_its_budget(store: MemoryStore) -> None:
    dice = random.Random(5)
    store.store_many(f"whale {number} " + "spout " * dice.randrange(40) for number in range(20))
    counters: list[Callable[[str], float]] = [
        len,
        lambda text: len(text) / 3.7,
        lambda text: len(text.split()) * 1.3,
    ]
    for number in range(1_000 // 5):
        count = counters[number % 3]
        for budget in (dice.randrange(20), *(dice.randrange(2_000) for _ in range(4))):
            packed = store.pack("whale", budget_tokens=budget, count_tokens=count, touch=False)
            assert count(packed.text) <= budget or not packed.text


def test_a_pack_is_the_best_there_is(store: MemoryStore) -> None:
    store.store_many(f"whale {'and boat ' * n}number {n}" for n in range(8))
    hits = store.recall("whale and boat", k=8, touch=False)

    def size(text: str) -> int:
        return len(text)

    for budget in (250, 400, 550, 700):
        packed = store.pack("whale and boat", budget_tokens=budget, count_tokens=size, touch=False)
        fitting = [
            sum(hit.score**3 for hit in some)
            for number in range(9)
            for some in combinations(hits, number)
            if size(context_block(some, nonce=lambda: "0" * 18)) <= budget
            and (hits[0] in some or not some)
        ]
        best = max(fitting)
        assert sum(hit.score**3 for hit in packed.results) == pytest.approx(best, abs=1e-9)


def test_the_best_hit_is_packed_whenever_it_fits(store: MemoryStore) -> None:
    best = store.store("the whale sang to the red boat " + "all night " * 12)
    store.store_many(f"boat {number}" for number in range(30))
    packed = store.pack("whale sang red boat night", budget_tokens=170)
    assert best.id in [hit.memory.id for hit in packed.results]


def test_a_context_block_is_grouped_by_category(store: MemoryStore) -> None:
    for category in ("decision", "gotcha"):
        store.store_many([f"whale {category} {n}" for n in range(2)], category=category)
    lines = store.pack("whale", budget_tokens=10_000).text.splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    assert sorted(headings) == ["## decision", "## gotcha"]
    assert sum("whale" in line for line in lines) == 4


def test_the_testing_kit_asserts_recall(store: MemoryStore) -> None:
    store.store_many(["standup is at 10:00", "a red cat"])
    assert_recalls_first(store, "when is the standup?", "10:00")
    assert_not_recalls(store, "when is the standup?", "cat")
    with pytest.raises(AssertionError, match=r"standup is at 10:00"):
        assert_recalls_first(store, "when is the standup?", "red cat")


@pytest.mark.parametrize(
    "query", ["what's the port?", "auth-token", "c++ (boost)", '"', "*", "NOT"]
)
def test_no_query_is_too_odd_for_keywords(store: MemoryStore, query: str) -> None:
    text = f"the note says {query} and more"
    store.store_many([text, "something else altogether"])
    assert contents(store, query, mode="keyword") == ([text] if query not in '"*' else [])


@pytest.mark.slow
def test_the_first_of_many_is_recalled() -> None:
    with MemoryStore(embedder=HashEmbedder(8)) as store:
        first = store.store("the zanzibar contract was signed")
        store.store_many(f"note {number} about whales" for number in range(12_000))
        assert store.count() == 12_001
        assert store.recall("zanzibar contract", k=1)[0].memory.id == first.id
