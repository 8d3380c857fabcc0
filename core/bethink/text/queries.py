"""A query into search terms, without the words that say nothing of what it is after.

The stop list is English, so a query that looks more like another language keeps its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from ..model.patterns import lazy_pattern
from .dates import MONTHS
from .stop_words import STOP_WORDS
from .synonyms import Synonym, synonyms
from .tokenizer import (
    ELISIONS,
    HAN,
    LONGEST_IDENTIFIER,
    chunk_terms,
    chunk_words,
    chunks,
    is_unspaced,
    pairs,
    word_set,
)

_ISO_DATE: Final = lazy_pattern(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_SINGLE = lazy_pattern(f"[{HAN}]|^[\uac00-\ud7a3]")

_ADDRESSING: Final = word_set("you your yours yourself we us our ours ourselves assistant ai")
"""Words that speak to, or of, an assistant."""

_VERBS: Final = "am|are|is|was|were|do|does|did|has|have|had|can|could|will|would|should"
_AFTER_TIMES: Final = lazy_pattern(
    rf"\bwhen(?:'[ds]| (?:{_VERBS}))\b"
    r"|\b(?:what|which) (?:time|date|day|week|month|year)\b|\bhow long\b"
)
"""English questions after a time, and not "when we met"."""

# Function words of German, French, Spanish and Portuguese, Italian, Dutch and Swedish.
_FOREIGN: Final = (
    word_set(
        "der die das den dem des ein eine einen einem einer ist sind und oder nicht ich wir ihr "
        "sie es er mit von zu zum zur auf bei nach wie wo wer wann warum welche hat haben im aus"
    )
    | word_set(
        "le la les un une du et est sont ou que qui quoi quel quelle quand comment pourquoi dans "
        "pour pas sur avec je tu il elle nous vous mon ma mes au aux ce cette sa son ses"
    )
    | word_set(
        "el los las una y o es son que quien cuando donde como por para con mi su sus del al en de "
        "se lo os um uma e em da dos das na nos quem quando onde foi com seu sua minha meu"
    )
    | word_set("gli che chi di non sono per della nel dove mio mia alla del")
    | word_set("het een van ik je wat waar wie wanneer hoe niet met zijn naar och inte jag vad var")
) - STOP_WORDS

# Stop words that are words of these or other languages, too.
_SHARED: Final = word_set(
    "a am an as at be by do for had has have he i in is it me no of on or over so than then to us "
    "was we will"
)
_GOING_ON: Final = lazy_pattern(r"\b(?:am|is|was|be) (?:\w+ly )?\w+ing\b", re.ASCII)


class Query(NamedTuple):
    """What a query is after: its distinct search ``terms``, in order.

    ``of_replies`` tells whether it may be after what an assistant said: it speaks to one, or is not
    known to be English. ``of_times`` tells whether it asks, in English, when or how long.
    ``synonyms`` are those of its terms, unless it looks like another language. With ``forms`` it
    does, and its terms may have forms that the stems do not bring together.
    """

    terms: Sequence[str]
    of_replies: bool
    of_times: bool = False
    synonyms: Mapping[str, Sequence[Synonym]] = MappingProxyType({})
    forms: bool = False


class _Said(NamedTuple):
    """What a chunk of a query says, whatever stands around it.

    ``telling`` are the terms of words that no stop list has; ``leaning`` is greater than 0 for a
    word of English, less for one of another language; ``addressing`` tells whether it speaks to an
    assistant.
    """

    terms: Sequence[str]
    telling: Sequence[str]
    leaning: int
    addressing: bool = False


def read_query(text: str) -> Query:
    """Return what a query is after, without words that say nothing.

    What only looks like a stop word ("May 2023", "the US") stays, and so does all if nothing is
    left.
    """
    cut = chunks(text)
    whole: list[str] = []
    telling: list[str] = []
    leaning, addressing = 0, False
    for place, (every, some, leans, speaks) in enumerate(map(_read, cut)):
        whole += every
        telling += every if len(some) < len(every) and _is_name(cut, place) else some
        leaning += leans
        addressing = addressing or speaks
    found = list(dict.fromkeys(telling if leaning >= 0 and telling else whole))
    return Query(
        found,
        of_replies=leaning <= 0 or addressing,
        of_times=_AFTER_TIMES.search(" ".join(cut).lower()) is not None,
        synonyms={term: like for term in found if leaning >= 0 and (like := synonyms(term))},
        forms=leaning < 0,
    )


def is_english(text: str) -> bool:
    """Tell whether a text is surely English: by little words, or forms, that only English has."""
    own = (_read(chunk).leaning for chunk in chunks(text) if chunk.lower() not in _SHARED)
    return sum(own) + (_GOING_ON.search(text.lower()) is not None) > 0


def _read(chunk: str) -> _Said:
    return _known(chunk) if len(chunk) <= LONGEST_IDENTIFIER else _said(chunk)


def _said(chunk: str) -> _Said:
    if is_unspaced(chunk):
        parts = pairs(chunk) + _SINGLE.findall(chunk)
        return _Said(parts, parts, -1)
    words, terms = chunk_words(chunk), chunk_terms(chunk)
    if not chunk.isascii():
        return _Said(terms, terms, -1)
    day = _day(chunk)
    telling = [term for word, term in zip(words, terms, strict=True) if word not in STOP_WORDS]
    head, elided, _ = chunk.lower().partition("'")
    foreign = chunk.lower() in _FOREIGN or (elided and head in ELISIONS)
    leaning = bool(words and words[0] in STOP_WORDS) - bool(foreign)
    return _Said([*terms, *day], [*telling, *day], leaning, not _ADDRESSING.isdisjoint(words))


def _day(chunk: str) -> list[str]:
    """Spell the day and month of an ISO date as they stand beside a memory."""
    found = _ISO_DATE.fullmatch(chunk)
    return [str(int(found[2])), *chunk_terms(MONTHS[int(found[1]) - 1])] if found else []


_known = lru_cache(maxsize=1 << 14)(_said)


def _is_name(cut: Sequence[str], place: int) -> bool:
    """Tell whether a chunk only looks like a stop word: the US, Will, and May as a month."""
    chunk = cut[place]
    if len(chunk) > 1 and chunk.isupper() and any(each != each.upper() for each in cut):
        return True
    if place > 0 and chunk in ("May", "Will"):
        return True
    if chunk.lower() != "may":
        return False
    before, after = (each.lower() for each in ["", *cut, ""][place : place + 3 : 2])
    return before == "in" or before[:1].isdigit() or after[:1].isdigit()
