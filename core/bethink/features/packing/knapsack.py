"""The 0/1 knapsack with setup weights: a bound settles most items, a table the others.

Items belong to groups. The first item taken from a group adds the setup weight of the group, as a
heading is printed once above many lines. No instance takes longer than the table of all items.

The bound is the Lagrange relaxation, with a price for weight. At a price per unit of weight, an
item gains its value less the price of its weight. A group gains the sum of its items' gains less
the price of the setup weight. No subset within the capacity is worth more than all gains and the
price of the capacity (Fisher 1981).
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from ...model.arrays import Floats, Ints, Truths

_COLUMNS: Final = 1 << 14  # capacities in a table: 500 items take about 10 ms and 1 MB
_MAX_PRICES: Final = 40  # tried for the least bound: about 12 suffice
_ROUNDING: Final = 1e-12  # the relative error of a sum of values
_SETUP: Final = -1  # in place of an item: the group's setup
_Rows: TypeAlias = list[tuple[int, int, bytes]]  # item, weight, bits "better with the item"


def best_subset(values: Floats, weights: Ints, groups: Ints, setups: Ints, capacity: int) -> Truths:
    """Return one flag per item: True for the items of the greatest total value in *capacity*.

    Values are above 0, weights at least 0; group j has the setup weight ``setups[j]``. Equal
    arguments give equal flags. The value is the greatest while *capacity* is less than 16,384 times
    the greatest common divisor of all weights. Beyond, weights of items that the bound leaves open
    are rounded to about 1/16,384 of the capacity left; the measured loss was below .003 %.
    """
    fits: Truths = weights + setups[groups] <= capacity
    if not fits.all():
        fits[fits] = best_subset(values[fits], weights[fits], groups[fits], setups, capacity)
        return fits
    sizes = np.append(np.bincount(groups, minlength=len(setups)), 0)
    setups = np.append(setups, 0)
    if weights.sum() + setups[sizes > 0].sum() <= max(capacity, 0):
        return fits
    # A lone item pays the setup alone. Items without a shared setup form one more group.
    weights = weights + np.where(sizes == 1, setups, 0)[groups]
    setups = np.where(sizes > 1, setups, 0)
    groups = np.where(setups[groups] > 0, groups, len(setups) - 1)
    return _best(_Knapsack(values, weights, groups, setups, capacity))


def _best(sack: _Knapsack) -> Truths:
    """Return the flags of the best subset: what the bound leaves open is solved by a table.

    A decision that lowers the bound below a known subset is settled (Dembo and Hammer 1980).
    """
    bound, fitting = _least_bound(sack)
    known = sack.filled(fitting, bound.gains)
    gap = bound.value * (1 + _ROUNDING) - float(sack.values[known].sum())
    opened = (bound.group_gains > gap) | (sack.setups == 0)
    best = opened[sack.groups] & (bound.gains > gap)
    loss = (-bound.gains).clip(0.0) + (-bound.group_gains).clip(0.0)[sack.groups]
    left = sack.capacity - int(sack.weights[best].sum() + sack.setups[opened].sum())
    core = ~best & (loss <= gap) & (sack.weights <= left)
    unpaid = np.where(opened, 0, sack.setups)
    best[core] = _solved(
        _Knapsack(sack.values[core], sack.weights[core], sack.groups[core], unpaid, left)
    )
    return best if sack.values[best].sum() >= sack.values[known].sum() else known


def _solved(sack: _Knapsack) -> Truths:
    """Return the flags of the best subset, by dynamic programming over capacities."""
    setups, error = sack.setups[sack.groups], 0
    unit = max(int(np.gcd.reduce(np.concatenate((sack.weights, setups)))), 1)
    if sack.capacity // unit >= _COLUMNS:
        unit = sack.capacity // _COLUMNS + 1
        # Half a unit per rounded weight, in either direction, if errors never cancel out.
        error = (len(setups) + len(np.unique(sack.groups))) // 2 + 1
    # No weight above 0 becomes 0, so column 0 always fits.
    weights, setups = (np.maximum((w + unit // 2) // unit, w > 0) for w in (sack.weights, setups))
    low, high = max(sack.capacity // unit - error, 0), sack.capacity // unit + error
    best, rows = np.zeros(high + 1), _Rows()

    def improve(row: Floats, offer: Floats, item: int, weight: int) -> None:
        """Raise *row* to *offer* at capacities larger by *weight*, and note where."""
        row, offer = row[weight:], offer[: max(len(row) - weight, 0)]
        # Only a strictly greater value takes an item: of equal items, the first are taken.
        rows.append((item, weight, np.packbits(offer > row).tobytes()))
        np.maximum(row, offer, out=row)

    for group in np.unique(sack.groups).tolist():
        inside, items = best.copy(), (sack.groups == group).nonzero()[0].tolist()
        for item in items:
            improve(inside, inside + sack.values[item], item, int(weights[item]))
        improve(best, inside, _SETUP, int(setups[items[0]]))
    # Column `low` fits. Most errors cancel out, so look for the last column that fits, too.
    subset = partial(_traced, rows, len(weights))
    columns = range(low + 1, high + 1)
    return subset(low + bisect_left(columns, True, key=lambda at: sack.left(subset(at)) < 0))


def _traced(rows: _Rows, count: int, column: int) -> Truths:
    """Return one flag per item of *count* for the best subset of the capacity *column*."""
    taken, inside = np.zeros(count, dtype=np.bool_), False
    for item, weight, better in reversed(rows):
        left = column - weight
        takes = left >= 0 and bool(better[left >> 3] << (left & 7) & 128)
        if item == _SETUP:
            inside = takes
        else:
            takes = taken[item] = takes and inside
        column = left if takes else column
    return taken


class _Knapsack(NamedTuple):
    """Item i has a value, a weight and a group; group j has the setup weight ``setups[j]``."""

    values: Floats
    weights: Ints
    groups: Ints
    setups: Ints
    capacity: int

    def unpaid(self, taken: Truths) -> Ints:
        """Return the setup weights of the groups without an item in *taken*, else 0."""
        unpaid = self.setups.copy()
        unpaid[self.groups[taken]] = 0
        return unpaid

    def left(self, taken: Truths) -> int:
        """Return the capacity that the items *taken* leave."""
        paid = self.setups - self.unpaid(taken)
        return self.capacity - int(self.weights[taken].sum() + paid.sum())

    def filled(self, taken: Truths, order: Floats) -> Truths:
        """Return *taken* with further items as far as they fit, the greatest of *order* first."""
        taken = taken.copy()
        left, unpaid = self.left(taken), self.unpaid(taken)
        while len(more := (~taken & (self.weights + unpaid[self.groups] <= left)).nonzero()[0]):
            item = more[order[more].argmax()]
            left -= int(self.weights[item] + unpaid[self.groups[item]])
            taken[item], unpaid[self.groups[item]] = True, 0
        return taken


class _Bound(NamedTuple):
    """No subset is worth more than ``value``; ``taken`` is all that gains, and leaves ``left``."""

    price: float
    value: float
    left: int
    taken: Truths
    gains: Floats
    group_gains: Floats


def _bound_at(sack: _Knapsack, price: float) -> _Bound:
    """Return the bound at a *price* per unit of weight."""
    gains = sack.values - price * sack.weights
    group_gains = np.bincount(sack.groups, gains.clip(0.0), len(sack.setups)) - price * sack.setups
    taken = (gains > 0.0) & (group_gains > 0.0)[sack.groups]
    value = price * sack.capacity + float(group_gains.clip(0.0).sum())
    return _Bound(price, value, sack.left(taken), taken, gains, group_gains)


def _least_bound(sack: _Knapsack) -> tuple[_Bound, Truths]:
    """Return the least bound, and the items that gain at the lowest price found where they fit."""
    low, high = _bound_at(sack, 0.0), _bound_at(sack, float(sack.values.sum()))
    least = high
    for _ in range(_MAX_PRICES):
        # The bound is convex with the slope `left`: try the price at which two tangents meet.
        rise = high.value - low.value + low.left * low.price - high.left * high.price
        price = rise / (low.left - high.left)
        if not low.price < price < high.price:
            break
        middle = _bound_at(sack, price)
        least = min(least, middle, key=lambda bound: bound.value)
        low, high = (middle, high) if middle.left < 0 else (low, middle)
    return least, high.taken
