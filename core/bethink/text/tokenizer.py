"""Text into tokens, tokens into words, words into search terms.

A token is a run of an unspaced script, or a word with everything joined to the word, such as
``gen-itgc`` or ``don't``. Stored texts and queries take the same way, so both give equal terms:

- Case, width and accents do not count; composed and decomposed text are equal.
- Scripts without spaces (Chinese, Japanese, Korean, Thai …) give overlapping pairs of characters,
  then each Han and Hangul character once, since many characters are words. A query takes only the
  first character of a Korean word, since particles follow.
- Identifiers give the parts and the whole: ``gen-itgc``, ``gen_itgc`` and ``genItgc`` all give
  ``gen``, ``itgc`` and ``genitgc``; for the same reason ``wi-fi`` meets ``wifi``.
- Names of a letter and signs stay whole: ``C++``, ``C#``. An emoji is a word, also an emoji of
  several characters, such as a flag; skin tones do not count.
- Numbers stay whole: ``3.5``, ``1,000`` (as ``1000``), ``3.11.7``. The term of ``3rd`` is ``3``.
- "Anna's" is ``anna`` and "I'll" is ``i`` (not ``ill``); "don't" is ``dont``, like no other word.
- A word in Latin letters gives the first eight letters of the English stem, other alphabets give
  the first four letters, Arabic and Hebrew after prefixes. So most forms of a word meet, and a
  German compound meets the first part. Words with digits stay whole.
- Persian words end at a non-joiner, where many writers put a space.
- A word whose stem is a stop word is kept apart from the stop word: "use" from "us", "one" from
  "on".

The index saves terms: a change requires a higher ``SEGMENT_FORMAT``, and a new name of
``HashEmbedder`` where stems change.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from typing import TypeVar

from ..model.patterns import lazy_pattern
from .emoji import EMOJI, SEQUENCE, is_emoji, without_tones
from .stemming import stem
from .word_lists import STOP_WORDS, word_set

_T = TypeVar("_T")


# Characters of scripts written without spaces: Thai, Lao, Myanmar, Khmer, then Japanese, Chinese
# and Korean.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks that a search ignores: accents, the vowel points of Hebrew and Arabic, hamza, nukta.
_POINTS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640"
    "\u064b-\u0655\u0670\u093c"
)
# Marks that are part of a word, though not of `\w`.
_MARKS = (
    _POINTS + "\u0610-\u061a\u0656-\u065f\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711"
    "\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84\u0f8d-\u0fbc"
)
# A joiner before an emoji is no such character.
_INVISIBLE = lazy_pattern(
    "[\u00ad\u200c-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
    f"(?:(?<!\u200d)|(?![{EMOJI}]))"
)
# The non-joiner between the parts of a Persian word; many writers put a space instead.
_NON_JOINER = lazy_pattern("\u200c(?<=[\u0620-\u06ff]\u200c)")
_APOSTROPHES_AND_HYPHENS = str.maketrans("\u2018\u2019\u02bc\u2032\u2010\u2011", "''''--")
_PLAIN_LETTERS = str.maketrans("đłø\u0131", "dloi") | str.maketrans({"æ": "ae", "œ": "oe"})
# Arabic and Persian letters that writers exchange, and two signs of a Hindi sound.
_PLAIN_LETTERS |= str.maketrans(
    "\u0629\u06c1\u06d5\u0649\u06cc\u06a9\u0901", "\u0647\u0647\u0647\u064a\u064a\u0643\u0902"
)

_LETTER = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])"
_JOINT = r"(?:['-]|[.,](?<=\d[.,])(?=\d))"
_LETTER_AND_SIGNS = r"[A-Za-z](?:\+\+(?!\+)|#(?![A-Za-z0-9_#]))"
_TOKENS = lazy_pattern(
    rf"[{_UNSPACED}]+|{_LETTER_AND_SIGNS}|{_LETTER}+(?:{_JOINT}{_LETTER}+)*|{SEQUENCE}"
)
_ASCII_TOKENS = lazy_pattern(rf"{_LETTER_AND_SIGNS}|\w+(?:{_JOINT}\w+)*", re.ASCII)
UNSPACED_RUN = lazy_pattern(f"[{_UNSPACED}]+")
_POINT_RUN = lazy_pattern(f"[{_POINTS}]+")
_OTHER_DIGIT = lazy_pattern(r"[^\D0-9]")
HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SINGLE = lazy_pattern(f"[{HAN}\uac00-\ud7a3]")

_PARTS = lazy_pattern("[-_]+")
_HUMPS = lazy_pattern("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_SEPARATED = lazy_pattern("[.,]")
_THOUSANDS = lazy_pattern(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBERS = lazy_pattern(r"\d+(?:\.\d+)+|\d+|[^\W\d]+")
_ENCLITICS = word_set("s m re ve ll d")
ELISIONS = word_set("l d j m n s t c qu un all dall dell nell sull")
LONGEST_IDENTIFIER = 64  # characters; a longer token is no name, gets no parts and no cache
_MAX_CACHED_TOKENS = 1 << 16

LATIN_LETTERS, _OTHER_LETTERS = 8, 4  # of a stem that count
_ARABIC_ARTICLE = lazy_pattern("^(?:[\u0648\u0628\u0643\u0641]?\u0627\u0644|\u0644\u0644)(?=..)")
_ARABIC_PREFIX = lazy_pattern("^[\u0648\u0641\u0628\u0644](?=[\u0621-\u064a]{3,}$)")
_HEBREW_PREFIXES = lazy_pattern(
    "^[\u05d1\u05d4\u05d5\u05db\u05dc\u05de\u05e9]+(?=[\u05d0-\u05ea]{3})"
)
_DIGIT = lazy_pattern(r"\d")
_ORDINAL = lazy_pattern(r"\d+(?=(?:st|nd|rd|th)$)")


def words(text: str) -> list[str]:
    """Split *text* into folded words, in order."""
    found: list[str] = []
    for token in split(text):
        found += bigrams(token) if is_unspaced(token) else token_words(token)
    return found


def stems(text: str) -> list[str]:
    """Return the words of *text*, plain English words stemmed, then single Han and Hangul signs.

    Signs and emoji are left out.
    """
    return _collect(text, _token_stems)


def terms(text: str) -> list[str]:
    """Return the search terms of a text to be stored: truncated stems."""
    if text.isascii():
        # No token contains a space, and splitting at spaces is faster than the token regex.
        return list(chain.from_iterable(map(_term_cache.__getitem__, text.split())))
    return _collect(text, _term_cache.__getitem__)


def split(text: str) -> list[str]:
    """Split *text* into tokens."""
    if text.isascii():
        return _ASCII_TOKENS.findall(text)
    text = _NON_JOINER.sub(" ", unicodedata.normalize("NFKC", text))
    text = _INVISIBLE.sub("", text)
    return _TOKENS.findall(text.translate(_APOSTROPHES_AND_HYPHENS))


def _collect(text: str, read: Callable[[str], Iterable[str]]) -> list[str]:
    """Return *read* of each spaced token and the pairs of unspaced tokens; last, single signs."""
    found: list[str] = []
    singles: dict[str, None] = {}
    for token in split(text):
        if not is_unspaced(token):
            found += read(token)
            continue
        found += bigrams(token)
        if len(token) > 1:
            singles |= dict.fromkeys(_SINGLE.findall(token))
    return [*found, *singles]


def is_unspaced(token: str) -> bool:
    """Return whether a token is of a script written without spaces."""
    return not token.isascii() and UNSPACED_RUN.match(token) is not None


def bigrams(run: str) -> list[str]:
    """Return the overlapping pairs of characters of an unspaced run, or a run of one character."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def cached_if_short(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """Cache the results of *read* for tokens of the length of names; text may be all one token."""
    cached = lru_cache(maxsize=1 << 14)(read)
    return lambda token: (cached if len(token) <= LONGEST_IDENTIFIER else read)(token)


def _split_token(token: str) -> tuple[str, ...]:
    """Return the folded parts of a spaced token and, of several parts, the whole."""
    short = len(token) <= LONGEST_IDENTIFIER
    humpless = token.islower() or token.istitle() or token.isupper()
    if humpless and short and token.isascii() and token.isalpha():  # most tokens
        return (token.lower(),)
    if is_emoji(token):
        return (without_tones(token),)
    parts = [_without_apostrophes(part) for part in _PARTS.split(token)]
    found = [word for part in parts for word in _part_words(part)]
    if len(parts) > 1 and short:
        whole = fold("".join(parts))
        if whole not in found and not whole.isdigit() and not _SEPARATED.search(whole):
            found.append(whole)
    return tuple(filter(None, found))


token_words = cached_if_short(_split_token)


@cached_if_short
def _token_stems(token: str) -> tuple[str, ...]:
    return () if is_emoji(token) else tuple(map(_stem_ascii, token_words(token.rstrip("+#"))))


def token_terms(token: str) -> tuple[str, ...]:
    """Return the search term of each word of a spaced token."""
    return _term_cache[token]


class _TermCache(dict[str, tuple[str, ...]]):
    """Cache: token to search terms. A dict with ``__missing__`` costs half a call of `lru_cache`.

    Keys are also whole pieces between spaces ("Oslo,"), since ``terms`` splits plain text there.
    """

    def __missing__(self, piece: str) -> tuple[str, ...]:
        tokens = _ASCII_TOKENS.findall(piece) if piece.isascii() else [piece]
        if tokens == [piece]:
            found = tuple(map(_term, _split_token(piece)))
        else:
            found = tuple(chain.from_iterable(map(self.__getitem__, tokens)))
        if len(piece) <= LONGEST_IDENTIFIER:
            if len(self) >= _MAX_CACHED_TOKENS:
                self.clear()
            self[piece] = found
        return found


_term_cache = _TermCache()


def _stem_ascii(word: str) -> str:
    return stem(word) if word.isascii() and word.isalpha() else word


def _term(word: str) -> str:
    """Return the search term of a folded word, with "_" if equal to a stop word by stemming."""
    term = _truncate(_stem_ascii(word))
    return f"{term}_" if term in STOP_WORDS and word not in STOP_WORDS else term


def _truncate(word: str) -> str:
    """Cut a stem to the part that most forms of the word share."""
    if word.isascii():
        if word.isalpha():
            return word[:LATIN_LETTERS]
        return ordinal[0] if (ordinal := _ORDINAL.match(word)) else word
    if _DIGIT.search(word) or is_emoji(word):
        return word
    word = _ARABIC_PREFIX.sub("", _ARABIC_ARTICLE.sub("", word))
    return _HEBREW_PREFIXES.sub("", word)[:_OTHER_LETTERS]


def _without_apostrophes(part: str) -> str:
    """Remove an English ending ("'s") and a Romance article ("l'"), join what remains."""
    head, apostrophe, tail = part.rpartition("'")
    if apostrophe and tail.lower() in _ENCLITICS:
        part = head
    head, apostrophe, tail = part.partition("'")
    if apostrophe and head.lower() in ELISIONS:
        part = tail
    return part.replace("'", "")


def _part_words(part: str) -> list[str]:
    """Return the words of a part: numbers apart from letters, camel case in humps and whole."""
    if "." in part or "," in part:
        return [fold(number) for number in _NUMBERS.findall(_THOUSANDS.sub("", part))]
    whole = fold(part)
    if len(part) > LONGEST_IDENTIFIER or part.islower() or part.isupper():
        return [whole]
    humps = [fold(hump) for hump in _HUMPS.split(part) if len(hump) > 1]
    return [*humps, whole] if humps != [whole] else [whole]


def fold(word: str) -> str:
    """Return the form of a word for comparisons: no case, width, accents or foreign digits."""
    if word.isascii():
        return word.lower()
    bare = _POINT_RUN.sub("", unicodedata.normalize("NFD", word.casefold()))
    plain = unicodedata.normalize("NFKC", bare.translate(_PLAIN_LETTERS))
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), plain)
