"""Make ``text/synonyms.txt`` from ``table.npy``, by hand, with WordNet in a folder.

    python -m tests.making.synonyms FOLDER

``tox run -e static-table`` makes table and synonyms anew and compares both.

The words of the vocabulary, without words for times, are grouped by search term. Terms with near
vectors in the table are synonyms, unless both are numbers, or WordNet knows the terms as opposites,
or knows neither in lower case: such terms are names, and no name is a synonym.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bethink.embedders.static import StaticEmbedder
from bethink.embedders.static.wordpiece import vocabulary
from bethink.text import STOP_WORDS, mentions_time, terms
from bethink.text.synonyms import FILE

from .static_table import FIRST_WORD, WORDNET, Synset, checked, synsets

MOST: Final = 3
LIKENESS: Final = 0.6
_SHORTEST, _BLOCK = 3, 1024

_DIGITS: Final = re.compile("[0-9]+(st|nd|rd|th)?")
_DOUBLE, _I = re.compile(r"(?<=(.))\1$"), re.compile("i$")
_ANTONYM, _KIN = "!", "&+\\"
"""WordNet's signs of the opposite, and of what is similar, derived or pertains."""
_OPPOSITES: Final = """
    alive die; alive died; awake sleep; risk safe; real fake; landlord tenant; double triple;
    once twice; yes nope; yes nah; yeah nope
"""
"""Pairs that WordNet does not tell."""
_PLURALS: Final = {"children": "child", "men": "man", "wives": "wife", "women": "woman"}


def main(folder: Path) -> None:
    """Write the file that ``text/synonyms.py`` reads."""
    meanings = list(synsets(checked(folder, WORDNET)))
    words = words_by_term()
    told = lines(words, known(meanings), apart(words, meanings))
    FILE.write_text("\n".join(sorted(told)) + "\n", "ascii")


def known(meanings: Sequence[Synset]) -> frozenset[str]:
    """Return the search terms of all that WordNet writes in lower case."""
    return _terms(lemma for meaning in meanings for lemma in meaning.lemmas if lemma.islower())


def apart(
    words: Mapping[str, Sequence[str]], meanings: Sequence[Synset]
) -> Callable[[str, str], bool]:
    """Return what says of two search terms that they are two numbers, or opposites."""
    counts, plain = numbers(meanings), plain_forms(words, meanings)
    differ, agree = frozenset(opposites(meanings)), frozenset(alike(meanings))

    def tell(one: str, other: str) -> bool:
        pairs = set(product(plain[one], plain[other]))
        return {one, other} <= counts or bool(pairs & differ and not pairs & agree)

    return tell


def numbers(meanings: Sequence[Synset]) -> frozenset[str]:
    """Return the search terms of the words that WordNet also writes in digits."""
    written = [meaning for meaning in meanings if any(map(_DIGITS.fullmatch, meaning.lemmas))]
    return _terms(lemma for meaning in written for lemma in meaning.lemmas)


def opposites(meanings: Sequence[Synset]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of search terms that mean the opposite of one another, or come from such."""
    places = {meaning.place: meaning for meaning in meanings}
    for one in meanings:
        for sign, own, place, other in one.links:
            if sign == _ANTONYM:
                yield from product(_side(places, one, own), _side(places, places[place], other))
    for pair in _OPPOSITES.split(";"):
        this, that = terms(pair)
        yield from ((this, that), (that, this))


def _side(places: Mapping[str, Synset], meaning: Synset, word: int) -> frozenset[str]:
    """Return the terms of a meaning, of those similar, and of what is derived from its *word*."""
    links = [link for link in meaning.links if link.sign in _KIN and link.own in (word, -1)]
    near = [lemma for link in links for lemma in _lemmas(places[link.place], link.other)]
    return _terms([*meaning.lemmas, *near])


def alike(meanings: Sequence[Synset]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of search terms that share a meaning, or where one comes from the other."""
    places = {meaning.place: meaning for meaning in meanings}
    for one in meanings:
        yield from product(_terms(one.lemmas), repeat=2)
        for sign, own, place, other in one.links:
            if sign in _KIN:
                here, there = _terms(_lemmas(one, own)), _terms(_lemmas(places[place], other))
                yield from (*product(here, there), *product(there, here))


def _lemmas(meaning: Synset, number: int) -> Sequence[str]:
    return meaning.lemmas if number < 0 else [meaning.lemmas[number]]


def _terms(lemmas: Iterable[str]) -> frozenset[str]:
    """Return the search terms of those *lemmas* that are one word."""
    return frozenset(term for lemma in lemmas if lemma.isalpha() for term in terms(lemma))


def plain_forms(
    words: Mapping[str, Sequence[str]], meanings: Sequence[Synset]
) -> Mapping[str, frozenset[str]]:
    """Return for each search term itself and those of the words that its words are forms of."""
    adjectives = {lemma for meaning in meanings if meaning.place < "b" for lemma in meaning.lemmas}
    return {
        term: _terms([*found, *(base for word in found for base in _bases(word, adjectives))])
        for term, found in words.items()
    }


def _bases(word: str, adjectives: Set[str]) -> Iterator[str]:
    """Yield what *word* is a plural of, or a comparative, a superlative or an adverb of."""
    if word in _PLURALS:
        yield _PLURALS[word]
    for ending in ("er", "est", "ly"):
        root = word.removesuffix(ending)
        if root != word:
            yield from adjectives & {root, root + "e", _DOUBLE.sub("", root), _I.sub("y", root)}


def words_by_term() -> Mapping[str, Sequence[str]]:
    """Return the words of the vocabulary that each search term stands for, but for times."""
    silent = {term for word in STOP_WORDS for term in terms(word)}
    found = defaultdict(list)
    for word in vocabulary()[FIRST_WORD:]:
        if len(word) >= _SHORTEST and word.isascii() and word.isalpha():
            (term,) = terms(word)
            if not (term.rstrip("_") in silent or mentions_time([term])):
                found[term].append(word)
    return found


def lines(
    words: Mapping[str, Sequence[str]], known: frozenset[str], apart: Callable[[str, str], bool]
) -> Iterator[str]:
    """Yield a line for each term that has synonyms; one of every two must be *known*."""
    names = list(words)
    directions = np.array([_direction(each) for each in words.values()])
    for start in range(0, len(names), _BLOCK):
        cosines = directions[start : start + _BLOCK] @ directions.T
        for name, row in zip(names[start:], cosines, strict=False):
            others = [(-row[at], names[at]) for at in (row >= LIKENESS).nonzero()[0]]
            told = sorted(
                (rank, other)
                for rank, other in others
                if other != name and {name, other} & known and not apart(name, other)
            )
            if told:
                yield " ".join(
                    [name, *(f"{other} {-rank:.0%}"[:-1] for rank, other in told[:MOST])]
                )


def _direction(words: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return the mean direction of *words*."""
    total: npt.NDArray[np.float32] = StaticEmbedder().embed(words).sum(axis=0)
    return total / max(float(np.linalg.norm(total)), 1e-9)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
