"""Text into words, words into search terms.

What is stored and what is asked both go through here, so that they meet:

- Letters are compared without case, width or accents; composed and decomposed text are equal.
- Scripts written without spaces (Chinese, Japanese, Korean, Thai …) become overlapping pairs of
  characters, and after them the single Han and Hangul characters, once each: many are words. A
  query has of a Korean word only the first, since particles follow.
- Identifiers give their parts and the whole: ``gen-itgc``, ``gen_itgc`` and ``genItgc`` all give
  ``gen``, ``itgc`` and ``genitgc``; for the same reason ``wi-fi`` meets ``wifi``.
- Numbers stay whole: ``3.5``, ``1,000`` (as ``1000``), ``3.11.7``. The term of ``3rd`` is ``3``.
- "Anna's" is ``anna`` and "I'll" is ``i`` (not ``ill``); "don't" is ``dont``, like no other word.
- Words in Latin letters are stemmed as English is, and their first eight letters count; of words
  in other letters the first four, in Arabic and Hebrew those after what is written to a word. So
  most forms of a word meet, and a German compound meets its first part. Words with digits are left
  as they are.
- Persian words end where a non-joiner stands, as where others write a space.
- What would meet a stop word by its stem is kept apart: "use" from "us", "one" from "on".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain

from ..model.patterns import lazy_pattern
from .stemming import stem
from .stop_words import STOP_WORDS


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written with spaces."""
    return frozenset(text.split())


# Characters of scripts written without spaces: Thai, Lao, Myanmar, Khmer, then Japanese, Chinese
# and Korean.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks a search looks past: accents, the vowel points of Hebrew and Arabic, hamza, nukta.
_POINTS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640"
    "\u064b-\u0655\u0670\u093c"
)
# Marks that are part of a word, though not of `\w`.
_MARKS = (
    _POINTS + "\u0610-\u061a\u0656-\u065f\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711"
    "\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84\u0f8d-\u0fbc"
)
_INVISIBLE = lazy_pattern("[\u00ad\u200c-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]+")
# Where a Persian word is joined of parts, which many write with a space between them.
_NON_JOINER = lazy_pattern("\u200c(?<=[\u0620-\u06ff]\u200c)")
_APOSTROPHES_AND_HYPHENS = str.maketrans("\u2018\u2019\u02bc\u2032\u2010\u2011", "''''--")
_PLAIN_LETTERS = str.maketrans("đłø\u0131", "dloi") | str.maketrans({"æ": "ae", "œ": "oe"})
# Arabic and Persian letters that are written for one another, and two signs of one Hindi sound.
_PLAIN_LETTERS |= str.maketrans(
    "\u0629\u06c1\u06d5\u0649\u06cc\u06a9\u0901", "\u0647\u0647\u0647\u064a\u064a\u0643\u0902"
)

_LETTER = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])"
_JOINT = r"(?:['-]|[.,](?<=\d[.,])(?=\d))"
_CHUNKS = lazy_pattern(rf"[{_UNSPACED}]+|{_LETTER}+(?:{_JOINT}{_LETTER}+)*")
_ASCII_CHUNKS = lazy_pattern(rf"\w+(?:{_JOINT}\w+)*", re.ASCII)
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
LONGEST_IDENTIFIER = 64
_MOST_KNOWN = 1 << 16

_LATIN_LETTERS, _OTHER_LETTERS = 8, 4
_ARABIC_ARTICLE = lazy_pattern("^(?:[\u0648\u0628\u0643\u0641]?\u0627\u0644|\u0644\u0644)(?=..)")
_ARABIC_PREFIX = lazy_pattern("^[\u0648\u0641\u0628\u0644](?=[\u0621-\u064a]{3,}$)")
_HEBREW_PREFIXES = lazy_pattern(
    "^[\u05d1\u05d4\u05d5\u05db\u05dc\u05de\u05e9]+(?=[\u05d0-\u05ea]{3})"
)
_DIGIT = lazy_pattern(r"\d")
_ORDINAL = lazy_pattern(r"\d+(?=(?:st|nd|rd|th)$)")


def words(text: str) -> list[str]:
    """Split text into folded words, in order."""
    found: list[str] = []
    for chunk in chunks(text):
        found += pairs(chunk) if is_unspaced(chunk) else chunk_words(chunk)
    return found


def stems(text: str) -> list[str]:
    """Split text into its words, stemmed if they are plain English ones.

    After them come the single Han and Hangul characters, each once.
    """
    return _gathered(text, _chunk_stems)


def terms(text: str) -> list[str]:
    """Split text to be stored into search terms: its stems, cut."""
    if text.isascii():
        return list(chain.from_iterable(map(_known_terms.__getitem__, text.split())))
    return _gathered(text, _known_terms.__getitem__)


def chunks(text: str) -> list[str]:
    """Cut text into runs of unspaced script and words with what is joined to them."""
    if text.isascii():
        return _ASCII_CHUNKS.findall(text)
    text = _NON_JOINER.sub(" ", unicodedata.normalize("NFKC", text))
    text = _INVISIBLE.sub("", text)
    return _CHUNKS.findall(text.translate(_APOSTROPHES_AND_HYPHENS))


def _gathered(text: str, split: Callable[[str], Sequence[str]]) -> list[str]:
    """Return what *split* makes of the words of *text*; pairs and single characters of the rest."""
    found: list[str] = []
    singles: dict[str, None] = {}
    plain = text.isascii()
    for chunk in chunks(text):
        if plain or not is_unspaced(chunk):
            found += split(chunk)
        else:
            found += pairs(chunk)
            if len(chunk) > 1:
                singles.update(dict.fromkeys(_SINGLE.findall(chunk)))
    return [*found, *singles]


def is_unspaced(chunk: str) -> bool:
    """Tell whether a chunk is of a script written without spaces."""
    return not chunk.isascii() and UNSPACED_RUN.match(chunk) is not None


def pairs(run: str) -> list[str]:
    """Return the overlapping pairs of characters of an unspaced run."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def chunk_words(chunk: str) -> tuple[str, ...]:
    """Return the folded words of a chunk with spaces around it."""
    return _known_words(chunk) if len(chunk) <= LONGEST_IDENTIFIER else _split(chunk)


def _chunk_stems(chunk: str) -> tuple[str, ...]:
    return tuple(map(_stemmed, chunk_words(chunk)))


def _stemmed(word: str) -> str:
    return stem(word) if word.isascii() and word.isalpha() else word


def chunk_terms(chunk: str) -> tuple[str, ...]:
    """Return the term for each of its words."""
    return _known_terms[chunk]


class _KnownTerms(dict[str, tuple[str, ...]]):
    """The terms of chunks that were cut lately: to look one up takes half as long as to call.

    And of what stands between spaces, with commas and the like: no chunk goes over a space, and to
    split at spaces is several times as fast as to look for chunks.
    """

    def __missing__(self, piece: str) -> tuple[str, ...]:
        chunks = _ASCII_CHUNKS.findall(piece) if piece.isascii() else [piece]
        if chunks == [piece]:
            found = _cut(piece)
        else:
            found = tuple(chain.from_iterable(map(self.__getitem__, chunks)))
        if len(piece) <= LONGEST_IDENTIFIER:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[piece] = found
        return found


def _cut(chunk: str) -> tuple[str, ...]:
    return tuple(map(_term, _split(chunk)))


def _is_plain(chunk: str) -> bool:
    """Tell whether a chunk is one word of Latin letters without accents, as most are."""
    alike = chunk.islower() or chunk.istitle() or chunk.isupper()
    return alike and chunk.isascii() and chunk.isalpha() and len(chunk) <= LONGEST_IDENTIFIER


def _term(word: str) -> str:
    """Return the term of a folded word, marked if it is a stop word and the word is none."""
    term = _common_part(_stemmed(word))
    return f"{term}_" if term in STOP_WORDS and word not in STOP_WORDS else term


def _common_part(word: str) -> str:
    """Cut a stem to what most forms of the word have in common."""
    if word.isascii():
        if word.isalpha():
            return word[:_LATIN_LETTERS]
        return ordinal[0] if (ordinal := _ORDINAL.match(word)) else word
    if _DIGIT.search(word):
        return word
    word = _ARABIC_PREFIX.sub("", _ARABIC_ARTICLE.sub("", word))
    return _HEBREW_PREFIXES.sub("", word)[:_OTHER_LETTERS]


def _split(chunk: str) -> tuple[str, ...]:
    """Give the parts of a chunk and, if there are several, all of them in one."""
    if _is_plain(chunk):
        return (chunk.lower(),)
    parts = [_without_apostrophes(part) for part in _PARTS.split(chunk)]
    found = [word for part in parts for word in _part_words(part)]
    if len(parts) > 1 and len(chunk) <= LONGEST_IDENTIFIER:
        whole = _fold("".join(parts))
        if whole not in found and not whole.isdigit() and not _SEPARATED.search(whole):
            found.append(whole)
    return tuple(filter(None, found))


_known_words = lru_cache(maxsize=1 << 14)(_split)
_known_terms = _KnownTerms()


def _without_apostrophes(part: str) -> str:
    head, apostrophe, tail = part.rpartition("'")
    if apostrophe and tail.lower() in _ENCLITICS:
        part = head
    head, apostrophe, tail = part.partition("'")
    if apostrophe and head.lower() in ELISIONS:
        part = tail
    return part.replace("'", "")


def _part_words(part: str) -> list[str]:
    if "." in part or "," in part:
        return [_fold(number) for number in _NUMBERS.findall(_THOUSANDS.sub("", part))]
    if len(part) > LONGEST_IDENTIFIER or part.islower() or part.isupper():
        return [_fold(part)]
    humps = [_fold(hump) for hump in _HUMPS.split(part) if len(hump) > 1]
    whole = _fold(part)
    return [*humps, whole] if humps != [whole] else [whole]


def _fold(word: str) -> str:
    """Bring a word to the form in which it is compared."""
    if word.isascii():
        return word.lower()
    bare = _POINT_RUN.sub("", unicodedata.normalize("NFD", word.casefold()))
    return _OTHER_DIGIT.sub(
        _ascii_digit, unicodedata.normalize("NFKC", bare.translate(_PLAIN_LETTERS))
    )


def _ascii_digit(match: re.Match[str]) -> str:
    return str(unicodedata.decimal(match[0]))
