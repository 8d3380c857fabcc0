"""A query into search terms, without words that say nothing about the subject.

The stop list is English, so a query that looks foreign keeps all words but the function words that
show the language. Queries are never saved: a change of this file needs no new ``SEGMENT_FORMAT``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from ..model.patterns import lazy_pattern
from .dates import day_terms
from .emoji import EMOJI, is_emoji
from .languages import SURE, compounds, content_terms, languages, periods_in, votes
from .periods import Period
from .sentences import is_instruction, is_question
from .synonyms import Synonym, synonyms
from .tokenizer import (
    HAN,
    bigrams,
    cached_if_short,
    is_unspaced,
    split,
    token_terms,
    token_words,
)
from .word_lists import QUESTION_WORDS, STOP_WORDS, word_set

_ISO_DATE: Final = lazy_pattern(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_SINGLE = lazy_pattern(f"[{HAN}]|^[\uac00-\ud7a3]")

# Emoji behind a whole sentence are no subject.
_FEELINGS: Final = lazy_pattern(rf"(?<=[.!?\u2026\u3002\uff01\uff1f])[\s\u200d\ufe0f{EMOJI}]+$")

# Words that address an assistant, or name an assistant.
_ADDRESS: Final = word_set("you your yours yourself we us our ours ourselves assistant ai")

# First words of English questions, and of orders to tell.
_ASKING: Final = word_set(
    "what who whom whose when where which why how did do does was were is are have has had can "
    "could will would should list recap remind show summarise summarize tell"
)

_VERBS: Final = "am|are|is|was|were|do|does|did|has|have|had|can|could|will|would|should"
# English questions about a time, but not "when we met".
_TIME_QUESTION: Final = lazy_pattern(
    rf"\bwhen(?:'[ds]| (?:{_VERBS}))\b"
    r"|\b(?:what|which) (?:time|date|day|week|month|year)\b|\bhow long\b"
)

# Words of English that are words of further languages, too.
_SHARED: Final = word_set(
    "a am an as at be by do for had has have he i in is it me no of on or over per so than then to "
    "us was we will"
)
# "Is cutting" and "is a": no language of words.txt says either.
_ENGLISH: Final = lazy_pattern(r"\b(?:am|is|was|be) (?:(?:\w+ly )?\w+ing|an?)\b", re.ASCII)

MAX_FUZZY_TERMS: Final = 32
"""In a query of more terms, a misspelt word matters little, and a guess at each takes time."""


class Query(NamedTuple):
    """The distinct search ``terms`` of a query, in order, and facts about the query.

    ``about_replies``: the query may ask for an assistant's words, since the query addresses an
    assistant or may not be English. ``about_times``: the query asks, in
    English, when or how long. ``synonyms`` are the synonyms of the terms, none if the query looks
    foreign. ``fuzzy``: a term that no memory has may be misspelt.
    ``forms``: the query looks foreign, and the stemmer knows no foreign forms of words.
    ``periods`` are the periods that the query names; ``is_question``: the query ends or begins like
    a question.
    """

    terms: Sequence[str]
    about_replies: bool
    about_times: bool = False
    synonyms: Mapping[str, Sequence[Synonym]] = MappingProxyType({})
    forms: bool = False
    fuzzy: bool = False
    periods: Sequence[Period] = ()
    is_question: bool = False


class _TokenFacts(NamedTuple):
    """The facts about a token of a query, whatever the tokens around.

    ``content`` are the terms of words outside the stop list. ``votes`` and ``sure_votes`` are the
    two counts of ``languages.votes``. ``addressing``: the token addresses an assistant.
    """

    terms: Sequence[str]
    content: Sequence[str]
    votes: int
    sure_votes: int
    addressing: bool = False


def read_query(text: str, now: float | None = None) -> Query:
    """Return the search terms of a query, without stop words, and facts about the query.

    A name that only looks like a stop word ("May 2023", "the US") stays. A query of stop words
    alone keeps all words.
    """
    tokens = _split_query(text)
    facts = list(map(_token_facts, tokens))
    content: list[str] = []
    likely = sure = 0
    addresses, shouted = False, text.isupper()
    for place, (terms, kept, vote, sure_vote, addressing) in enumerate(facts):
        content += terms if len(kept) < len(terms) and _is_name(tokens, place, shouted) else kept
        likely += vote
        sure += sure_vote
        addresses = addresses or addressing
    spoken = languages(tokens) if (foreign := min(likely, sure) <= -SURE) else []
    if foreign:
        content = [
            term
            for place, token in enumerate(tokens)
            for term in content_terms(token, facts[place].terms, spoken, first=place == 0)
        ]
    found = list(dict.fromkeys(content or (term for each in facts for term in each.terms)))
    return Query(
        found,
        about_replies=likely <= 0 or addresses,
        about_times=_TIME_QUESTION.search(" ".join(tokens).lower()) is not None,
        synonyms=compounds(tokens, spoken) if foreign else _synonyms(found),
        forms=foreign,
        fuzzy=len(found) <= MAX_FUZZY_TERMS,
        periods=() if now is None else periods_in(text, spoken, now),
        is_question=is_question(text) or _asks(tokens, foreign),
    )


def _synonyms(found: Sequence[str]) -> dict[str, Sequence[Synonym]]:
    return {term: like for term in found if (like := synonyms(term))}


def _split_query(text: str) -> list[str]:
    """Split a query into tokens, without emoji behind the last sentence."""
    told = "" if text.isascii() else _FEELINGS.sub("", text)
    return split(told) or split(text)


def is_english(text: str) -> bool:
    """Return whether stop words or phrases show that a text is surely English."""
    found = (_token_facts(token).votes for token in split(text) if token.lower() not in _SHARED)
    phrased = _ENGLISH.search(text.lower()) is not None or is_instruction(text)
    return sum(found) + SURE * phrased > 0


@cached_if_short
def _token_facts(token: str) -> _TokenFacts:
    if is_unspaced(token):
        # Pairs alone would miss a text of one character; particles follow a Korean word, so only
        # the first Hangul character counts.
        parts = bigrams(token) + _SINGLE.findall(token)
        return _TokenFacts(parts, parts, -SURE, -SURE)
    words, terms = token_words(token), token_terms(token)
    if is_emoji(token):
        return _TokenFacts(terms, terms, 0, 0)
    if not token.isascii():
        return _TokenFacts(terms, terms, *votes(token))
    # A memory has the date in words beside the text, so an ISO date asks for day and month, too.
    date = _ISO_DATE.fullmatch(token)
    day = day_terms(int(date[1]), int(date[2])) if date else []
    content = [term for word, term in zip(words, terms, strict=True) if word not in STOP_WORDS]
    addresses = not _ADDRESS.isdisjoint(words)
    return _TokenFacts([*terms, *day], [*content, *day], *votes(token), addresses)


def _asks(tokens: Sequence[str], foreign: bool) -> bool:
    """Return whether the first word is of a question, or an order to tell."""
    first = tokens[0].lower() if tokens else ""
    return first in _ASKING or (foreign and not QUESTION_WORDS.isdisjoint(token_words(first)))


def _is_name(tokens: Sequence[str], place: int, shouted: bool) -> bool:
    """Return whether a token only looks like a stop word: the US, Will, and May as a month."""
    token = tokens[place]
    if len(token) > 1 and token.isupper() and not shouted:
        return True
    if place > 0 and token in ("May", "Will"):
        return True
    if token.lower() != "may":
        return False
    before = tokens[place - 1].lower() if place else ""
    after = "".join(tokens[place + 1 : place + 2])
    return before == "in" or before[:1].isdigit() or after[:1].isdigit()
