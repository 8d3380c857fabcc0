from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bethink import DecayProduct, ValidationError
from bethink.ranking.folding import DAY, LATE, fold, fold_query, re_center

from .test_ranking import evidence

NOW = 1.7e9
YEAR = 365 * DAY


def memories(count: int, days: float, seed: int = 3) -> tuple[Any, Any, Any, Any]:
    """Return vectors, importances, times up to *days* ago, and a query."""
    dice = np.random.default_rng(seed)
    vectors = dice.normal(size=(count, 16)) * dice.uniform(0.1, 9, size=(count, 1))
    times = NOW - dice.uniform(0, days, size=count) * DAY
    return vectors, dice.uniform(size=count), times, dice.normal(size=16)


def cosines(vectors: npt.NDArray[Any], query: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = vectors @ query
    found /= np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return found


@pytest.mark.parametrize("rate", [0.0, 0.002, 0.05, 0.5])
@pytest.mark.parametrize("t_ref", [NOW, NOW - 60 * DAY])
def test_the_inner_product_of_what_is_folded_is_the_decay_product(
    rate: float, t_ref: float
) -> None:
    vectors, importance, times, query = memories(500, days=60)
    cosine = cosines(vectors, query)
    known = {"cosine": cosine, "importance": importance, "age": NOW - times}
    expected = DecayProduct(rate).rank(evidence(**known)).score
    folded = fold(vectors, importance, times, rate, t_ref)
    product = (folded @ fold_query(query, NOW, rate, t_ref))[cosine > 0]
    expected = expected[cosine > 0]
    assert product == pytest.approx(expected, rel=1e-4, abs=1e-30)
    descending = expected[np.argsort(-product)]
    assert (descending[1:] <= descending[:-1] * (1 + 1e-4)).all()
    apart = np.diff(np.sort(expected)) > 1e-4 * np.sort(expected)[1:]
    assert apart.mean() > 0.8  # so the order above says something


def test_one_vector_folds_as_it_does_among_others() -> None:
    vectors, importance, times, _ = memories(3, days=9)
    together = fold(vectors, importance, times, 0.1, NOW)
    alone = [fold(*each, 0.1, NOW) for each in zip(vectors, importance, times, strict=True)]
    assert np.array_equal(np.stack(alone), together)
    assert together.dtype == np.float32


def test_a_zero_vector_stays_zero() -> None:
    assert not fold(np.zeros(3), 1.0, NOW, 0.1, NOW).any()
    assert not fold_query(np.zeros(3), NOW, 0.1, NOW).any()


def test_nothing_is_moved_before_it_is_needed() -> None:
    folded = fold(*memories(5, days=9)[:3], 0.05, NOW)
    soon = NOW + LATE / 0.05 * DAY
    assert re_center(folded, 0.05, NOW, soon) == (folded, NOW)
    moved, t_ref = re_center(folded, 0.05, NOW, soon + DAY)
    assert NOW < t_ref <= soon + DAY
    assert (np.abs(moved) < np.abs(folded)).all()


def test_moving_changes_no_order_and_no_tie() -> None:
    vectors, importance, times, query = memories(400, days=30)
    vectors, importance, times = (
        np.concatenate([each, each]) for each in (vectors, importance, times)
    )
    folded = fold(vectors, importance, times, 0.5, NOW)
    later = NOW + 100 * DAY
    moved, t_ref = re_center(folded, 0.5, NOW, later)
    asked = fold_query(query, later, 0.5, t_ref)
    before, after = folded.astype(float) @ query, moved.astype(float) @ query
    assert np.array_equal(np.argsort(before, kind="stable"), np.argsort(after, kind="stable"))
    expected = cosines(vectors, query) * importance * np.exp(-0.5 * (later - times) / DAY)
    assert moved @ asked == pytest.approx(expected, rel=1e-3, abs=1e-30)


@pytest.mark.parametrize("rate", [0.002, 0.05, 0.5, 5.0])
def test_twenty_years_of_writing_overflow_nowhere(rate: float) -> None:
    vectors, importance, _, query = memories(241, days=1)
    folded, written, t_ref = np.empty((0, 16), np.float32), np.empty(0), NOW
    with np.errstate(over="raise", invalid="raise"):
        for month in range(241):
            now = NOW + month * YEAR / 12
            folded, t_ref = re_center(folded, rate, t_ref, now)
            fresh = fold(vectors[month], importance[month], now, rate, t_ref)
            folded, written = np.vstack([folded, fresh]), np.append(written, now)
            found = folded @ fold_query(query, now, rate, t_ref)
            assert np.isfinite(found).all()
    expected = cosines(vectors, query) * importance * np.exp(-rate * (now - written) / DAY)
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-12)


def test_what_would_overflow_is_refused() -> None:
    with pytest.raises(ValidationError, match="re-center"):
        fold(np.ones(3), 1.0, NOW + 2000 * DAY, 0.05, NOW)
    with pytest.raises(ValidationError, match="re-center"):
        fold_query(np.ones(3), NOW + 2000 * DAY, 0.05, NOW)
    with pytest.raises(ValidationError, match="rate"):
        fold(np.ones(3), 1.0, NOW, -1.0, NOW)


def test_at_any_rate_the_old_fades_and_nothing_overflows() -> None:
    folded = fold(np.ones((2, 3)), np.ones(2), np.full(2, NOW), 1e9, NOW)
    later, t_ref = re_center(folded, 1e9, NOW, NOW + 20 * YEAR)
    assert not later.any()
    assert t_ref == pytest.approx(NOW + 20 * YEAR)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_no_finite_number_is_not_folded(wrong: float) -> None:
    for importance, t, t_ref in ((wrong, NOW, NOW), (1.0, wrong, NOW), (1.0, NOW, wrong)):
        with pytest.raises(ValidationError, match="finite"):
            fold(np.ones(3), importance, t, 0.1, t_ref)
    with pytest.raises(ValidationError, match="finite"):
        re_center(np.ones(3, dtype=np.float32), 0.1, NOW, wrong)
    with pytest.raises(ValidationError, match="too long"):
        fold_query(np.ones(3), wrong, 0.1, NOW)
