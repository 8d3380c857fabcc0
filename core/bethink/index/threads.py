"""Threads: the evidence that a turn borrows from neighbouring turns.

A short turn ("yes, the blue one") is found by the words around the turn. The evidence of every
query term spreads to the turns up to three steps before and after in the thread, damped for long
turns, and combines as independent evidence does: 1 - product of (1 - part). A brief question
lends more to the next turn, the answer, and keeps less. An author's name is evidence for the
author's turn only. The best turn of a thread then lifts the whole thread. A turn of hardly any
content ("that's huge!") that answers no brief question counts less.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..model.arrays import Column, Floats
from .bm25 import TermScores
from .columns import Columns

# Shares of a turn's evidence.
LEND_ONWARD: Final = 0.5  # for the next turn; for a turn n steps away, 1 / n of the share
LEND_BACK: Final = 0.4
LEND_ANSWER: Final = 0.7  # on top of LEND_ONWARD
REACH: Final = 3  # turns, in both directions
BORROW_WORDS: Final = 100  # up to this length a turn borrows in full

# Factors on the score.
QUESTION_SHARE: Final = 0.7  # of a brief question with an answer
THREAD_BONUS: Final = 0.2  # of the gap to 1, times the best score of the thread
ENOUGH_WORDS: Final = 6
"""With so many content words a turn counts in full, with fewer ..."""
SMALL_TALK_DISCOUNT: Final = 0.1
"""... by so much less for each missing word, unless the turn answers a brief question."""
_NEIGHBOUR_WEIGHTS: Final = np.array(
    [1.0]
    + [LEND_ONWARD / distance for distance in range(1, REACH + 1)]
    + [LEND_BACK / distance for distance in range(1, REACH + 1)]
    + [LEND_ANSWER]
)
"""The weights of evidence for the turn, the turns after and before, and the answer."""
_THREAD_BYTES: Final = 200  # a name and its places in a dict and a list; measured


class Threads:
    """The order of turns within each thread, as links from turn to turn in *columns*."""

    def __init__(self, columns: Columns) -> None:
        self.codes: dict[tuple[str, str], int] = {}
        self._columns = columns
        self._last: list[int] = []

    @property
    def nbytes(self) -> int:
        """The approximate bytes in use beside the columns."""
        return _THREAD_BYTES * len(self.codes)

    def code(self, thread: tuple[str, str]) -> int:
        """Return the number of *thread*, a new number for a new thread."""
        number = self.codes.setdefault(thread, len(self.codes))
        if number == len(self._last):
            self._last.append(-1)
        return number

    def names(self, numbers: Column) -> list[tuple[str, str]]:
        """Return the threads with *numbers*."""
        known = list(self.codes)
        return [known[number] for number in numbers]

    def rebuild(self) -> None:
        """Link all turns anew: by thread, then time, then insertion."""
        columns = self._columns
        threads, before, after = columns["thread"], columns["before"], columns["after"]
        before[:] = after[:] = -1
        self._last = [-1] * len(self.codes)
        turns = np.flatnonzero((threads >= 0) & columns["live"])
        keys = columns["ordinal"][turns], columns["occurred"][turns], threads[turns]
        order = turns[np.lexsort(keys)]
        same = threads[order[1:]] == threads[order[:-1]]
        before[order[1:][same]] = order[:-1][same]
        after[order[:-1][same]] = order[1:][same]
        for turn in order[np.append(~same, True)] if len(order) else ():
            self._last[threads[turn]] = int(turn)

    def append(self, turn: int) -> None:
        """Link the newest position *turn* into the thread.

        O(1) if the turn is also the latest in time.
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
        """Unlink a dead turn."""
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

    def score(self, terms: TermScores) -> Floats:
        """Return the keyword score of each position, in [0, 1]: the weighted mean evidence."""
        plain = 0 if self.codes else terms.plain_count
        scores = _weighted_sum(terms, plain, self._columns.size + 1)  # the last is nobody's
        if plain < len(terms.sizes):
            self._accumulate(terms, plain, scores)
        scores = scores[:-1]
        scores /= sum(terms.weights)
        if self.codes:
            self._apply_thread_bonus(scores)
        return scores

    def _accumulate(self, terms: TermScores, first: int, scores: Floats) -> None:
        """Add to *scores* the weighted evidence of the terms from number *first* on.

        The evidence of a position combines the position's own evidence and lent evidence.
        """
        skipped = sum(terms.sizes[:first])
        turns, lack = self._neighbour_shares(terms.documents[skipped:], terms.shares[skipped:])
        missing, end = np.ones(len(scores)), 0
        for number, size in enumerate(terms.sizes[first:], first):
            start, end = end, end + size
            touched = turns[start:end].ravel()
            np.multiply.at(missing, touched, lack[start:end].ravel())
            if (authors := terms.named.get(number)) is not None:
                missing[authors.documents] *= 1 - authors.weight
                touched = np.concatenate((touched, authors.documents))
            evidence = 1 - missing[touched]
            evidence *= terms.weights[number]
            evidence += scores[touched]
            scores[touched] = evidence  # the same wherever a position comes again
            missing[touched] = 1.0

    def _neighbour_shares(self, documents: Column, shares: Floats) -> tuple[Column, Floats]:
        """Return for each of *documents* the turns that get evidence, and the missing share.

        A row holds the turn, the turns around and, for a question, the answer; -1 for none.
        """
        if not self.codes:
            return documents[:, None], 1 - shares[:, None]
        columns = self._columns
        turns = np.empty((len(documents), len(_NEIGHBOUR_WEIGHTS)), dtype=np.int64)
        turns[:, 0] = documents
        for place, links in ((1, columns["after"]), (1 + REACH, columns["before"])):
            reached = documents
            for distance in range(REACH):
                reached = np.where(reached < 0, -1, links[reached])
                turns[:, place + distance] = reached
        turns[:, -1] = np.where(columns["is_question"][documents], turns[:, 1], -1)
        lent = shares[:, None] * _NEIGHBOUR_WEIGHTS
        lent[:, 1:] *= _damping(columns["words"][turns[:, 1:]])
        return turns, np.subtract(1, lent, out=lent)

    def _apply_thread_bonus(self, scores: Floats) -> None:
        """Lift each turn in *scores* by the thread's best; discount questions and small talk."""
        columns = self._columns
        hit = (scores > 0).nonzero()[0]
        hit = hit[columns["thread"][hit] >= 0]
        found, threads = scores[hit], columns["thread"][hit].astype(np.int64)
        self._discount_questions(hit, found)
        best = np.zeros(len(self.codes))
        np.maximum.at(best, threads, found)
        found = 1 - (1 - found) * (1 - THREAD_BONUS * best[threads])
        self._discount_small_talk(hit, found)
        scores[hit] = found

    def _discount_questions(self, turns: Column, scores: Floats) -> None:
        """Keep QUESTION_SHARE of a brief question's score, or more where the answer is long."""
        asked = self._columns["is_question"][turns].nonzero()[0]
        answers = self._columns["after"][turns[asked]]
        asked, answers = asked[answers >= 0], answers[answers >= 0]
        scores[asked] *= 1 - (1 - QUESTION_SHARE) * _damping(self._columns["words"][answers])

    def _discount_small_talk(self, turns: Column, scores: Floats) -> None:
        """Discount turns of little content, but no answers to a brief question."""
        columns = self._columns
        slight = (columns["content_words"][turns] < ENOUGH_WORDS).nonzero()[0]
        before = columns["before"][turns[slight]]
        slight = slight[(before < 0) | ~columns["is_question"][before]]
        missing = ENOUGH_WORDS - columns["content_words"][turns[slight]]
        scores[slight] *= 1 - SMALL_TALK_DISCOUNT * missing


def _damping(words: Column) -> Floats:
    """Return the share of lent evidence that turns of so many words take."""
    return BORROW_WORDS / np.maximum(words, BORROW_WORDS)


def _weighted_sum(terms: TermScores, plain: int, size: int) -> Floats:
    """Return the weighted sum of the evidence of the first *plain* terms, without context."""
    shares = np.array(terms.weights[:plain], dtype=float).repeat(terms.sizes[:plain])
    shares *= terms.shares[: len(shares)]
    sums = np.bincount(terms.documents[: len(shares)], shares, minlength=size)
    return sums.astype(np.float64, copy=False)
