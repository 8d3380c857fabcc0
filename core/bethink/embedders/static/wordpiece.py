"""Text into the word pieces of BERT's uncased vocabulary.

A word is looked up whole; an unknown word is cut, from the left, into the longest known pieces.
``##`` marks a piece that continues a word. A word always gives equal pieces, so the pieces are
cached by word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import chain, count
from pathlib import Path
from string import punctuation
from typing import Final

UNKNOWN: Final = 100
"""The piece for a word that the vocabulary cannot spell."""

_LONGEST_WORD: Final = 100
_KEPT_WORDS: Final = 1 << 16
_ASCII_MARKS: Final = frozenset(punctuation)
_IDEOGRAPHS: Final = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)


def vocabulary() -> list[str]:
    """Return the pieces that ship with bethink, by number."""
    path = Path(__file__).with_name("vocabulary.txt")
    return path.read_text(encoding="utf-8").splitlines()


def split(text: str) -> list[str]:
    """Split *text* into words, lower-case and without accents; marks and ideographs stand alone."""
    # A table of characters is several times as fast as a pass for each rule over the text.
    return text.translate(_characters).split(" ")


class WordPieces(dict[str, tuple[int, ...]]):
    """Cut texts into the pieces of *vocabulary*, a list by number.

    The pieces of each word seen so far are cached.
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        super().__init__()
        self._numbers = dict(zip(vocabulary, count(), strict=False))

    def __call__(self, text: str) -> list[int]:
        """Return the numbers of the pieces of *text*, in order, without surrounding markers."""
        return list(chain.from_iterable(map(self.__getitem__, split(text))))

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (UNKNOWN,)
        found = self._cut(word)
        if len(self) >= _KEPT_WORDS:
            self.clear()
        self[word] = found
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        found: list[int] = []
        start = 0
        while start < len(word):
            lead = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._numbers.get(lead + word[start:end])
                if number is not None:
                    break
            else:
                return (UNKNOWN,)
            found.append(number)
            start = end
        return tuple(found)


class _Characters(dict[int, str]):
    """The replacement of each character, computed on first sight."""

    def __missing__(self, code: int) -> str:
        self[code] = _folded(chr(code))
        return self[code]


_characters = _Characters()


def _folded(character: str) -> str:
    """Return a character without case and accents: spaces as " ", shapeless characters as ""."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
        return " "
    if category in ("Cc", "Cf", "Co", "Cs") or character == "\ufffd":
        return ""
    parts = unicodedata.normalize("NFD", character)
    kept = "".join(part.lower() for part in parts if unicodedata.category(part) != "Mn")
    alone = (
        any(ord(character) in block for block in _IDEOGRAPHS)
        or kept in _ASCII_MARKS
        or unicodedata.category(kept[:1] or "a").startswith("P")
    )
    return f" {kept} " if alone else kept
