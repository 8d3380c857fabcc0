from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import ValidationError, WeightedSum
from bethink.ranking import DAY, Evidence

shares = st.floats(0, 1)
weights = st.tuples(*[st.floats(0, 10)] * 4).filter(lambda given: sum(given) > 1e-3)


def evidence(**given: Any) -> Evidence:
    columns = {
        "keyword": 0.0,
        "vector": 0.0,
        "age": 0.0,
        "importance": 0.5,
        "confidence": 1.0,
        "outcome": 0.0,
        "accesses": 0.0,
    }
    told = {name: np.atleast_1d(given.get(name, value)) for name, value in columns.items()}
    return Evidence(**told, share=given.get("share", 0.4))


def score(ranking: WeightedSum, **given: Any) -> float:
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
