from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.packing.knapsack import Flags, Floats, Ints, fill

Instance = tuple[Floats, Ints, Ints, Ints, int]


def load(taken: Flags, weight: Ints, group: Ints, entry: Ints) -> int:
    return int(weight[taken].sum() + entry[np.unique(group[taken])].sum())


def best_by_trying(value: Floats, weight: Ints, group: Ints, entry: Ints, room: int) -> float:
    choices = (
        np.array(choice, dtype=np.bool_) for choice in product((False, True), repeat=len(value))
    )
    return max(
        float(value[each].sum()) for each in choices if load(each, weight, group, entry) <= room
    )


def best_by_table(value: Floats, weight: Ints, group: Ints, entry: Ints, room: int) -> float:
    """Fill a table of the best value for every room, group by group."""
    best = np.zeros(room + 1)

    def moved(row: Floats, by: int) -> Floats:
        return np.concatenate((np.full(min(by, room + 1), -np.inf), row[: max(room + 1 - by, 0)]))

    for number, price in enumerate(entry.tolist()):
        opened = moved(best, price)
        for thing in np.flatnonzero(group == number):
            opened = np.maximum(opened, moved(opened, int(weight[thing])) + value[thing])
        best = np.maximum(best, opened)
    return float(best.max())


@st.composite
def instances(draw: st.DrawFn, most: int = 8) -> Instance:
    count, groups = draw(st.integers(1, most)), draw(st.integers(1, 3))

    def numbers(low: int, high: int, size: int) -> Ints:
        drawn = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(drawn, dtype=np.int64)

    values = st.floats(0.01, 1) | st.sampled_from((0.25, 0.5, 1.0))
    return (
        np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype=np.float64),
        numbers(0, 12, count),
        numbers(0, groups - 1, count),
        numbers(0, 6, groups),
        draw(st.integers(0, 40)),
    )


@pytest.mark.slow
@given(instances())
def test_nothing_that_fits_is_worth_more(instance: Instance) -> None:
    value, weight, group, entry, room = instance
    taken = fill(*instance)
    assert load(taken, weight, group, entry) <= room
    assert value[taken].sum() == pytest.approx(best_by_trying(*instance), abs=1e-12)


KINDS: dict[str, Callable[[Ints, np.random.Generator], Floats]] = {
    "unrelated": lambda weight, random: random.random(len(weight)) + 0.01,
    "by weight": lambda weight, random: weight / 100,
    "nearly by weight": lambda weight, random: weight / 100 + random.random(len(weight)) / 100,
    "equal": lambda weight, random: np.full(len(weight), 0.3),
    "falling": lambda weight, random: 0.2 + 0.5 / np.arange(1, len(weight) + 1),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("groups", "price"), [(1, 0), (40, 8)])
def test_many_things_are_chosen_as_well_as_a_table_would(
    kind: str, groups: int, price: int
) -> None:
    random = np.random.default_rng(7)
    weight = np.maximum(random.lognormal(2.8, 0.6, 200), 1).astype(np.int64)
    group, entry = random.integers(0, groups, 200), np.full(groups, price, dtype=np.int64)
    instance = (KINDS[kind](weight, random), weight, group, entry, 1500)
    taken = fill(*instance)
    assert load(taken, weight, group, entry) <= 1500
    assert instance[0][taken].sum() == pytest.approx(best_by_table(*instance), abs=1e-9)


@pytest.mark.slow
@given(instances(16), st.integers(1, 9))
def test_things_of_a_common_unit_are_chosen_as_well_as_a_table_would(
    instance: Instance, unit: int
) -> None:
    value, weight, group, entry, room = instance
    taken = fill(value, weight * unit, group, entry * unit, room * unit + unit - 1)
    assert load(taken, weight, group, entry) <= room
    assert value[taken].sum() == pytest.approx(best_by_table(*instance), abs=1e-12)


def test_of_equal_things_those_that_come_first_are_taken() -> None:
    value, weight = np.full(90, 0.3), np.full(90, 4)
    group, entry = np.zeros(90, dtype=np.int64), np.array([1])
    assert np.flatnonzero(fill(value, weight, group, entry, 47)).tolist() == list(range(11))


def test_no_room_takes_nothing_and_all_room_takes_all() -> None:
    value, weight = np.array([1.0, 2.0]), np.array([3, 4])
    group, entry = np.array([0, 1]), np.array([1, 1])
    assert not fill(value, weight, group, entry, -1).any()
    assert not fill(value, weight, group, entry, 3).any()
    assert fill(value, weight, group, entry, 9).all()
    assert len(fill(value[:0], weight[:0], group[:0], entry, 9)) == 0


def test_a_costly_group_is_entered_for_several_things_but_not_for_one() -> None:
    value, weight = np.array([5.0, 3.0, 3.0]), np.array([4, 2, 2])
    group, entry = np.array([0, 1, 1]), np.array([0, 2])
    assert fill(value, weight, group, entry, 6).tolist() == [False, True, True]
    assert fill(value, weight, group, entry, 5).tolist() == [True, False, False]
