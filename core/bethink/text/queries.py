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
from .periods import Period
from .sentences import is_instruction, is_question
from .synonyms import Synonym, synonyms
from .tokenizer import (
    ELISIONS,
    HAN,
    bigrams,
    cached_if_short,
    is_unspaced,
    split,
    token_terms,
    token_words,
)
from .word_lists import FOREIGN_WORDS, STOP_WORDS, word_set

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
# "Is cutting" and "is a": no language of FOREIGN_WORDS says either.
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

    ``content`` are the terms of words outside the stop list. ``english`` is 1 for a stop word of
    English, -1 for a foreign word, else 0. ``addressing``: the token addresses an assistant.
    """

    terms: Sequence[str]
    content: Sequence[str]
    english: int
    addressing: bool = False


def read_query(text: str) -> Query:
    """Return the search terms of a query, without stop words, and facts about the query.

    A name that only looks like a stop word ("May 2023", "the US") stays. A query of stop words
    alone keeps all words.
    """
    tokens = _split_query(text)
    every: list[str] = []
    content: list[str] = []
    foreign: list[str] = []  # the content of a query that looks foreign
    english, addresses = 0, False
    for place, (terms, kept, leaning, addressing) in enumerate(map(_token_facts, tokens)):
        every += terms
        content += terms if len(kept) < len(terms) and _is_name(tokens, place) else kept
        foreign += () if tokens[place].lower() in FOREIGN_WORDS else terms
        english += leaning
        addresses = addresses or addressing
    found = list(dict.fromkeys((content if english >= 0 else foreign) or every))
    return Query(
        found,
        about_replies=english <= 0 or addresses,
        about_times=_TIME_QUESTION.search(" ".join(tokens).lower()) is not None,
        synonyms={term: like for term in found if english >= 0 and (like := synonyms(term))},
        forms=english < 0,
        fuzzy=english >= 0 and len(found) <= MAX_FUZZY_TERMS,
        is_question=is_question(text) or not _ASKING.isdisjoint(map(str.lower, tokens[:1])),
    )


def _split_query(text: str) -> list[str]:
    """Split a query into tokens, without emoji behind the last sentence."""
    told = "" if text.isascii() else _FEELINGS.sub("", text)
    return split(told) or split(text)


def is_english(text: str) -> bool:
    """Return whether stop words or phrases show that a text is surely English."""
    found = (_token_facts(token).english for token in split(text) if token.lower() not in _SHARED)
    phrased = _ENGLISH.search(text.lower()) is not None or is_instruction(text)
    return sum(found) + phrased > 0


@cached_if_short
def _token_facts(token: str) -> _TokenFacts:
    if is_unspaced(token):
        # Pairs alone would miss a text of one character; particles follow a Korean word, so only
        # the first Hangul character counts.
        parts = bigrams(token) + _SINGLE.findall(token)
        return _TokenFacts(parts, parts, -1)
    words, terms = token_words(token), token_terms(token)
    if not token.isascii():
        return _TokenFacts(terms, terms, 0 if is_emoji(token) else -1)
    # A memory has the date in words beside the text, so an ISO date asks for day and month, too.
    date = _ISO_DATE.fullmatch(token)
    day = day_terms(int(date[1]), int(date[2])) if date else []
    content = [term for word, term in zip(words, terms, strict=True) if word not in STOP_WORDS]
    head, elided, _ = token.lower().partition("'")
    foreign = token.lower() in FOREIGN_WORDS or (elided and head in ELISIONS)
    english = bool(words and words[0] in STOP_WORDS) - bool(foreign)
    return _TokenFacts([*terms, *day], [*content, *day], english, not _ADDRESS.isdisjoint(words))


def _is_name(tokens: Sequence[str], place: int) -> bool:
    """Return whether a token only looks like a stop word: the US, Will, and May as a month."""
    token = tokens[place]
    if len(token) > 1 and token.isupper() and any(each != each.upper() for each in tokens):
        return True
    if place > 0 and token in ("May", "Will"):
        return True
    if token.lower() != "may":
        return False
    before, after = (each.lower() for each in ["", *tokens, ""][place : place + 3 : 2])
    return before == "in" or before[:1].isdigit() or after[:1].isdigit()
