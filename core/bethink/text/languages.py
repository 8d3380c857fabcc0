"""The language of a query: by function words and by words of time, such as "gestern".

Words are compared without accents. Queries are never saved: a change of this file or of the word
lists of further languages needs no new ``SEGMENT_FORMAT``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from ..model.patterns import lazy_pattern
from .periods import Period, asked_periods
from .synonyms import Synonym
from .time_words import UNSPACED, time_words, times_in_english
from .tokenizer import ELISIONS, LONGEST_IDENTIFIER, is_unspaced, token_terms, token_words
from .word_lists import DOUBTFUL_WORDS, FUNCTION_WORDS, STOP_WORDS, word_set

SURE: Final = 3
"""The votes of a sure word, against 1 of a doubtful word."""

_CODE: Final = lazy_pattern("[_0-9]|[a-z][A-Z]|^[A-Z]{2}")  # "est_time", "eu-west-1", "EU"
_COMPOUNDING: Final = word_set("German Dutch Swedish")
_SHORTEST: Final = 3, 5  # letters of the first and of the last part of a compound
_LIKENESS: Final = 0.8  # of a compound and the last part, as of two forms of a word


class _Lexicon(NamedTuple):
    """The words of each language, all of the words, and the words that are no English."""

    by_language: Mapping[str, Collection[str]]
    every: frozenset[str]
    sure: frozenset[str]


@cache
def _lexicon() -> _Lexicon:
    times = time_words()
    by_language = {
        name: FUNCTION_WORDS.get(name, frozenset()) | times.get(name, {}).keys()
        for name in FUNCTION_WORDS.keys() | times.keys()
    }
    every = frozenset().union(*by_language.values())
    shared = {
        word for table in times.values() for word, english in table.items() if word == english
    }
    sure = every - STOP_WORDS - DOUBTFUL_WORDS - shared
    return _Lexicon(by_language, every, frozenset(word for word in sure if len(word) > 1))


def _is_code(token: str) -> bool:
    """Return whether a token is an identifier, an abbreviation, or a compound as "un-merge"."""
    spaced, every = token.lower().replace("-", " "), _lexicon().every
    is_compound = "-" in token and every.isdisjoint((spaced, spaced.rpartition(" ")[2]))
    return is_compound or _CODE.search(token) is not None


def votes(token: str) -> tuple[int, int]:
    """Return the votes of a token for English, below 0 for another language, in two counts.

    The first count has an English stop word that other languages have, too, such as "in", and a
    word with accents, perhaps a name. The second count has neither.
    """
    words, lexicon = token_words(token), _lexicon()
    first = words[0] if words else ""
    if not token.isascii():
        return -SURE, -SURE * (first in lexicon.every)
    head, elided, _ = token.lower().partition("'")
    known = not lexicon.sure.isdisjoint(words) and not _is_code(token)
    foreign = known or bool(elided and head in ELISIONS)
    against = SURE if foreign else int(token in DOUBTFUL_WORDS and token not in STOP_WORDS)
    english = first in STOP_WORDS
    return SURE * english - against, SURE * (english and first not in lexicon.every) - against


def languages(tokens: Sequence[str]) -> list[str]:
    """Return the language, or the languages, that know most words of a query."""
    if any(map(is_unspaced, tokens)):
        return [UNSPACED]
    words = {word for token in tokens for word in token_words(token)}
    shares = {
        name: len(words.intersection(known)) for name, known in _lexicon().by_language.items()
    }
    most = max(shares.values())
    return [name for name, share in shares.items() if share == most > 0]


def periods_in(text: str, names: Sequence[str], now: float) -> Sequence[Period]:
    """Return the periods that a query names in the first language of *names*, else in English."""
    texts = (times_in_english(text, name) for name in names if name in time_words())
    found = (asked_periods(each, now) for each in chain(texts, [text]))
    return next(filter(None, found), ())


def content_terms(
    token: str, terms: Sequence[str], names: Sequence[str], *, first: bool
) -> Sequence[str]:
    """Return the *terms* of a token without the function words of the languages *names*.

    Of "va-t-on", nothing remains. "Die" of "Die Hard" stays, unless the token is the *first*.
    """
    words = token_words(token)
    titled = not first and token.istitle() and not DOUBTFUL_WORDS.isdisjoint(words)
    if titled or is_unspaced(token) or _is_code(token):
        return terms
    said = [any(word in FUNCTION_WORDS.get(name, ()) for name in names) for word in words]
    if not any(said):
        return terms
    whole = "".join(words[:-1])  # "vaton"
    found = zip(words, terms, said, strict=False)
    return [term for word, term, known in found if not known and word != whole]


def compounds(tokens: Sequence[str], names: Collection[str]) -> dict[str, list[Synonym]]:
    """Return by the terms of long words what the words may end with: "Prüfer" of "Steuerprüfer".

    An end that is no word is a term of no memory.
    """
    if _COMPOUNDING.isdisjoint(names):
        return {}
    first, last = _SHORTEST
    found = {}
    for word in (word for token in tokens for word in token_words(token)):
        if first + last <= len(word) <= LONGEST_IDENTIFIER and word.isascii() and word.isalpha():
            ends = [token_terms(word[at:])[0] for at in range(first, len(word) - last + 1)]
            found[token_terms(word)[0]] = [Synonym(end, _LIKENESS) for end in dict.fromkeys(ends)]
    return found
