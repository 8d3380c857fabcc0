"""The most valuable things that fit into a given room, exactly.

Things lie in groups, and a group that anything is taken from needs room of its own, once: lines
under headings. Without such entries it is the 0/1 knapsack.

A price of room (a Lagrange multiplier) bounds what any choice is worth, and tells what each single
decision loses against that bound. The few closest decisions are searched first, for a good choice.
Whatever would lose more than lies between its value and the bound is settled; that may be all, and
else the decisions left, the core, are searched by lists of choices of which none is both heavier
and worth less than another (Nemhauser and Ullmann 1969; reduction and core as in Dembo and Hammer
1980, Pisinger 1997). The last decisions are listed apart and matched with what came before
(Horowitz and Sahni 1974).
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_FEW: Final = 16  # decisions that are searched first, for a good choice to measure others by
_BEAM: Final = 128  # choices kept meanwhile
_LAST: Final = 8  # decisions that are matched with the choices before them
_AT_ONCE: Final = 10  # as many decisions at once as make 2**10 choices
_STEPS: Final = 64  # towards the best price
_NEAR: Final = 1e-9
_NONE: Final = -1
_EPSILON: Final = 1e-12  # what rounding may add to a sum of values, relative to it


def fill(value: Floats, weight: Ints, group: Ints, entry: Ints, room: int) -> Flags:
    """Choose things of the greatest total *value* whose weights and entries fit into *room*.

    Thing i has a value above 0, a weight of at least 0 and lies in ``group[i]``; a group that is
    chosen from weighs ``entry[group]`` more. The same arguments give the same choice.
    """
    if room < 0:
        return np.zeros(len(value), dtype=np.bool_)
    used = np.bincount(group, minlength=len(entry)) > 0
    if weight.sum() + entry[used].sum() <= room:
        return np.ones(len(value), dtype=np.bool_)
    return _Sack(value, weight, group, entry, room).filled()


class _Choices(NamedTuple):
    """Choices by weight; a heavier one is worth more. ``last`` is the decision made last."""

    weight: Ints
    value: Floats
    last: Ints

    def only(self, keep: Ints) -> _Choices:
        """Return the choices at *keep*."""
        return _Choices(self.weight[keep], self.value[keep], self.last[keep])

    def or_else(self, other: _Choices) -> _Choices:
        """Return the choices of both that no lighter one is worth as much as."""
        weight = np.concatenate((self.weight, other.weight))
        value = np.concatenate((self.value, other.value))
        last = np.concatenate((self.last, other.last))
        return _Choices(weight, value, last).only(_undominated(weight, value))


class _Ways(NamedTuple):
    """Ways to decide on the things ``what``: what each weighs, is worth, and ``takes`` of them."""

    what: Ints
    weight: Ints
    value: Floats
    takes: Flags


class _Decisions:
    """What was decided for which choices; number 0 is that nothing was yet."""

    def __init__(self) -> None:
        self._starts = [1]
        self._made: list[tuple[_Ways, Ints, Ints]] = []

    def added(self, ways: _Ways, chosen: Ints, before: Ints) -> Ints:
        """Return numbers for the ways *chosen* in the choices that end with *before*."""
        self._made.append((ways, chosen, before))
        start = self._starts[-1]
        self._starts.append(start + len(before))
        return np.arange(start, self._starts[-1])

    def leading_to(self, number: int) -> Ints:
        """Return what was decided for in the choice that ends with decision *number*."""
        found = [np.zeros(0, dtype=np.int64)]
        while number:
            place = bisect_right(self._starts, number) - 1
            ways, chosen, before = self._made[place]
            at = number - self._starts[place]
            found.append(ways.what[ways.takes[chosen[at]]])
            number = int(before[at])
        return np.concatenate(found)


class _Tangent(NamedTuple):
    """What a price makes of the bound: its value there, its slope, what is worth the price."""

    price: float
    bound: float
    slope: int
    worth: Flags

    def meets(self, other: _Tangent) -> float:
        """Return the price at which the two lines meet."""
        risen = self.bound - other.bound + other.slope * other.price - self.slope * self.price
        return risen / (other.slope - self.slope)


class _Sack:
    def __init__(self, value: Floats, weight: Ints, group: Ints, entry: Ints, room: int) -> None:
        self.value, self.weight, self.group = value, weight, group
        unit = max(int(np.gcd.reduce(np.concatenate((weight, entry)))), 1)
        self.entry, self.room = entry, room // unit * unit  # no choice weighs more
        self._order = (weight / value).argsort(kind="stable")
        best, self._worth = self._best_price()
        self.price, self.bound = best.price, best.bound
        self.gain = value - self.price * weight
        self.hope = np.maximum(self.gain, 0.0)
        self.group_gain = self._group_gains(self.hope, self.price)
        self.group_loss = np.maximum(-self.group_gain, 0.0)
        decisive = np.abs(self.gain)
        self.loss = decisive + self.group_loss[group]
        self.by_gain = (-decisive).argsort(kind="stable")

    def filled(self) -> Flags:
        first = _Search(self, self._by_price(), few=True)
        taken = first.better()
        if first.complete and self.bound - self.worth(taken) <= first.gap:
            return taken
        return _Search(self, taken, few=False).better()

    def worth(self, taken: Flags) -> float:
        """Return what *taken* is worth, and what rounding may have taken from it."""
        return float(self.value[taken].sum()) * (1 + _EPSILON)

    def _group_gains(self, hope: Floats, price: float) -> Floats:
        """Return what opening each group gains, of the *hope* in it, when room has its *price*."""
        gains = np.bincount(self.group, hope, len(self.entry))
        return np.asarray(gains - price * self.entry, dtype=np.float64)

    def _best_price(self) -> tuple[_Tangent, Flags]:
        """Return the price with the least bound, and what is worth a price just above it: it fits.

        The bound is convex: it is least where the lines that touch it on both sides meet on it.
        """
        guess = self._guess()
        low, high = self._at(guess * (1 - _NEAR)), self._at(guess * (1 + _NEAR))
        if low.slope >= 0:
            low, high = self._at(0.0), low
        elif high.slope < 0:
            low, high = high, self._at(float(self.value.sum()) / max(self.room, 1))
        best = min(low, high, key=attrgetter("bound"))
        for _ in range(_STEPS):
            price = low.meets(high)
            if not low.price < price < high.price:
                break
            new = self._at(price)
            best = min(best, new, key=attrgetter("bound"))
            touched = low.bound + low.slope * (price - low.price)
            if new.slope < 0:
                low = new
            else:
                high = new
            if new.bound <= touched * (1 + _EPSILON):
                break
        return best, high.worth

    def _guess(self) -> float:
        """Return the value for its weight of the thing that is the first not to fit any more."""
        load = self.weight[self._order].cumsum()
        thing = self._order[min(int(load.searchsorted(self.room, "right")), len(load) - 1)]
        return float(self.value[thing] / max(self.weight[thing], 1))

    def _by_price(self) -> Flags:
        """Take what is worth the best price, then, by value for its weight, what else fits."""
        taken = self._worth.copy()
        entered = np.bincount(self.group[taken], minlength=len(self.entry)) > 0
        left = self.room - int(self.weight[taken].sum() + self.entry[entered].sum())
        might = ~taken & (self.weight <= left)
        for thing in self._order[might[self._order]].tolist():
            group = self.group[thing]
            load = int(self.weight[thing] + (0 if entered[group] else self.entry[group]))
            if load <= left:
                taken[thing] = entered[group] = True
                left -= load
        return taken

    def _at(self, price: float) -> _Tangent:
        gain = self.value - price * self.weight
        gains = self._group_gains(np.maximum(gain, 0.0), price)
        pays = gains > 0.0
        worth = pays[self.group]
        worth &= gain > 0.0
        load = int(self.weight @ worth + self.entry @ pays)
        return _Tangent(
            price, price * self.room + float(gains[pays].sum()), self.room - load, worth
        )


class _Search:
    """The decisions that may still beat the choice *known*, or of them the *few* closest ones.

    What loses more than ``gap`` is not searched; nor is all the rest, unless it is ``complete``.
    """

    def __init__(self, sack: _Sack, known: Flags, *, few: bool) -> None:
        self._sack, self._known, self._few = sack, known, few
        self._least = sack.worth(known)
        self._decisions, self._best = _Decisions(), _NONE
        self.complete = True
        self.gap = gap = sack.bound - self._least
        if few:
            losses = np.concatenate((sack.loss, np.abs(sack.group_gain)))
            losses.sort()
            self.gap = gap = min(gap, float(losses[:_FEW][-1]))
        self._entered = (sack.group_gain > gap) | (sack.entry == 0)
        groups = (~self._entered & (sack.group_loss <= gap)).nonzero()[0]
        self._groups = groups[(-np.abs(sack.group_gain[groups])).argsort(kind="stable")]
        core = sack.loss <= gap
        self._settled = ~core & (sack.gain > 0.0)  # taken if its group is
        self._core = sack.by_gain[core[sack.by_gain]]  # what decides most first

    def better(self) -> Flags:
        """Return the best choice of all, or the one known if none is better."""
        if self._sack.bound > self._least:
            self._search()
        return self._known if self._best == _NONE else self._choice()

    def _search(self) -> None:
        certain = self._core[self._entered[self._sack.group[self._core]]]
        last = max(len(certain) - _LAST, 0)
        choices = self._start()
        if len(self._groups):
            choices = self._entered_or_not(choices, self._hope(certain))
        choices = self._extended(choices, certain[:last], self._hope(certain[last:]))
        self._matched(choices, certain[last:])

    def _entered_or_not(self, choices: _Choices, after: float) -> _Choices:
        """Decide on the groups; *after* is what the decisions to come add."""
        sack = self._sack
        rest = after + float(np.maximum(sack.group_gain[self._groups], 0.0).sum())
        for group in self._groups.tolist():
            things = self._core[sack.group[self._core] == group]
            rest -= max(float(sack.group_gain[group]), 0.0)
            opened = self._with(choices, self._entering(group), rest + self._hope(things))
            opened = self._extended(opened, things, rest)
            choices = self._pruned(choices.or_else(opened), rest)
        return choices

    def _hope(self, things: Ints) -> float:
        """Return the most that *things* can add to a promise."""
        return float(self._sack.hope[things].sum())

    def _start(self) -> _Choices:
        """Return the one choice in which everything settled is taken and nothing else, if it fits.

        Its number is 0.
        """
        sack = self._sack
        settled = self._settled & self._entered[sack.group]
        weight = sack.weight @ settled + sack.entry @ self._entered
        value = sack.value[settled].sum()
        start = _Choices(np.array([weight]), np.array([value]), np.zeros(1, np.int64))
        if weight > sack.room:
            return start.only(start.last[:0])
        self._note(float(value), 0)
        return start

    def _entering(self, group: int) -> _Ways:
        """Return the one way to enter *group*: with everything settled in it."""
        settled = self._settled & (self._sack.group == group)
        weight = self._sack.weight[settled].sum(keepdims=True) + self._sack.entry[group]
        value = self._sack.value[settled].sum(keepdims=True)
        return _Ways(np.array([len(self._sack.value) + group]), weight, value, _subsets(1)[1:])

    def _extended(self, choices: _Choices, things: Ints, after: float) -> _Choices:
        """Decide on *things*, many at once; *after* is what the decisions to come add."""
        while len(things) and len(choices.value):
            many = max(_AT_ONCE + 1 - len(choices.value).bit_length(), 1)
            ways, things = self._ways(things[:many]), things[many:]
            choices = self._with(choices, ways, after + self._hope(things))
        return choices

    def _ways(self, things: Ints) -> _Ways:
        """Return all ways to take some of *things*."""
        takes = _subsets(len(things))
        weight, value = self._sack.weight[things], self._sack.value[things]
        return _Ways(things, takes @ weight, takes @ value, takes)

    def _with(self, choices: _Choices, ways: _Ways, rest: float) -> _Choices:
        """Return *choices*, each in all *ways*, as far as they fit and promise enough."""
        weight = np.add.outer(ways.weight, choices.weight).ravel()
        value = np.add.outer(ways.value, choices.value).ravel()
        keep = self._promising(weight, value, rest)
        keep = keep[_undominated(weight[keep], value[keep])]
        if not len(keep):
            return choices.only(keep)
        way, before = np.divmod(keep, len(choices.weight))
        last = self._decisions.added(ways, way, choices.last[before])
        more = _Choices(weight[keep], value[keep], last)
        better = self._note(float(more.value[-1]), int(last[-1]))
        return self._pruned(more, rest) if better or self._few else more

    def _matched(self, choices: _Choices, things: Ints) -> None:
        """Decide on *things*, the last: find for each choice the best that still fits."""
        if not len(things) or not len(choices.value):
            return
        ways = self._ways(things)
        order = _undominated(ways.weight, ways.value)
        left = self._sack.room - choices.weight
        fitting = order[ways.weight[order].searchsorted(left, "right") - 1]
        value = choices.value + ways.value[fitting]
        best = int(value.argmax())
        at = slice(best, best + 1)
        (number,) = self._decisions.added(ways, fitting[at], choices.last[at]).tolist()
        self._note(float(value[best]), number)

    def _note(self, value: float, number: int) -> bool:
        better = value > self._least
        if better:
            self._best, self._least = number, value * (1 + _EPSILON)
        return better

    def _promising(self, weight: Ints, value: Floats, rest: float) -> Ints:
        """Return where a choice fits and may become better than what is known."""
        price, room = self._sack.price, self._sack.room
        promise = value - price * weight
        keep: Flags = promise > self._least - price * room - rest
        keep &= weight <= room
        return keep.nonzero()[0]

    def _pruned(self, choices: _Choices, rest: float) -> _Choices:
        """Drop the choices that cannot become better than what is known, or all but the best."""
        keep = self._promising(choices.weight, choices.value, rest)
        if self._few and len(keep) > _BEAM:
            weight = choices.weight[keep]
            promise = choices.value[keep] - self._sack.price * weight
            order = np.lexsort((-weight, -promise.round(9)))
            keep, self.complete = np.sort(keep[order[:_BEAM]]), False
        return choices if len(keep) == len(choices.value) else choices.only(keep)

    def _choice(self) -> Flags:
        sack, entered = self._sack, self._entered.copy()
        decided = self._decisions.leading_to(self._best)
        entered[decided[decided >= len(sack.value)] - len(sack.value)] = True
        taken: Flags = self._settled & entered[sack.group]
        taken[decided[decided < len(sack.value)]] = True
        return taken


def _undominated(weight: Ints, value: Floats) -> Ints:
    """Return where the choices are that no lighter one is worth as much as, by weight."""
    order = weight.argsort(kind="stable")
    value = value[order]
    keep = np.ones(len(order), dtype=np.bool_)
    keep[1:] = value[1:] > np.maximum.accumulate(value)[:-1]
    return order[keep]


@cache
def _subsets(count: int) -> Flags:
    """Return all subsets of *count* things, one a row, the empty one first."""
    takes: Flags = np.arange(1 << count)[:, None] >> np.arange(count) & 1 > 0
    return takes
