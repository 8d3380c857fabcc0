"""A bound on the value of a knapsack: the Lagrange relaxation, with a price for weight.

At a price per unit of weight, an item gains its value less the price of its weight. A group gains
the sum of its items' gains less the price of the setup weight. No subset within the capacity is
worth more than all gains and the price of the capacity (Fisher 1981).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from ...model.arrays import Floats, Ints, Truths

_MAX_PRICES: Final = 40  # tried for the least bound: about 12 suffice


class Knapsack(NamedTuple):
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


class Bound(NamedTuple):
    """No subset is worth more than ``value``; ``taken`` is all that gains, and leaves ``left``."""

    price: float
    value: float
    left: int
    taken: Truths
    gains: Floats
    group_gains: Floats


def bound_at(sack: Knapsack, price: float) -> Bound:
    """Return the bound at a *price* per unit of weight."""
    gains = sack.values - price * sack.weights
    group_gains = np.bincount(sack.groups, gains.clip(0.0), len(sack.setups)) - price * sack.setups
    taken = (gains > 0.0) & (group_gains > 0.0)[sack.groups]
    value = price * sack.capacity + float(group_gains.clip(0.0).sum())
    return Bound(price, value, sack.left(taken), taken, gains, group_gains)


def least_bound(sack: Knapsack) -> tuple[Bound, Truths]:
    """Return the least bound, and the items that gain at the lowest price found where they fit."""
    low, high = bound_at(sack, 0.0), bound_at(sack, float(sack.values.sum()))
    least = high
    for _ in range(_MAX_PRICES):
        # The bound is convex with the slope `left`: try the price at which two tangents meet.
        rise = high.value - low.value + low.left * low.price - high.left * high.price
        price = rise / (low.left - high.left)
        if not low.price < price < high.price:
            break
        middle = bound_at(sack, price)
        least = min(least, middle, key=lambda bound: bound.value)
        low, high = (middle, high) if middle.left < 0 else (low, middle)
    return least, high.taken
