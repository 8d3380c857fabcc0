from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import (
    DecayProduct,
    FiveSignal,
    MemoryStore,
    Ranking,
    ValidationError,
    WeightedSum,
    query_intent,
)
from bethink.features.rankings import BOOSTS
from bethink.memory.ranking import DAY, Scored, Signals, has_upper_bound

shares = st.floats(0, 1)
weights = st.tuples(*[st.floats(0, 10)] * 4).filter(lambda given: sum(given) > 1e-3)


def evidence(**given: Any) -> Signals:
    columns = {
        "keyword": 0.0,
        "vector": 0.0,
        "cosine": 0.0,
        "age": 0.0,
        "importance": 0.5,
        "confidence": 1.0,
        "outcome": 0.0,
        "accesses": 0.0,
    }
    told = {name: np.atleast_1d(given.get(name, value)) for name, value in columns.items()}
    return Signals(
        **told,
        share=given.get("share", 0.4),
        query=given.get("query"),
        is_category=lambda name: np.array([name == given.get("category")]),
        within=lambda scope: np.array([scope == given.get("scope")]),
        now=given.get("now", 1e9),
    )


def score(ranking: Ranking, **given: Any) -> float:
    return float(ranking.rank(evidence(**given)).score[0])


def test_similarity_mixes_words_and_vectors_by_share() -> None:
    assert evidence(keyword=0.5, vector=1.0, share=0.25).similarity == pytest.approx([0.625])


def test_the_score_is_the_weighted_mean_of_its_signals() -> None:
    ranking = WeightedSum(3, 2, 1, 2)
    found = score(ranking, keyword=1.0, vector=0.5, share=0.4, importance=0.25, outcome=-1.0)
    assert found == pytest.approx((3 * 0.8 + 2 * 1 + 1 * 0.25 + 2 * 0) / 8)


@pytest.mark.parametrize(("days", "recency"), [(0, 1.0), (30, 0.5), (60, 0.25)])
def test_recency_halves_with_every_half_life(days: float, recency: float) -> None:
    ranking = WeightedSum(0, 1, 0, 0)
    assert score(ranking, age=days * DAY) == pytest.approx(recency)


def test_the_classic_mix_is_a_preset() -> None:
    assert WeightedSum.classic() == WeightedSum(0.65, 0.15, 0.1, 0.1, half_life=7)


def test_what_is_alike_decides_by_default() -> None:
    plain = score(WeightedSum(), keyword=0.3, importance=0.0, age=1e9, outcome=-1.0)
    adorned = score(WeightedSum(), keyword=0.2, importance=1.0, age=0.0, outcome=1.0)
    assert plain > adorned - 0.05
    assert score(WeightedSum(), keyword=0.3) > score(WeightedSum(), keyword=0.2, importance=1.0)


@pytest.mark.parametrize("outcome", [-1.0, -0.5, 0.0, 0.3, 0.5, 1.0])
def test_outcomes_move_the_similarity_as_documented(outcome: float) -> None:
    def gained(ranking: WeightedSum, similarity: float) -> float:
        told = {"keyword": similarity, "share": 0.0, "outcome": outcome}
        return score(ranking, **told) - score(ranking, **{**told, "keyword": 0.0})

    lift = min(max(0.4 * outcome, -0.2), 0.2)
    for alike in (0.0, 0.2, 0.7, 1.0):
        found = gained(WeightedSum(), alike)
        assert found == pytest.approx(0.95 * (alike + lift * alike * (1 - alike)))
        assert gained(WeightedSum.classic(), alike) == pytest.approx(0.65 * alike)
        assert gained(WeightedSum(1, 0, 0, 0), alike) == pytest.approx(alike)


def test_five_good_outcomes_order_near_equals_and_none_lifts_what_does_not_match() -> None:
    plain, marked = {"outcome": 0.0}, {"outcome": 0.5}
    for alike in (0.2, 0.5, 0.8):
        nearly, barely = {"keyword": alike - 0.03}, {"keyword": 0.05}
        assert score(WeightedSum(), keyword=alike, share=0.0, **plain) < score(
            WeightedSum(), **nearly, share=0.0, **marked
        )
        assert score(WeightedSum(), keyword=alike, share=0.0, **plain) > score(
            WeightedSum(), **barely, share=0.0, outcome=1.0
        )


@pytest.mark.slow
@given(shares, shares, shares, st.floats(-1, 1))
def test_an_outcome_never_turns_the_order_by_likeness(
    share: float, one: float, other: float, outcome: float
) -> None:
    low, high = sorted((one, other))
    found = [
        score(WeightedSum(), vector=v, keyword=v, share=share, outcome=outcome) for v in (low, high)
    ]
    assert found[0] <= found[1] + 1e-12


def test_the_spread_covers_outcomes_and_shrinks_without() -> None:
    ranking = WeightedSum()
    gap = (ranking.spread + 1e-9) / 2
    best = {"importance": 1.0, "outcome": 1.0}
    worst = {"importance": 0.0, "age": np.inf, "outcome": -1.0}
    most = score(ranking, keyword=0.5 - gap, share=0.0, **best)
    assert most <= score(ranking, keyword=0.5 + gap, share=0.0, **worst)
    gap = (ranking.spread_unjudged + 1e-9) / 2
    best, worst = {**best, "outcome": 0.0}, {**worst, "outcome": 0.0}
    most = score(ranking, keyword=0.5 - gap, share=0.0, **best)
    assert most <= score(ranking, keyword=0.5 + gap, share=0.0, **worst)


@pytest.mark.slow
@given(
    weights,
    st.fixed_dictionaries(
        {
            **dict.fromkeys(("keyword", "vector", "share", "importance"), shares),
            "outcome": st.floats(-1, 1),
            "age": st.floats(0, 1e9),
        }
    ),
)
def test_contributions_are_positive_and_sum_to_a_score_within_one(
    weights: tuple[float, ...], signals: dict[str, float]
) -> None:
    parts = WeightedSum(*weights).rank(evidence(**signals))
    told = [float(column[0]) for column in parts.contributions.values()]
    assert min(told) >= 0
    assert sum(told) == pytest.approx(float(parts.score[0]), abs=1e-12)
    assert -1e-9 <= float(parts.score[0]) <= 1 + 1e-9


@pytest.mark.slow
@given(weights, shares, shares, shares)
def test_the_score_never_falls_when_the_vector_signal_rises(
    weights: tuple[float, ...], share: float, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    ranking = WeightedSum(*weights)
    assert score(ranking, vector=low, share=share) <= score(ranking, vector=high, share=share)


@pytest.mark.parametrize(
    "given",
    [
        {"similarity": -0.1},
        {"recency": float("nan")},
        {"importance": float("inf")},
        {"outcome": "much"},
        {"half_life": 0},
        {"similarity": 0, "recency": 0, "importance": 0, "outcome": 0},
    ],
)
def test_wrong_weights_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WeightedSum(**given)


def test_weights_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        WeightedSum().recency = 1.0  # type: ignore[misc]


known = st.fixed_dictionaries(
    {
        **dict.fromkeys(("keyword", "vector", "share", "importance", "confidence"), shares),
        "outcome": st.floats(-1, 1),
        "age": st.floats(0, 1e9),
        "accesses": st.integers(0, 10**6),
        "query": st.sampled_from([None, "red cat", "any gotchas?", "error"]),
        "category": st.sampled_from([None, "gotcha", "troubleshooting"]),
    }
)
others = st.sampled_from([FiveSignal(), DecayProduct(0.0), DecayProduct(0.05), DecayProduct(3.0)])


def test_a_decay_product_multiplies_cosine_importance_and_decay() -> None:
    found = score(DecayProduct(0.05), cosine=0.8, vector=0.1, importance=0.5, age=20 * DAY)
    assert found == pytest.approx(0.8 * 0.5 * np.exp(-1))


def test_a_decay_product_of_opposites_is_zero() -> None:
    assert score(DecayProduct(0.05), cosine=-0.3, keyword=0.5) == 0.0


def test_without_vectors_words_take_the_place_of_the_cosine() -> None:
    assert score(DecayProduct(0), keyword=0.5, share=0.0, importance=0.4) == pytest.approx(0.2)


@pytest.mark.slow
@given(st.floats(0, 5), known, st.floats(-1, 1))
def test_the_factors_of_a_decay_product_are_among_its_signals(
    rate: float, signals: dict[str, Any], cosine: float
) -> None:
    told = DecayProduct(rate).rank(evidence(**{**signals, "share": 0.5}, cosine=cosine))
    factors = [float(told.signals[name][0]) for name in ("cosine", "importance", "decay")]
    assert all(0 <= factor <= 1 for factor in factors)
    assert float(told.score[0]) == pytest.approx(np.prod(factors), abs=1e-15)
    assert list(told.contributions) == ["decay product"]


def test_five_signals_have_their_weights() -> None:
    plain = {"outcome": -1.0, "confidence": 0.0, "age": np.inf}
    assert score(FiveSignal(), **plain) == 0.0
    assert score(FiveSignal(), **plain, keyword=1.0, vector=1.0) == pytest.approx(0.35)
    assert score(FiveSignal(), **{**plain, "outcome": 1.0}) == pytest.approx(0.25)
    assert score(FiveSignal(), **{**plain, "outcome": 0.0}) == pytest.approx(0.125)
    assert score(FiveSignal(), **{**plain, "age": 30 * DAY}) == pytest.approx(0.075)
    assert score(FiveSignal(), **plain, accesses=9) == pytest.approx(0.075)
    assert score(FiveSignal(), **plain, accesses=10**6) == pytest.approx(0.15)
    assert score(FiveSignal(), **{**plain, "confidence": 1.0}) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("category", "query"),
    [
        ("troubleshooting", "why does the build fail?"),
        ("troubleshooting", "Why is the API returning 500 errors?"),
        ("troubleshooting", "the API was failing"),
        ("gotcha", "any gotchas?"),
        ("decision", "why did we choose it?"),
        ("pattern", "which pattern?"),
        ("convention", "our naming convention"),
        ("architecture", "the architecture"),
        ("command", "the command for it"),
        ("workaround", "a workaround"),
    ],
)
def test_what_the_query_is_after_is_boosted(category: str, query: str) -> None:
    plain = score(FiveSignal(), keyword=0.5, category=category)
    boosted = score(FiveSignal(), keyword=0.5, category=category, query=query)
    assert boosted == pytest.approx(plain * BOOSTS[category])
    assert score(FiveSignal(), keyword=0.5, category="todo", query=query) == plain
    assert score(FiveSignal(), keyword=0.5, query=query) == plain


@pytest.mark.parametrize("word", ["error", "errors", "failures", "exceptions", "timeouts"])
def test_the_asked_category_comes_before_what_scores_higher_without_boost(word: str) -> None:
    told = {"keyword": 1.0, "vector": 1.0, "query": f"Why is the API returning 500 {word}?"}
    asked = score(FiveSignal(), **told, confidence=0.55, category="troubleshooting")
    other = score(FiveSignal(), **told, confidence=0.95, category="general")
    assert [asked, other] == pytest.approx([1.02, 0.72])


@pytest.mark.parametrize(
    ("similarity", "share"), [(0.05, 0), (0.15, 0), (0.2, 0.5), (0.25, 1), (0.9, 1)]
)
def test_a_boost_grows_with_relevance(similarity: float, share: float) -> None:
    told = {"keyword": similarity, "share": 0.0, "category": "gotcha"}
    boosted = score(FiveSignal(), **told, query="any gotchas?")
    assert boosted == pytest.approx(score(FiveSignal(), **told) * (1 + 0.4 * share))


def test_a_boost_may_lift_a_score_above_one() -> None:
    signals = {"keyword": 1.0, "vector": 1.0, "outcome": 0.0, "accesses": 0, "age": 1.8 * DAY}
    found = score(FiveSignal(), **signals, category="troubleshooting", query="fix the error")
    assert found == pytest.approx(1.5 * (0.35 + 0.125 + 0.15 * 2 ** (-1.8 / 30) + 0.1))


@pytest.mark.slow
@given(others, known)
def test_other_rankings_sum_to_the_score_too(ranking: Ranking, signals: dict[str, Any]) -> None:
    parts = ranking.rank(evidence(**signals, cosine=signals["vector"]))
    told = [float(column[0]) for column in parts.contributions.values()]
    assert min(told) >= 0
    assert sum(told) == pytest.approx(float(parts.score[0]), abs=1e-12)
    assert np.isfinite([float(column[0]) for column in parts.signals.values()]).all()


@pytest.mark.slow
@given(others, known, st.floats(-1, 1), st.floats(-1, 1), shares, shares)
def test_no_score_falls_when_vector_and_cosine_rise(
    ranking: Ranking, signals: dict[str, Any], one: float, two: float, v: float, w: float
) -> None:
    low = {**signals, "cosine": min(one, two), "vector": min(v, w)}
    high = {**signals, "cosine": max(one, two), "vector": max(v, w)}
    assert score(ranking, **low) <= score(ranking, **high)


@pytest.mark.parametrize("rate", [-0.1, float("nan"), float("inf"), "fast", None, True])
def test_wrong_rates_are_refused(rate: Any) -> None:
    with pytest.raises(ValidationError):
        DecayProduct(rate)


@pytest.mark.parametrize("ranking", ["five", 5, FiveSignal, object()])
def test_what_cannot_rank_is_refused(ranking: Any) -> None:
    with pytest.raises(ValidationError, match="ranking must be"):
        MemoryStore(ranking=ranking)
    with MemoryStore() as store:
        for verb in (store.recall, store.pack):
            with pytest.raises(ValidationError, match="ranking must be"):
                verb("red cat", ranking=ranking)
        with pytest.raises(ValidationError, match="ranking must be"):
            store.why_not("1", "red cat", ranking=ranking)


def test_no_product_is_above_its_ceiling() -> None:
    known = {"age": np.array([0.0, 3.0, 900.0]) * DAY, "importance": np.array([1.0, 0.4, 0.9])}
    alike = evidence(**known, cosine=np.ones(3), vector=np.ones(3), share=1.0)
    for rate in (0.0, 0.05, 3.0):
        product = DecayProduct(rate)
        assert product.ceiling(**known).tolist() == product.rank(alike).score.tolist()
    assert not any(has_upper_bound(each) for each in (WeightedSum(), FiveSignal()))


@pytest.mark.parametrize("ranking", [WeightedSum(), FiveSignal(), DecayProduct(0.05)], ids=repr)
@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_relevance_comes_first_and_every_hit_explains_itself(ranking: Ranking, mode: Any) -> None:
    with MemoryStore() as store:
        ferry = store.store("Gotcha: the ferry leaves at noon", category="gotcha", importance=1.0)
        store.touch([ferry.id] * 200)
        store.store_many(["a red cat", "the red cats of Rome", "green paint"])
        assert store.recall("quantum zebra, beware", mode=mode, ranking=ranking) == []
        hits = store.recall("red cats", mode=mode, ranking=ranking)
        assert {hit.memory.content for hit in hits} >= {"a red cat", "the red cats of Rome"}
        assert ferry.id not in [hit.memory.id for hit in hits]
        for hit in hits:
            told = hit.explain()
            assert sum(told.contributions.values()) == pytest.approx(hit.score, abs=1e-9)
            assert told.signals["similarity"] > 0


@pytest.mark.parametrize(
    ("query", "answer", "stray"),
    [
        ("Why is the API returning an error?", "The API is returning an error", "The API is down"),
        ("fix the parser error", "fix the parser error", "A list of parsers for mail headers"),
        ("login error", "login error", "The garden gate has an error in its hinge, it squeaks"),
        ("Any gotchas with the cache?", "gotchas with the cache", "The cache of the old phone"),
    ],
)
def test_a_stray_memory_of_the_category_comes_after_exact_hits(
    query: str, answer: str, stray: str
) -> None:
    with MemoryStore(ranking=FiveSignal()) as store:
        store.store_many([answer] * 24)
        odd = store.store(stray, category=query_intent(query))
        ids = [hit.memory.id for hit in store.recall(query, k=30)]
        assert ids[-1] == odd.id or odd.id not in ids


@pytest.mark.parametrize(
    ("first", "second", "query"),
    [
        ("Deploy with the blue script", "Deploy with the green script first", "deploy script"),
        ("The parser needs a clean cache", "The parser needs the clean big cache", "parser cache"),
        ("To deploy, run make ship", "To deploy, run the release script", "how do I deploy?"),
    ],
)
def test_a_handful_of_marks_reorders_near_equals(first: str, second: str, query: str) -> None:
    with MemoryStore() as store:
        near = store.store_many([first, second, "The invoice run starts on Monday"])
        hits = store.recall(query, touch=False)
        marked, stray = hits[1].memory, near[2]
        assert marked in near[:2]
        for _ in range(5):
            store.mark_useful(marked.id)
        assert store.recall(query, touch=False)[0].memory.id == marked.id
        for _ in range(30):
            store.mark_useful(stray.id)
            store.record_outcome(stray.id, "worked")
        assert stray.id not in [hit.memory.id for hit in store.recall(query, touch=False)[:2]]


def test_what_is_documented_for_five_signals_is_what_a_store_answers() -> None:
    day = 86_400.0
    with MemoryStore(clock=lambda: 100 * day) as store:
        told: dict[str, Any] = {
            "occurred_at": 70 * day,
            "confidence": 0.8,
            "category": "troubleshooting",
        }
        store.store("the login error was a stale token", **told)
        (hit,) = store.recall("why the login error?", ranking=FiveSignal(), touch=False)
        similarity = hit.explain().signals["similarity"]
        rest = 0.25 * 0.5 + 0.15 * 0.5 + 0.10 * 0.8
        assert hit.score == pytest.approx(1.5 * (0.35 * similarity + rest), abs=1e-9)


class Rank:
    """A ranking that returns what it is given."""

    def __init__(self, function: Callable[[Signals], Any]) -> None:
        self._function = function

    def rank(self, evidence: Signals) -> Any:
        return self._function(evidence)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize("kind", [np.array, np.ndarray.tolist, tuple])
def test_scores_alone_are_a_ranking(kind: Callable[[Any], Any], mode: Any) -> None:
    ranking = Rank(lambda signals: kind(signals.similarity * signals.importance))
    with MemoryStore() as store:
        store.store_many([{"content": f"a red cat {n}", "importance": n / 9} for n in range(9)])
        found = store.recall("red cat", k=3, ranking=ranking, mode=mode)
        assert [hit.memory.content[-1] for hit in found] == ["8", "7", "6"]
        explanation = found[0].explanation
        assert explanation is not None
        assert explanation.contributions == {"score": pytest.approx(found[0].score)}


@pytest.mark.parametrize(
    ("result", "given"),
    [
        (None, "NoneType"),
        ("high", "str"),
        ({"score": 1}, "dict"),
        (0.5, "float"),
        ([0.5], r"'score' of shape \(1,\)"),
        (np.ones((2, 2)), r"'score' of shape \(2, 2\)"),
        (Scored({}, {}), "no contribution"),
        (Scored({"keyword": np.ones(3)}, {"score": np.ones(2)}), r"'keyword' of shape \(3,\)"),
        (Scored({}, {"score": [1, 2]}), r"'score' of shape \(2,\)"),  # type: ignore[dict-item]
    ],
)
def test_any_other_result_of_a_ranking_is_refused(result: Any, given: str) -> None:
    with MemoryStore() as store:
        store.store_many(["a red cat", "a red dog"])
        with pytest.raises(ValidationError, match=f"Rank.rank must .* 2 numbers, not {given}"):
            store.recall("red", ranking=Rank(lambda signals: result))
