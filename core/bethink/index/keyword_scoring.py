"""The keyword score of every position: BM25, with the evidence that turns lend to neighbours.

A short turn ("yes, the blue one") is found by the words around the turn. The evidence of every
query term spreads to the turns up to three steps before and after in the thread, damped for long
turns, and combines as independent evidence does: 1 - product of (1 - part). A brief question
lends more to the next turn, the answer, and keeps less. An author's name is evidence for the
author's turn only. The best turn of a thread then lifts the whole thread. A turn of hardly any
content ("that's huge!") that answers no brief question counts less.

Standing instructions, answers of an assistant, times and periods change the score at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..model.arrays import Column, Floats
from ..text import Query
from .bm25 import Bm25, TermScores
from .columns import ReadColumns

if TYPE_CHECKING:
    from .joined import JoinedIndex
    from .scope import ScopeIndex

# Shares of a turn's evidence.
LEND_ONWARD: Final = 0.5  # for the next turn; for a turn n steps away, 1 / n of the share
LEND_BACK: Final = 0.4
LEND_ANSWER: Final = 0.7  # on top of LEND_ONWARD
REACH: Final = 3  # turns, in both directions
BORROW_WORDS: Final = 100  # up to this length a turn borrows in full

# Factors on the score.
QUESTION_SHARE: Final = 0.7  # of a brief question with an answer
THREAD_BONUS: Final = 0.2  # of the gap to 1, times the best score of the thread
INSTRUCTION_BONUS: Final = 0.1  # of the gap to 1, for any score of a standing instruction
PERIOD_BONUS: Final = 0.15  # of the gap to 1, for a document of a period asked for
PERIOD_EDGE: Final = 0.5  # of a period's length, before and after: there the bonus falls to 0
MISMATCH_FACTOR: Final = 0.8
"""For an assistant's turn and a query that addresses no assistant, or for a document without a time
and a query about a time."""
ASSISTANT_TERMS: Final = ["assist", "ai"]  # terms("assistant ai"), of an author's name
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


def keyword_scores(index: ScopeIndex | JoinedIndex, query: Query) -> Floats:
    """Return every position's keyword score for *query*, in [0, 1]."""
    columns, keyword = index.columns, index.keyword
    documents = Bm25(
        keyword, columns["length"], columns["live"], index.live_count, index.live_terms
    )
    terms = documents.score_terms(query.terms, query.synonyms, forms=query.forms, fuzzy=query.fuzzy)
    if terms is None:
        scores = np.zeros(index.size)
    else:
        scores = Evidence(columns, index.thread_count).score(terms)
    if not query.about_replies:
        if keyword.has_authors:
            scores[keyword.by_authors(ASSISTANT_TERMS)] *= MISMATCH_FACTOR
        standing = columns["is_instruction"].nonzero()[0]
        if len(standing := standing[scores[standing] > 0]):
            scores[standing] += INSTRUCTION_BONUS * (1 - scores[standing])
    if query.about_times:
        scores *= np.where(columns["tells_time"], 1.0, MISMATCH_FACTOR)
    if query.periods:
        _lift_periods(scores, query, columns)
    return scores


def _lift_periods(scores: Floats, query: Query, columns: ReadColumns) -> None:
    """Lift the documents of the periods asked for; a question needs no word in common."""
    occurred, inside = columns["occurred"], np.zeros(len(scores))
    for start, end in query.periods:
        away = np.maximum(start - occurred, occurred - end)
        away /= PERIOD_EDGE * (end - start)
        np.maximum(inside, 1 - away.clip(0.0), out=inside)
    least = 1.0 if query.is_question else np.inf
    inside[(scores == 0) & ((inside < least) | (columns["words"] == 0))] = 0.0
    scores += PERIOD_BONUS * inside * (1 - scores)


class Evidence(NamedTuple):
    """Turns the evidence of terms into scores, in the *thread_count* threads of *columns*."""

    columns: ReadColumns
    thread_count: int

    def score(self, terms: TermScores) -> Floats:
        """Return the keyword score of each position, in [0, 1]: the weighted mean evidence."""
        plain = 0 if self.thread_count else terms.plain_count
        scores = _weighted_sum(terms, plain, self.columns.size + 1)  # the last is nobody's
        if plain < len(terms.sizes):
            self._accumulate(terms, plain, scores)
        scores = scores[:-1]
        scores /= sum(terms.weights)
        if self.thread_count:
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
        if not self.thread_count:
            return documents[:, None], 1 - shares[:, None]
        columns = self.columns
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
        columns = self.columns
        hit = (scores > 0).nonzero()[0]
        hit = hit[columns["thread"][hit] >= 0]
        found, threads = scores[hit], columns["thread"][hit].astype(np.int64)
        self._discount_questions(hit, found)
        best = np.zeros(self.thread_count)
        np.maximum.at(best, threads, found)
        found = 1 - (1 - found) * (1 - THREAD_BONUS * best[threads])
        self._discount_small_talk(hit, found)
        scores[hit] = found

    def _discount_questions(self, turns: Column, scores: Floats) -> None:
        """Keep QUESTION_SHARE of a brief question's score, or more where the answer is long."""
        asked = self.columns["is_question"][turns].nonzero()[0]
        answers = self.columns["after"][turns[asked]]
        asked, answers = asked[answers >= 0], answers[answers >= 0]
        scores[asked] *= 1 - (1 - QUESTION_SHARE) * _damping(self.columns["words"][answers])

    def _discount_small_talk(self, turns: Column, scores: Floats) -> None:
        """Discount turns of little content, but no answers to a brief question."""
        columns = self.columns
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
