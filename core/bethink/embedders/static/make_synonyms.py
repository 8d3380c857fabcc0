"""Make ``text/synonyms.txt`` from ``table.npy``, by hand, with WordNet in a folder.

    python -m bethink.embedders.static.make_synonyms FOLDER

``tox run -e static-table`` makes both anew and tests that they are the same.

The words are those of the vocabulary that tell no time, put together by search term. Those whose
vectors in the table are nearest stand for one another, unless WordNet knows that they mean the
opposite, or knows neither in lower case: then they are names, and no name stands for another.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from ...text import STOP_WORDS, tells_time, terms
from ...text.synonyms import FILE
from . import StaticEmbedder
from .make import FIRST_WORD, WORDNET, Synset, checked, synsets
from .wordpiece import vocabulary

MOST: Final = 3
LIKENESS: Final = 0.6
_SHORTEST, _BLOCK = 3, 1024


def main(folder: Path) -> None:
    """Write the file that ``text/synonyms.py`` reads."""
    meanings = list(synsets(checked(folder, WORDNET)))
    told = lines(words_by_term(), known(meanings), opposites(meanings))
    FILE.write_text("\n".join(sorted(told)) + "\n", "ascii")


def known(meanings: Sequence[Synset]) -> frozenset[str]:
    """Return the search terms of all that WordNet writes in lower case."""
    lemmas = {lemma for meaning in meanings for lemma in meaning.lemmas if lemma.islower()}
    return frozenset(term for lemma in lemmas if lemma.isalpha() for term in terms(lemma))


def opposites(meanings: Sequence[Synset]) -> frozenset[tuple[str, str]]:
    """Return the pairs of search terms that mean the opposite of one another."""
    lemmas = {meaning.place: meaning.lemmas for meaning in meanings}
    words = {
        (meaning.lemmas[own], lemmas[place][other])
        for meaning in meanings
        for own, place, other in meaning.antonyms
    }
    return frozenset(pair for one, two in words for pair in product(terms(one), terms(two)))


def words_by_term() -> Mapping[str, Sequence[str]]:
    """Return the words of the vocabulary that each search term stands for, but for times."""
    silent = {term for word in STOP_WORDS for term in terms(word)}
    found = defaultdict(list)
    for word in vocabulary()[FIRST_WORD:]:
        if len(word) >= _SHORTEST and word.isascii() and word.isalpha():
            (term,) = terms(word)
            if not (term in silent or tells_time([term])):
                found[term].append(word)
    return found


def lines(
    words: Mapping[str, Sequence[str]], known: frozenset[str], opposites: frozenset[tuple[str, str]]
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
                if other != name and (name, other) not in opposites and {name, other} & known
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
