"""The most valuable things that fit into a given room, exactly.

Things lie in groups, and a group that anything is taken from needs room of its own, once: lines
under headings. Without such entries it is the 0/1 knapsack.

A price of room (a Lagrange multiplier) bounds what any choice is worth, and tells what each single
decision loses against that bound. A good choice is found first; whatever would lose more than lies
between its value and the bound is settled, and the few decisions left, the core, are searched by
lists of choices of which none is both heavier and worth less than another (Nemhauser and Ullmann
1969; reduction and core as in Dembo and Hammer 1980, Pisinger 1997).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_FEW: Final = 32  # decisions that are searched first, for a good choice to measure others by
_BEAM: Final = 128  # choices kept meanwhile
_EPSILON: Final = 1e-12  # what rounding may add to a sum of values, relative to it


def fill(value: Floats, weight: Ints, group: Ints, entry: Ints, room: int) -> Flags:
    """Choose things of the greatest total *value* whose weights and entries fit into *room*.

    Thing i has a value above 0, a weight of at least 0 and lies in ``group[i]``; a group that is
    chosen from weighs ``entry[group]`` more. The same arguments give the same choice.
    """
    if room < 0 or not len(value):
        return np.zeros(len(value), dtype=np.bool_)
    used = np.bincount(group, minlength=len(entry)) > 0
    if weight.sum() + entry[used].sum() <= room:
        return np.ones(len(value), dtype=np.bool_)
    return _Sack(value, weight, group, entry, room).filled()


@dataclass(frozen=True, slots=True)
class _Choices:
    """Choices by weight; a heavier one is worth more. ``last`` is the decision made last."""

    weight: Ints
    value: Floats
    last: Ints

    def only(self, keep: Flags | Ints) -> _Choices:
        """Return the choices at *keep*."""
        return _Choices(self.weight[keep], self.value[keep], self.last[keep])

    def or_else(self, other: _Choices) -> _Choices:
        """Return the choices of both that no lighter one is worth as much as."""
        if not len(other.value):
            return self
        weight = np.concatenate((self.weight, other.weight))
        order = np.argsort(weight, kind="stable")
        value = np.concatenate((self.value, other.value))[order]
        keep = np.ones(len(order), dtype=np.bool_)
        keep[1:] = value[1:] > np.maximum.accumulate(value)[:-1]
        order = order[keep]
        last = np.concatenate((self.last, other.last))[order]
        return _Choices(weight[order], value[keep], last)


class _Decisions:
    """What was decided for which choices; number 0 is that nothing was yet."""

    def __init__(self) -> None:
        self._starts = [0]
        self._made: list[tuple[int, Ints]] = [(-1, np.zeros(1, dtype=np.int64))]
        self._count = 1

    def added(self, what: int, before: Ints) -> Ints:
        """Return numbers for deciding for *what* in the choices that end with *before*."""
        self._starts.append(self._count)
        self._made.append((what, before))
        self._count += len(before)
        return np.arange(self._starts[-1], self._count)

    def leading_to(self, number: int) -> list[int]:
        """Return what was decided for in the choice that ends with decision *number*."""
        found = []
        while number:
            place = bisect_right(self._starts, number) - 1
            what, before = self._made[place]
            found.append(what)
            number = int(before[number - self._starts[place]])
        return found


class _Sack:
    def __init__(self, value: Floats, weight: Ints, group: Ints, entry: Ints, room: int) -> None:
        self.value, self.weight, self.group = value, weight, group
        self.entry, self.room = entry, room
        low, high = self._price_range()
        self._worth = self._worth_its_price(high)
        self.price = min([high, *self._turning_points(low, high)], key=self._bound_at)
        self.gain = value - self.price * weight
        self.group_gain = self._group_gains(self.price)
        self.bound = self._bound_at(self.price)

    def filled(self) -> Flags:
        taken = self._by_price()
        for few in (True, False):
            taken = _Search(self, taken, few=few).better()
        return taken

    def _group_gains(self, price: float) -> Floats:
        """Return what opening each group gains when room has its *price*."""
        gain = np.maximum(self.value - price * self.weight, 0.0)
        gains = np.bincount(self.group, gain, len(self.entry)) - price * self.entry
        return np.asarray(gains, dtype=np.float64)

    def _worth_its_price(self, price: float) -> Flags:
        taken = self.value > price * self.weight
        taken &= (self._group_gains(price) > 0.0)[self.group]
        return taken

    def _load(self, taken: Flags) -> int:
        entered = np.bincount(self.group[taken], minlength=len(self.entry)) > 0
        return int(self.weight[taken].sum() + self.entry[entered].sum())

    def _price_range(self) -> tuple[float, float]:
        """Return two prices: what is worth the higher one fits, the lower not.

        Between them no single thing stops paying.
        """
        most = float(self.value.sum()) / max(self.room, 1)  # nothing pays for more room
        points = self.value / np.maximum(self.weight, 1)
        prices = np.unique(np.concatenate(([0.0, most], points))).tolist()
        low, high = 0, len(prices) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._load(self._worth_its_price(prices[middle])) > self.room:
                low = middle
            else:
                high = middle
        return prices[low], prices[high]

    def _turning_points(self, low: float, high: float) -> list[float]:
        """Return the prices between *low* and *high* at which a thing or a group stops paying."""
        taken = self.value > low * self.weight
        value = np.bincount(self.group, self.value * taken, len(self.entry))
        weight = np.bincount(self.group, self.weight * taken, len(self.entry)) + self.entry
        points = np.concatenate((self.value, value)) / np.maximum(
            np.concatenate((self.weight, weight)), 1
        )
        between = np.unique(points[(points >= low) & (points <= high)])
        return [float(point) for point in between[:_FEW]]

    def _bound_at(self, price: float) -> float:
        return price * self.room + float(np.maximum(self._group_gains(price), 0.0).sum())

    def _by_price(self) -> Flags:
        """Take what is worth the higher price, then, by value for its weight, what else fits."""
        taken = self._worth.copy()
        left = self.room - self._load(taken)
        entered = np.zeros(len(self.entry), dtype=np.bool_)
        entered[self.group[taken]] = True
        for thing in np.argsort(-self.value / np.maximum(self.weight, 1), kind="stable").tolist():
            group = self.group[thing]
            load = int(self.weight[thing] + (0 if entered[group] else self.entry[group]))
            if not taken[thing] and load <= left:
                taken[thing] = entered[group] = True
                left -= load
        return taken


class _Search:
    """The decisions that may still beat the choice *known*, or of them the *few* closest ones."""

    def __init__(self, sack: _Sack, known: Flags, *, few: bool) -> None:
        self._sack, self._known, self._few = sack, known, few
        self._least = float(sack.value[known].sum()) * (1 + _EPSILON)
        self._decisions, self._best = _Decisions(), 0
        gap = sack.bound - self._least
        self._hopeless = gap <= 0.0
        lost = np.maximum(-sack.group_gain, 0.0)
        if few:
            losses = np.concatenate((np.abs(sack.gain) + lost[sack.group], np.abs(sack.group_gain)))
            gap = min(gap, float(np.sort(losses)[:_FEW][-1]))
        self._entered = sack.group_gain > gap
        self._groups = _descending(sack.group_gain, ~self._entered & (lost <= gap))
        possible = (lost <= gap)[sack.group]
        core = possible & (np.abs(sack.gain) <= gap - lost[sack.group])
        self._settled = possible & ~core & (sack.gain > 0.0)  # taken if its group is
        self._core = _descending(sack.gain, core)

    def better(self) -> Flags:
        """Return the best choice of all, or the one known if none is better."""
        if not self._hopeless:
            self._search()
        return self._choice() if self._best else self._known

    def _search(self) -> None:
        sack = self._sack
        certain = self._core[self._entered[sack.group[self._core]]]
        rest = self._hope(certain) + float(np.maximum(sack.group_gain[self._groups], 0.0).sum())
        choices = self._start(rest)
        for group in self._groups.tolist():
            things = self._core[sack.group[self._core] == group]
            rest -= max(float(sack.group_gain[group]), 0.0)
            settled = self._settled & (sack.group == group)
            weight = int(sack.entry[group] + sack.weight[settled].sum())
            value = float(sack.value[settled].sum())
            entering = len(sack.value) + group
            opened = self._with(choices, entering, weight, value, rest + self._hope(things))
            opened = self._extended(opened, things, rest)
            choices = self._pruned(choices.or_else(opened), rest)
        self._extended(choices, certain, 0.0)

    def _hope(self, things: Ints) -> float:
        """Return the most that *things* can add to a promise."""
        return float(np.maximum(self._sack.gain[things], 0.0).sum())

    def _start(self, rest: float) -> _Choices:
        """Return the one choice in which everything settled is taken and nothing else."""
        sack = self._sack
        settled = self._settled & self._entered[sack.group]
        weight = int(sack.weight[settled].sum() + sack.entry[self._entered].sum())
        value = float(sack.value[settled].sum())
        nothing = _Choices(np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64))
        return self._with(nothing, -1, weight, value, rest)

    def _extended(self, choices: _Choices, things: Ints, after: float) -> _Choices:
        """Decide on *things*, one after the other; *after* is what the decisions to come add."""
        sack, rest = self._sack, after + self._hope(things)
        for thing in things.tolist() if len(choices.value) else ():
            rest -= max(float(sack.gain[thing]), 0.0)
            weight, value = int(sack.weight[thing]), float(sack.value[thing])
            more = self._with(choices, thing, weight, value, rest)
            choices = choices.or_else(more)
            if len(choices.value) > _BEAM:
                choices = self._pruned(choices, rest)
        return self._pruned(choices, after)

    def _with(
        self, choices: _Choices, what: int, weight: int, value: float, rest: float
    ) -> _Choices:
        """Return *choices*, each with *what* added, as far as they fit and promise enough."""
        more = _Choices(choices.weight + weight, choices.value + value, choices.last)
        more = self._pruned(more, rest)
        if not len(more.value):
            return more
        more = _Choices(more.weight, more.value, self._decisions.added(what, more.last))
        if more.value[-1] > self._least:
            self._best = int(more.last[-1])
            self._least = float(more.value[-1]) * (1 + _EPSILON)
        return more

    def _pruned(self, choices: _Choices, rest: float) -> _Choices:
        """Drop the choices that do not fit, or cannot become better than what is known."""
        sack = self._sack
        fitting = int(choices.weight.searchsorted(sack.room, "right"))
        weight, value = choices.weight[:fitting], choices.value[:fitting]
        promise = value - sack.price * weight
        promise += sack.price * sack.room + rest
        keep = (promise > self._least).nonzero()[0]
        if self._few and len(keep) > _BEAM:
            order = np.lexsort((-weight[keep], -promise[keep].round(9)))
            keep = np.sort(keep[order[:_BEAM]])
        return choices if len(keep) == len(choices.value) else choices.only(keep)

    def _choice(self) -> Flags:
        sack, entered = self._sack, self._entered.copy()
        decided = np.array(self._decisions.leading_to(self._best), dtype=np.int64)
        entered[decided[decided >= len(sack.value)] - len(sack.value)] = True
        taken = self._settled & entered[sack.group]
        taken[decided[(decided >= 0) & (decided < len(sack.value))]] = True
        return taken


def _descending(gain: Floats, which: Flags) -> Ints:
    """Return where *which* is set, what decides most first."""
    places = np.flatnonzero(which)
    return places[np.argsort(-np.abs(gain[places]), kind="stable")]
