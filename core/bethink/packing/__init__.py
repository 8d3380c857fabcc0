"""Recalled memories into a budget: the most score that fits, as one block for a prompt.

The budget is a promise: the finished block is counted as a whole, by the caller's counter, and
never exceeds it. What to put in is an exact knapsack over the pieces of the block, each counted by
itself. Where a counter does not add up (a tokenizer that merges across lines, one that charges for
every call), the room of the knapsack is corrected by the difference and filled anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from .. import fields
from ..conflicts.duplicates import repeats
from ..records import MemoryRecord, RecallResult, ToldLater
from ..text import rough_tokens
from .context import Layout, new_nonce
from .knapsack import Ints, best_subset

TokenCounter: TypeAlias = Callable[[str], float]

_FINEST: Final = 2.0**-20  # of a token, the step to which counts are rounded up
_BITS: Final = 50  # of a budget in steps: if it is huge, the steps are larger
_ROUNDS: Final = 4
_set = object.__setattr__
_MOST: Final = 2**50  # tokens; beyond it numbers are not told apart


class Block(NamedTuple):
    """A block of what was ``chosen`` of some memories, by their places."""

    text: str
    tokens: int
    chosen: Sequence[int]


@dataclass(frozen=True, slots=True)
class Packed(ToldLater):
    """Memories as a block of ``text`` of so many ``tokens``.

    ``results`` are in it, ``left_out`` are not, for want of room or because they repeat another;
    both best first.
    """

    text: str
    tokens: int
    results: tuple[RecallResult, ...]
    left_out: tuple[RecallResult, ...]

    @classmethod
    def told_by(cls, block: Block, count: int, result: Callable[[int], RecallResult]) -> Packed:
        """Return *block*; *result* gives its results and the others of *count* on first use."""
        packed = object.__new__(cls)
        _set(packed, "text", block.text)
        _set(packed, "tokens", block.tokens)
        _set(packed, "_tell", partial(_told, frozenset(block.chosen), count, result))
        return packed


def _told(
    places: frozenset[int], count: int, result: Callable[[int], RecallResult], name: str
) -> tuple[RecallResult, ...]:
    """Return the ``results``, which are at *places*, or those of *count* that are not."""
    chosen = name == "results"
    return tuple(result(place) for place in range(count) if (place in places) is chosen)


class Budget:
    """At most *tokens*, as *count_tokens* counts them; None: as ``estimate_tokens`` does."""

    def __init__(self, tokens: int, count_tokens: TokenCounter | None = None) -> None:
        if count_tokens is not None and not callable(count_tokens):
            fields.fail(f"count_tokens must be callable, not {type(count_tokens).__name__}")
        self.tokens = min(fields.integer("budget_tokens", tokens, 0), _MOST - 1)
        self.step = max(_FINEST, 2.0 ** (self.tokens.bit_length() - _BITS))
        self._counter: TokenCounter = count_tokens or rough_tokens
        self.overhead = self.count("")

    def count(self, text: str) -> float:
        """Return what the counter says, if that is a number of tokens."""
        counted = self._counter(text)
        if type(counted) is float and 0 <= counted <= _MOST:
            return counted
        if isinstance(counted, bool) or not isinstance(counted, Real):
            fields.fail(f"count_tokens must return a number, not {type(counted).__name__}")
        if not 0 <= counted < math.inf:
            fields.fail(f"count_tokens must return a finite number of at least 0, not {counted!r}")
        return float(min(counted, _MOST))

    def parts(self, texts: Sequence[str]) -> Ints:
        """Return what each text takes, in steps, without what a call costs.

        What does not fit anyway takes a token more than there is.
        """
        counted = [self.count(text) if text else 0.0 for text in texts]
        tokens = np.array(counted, dtype=np.float64) - self.overhead
        parts: Ints = np.ceil(tokens.clip(0.0, self.tokens + 1.0) / self.step).astype(np.int64)
        return parts


def pack(
    results: Iterable[RecallResult], budget: Budget, *, nonce: Callable[[], str] = new_nonce
) -> Packed:
    """Return the block within *budget* that holds the greatest sum of scores.

    The best of *results* that fits alone is always in it. A result with a score of 0 or less is
    only ever in it as that one. The order of *results* does not matter. *nonce* is that of
    ``context_block``.
    """
    ranked = sorted(results, key=lambda each: (-each.score, each.memory.id))
    records = [each.memory for each in ranked]
    block = fullest(records, [each.score for each in ranked], budget, nonce=nonce)
    return Packed.told_by(block, len(ranked), ranked.__getitem__)


def fullest(
    records: Sequence[MemoryRecord],
    scores: Sequence[float],
    budget: Budget,
    *,
    nonce: Callable[[], str] = new_nonce,
) -> Block:
    """Return the block that ``pack`` makes of *records*, best first, that have these *scores*."""
    packing = _Packing(records, scores, Layout(records, nonce), budget)
    chosen = packing.chosen()
    text, tokens = packing.block(chosen)
    return Block(text, math.ceil(tokens) if text else 0, sorted(chosen))


class _Packing:
    def __init__(
        self,
        records: Sequence[MemoryRecord],
        scores: Sequence[float],
        layout: Layout,
        budget: Budget,
    ) -> None:
        self._records, self._layout, self._budget = records, layout, budget
        self._scores = np.array(scores, dtype=np.float64)
        self._last: tuple[frozenset[int], tuple[str, float]] = frozenset(), ("", 0.0)

    def chosen(self) -> frozenset[int]:
        """Return the places of the results to put into the block."""
        places = range(len(self._records))
        best = next((place for place in places if self._fits(frozenset((place,)))), None)
        if best is None:
            return frozenset()
        self._weigh()
        self._best, self._others = best, self._candidates(best)
        return self._filled()

    def _fits(self, chosen: frozenset[int]) -> bool:
        return self.block(chosen)[1] <= self._budget.tokens

    def block(self, chosen: frozenset[int]) -> tuple[str, float]:
        """Return the block of what is *chosen*, and what it counts."""
        if chosen != self._last[0]:
            text = self._layout.block(chosen)
            self._last = chosen, (text, self._budget.count(text))
        return self._last[1]

    def _weigh(self) -> None:
        """Count every piece by itself."""
        layout, budget = self._layout, self._budget
        self._frame = budget.count(layout.frame)
        parts, first = budget.parts([*layout.headings, *layout.lines]), len(layout.headings)
        self._entry, self._weight = parts[:first], parts[first:]
        self._group = np.array(layout.groups, dtype=np.int64)

    def _candidates(self, best: int) -> Ints:
        """Return what may stand beside *best*: what fits, is worth something and is new."""
        room = self._room(0.0)
        alone = self._weight + self._entry[self._group]
        able = (alone <= room) & (self._scores > 0.0)
        able[:best] = False
        able[best] = True
        places: list[int] = able.nonzero()[0].tolist()
        repeated = repeats(self._records[place] for place in places)
        # what a reader sees of each, whatever else sets it apart, such as its key
        shown = list(zip(self._layout.groups, self._layout.lines, strict=True))
        first = {shown[place]: place for place in reversed(places)}
        new = [
            place
            for place, again in zip(places, repeated, strict=True)
            if not again and first[shown[place]] == place
        ]
        return np.array(new[1:], dtype=np.int64)

    def _filled(self) -> frozenset[int]:
        """Fill the room, and as long as the block is not as large as its pieces say, again.

        The first time all that rounding up the pieces may have taken is given back.
        """
        known = frozenset((self._best,))
        rounded = (len(self._weight) + len(self._entry)) * self._budget.step
        error, tried, over = rounded, set[frozenset[int]](), known
        for _ in range(_ROUNDS):
            chosen = self._best_choice(self._room(error))
            if chosen in tried:
                break
            tried.add(chosen)
            _, counted = self.block(chosen)
            left = self._budget.tokens - counted
            if left >= 0:
                known = max(known, chosen, key=self._worth)
            else:
                over = chosen
            error = self._summed(chosen) - counted
            adds_up = abs(error) <= 2 * len(chosen) * self._budget.step
            if left >= 0 and (adds_up or left < 1):
                break
            if adds_up:  # rounding up the pieces did not take that much
                error = 0.0
        return known if len(known) > 1 else self._shortened(over)

    def _shortened(self, chosen: frozenset[int]) -> frozenset[int]:
        """Take the worst out of *chosen*, an eighth at a time, until it fits."""
        order = [self._best, *sorted(chosen - {self._best})]
        while len(order) > 1 and not self._fits(frozenset(order)):
            del order[-max(1, len(order) // 8) :]
        return frozenset(order)

    def _best_choice(self, room: int) -> frozenset[int]:
        """Return the best result and what is best beside it in *room*."""
        entry = self._entry.copy()
        left = room - int(self._weight[self._best] + entry[self._group[self._best]])
        entry[self._group[self._best]] = 0
        weight, group = self._weight[self._others], self._group[self._others]
        taken = best_subset(self._scores[self._others], weight, group, entry, left)
        return frozenset((self._best, *self._others[taken].tolist()))

    def _room(self, error: float) -> int:
        """Return the room for pieces, if the whole is *error* less than their sum."""
        return math.floor((self._budget.tokens + error - self._frame) / self._budget.step)

    def _summed(self, chosen: frozenset[int]) -> float:
        places = list(chosen)
        groups = list({self._layout.groups[place] for place in places})
        parts = self._weight[places].sum() + self._entry[groups].sum()
        return self._frame + float(parts) * self._budget.step

    def _worth(self, chosen: frozenset[int]) -> float:
        return math.fsum(self._scores[list(chosen)].tolist())
