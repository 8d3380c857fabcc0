"""The candidate pairs: each record with the records that share the rarest words.

Records without a shared word never conflict. Each record is compared with the ``NEIGHBOURS`` most
similar records, found by the rarest words: the number of comparisons grows with the number of
records, not with the square. Rare words count more, and so does the shared part of the shorter
text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ...model.arrays import Floats, Positions
from ..statements import ParsedRecord

NEIGHBOURS: Final = 32
LOOKED_AT: Final = 4096
"""So many places suffice: more common words than those found by then do not count."""

_SCALE: Final = 1024  # weights are whole numbers, so that their sums depend on no order
_BITS: Final = 16  # of a weight, beside the place where it counts
_MOST: Final = (1 << _BITS) - 1


def candidate_pairs(
    parsed_records: Sequence[ParsedRecord], neighbours: int = NEIGHBOURS
) -> Positions:
    """Return the pairs of *parsed_records* to compare: two places a row, ascending.

    Up to *neighbours* + 1 parsed records, all pairs that share a word are returned.
    """
    size, words = len(parsed_records), _Words(parsed_records)
    most = LOOKED_AT if size > neighbours + 1 else math.inf
    nearest = [words.nearest(place, neighbours, most) for place in range(size)]
    own = np.repeat(np.arange(size), [len(places) for places in nearest])
    others = np.concatenate([words.none, *nearest])
    keys = np.unique(np.minimum(own, others) * size + np.maximum(own, others))
    pairs: Positions = np.stack(np.divmod(keys, max(size, 1)), axis=1)
    return pairs


class _Words:
    """The words of parsed records, rarest first, and the places where each occurs."""

    def __init__(self, parsed_records: Sequence[ParsedRecord]) -> None:
        known: dict[str, int] = {}
        bags = [sorted(parsed.features.bag) for parsed in parsed_records]
        words = np.array(
            [known.setdefault(word, len(known)) for bag in bags for word in bag], dtype=np.int64
        )
        lengths = [len(bag) for bag in bags]
        owners = np.repeat(np.arange(len(bags)), lengths)
        counts = np.bincount(words, minlength=len(known))
        weights = np.rint(np.log1p(len(bags) / np.maximum(counts, 1)) * _SCALE).astype(np.int64)
        order = np.lexsort((words, counts[words], owners))
        self._of = np.split(words[order], np.cumsum(lengths)[:-1])
        occurring = np.argsort(words, kind="stable")
        places = (owners[occurring] << _BITS) + weights[words[occurring]]
        self._where = np.split(places, np.cumsum(counts)[:-1])
        self.none = places[:0]
        self._sums = np.zeros(len(bags), dtype=np.int64)  # all 0 between two questions
        self._last = np.zeros(len(bags), dtype=np.int64)
        self._totals = np.bincount(owners, weights[words], minlength=len(bags))

    def nearest(self, place: int, neighbours: int, most: float) -> Positions:
        """Return the places of the parsed records most similar to *place*; of equals the nearest.

        Words are used up to *most* places together, rounded up.
        """
        where, seen = [self.none], 0
        for word in self._of[place].tolist():
            where.append(self._where[word])
            seen += len(where[-1])
            if seen >= most:
                break
        others, shared = self._counted(np.concatenate(where))
        if len(others) > neighbours + 1:
            others = others[self._best(place, others, shared, neighbours + 1)]
        found: Positions = others[others != place][:neighbours]
        return found

    def _counted(self, found: Positions) -> tuple[Positions, Floats]:
        """Return the distinct places in *found*, each with the sum of the weights.

        Counting in columns takes a third less time than sorting.
        """
        places = found >> _BITS
        np.add.at(self._sums, places, found & _MOST)
        numbers = np.arange(len(places))
        self._last[places] = numbers
        places = places[self._last[places] == numbers]
        sums = self._sums[places]
        self._sums[places] = 0
        return places, sums.astype(np.float64)

    def _best(self, place: int, others: Positions, shared: Floats, most: int) -> Positions:
        own, total = self._totals[place], self._totals[others]
        likeness = shared * shared * shared / (np.minimum(total, own) * total * own)
        rough = likeness.astype(np.float32)  # half as long to part, and in the same order
        passed = (rough >= np.partition(rough, -most)[-most]).nonzero()[0]
        others = others[passed]
        order = np.lexsort((others, np.abs(others - place), -likeness[passed]))
        best: Positions = passed[order[:most]]
        return best
