"""Threads: what a turn borrows from its neighbours.

A short turn ("yes, the blue one") is found by the words said around it. Every query term's evidence
spreads to the turns up to three steps before and after in the same thread, damped for long turns,
and combines as independent evidence does: 1 - product of (1 - part). A brief question lends more to
the turn after it, its answer, and keeps less itself. Who wrote a turn is evidence for that turn
only. The best turn of a thread then lifts its whole thread. A turn that says next to nothing
("that's huge!") and answers no brief question counts less.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from .columns import Column, Columns
from .weighing import Floats, Term, Weighed

LEND_ONWARD: Final = 0.5
LEND_BACK: Final = 0.4
LEND_ANSWER: Final = 0.7  # on top of LEND_ONWARD
KEEP_ASKED: Final = 0.7
REACH: Final = 3
BORROW_WORDS: Final = 100
THREAD_BONUS: Final = 0.2
ENOUGH: Final = 6
"""With so many telling words a turn counts in full, with fewer ..."""
SLIGHT: Final = 0.1
"""... by this less for each that is missing, unless it answers a brief question."""
_THREAD_BYTES: Final = 200  # a name and its places in a dict and a list; measured


class Threads:
    """The order of turns within each thread, as links from turn to turn in *columns*."""

    def __init__(self, columns: Columns) -> None:
        self.codes: dict[tuple[str, str], int] = {}
        self._columns = columns
        self._last: list[int] = []

    @property
    def nbytes(self) -> int:
        """About how many bytes they take beside the columns."""
        return _THREAD_BYTES * len(self.codes)

    def code(self, thread: tuple[str, str]) -> int:
        """Return the number of *thread*, a new one if it has not been seen."""
        number = self.codes.setdefault(thread, len(self.codes))
        if number == len(self._last):
            self._last.append(-1)
        return number

    def names(self, numbers: Column) -> list[tuple[str, str]]:
        """Return the threads that have these *numbers*."""
        known = list(self.codes)
        return [known[number] for number in numbers]

    def rebuild(self) -> None:
        """Link all turns anew: by thread, then time, then insertion."""
        columns = self._columns
        threads, before, after = columns["thread"], columns["before"], columns["after"]
        before[:] = after[:] = -1
        self._last = [-1] * len(self.codes)
        turns = np.flatnonzero((threads >= 0) & columns["alive"])
        keys = columns["ordinal"][turns], columns["occurred"][turns], threads[turns]
        order = turns[np.lexsort(keys)]
        same = threads[order[1:]] == threads[order[:-1]]
        before[order[1:][same]] = order[:-1][same]
        after[order[:-1][same]] = order[1:][same]
        for turn in order[np.append(~same, True)] if len(order) else ():
            self._last[threads[turn]] = int(turn)

    def append(self, turn: int) -> None:
        """Link the newest position *turn* into its thread.

        O(1) when it is also the latest in time.
        """
        columns = self._columns
        before, occurred, ordinals = columns["before"], columns["occurred"], columns["ordinal"]
        before[turn] = columns["after"][turn] = -1
        thread = columns["thread"][turn]
        if thread < 0:
            return
        when = (occurred[turn], ordinals[turn])
        later, earlier = -1, self._last[thread]
        while earlier >= 0 and (occurred[earlier], ordinals[earlier]) > when:
            later, earlier = earlier, int(before[earlier])
        self._join(earlier, turn, thread)
        self._join(turn, later, thread)

    def remove(self, turn: int) -> None:
        """Unlink a turn that died."""
        columns = self._columns
        if (thread := int(columns["thread"][turn])) >= 0:
            self._join(int(columns["before"][turn]), int(columns["after"][turn]), thread)

    def _join(self, earlier: int, later: int, thread: int) -> None:
        if earlier >= 0:
            self._columns["after"][earlier] = later
        if later >= 0:
            self._columns["before"][later] = earlier
        else:
            self._last[thread] = earlier

    def score(self, weighed: Weighed) -> Floats:
        """Return each position's keyword score in [0, 1]: its mean evidence, by weight of term."""
        plain = 0 if self.codes else weighed.plain
        scores = _summed(weighed, plain, self._columns.size)
        if plain < len(weighed.sizes):
            self._gather(weighed.terms(plain), scores)
        scores /= sum(weighed.weights)
        if self.codes:
            self._hand_over(scores)
            self._lift(scores)
            self._lower_slight(scores)
        return scores

    def _gather(self, terms: Iterable[Term], scores: Floats) -> None:
        """Add to *scores* the weighted evidence of *terms*, by all that each position has of it."""
        missing = np.ones(len(scores))
        for weight, documents, shares, written in terms:
            touched = self._spread(documents, shares, missing)
            if written is not None:
                missing[written.documents] *= 1 - written.worth
                touched = np.concatenate((touched, written.documents))
            scores[touched] += weight * (1 - missing[touched])
            missing[touched] = 1.0

    def _spread(self, documents: Column, shares: Floats, missing: Floats) -> Column:
        """Multiply into *missing* what each position still lacks of a term with these *shares*.

        A position may come more than once. Return the positions touched.
        """
        np.multiply.at(missing, documents, 1 - shares)
        if not self.codes:
            return documents
        columns = self._columns
        words, before, after = columns["words"], columns["before"], columns["after"]
        found = shares.nonzero()[0]
        documents, shares = documents[found], shares[found]
        touched = [documents]
        asking = columns["asks"][documents]
        answers, lent = _step(after, documents[asking], shares[asking])
        np.multiply.at(missing, answers, 1 - LEND_ANSWER * lent * _damping(words[answers]))
        onward = back = (documents, shares)
        for distance in range(1, REACH + 1):
            onward = _step(after, *onward)
            back = _step(before, *back)
            for weight, (turns, lent) in ((LEND_ONWARD, onward), (LEND_BACK, back)):
                lack = 1 - weight / distance * lent * _damping(words[turns])
                np.multiply.at(missing, turns, lack)
                touched.append(turns)
        return np.concatenate(touched)

    def _hand_over(self, scores: Floats) -> None:
        """Leave a brief question KEEP_ASKED of its score, or more where its answer is long."""
        asked = np.flatnonzero(self._columns["asks"] & (scores > 0))
        answers = self._columns["after"][asked]
        asked, answers = asked[answers >= 0], answers[answers >= 0]
        scores[asked] *= 1 - (1 - KEEP_ASKED) * _damping(self._columns["words"][answers])

    def _lift(self, scores: Floats) -> None:
        """Lift every scoring turn by the best score in its thread."""
        threads = self._columns["thread"]
        hit = np.flatnonzero((scores > 0) & (threads >= 0))
        best = np.zeros(len(self.codes))
        np.maximum.at(best, threads[hit], scores[hit])
        scores[hit] = 1 - (1 - scores[hit]) * (1 - THREAD_BONUS * best[threads[hit]])

    def _lower_slight(self, scores: Floats) -> None:
        """Lower the turns that say little, but for answers to a brief question."""
        columns = self._columns
        before, telling = columns["before"], columns["telling"]
        slight = np.flatnonzero((telling < ENOUGH) & (scores > 0) & (columns["thread"] >= 0))
        answers = (before[slight] >= 0) & columns["asks"][before[slight]]
        slight = slight[~answers]
        scores[slight] *= 1 - SLIGHT * (ENOUGH - telling[slight])


def _damping(words: Column) -> Floats:
    """Return what part of the lent evidence turns of so many words take."""
    return np.minimum(1.0, BORROW_WORDS / np.maximum(words, 1))


def _step(links: Column, turns: Column, shares: Floats) -> tuple[Column, Floats]:
    """Follow *links* from *turns*, dropping those that end there."""
    reached = links[turns]
    linked = reached >= 0
    return reached[linked], shares[linked]


def _summed(weighed: Weighed, plain: int, size: int) -> Floats:
    """Return the weighted sum of the evidence of the first terms, *plain* ones without context."""
    shares = np.array(weighed.weights[:plain], dtype=float).repeat(weighed.sizes[:plain])
    shares *= weighed.shares[: len(shares)]
    sums = np.bincount(weighed.documents[: len(shares)], shares, minlength=size)
    return sums.astype(np.float64, copy=False)
