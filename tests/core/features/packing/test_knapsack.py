from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.features.packing.knapsack import best_subset
from bethink.model.arrays import Floats, Ints, Truths

Instance = tuple[Floats, Ints, Ints, Ints, int]


def load(taken: Truths, weights: Ints, groups: Ints, setups: Ints) -> int:
    return int(weights[taken].sum() + setups[np.unique(groups[taken])].sum())


def best_by_trying(
    values: Floats, weights: Ints, groups: Ints, setups: Ints, capacity: int
) -> float:
    """Return the greatest value of all subsets that fit."""
    subsets = (
        np.array(each, dtype=np.bool_) for each in product((False, True), repeat=len(values))
    )
    return max(
        float(values[each].sum())
        for each in subsets
        if load(each, weights, groups, setups) <= capacity
    )


def best_by_table(
    values: Floats, weights: Ints, groups: Ints, setups: Ints, capacity: int
) -> float:
    """Return the greatest value from a plain table with a column for every capacity."""
    best = np.zeros(capacity + 1)

    def moved(row: Floats, by: int) -> Floats:
        by = min(by, capacity + 1)
        return np.concatenate((np.full(by, -np.inf), row[: capacity + 1 - by]))

    for group, setup in enumerate(setups.tolist()):
        opened = moved(best, setup)
        for item in np.flatnonzero(groups == group):
            opened = np.maximum(opened, moved(opened, int(weights[item])) + values[item])
        best = np.maximum(best, opened)
    return float(best.max())


@st.composite
def instances(draw: st.DrawFn, most: int = 8, scale: int = 1) -> Instance:
    """Draw up to *most* items in up to three groups, the weights up to twelve times *scale*."""
    count, groups = draw(st.integers(1, most)), draw(st.integers(1, 3))

    def numbers(low: int, high: int, size: int) -> Ints:
        drawn = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(drawn, dtype=np.int64)

    values = st.floats(0.01, 1) | st.sampled_from((0.25, 0.5, 1.0))
    return (
        np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype=np.float64),
        numbers(0, 12 * scale, count),
        numbers(0, groups - 1, count),
        numbers(0, 6 * scale, groups),
        draw(st.integers(0, 40 * scale)),
    )


@given(instances())
def test_no_subset_that_fits_has_a_greater_value(instance: Instance) -> None:
    values, *shape, capacity = instance
    taken = best_subset(*instance)
    assert load(taken, *shape) <= capacity
    assert values[taken].sum() == pytest.approx(best_by_trying(*instance), abs=1e-12)


@pytest.mark.slow
@given(instances(16), st.integers(1, 9) | st.sampled_from((1 << 18, 10**9)))
def test_weights_of_a_common_unit_lose_nothing(instance: Instance, unit: int) -> None:
    values, weights, groups, setups, capacity = instance
    large = (values, weights * unit, groups, setups * unit, capacity * unit + unit - 1)
    taken = best_subset(*large)
    assert load(taken, weights, groups, setups) <= capacity
    assert values[taken].sum() == pytest.approx(best_by_table(*instance), abs=1e-12)


@given(instances(scale=10**6))
def test_rounded_weights_cost_at_most_a_unit_per_item_and_group(instance: Instance) -> None:
    values, weights, groups, setups, capacity = instance
    taken = best_subset(*instance)
    assert load(taken, weights, groups, setups) <= capacity
    unit = capacity // (1 << 14) + 1
    smaller = max(capacity - unit * (len(values) + len(setups) + 3), 0)
    least = best_by_trying(values, weights, groups, setups, smaller)
    assert values[taken].sum() >= least - 1e-12


VALUES: dict[str, Callable[[Ints, np.random.Generator], Floats]] = {
    "unrelated": lambda weights, random: random.random(len(weights)) + 0.01,
    "by weight": lambda weights, random: weights / weights.mean(),
    "nearly by weight": lambda weights, random: (
        weights / weights.mean() + random.random(len(weights)) / 10
    ),
    "equal": lambda weights, random: np.full(len(weights), 0.3),
    "falling": lambda weights, random: 0.2 + 0.5 / np.arange(1, len(weights) + 1),
}


def many(kind: str, groups: int, setup: int, mean: int, capacity: int) -> Instance:
    """Return 200 items with weights around *mean*, some groups with equal setup weights."""
    random = np.random.default_rng(7)
    weights = np.maximum(random.lognormal(np.log(mean), 0.6, 200), 1).astype(np.int64)
    group, setups = random.integers(0, groups, 200), np.full(groups, setup, dtype=np.int64)
    return VALUES[kind](weights, random), weights, group, setups, capacity


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize(("groups", "setup"), [(1, 0), (40, 8), (200, 8)])
def test_many_items_have_the_value_of_a_plain_table(kind: str, groups: int, setup: int) -> None:
    instance = many(kind, groups, setup, mean=16, capacity=1500)
    taken = best_subset(*instance)
    assert load(taken, *instance[1:-1]) <= 1500
    assert instance[0][taken].sum() == pytest.approx(best_by_table(*instance), abs=1e-9)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize(("groups", "setup"), [(1, 0), (40, 350)])
def test_a_capacity_beyond_the_table_loses_a_thousandth_at_most(
    kind: str, groups: int, setup: int
) -> None:
    instance = many(kind, groups, setup, mean=701, capacity=65_537)
    taken = best_subset(*instance)
    assert load(taken, *instance[1:-1]) <= 65_537
    assert instance[0][taken].sum() >= 0.999 * best_by_table(*instance)


@pytest.mark.parametrize("kind", VALUES)
def test_thousands_of_items_lose_next_to_nothing(kind: str) -> None:
    random = np.random.default_rng(7)
    weights = np.maximum(random.lognormal(np.log(701), 0.6, 8000), 1).astype(np.int64)
    values, groups = VALUES[kind](weights, random), np.zeros(8000, dtype=np.int64)
    capacity = int(weights.sum()) // 3
    taken = best_subset(values, weights, groups, np.array([0]), capacity)
    assert weights[taken].sum() <= capacity
    order = np.argsort(-values / weights)
    fractional = np.interp(capacity, weights[order].cumsum(), values[order].cumsum())
    assert values[taken].sum() >= 0.999 * fractional


def test_two_items_that_fill_a_capacity_beyond_the_table_are_both_taken() -> None:
    values, weights = np.array([1.0, 1.0, 0.5]), np.array([50_004, 49_996, 3])
    groups, setups = np.zeros(3, dtype=np.int64), np.array([0])
    assert best_subset(values, weights, groups, setups, 100_000).tolist() == [True, True, False]


def test_three_items_one_too_heavy_for_a_capacity_beyond_the_table_are_not_all_taken() -> None:
    values, weights = np.array([1.0, 1.0, 1.0]), np.array([33_330, 33_330, 33_323])
    groups, setups = np.zeros(3, dtype=np.int64), np.array([0])
    assert best_subset(values, weights, groups, setups, 99_983).all()
    assert best_subset(values, weights, groups, setups, 99_982).sum() == 2


def test_an_item_that_fills_the_capacity_to_the_last_token_is_taken() -> None:
    values, weights = np.array([0.56, 0.67]), np.array([2, 9])
    groups, setups = np.array([0, 1]), np.array([1, 3])
    assert best_subset(values, weights, groups, setups, 12).tolist() == [False, True]


def test_of_equal_items_the_first_are_taken() -> None:
    values, weights = np.full(90, 0.3), np.full(90, 4)
    groups, setups = np.zeros(90, dtype=np.int64), np.array([1])
    taken = best_subset(values, weights, groups, setups, 47)
    assert np.flatnonzero(taken).tolist() == list(range(11))


def test_no_capacity_takes_nothing_and_enough_takes_all() -> None:
    values, weights = np.array([1.0, 2.0]), np.array([3, 4])
    groups, setups = np.array([0, 1]), np.array([1, 1])
    assert not best_subset(values, weights, groups, setups, -1).any()
    assert not best_subset(values, weights, groups, setups, 3).any()
    assert best_subset(values, weights, groups, setups, 9).all()
    assert len(best_subset(values[:0], weights[:0], groups[:0], setups, 9)) == 0


def test_an_item_that_never_fits_makes_no_way_for_less() -> None:
    values, weights = np.array([9.0, 1.0, 1.0]), np.array([50, 3, 3])
    groups, setups = np.array([0, 0, 1]), np.array([1, 1])
    assert best_subset(values, weights, groups, setups, 8).tolist() == [False, True, True]


def test_a_costly_group_is_opened_for_two_items_but_not_for_one() -> None:
    values, weights = np.array([5.0, 3.0, 3.0]), np.array([4, 2, 2])
    groups, setups = np.array([0, 1, 1]), np.array([0, 2])
    assert best_subset(values, weights, groups, setups, 6).tolist() == [False, True, True]
    assert best_subset(values, weights, groups, setups, 5).tolist() == [True, False, False]
