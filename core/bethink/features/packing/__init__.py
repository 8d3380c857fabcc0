"""Pack recalled memories into a token budget: the greatest sum of score³, as one prompt block.

The budget is a promise. The caller's token counter counts the finished block as a whole, and the
count never exceeds the budget. The choice of memories is a knapsack over lines and headings, each
counted alone. Some counters do not add up: a tokenizer may merge tokens across lines, a counter may
charge for every call. In such cases the difference corrects the room, and the knapsack is solved
again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Final, NamedTuple, TypeAlias, Unpack

import numpy as np

from ...calls import spelled_out
from ...memory.engine import Engine
from ...memory.memories import Memories
from ...memory.ranking import DAY, Ranking
from ...memory.reading import (
    RECALL_DEFAULTS,
    RecallOptions,
    Request,
    answered,
    listed,
    touch,
    touch_rows,
)
from ...model import fields
from ...model.arrays import Ints
from ...model.port import Page
from ...model.records import Explanation, LazyResults, MemoryRecord, RecallResult, SortField, When
from ...text import rough_tokens
from .knapsack import best_subset
from .layout import Layout, new_nonce
from .layout import context_block as context_block

TokenCounter: TypeAlias = Callable[[str], float]

_MAX_TOKENS: Final = 2**50  # of a budget or count: larger numbers are cut, floats stay exact
_SMALLEST_STEP: Final = 2.0**-20  # tokens: token counts of lines are rounded up to whole steps
_STEP_BITS: Final = 50  # bits of a budget in steps: a huge budget has larger steps
_MAX_SOLUTIONS: Final = 4  # of the knapsack per block, for counters that do not add up
_EXPONENT: Final = 3  # of a score in the value of a line: relevance comes before number
_OVERVIEW_ORDERS: Final[tuple[SortField, ...]] = ("occurred_at", "importance")
_ROUNDING: Final = 2  # steps, for a line and a heading


class Block(NamedTuple):
    """The ``text`` of a block, the count of ``tokens``, and the ``chosen`` places, ascending."""

    text: str
    tokens: int
    chosen: Sequence[int]


@dataclass(frozen=True, slots=True)
class Packed(LazyResults):
    """A block of memories: the ``text`` for a prompt, and the number of ``tokens`` in the text.

    The text holds the memories of ``results``. The memories of ``left_out`` found no room, or
    repeat a memory in the text. Both tuples list the best score first.
    """

    text: str
    tokens: int
    results: tuple[RecallResult, ...]
    left_out: tuple[RecallResult, ...]

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    @classmethod
    def from_block(cls, block: Block, count: int, result: Callable[[int], RecallResult]) -> Packed:
        """Return *block* as ``Packed``; *result* makes each of *count* results on first use."""
        chosen = frozenset(block.chosen)

        def tell(name: str) -> tuple[RecallResult, ...]:
            shown = name == "results"
            return tuple(result(place) for place in range(count) if (place in chosen) is shown)

        return cls.lazily(tell, text=block.text, tokens=block.tokens)


class Budget:
    """A number of *tokens*, counted by *count_tokens*, or by ``estimate_tokens`` if None.

    Raises ``ValidationError`` if *tokens* is no integer of at least 0, or if the counter cannot be
    called or returns anything but finite numbers of at least 0.
    """

    def __init__(self, tokens: int, count_tokens: TokenCounter | None = None) -> None:
        if count_tokens is not None:
            fields.function("count_tokens", count_tokens)
        self.tokens = min(fields.integer("budget_tokens", tokens, 0), _MAX_TOKENS - 1)
        self.step = max(_SMALLEST_STEP, 2.0 ** (self.tokens.bit_length() - _STEP_BITS))
        self._counter: TokenCounter = count_tokens or rough_tokens
        self._call_cost = self.count("")

    def count(self, text: str) -> float:
        """Return the number of tokens in *text*, validated."""
        counted = self._counter(text)
        if type(counted) is float and 0 <= counted <= _MAX_TOKENS:
            return counted
        if isinstance(counted, bool) or not isinstance(counted, Real):
            fields.fail(f"count_tokens must return a number, not {type(counted).__name__}")
        if not 0 <= counted < math.inf:
            fields.fail(f"count_tokens must return a finite number of at least 0, not {counted!r}")
        return float(min(counted, _MAX_TOKENS))

    def costs(self, texts: Sequence[str]) -> Ints:
        """Return the cost of each text in steps, without the tokens charged for an empty text.

        A text larger than the budget costs one token more than the budget.
        """
        counted = [self.count(text) if text else 0.0 for text in texts]
        tokens = np.array(counted, dtype=np.float64) - self._call_cost
        costs: Ints = np.ceil(tokens.clip(0.0, self.tokens + 1.0) / self.step).astype(np.int64)
        return costs


def pack(
    results: Iterable[RecallResult], budget: Budget, *, nonce: Callable[[], str] = new_nonce
) -> Packed:
    """Return the block within *budget* that holds the greatest sum of score³.

    The cube keeps many short results of low scores from displacing a longer result of a high score.
    The best of *results* that fits alone is always in the block. A result with a score of 0 or less
    is in the block only as the best. A budget without room for a memory and the introduction gives
    a block without the introduction. The order of *results* does not matter. *nonce* is passed on
    to ``context_block``.
    """
    ranked = sorted(results, key=lambda each: (-each.score, each.memory.id))
    records = [each.memory for each in ranked]
    block = best_block(records, [each.score for each in ranked], budget, nonce=nonce)
    return Packed.from_block(block, len(ranked), ranked.__getitem__)


def best_block(
    records: Sequence[MemoryRecord],
    scores: Sequence[float],
    budget: Budget,
    *,
    nonce: Callable[[], str] = new_nonce,
) -> Block:
    """Return the block of ``pack`` for *records* with *scores*, the best record first."""
    layout = Layout(records, nonce)
    packing = _Packing(records, scores, layout, budget)
    if not (chosen := packing.chosen()):
        packing = _Packing(records, scores, layout.brief(), budget)
        chosen = packing.chosen()
    text, tokens = packing.block(chosen)
    return Block(text, math.ceil(tokens) if text else 0, sorted(chosen))


class _Packing:
    """The choice of records for one block; a place is the index of a record, the best first."""

    def __init__(
        self,
        records: Sequence[MemoryRecord],
        scores: Sequence[float],
        layout: Layout,
        budget: Budget,
    ) -> None:
        self._records, self._layout, self._budget = records, layout, budget
        positive = np.array(scores, dtype=np.float64).clip(0.0)
        self._values = (positive / (positive.max(initial=0.0) or 1.0)) ** _EXPONENT
        self._last: tuple[frozenset[int], tuple[str, float]] = frozenset(), ("", 0.0)

    def chosen(self) -> frozenset[int]:
        """Return the places of the records to put into the block."""
        places = range(len(self._records))
        best = next((place for place in places if self._fits(frozenset((place,)))), None)
        if best is None:
            return frozenset()
        self._count_pieces(best)
        self._others = self._candidates()
        return self._best_fitting()

    def block(self, chosen: frozenset[int]) -> tuple[str, float]:
        """Return the block of the *chosen* places, and the number of tokens in the block."""
        if chosen != self._last[0]:
            text = self._layout.block(chosen)
            self._last = chosen, (text, self._budget.count(text))
        return self._last[1]

    def _fits(self, chosen: frozenset[int]) -> bool:
        return self.block(chosen)[1] <= self._budget.tokens

    def _count_pieces(self, best: int) -> None:
        """Count the frame in tokens, and every line and heading alone, in steps.

        The place *best* is in every choice.
        """
        layout = self._layout
        self._frame_tokens = self._budget.count(layout.frame)
        costs = self._budget.costs([*layout.headings, *layout.lines])
        self._heading_costs, self._line_costs = np.split(costs, [len(layout.headings)])
        self._groups = np.array(layout.groups, dtype=np.int64)
        self._best, group = best, self._groups[best]
        self._best_cost = int(self._line_costs[best] + self._heading_costs[group])
        self._more_headings = self._heading_costs.copy()
        self._more_headings[group] = 0  # paid by the best record

    def _candidates(self) -> Ints:
        """Return the places worth a line beside the best: fitting, of a positive value and new."""
        best, alone = self._best, frozenset((self._best,))
        _, counted = self.block(alone)
        left = (self._budget.tokens - counted) / self._budget.step + _ROUNDING
        if self._sum_of_pieces(alone) - counted > _ROUNDING * self._budget.step:
            left = self._room(0.0)  # two lines may take less than the sum
        costs = self._line_costs + self._more_headings[self._groups]
        eligible = (costs <= left) & (self._values > 0.0)
        eligible[:best] = False
        eligible[best] = True
        places: list[int] = eligible.nonzero()[0].tolist()
        from ..duplicates import find_repetitions

        repeated = find_repetitions(self._records[place] for place in places)
        # Records with different keys are no repetitions, but a reader sees equal lines.
        shown = list(zip(self._layout.groups, self._layout.lines, strict=True))
        first = {shown[place]: place for place in reversed(places)}
        new = [
            place
            for place, is_repeated in zip(places, repeated, strict=True)
            if not is_repeated and first[shown[place]] == place
        ]
        return np.array(new[1:], dtype=np.int64)

    def _best_fitting(self) -> frozenset[int]:
        """Return the best choice whose block fits, after at most ``_MAX_SOLUTIONS`` knapsacks."""
        fitting, too_large = frozenset((self._best,)), frozenset((self._best,))
        # Costs were rounded up. The first solution may use all steps that rounding added.
        error = (len(self._line_costs) + len(self._heading_costs)) * self._budget.step
        tried = set[frozenset[int]]()
        for _ in range(_MAX_SOLUTIONS):
            chosen = self._solution(self._room(error))
            if chosen in tried:
                break
            tried.add(chosen)
            _, counted = self.block(chosen)
            left = self._budget.tokens - counted
            if left >= 0:
                fitting = max(fitting, chosen, key=self._value)
            else:
                too_large = chosen
            error = self._sum_of_pieces(chosen) - counted
            adds_up = abs(error) <= 2 * len(chosen) * self._budget.step
            if left >= 0 and (adds_up or left < 1):
                break
        return fitting if len(fitting) > 1 else self._shortened(too_large)

    def _shortened(self, chosen: frozenset[int]) -> frozenset[int]:
        """Drop the lowest scores of *chosen*, an eighth at a time, until the block fits."""
        order = [self._best, *sorted(chosen - {self._best})]
        while len(order) > 1 and not self._fits(frozenset(order)):
            del order[-max(1, len(order) // 8) :]
        return frozenset(order)

    def _solution(self, room: int) -> frozenset[int]:
        """Return the best place and the candidates of the greatest total value in *room* steps."""
        taken = best_subset(
            self._values[self._others],
            self._line_costs[self._others],
            self._groups[self._others],
            self._more_headings,
            room - self._best_cost,
        )
        return frozenset((self._best, *self._others[taken].tolist()))

    def _room(self, error: float) -> int:
        """Return the steps left for pieces, if pieces sum up to *error* tokens too many."""
        return math.floor((self._budget.tokens + error - self._frame_tokens) / self._budget.step)

    def _sum_of_pieces(self, chosen: frozenset[int]) -> float:
        """Return the tokens of the frame, and of the lines and headings of *chosen*."""
        places = list(chosen)
        groups = list({self._layout.groups[place] for place in places})
        steps = self._line_costs[places].sum() + self._heading_costs[groups].sum()
        return self._frame_tokens + float(steps) * self._budget.step

    def _value(self, chosen: frozenset[int]) -> float:
        return math.fsum(self._values[list(chosen)].tolist())


class PackingVerbs(Memories):
    """The verb ``pack``."""

    @spelled_out(RecallOptions, RECALL_DEFAULTS)
    def pack(
        self,
        query: str | None,
        *,
        budget_tokens: int = 800,
        count_tokens: TokenCounter | None = None,
        k: int = 100,
        touch: bool = True,
        ranking: Ranking | None = None,
        as_of: When | None = None,
        **options: Unpack[RecallOptions],
    ) -> Packed:
        """Recall *k* memories and put the best memories into one block of text for a prompt.

        The block as a whole has at most *budget_tokens*, as *count_tokens* counts them (default:
        ``estimate_tokens``); within the budget, the memories have the greatest sum of score³:
        a relevant memory outweighs several vague memories. The best memory that fits is in the
        block, a repetition is not. A fence keeps memories from passing for instructions; a budget
        without room for a memory and the fence's introduction leaves the introduction out. With
        *touch* the memories in the block count as accessed; the other arguments are those of
        ``recall``. A blank *query*, as at the start of a session, packs the newest and the most
        important memories: the score is the mean of importance and recency, 2^(-age / 30 days).
        """
        budget = Budget(budget_tokens, count_tokens)
        request = self._request(query, k, as_of is None and touch, **options)
        engine, ranked = self._engine_at(as_of), self._ranking(ranking)
        if request.vector is None and not (request.query or "").strip():
            return _pack_overview(engine, request, budget)
        answer = answered(engine, ranked, request._replace(touch=False))
        block = best_block(answer.records, answer.scores, budget)
        if request.touch:
            touch_rows(engine, answer.rows(block.chosen))
        return Packed.from_block(block, len(answer.places), answer.result)


def _pack_overview(engine: Engine, request: Request, budget: Budget) -> Packed:
    """Put the newest and the most important memories of *request* into one block."""
    found: dict[str, MemoryRecord] = {}
    now = engine.clock() if request.now is None else request.now
    for field in _OVERVIEW_ORDERS:
        page = Page(request.k, descending=True, by=field)
        records = listed(engine, request.scope, request.where, page, now=now)
        found |= {each.id: each for each in records}
    scored = [_overviewed(record, now) for record in found.values()]
    best = sorted(scored, key=lambda each: (-each.score, each.memory.id))[: request.k]
    least = request.least_score(best[0].score) if best else 0.0
    packed = pack((each for each in best if each.score >= least), budget)
    if request.touch:
        touch(engine, [each.memory.id for each in packed.results])
    return packed


def _overviewed(record: MemoryRecord, now: float) -> RecallResult:
    recency = math.exp2(-max(0.0, now - record.occurred_at) / (30 * DAY))
    signals = {"importance": record.importance, "recency": recency}
    contributions = {name: value / 2 for name, value in signals.items()}
    score = math.fsum(contributions.values())
    return RecallResult(record, score, Explanation(score, signals, contributions))
