"""Exchangeable English words: "kids" for "children", "doctor" for "physician".

Each line of ``synonyms.txt`` is a search term, then up to three synonyms, the most similar first,
each with a cosine in percent. Lines are in alphabetical order. ``tests/making/synonyms.py`` made
the file.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).with_name("synonyms.txt")


class Synonym(NamedTuple):
    """A search term that may stand for a term of a query, and the cosine of both, in [.6, 1]."""

    term: str
    likeness: float


@lru_cache(maxsize=1 << 14)
def synonyms(term: str) -> tuple[Synonym, ...]:
    """Return the synonyms of *term*, the most similar first."""
    lines, head = _lines(), f"{term} "
    place = bisect_left(lines, head)
    if place == len(lines) or not lines[place].startswith(head):
        return ()
    fields = lines[place].split()[1:]
    pairs = zip(fields[::2], fields[1::2], strict=True)
    return tuple(Synonym(word, int(percent) / 100) for word, percent in pairs)


@cache
def _lines() -> list[str]:
    return FILE.read_text(encoding="ascii").splitlines()
