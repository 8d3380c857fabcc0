"""What recall leaves out on the strength of a bound would not have been in the answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bethink import DecayProduct, FiveSignal, HashEmbedder, Ranking, WeightedSum
from bethink.index import vectors
from bethink.memory import search

from .kernels import KERNELS, NUMPY
from .test_recall import DAY, NOW, WORDS, Calibrated, opened
from .twin import Asked, Twin, assert_same


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_six_thousand_memories_are_ranked_as_by_the_twin(
    kernel: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_kernel", kernel)
    dice = random.Random(7)
    texts = (" ".join(dice.choices(WORDS, k=dice.randint(1, 9))) for _ in range(6000))
    memories = [
        {"content": f"{text} {number}", "thread": str(number % 900), "importance": dice.random()}
        for number, text in enumerate(texts)
    ]
    with opened(embedder=HashEmbedder(32)) as store:
        asked = Asked("red cat in tokyo 4321", k=40, now=NOW)
        store.store_many(memories[:1000])
        store.recall("red", touch=False)
        store.store_many(memories[1000:])
        store.forget([record.id for record in store.all(where={"importance": {"$lt": 0.1}})])
        twin = Twin.of(store)
        for mode, ranking in (
            *(("hybrid", None), ("hybrid", FiveSignal()), ("semantic", DecayProduct(0.1))),
            *(("keyword", None), ("semantic", FiveSignal())),
        ):
            each = replace(asked, mode=mode, ranking=ranking)
            assert_same(each.of(store), twin.recall(each))


@pytest.mark.slow
@pytest.mark.parametrize(
    "ranking",
    [
        WeightedSum(),
        WeightedSum.classic(),
        WeightedSum(1, 2, 3, 0),
        WeightedSum(0, 1, 1, 0),
        DecayProduct(0.02),
        DecayProduct(0.5),
        FiveSignal(),
    ],
    ids=["default", "classic", "mostly importance", "without similarity", "slow", "fast", "five"],
)
@pytest.mark.parametrize(
    ("kernel", "embedder"),
    [(NUMPY, HashEmbedder), *((kernel, Calibrated) for kernel in KERNELS.values())],
    ids=["hashed", *KERNELS],
)
def test_what_is_left_unscored_would_not_have_made_it(
    kernel: Callable[[], Any],
    embedder: type[HashEmbedder],
    ranking: Ranking,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectors, "_kernel", kernel)
    for name, small in {
        "_MAX_GROUP_SIZE": 16,
        "_PRUNE_FROM": 16,
        "_PREFILTER_FROM": 64,
        "_SAMPLE_SIZE": 32,
        "_FIRST_POSITIONS": 8,
    }.items():
        monkeypatch.setattr(search, name, small)
    monkeypatch.setattr(search, "_MAX_STRONG_SHARE", 1.0)
    dice = random.Random(5)
    with opened(embedder=embedder(8), ranking=ranking) as store:
        store.store_many(
            {
                "content": " ".join(dice.choices(WORDS, k=dice.randint(1, 6))),
                "importance": dice.choice([0.0, 0.5, 1.0]),
                "occurred_at": NOW - dice.choice([0, 1, 30, 300]) * DAY,
                "expires_at": dice.choice([None, None, None, NOW - 1, NOW + 1]),
                "category": dice.choice(["x", "gotcha"]),
                "vectors": {"v": [dice.gauss(0, 1) for _ in range(3)]},
            }
            for _ in range(300)
        )
        for record in store.all()[::2]:
            store.record_outcome(record.id, dice.choice(["worked", "partial"]))
        ids = [record.id for record in store.all()]
        for _ in range(5):
            store.mark_useful(dice.sample(ids, 60))
            store.mark_useless(dice.sample(ids, 60))
        twin = Twin.of(store, "v")
        for k, where in ((1, None), (4, {"category": "x"}), (20, None)):
            asked = Asked("gotcha: red cat in tokyo", k=k, where=where, now=NOW)
            direction = ("v", [dice.gauss(0, 1) for _ in range(3)])
            for each in (
                asked,
                replace(asked, mode="semantic"),
                replace(asked, mode="keyword", query="house gotcha"),
                replace(asked, vector=direction, min_score=0.4),
                replace(asked, vector=direction, query=None, min_similarity=0.3),
            ):
                assert_same(each.of(store), twin.recall(each))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_vectors_closer_than_the_scan_can_tell_are_told_apart(
    kernel: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_kernel", kernel)
    dice = random.Random(9)
    with opened(ranking=WeightedSum(1, 0, 0, 0)) as store:
        store.store_many(
            {"content": "x", "vectors": {"v": [1 + dice.gauss(0, 0.02) for _ in range(6)]}}
            for _ in range(600)
        )
        twin = Twin.of(store, "v")
        for k in (1, 3, 12):
            for _ in range(8):
                direction = [1 + dice.gauss(0, 0.02) for _ in range(6)]
                asked = Asked(None, k=k, vector=("v", direction), now=NOW)
                assert_same(asked.of(store), twin.recall(asked))


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.9])
def test_importance_may_outweigh_likeness_as_far_as_its_weight_goes(weight: float) -> None:
    with opened(ranking=WeightedSum(1, 0, weight, 0)) as store:
        store.store_many(["unrelated"] * 200)
        store.store("x", importance=0.0, vectors={"v": [1, 0]})
        for gap, winner in ((0.98 * weight, "far"), (1.02 * weight, "x")):
            likeness = 1 - gap
            if 0 < likeness < 1:
                direction = [likeness, (1 - likeness**2) ** 0.5]
                far = store.store("far", importance=1.0, vectors={"v": direction})
                (hit,) = store.recall(None, vector=("v", [1, 0]), k=1, touch=False)
                assert hit.memory.content == winner
                store.forget(far.id)


class Told(Calibrated):
    """Embed what is near the query just below the bar."""

    def embed(self, texts: Any) -> Any:
        near = (0.2499, (1 - 0.2499**2) ** 0.5)
        rows = {"near": near, "far": (0.0, 0.0), "a cat": (0.0, 0.0)}
        return np.array([[*rows.get(text, (1.0, 0.0)), 0.0] for text in texts], np.float32)


@pytest.mark.parametrize("ranking", [None, FiveSignal()], ids=["default", "five"])
def test_what_only_seems_related_hides_nothing(
    ranking: Ranking | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_PRUNE_FROM", 16)
    asked = Asked("cat one two three four five six seven eight", k=1, now=NOW, ranking=ranking)
    with opened(embedder=Told(3)) as store:
        store.store_many([*["far"] * 300, *["near"] * 300])
        store.store("a cat", confidence=0.0)
        assert_same(asked.of(store), Twin.of(store).recall(asked))
        assert [hit.memory.content for hit in store.recall(**vars(asked))] == ["a cat"]


@pytest.mark.slow
def test_what_has_decayed_too_far_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int | None] = []
    scan = vectors.VectorColumn.scan

    def seen(column: vectors.VectorColumn, query: Any, among: Any, early: Any) -> vectors.Scan:
        looked.append(None if among is None else len(among))
        return scan(column, query, among, early)

    monkeypatch.setattr(vectors.VectorColumn, "scan", seen)
    monkeypatch.setattr(search, "_PREFILTER_FROM", 1024)
    dice = random.Random(3)
    with opened(embedder=HashEmbedder(16)) as store:
        store.store_many(
            {"content": f"cat {number} {dice.choice(WORDS)}", "occurred_at": NOW - number * DAY}
            for number in range(4000)
        )
        twin = Twin.of(store)
        for rate, all_looked_at in ((0.1, False), (0.0001, True)):
            looked.clear()
            asked = Asked("red cat", k=5, now=NOW, ranking=DecayProduct(rate))
            assert_same(asked.of(store), twin.recall(asked))
            assert (None in looked) is all_looked_at
            assert sum(count or 0 for count in looked) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_where_the_heaviest_are_no_answer_all_are_looked_at(
    mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_PREFILTER_FROM", 1024)
    with opened(embedder=HashEmbedder(16)) as store:
        store.store_many(
            {"content": "cat" if number > 3000 else "dog", "occurred_at": NOW - number * DAY / 10}
            for number in range(4000)
        )
        asked = Asked("cat", k=5, now=NOW, mode=mode, ranking=DecayProduct(0.1))
        found = asked.of(store)
        assert_same(found, Twin.of(store).recall(asked))
        assert len(found) == 5
