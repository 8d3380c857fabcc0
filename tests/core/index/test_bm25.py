from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from bethink.index.bm25 import (
    K1,
    MAX_NAME_WEIGHT,
    RARE_SHARE,
    SYNONYM_WEIGHT,
    Bm25,
    TermScores,
)
from bethink.index.bm25 import RARE_DOCUMENTS as FEW
from bethink.index.keyword import KeywordIndex, author_term
from bethink.text import Synonym

Documents = list[list[str]]


def test_nothing_is_weighed_when_nothing_lives_or_matches() -> None:
    index = KeywordIndex()
    index.extend([["a"]])
    one = np.ones(1, dtype=np.int32)
    all_live = Bm25(index, one, one.astype(bool), 1, 1)
    assert all_live.score_terms(["z"]) is None
    assert all_live.score_terms([]) is None
    assert all_live.score_terms(["z"], {"z": [Synonym("y", 1.0)]}) is None
    assert Bm25(index, one, ~one.astype(bool), 0, 0).score_terms(["a"]) is None


def named(kept: Documents, dead: int | None = None) -> TermScores | None:
    """Weigh "ann" among *kept*, where "@" marks what she wrote."""
    index = KeywordIndex()
    index.extend([[author_term("ann") if term == "@" else term for term in each] for each in kept])
    lengths = np.array([len(each) for each in kept], dtype=np.int32)
    alive = np.arange(len(kept)) != dead
    total = int(lengths[alive].sum())
    return Bm25(index, lengths, alive, int(alive.sum()), total).score_terms(["x", "ann"])


def idf(live: int, frequency: int) -> float:
    return math.log(1 + (live - frequency + 0.5) / (frequency + 0.5))


def test_a_name_is_evidence_of_what_its_owner_wrote() -> None:
    found = named([["@", "y"], ["ann", "y"], ["@", "ann"], ["y", "y"]])
    assert found is not None
    assert found.weights == pytest.approx([idf(4, 0), idf(4, 2)])
    assert list(found.named) == [1]
    assert found.named[1].documents.tolist() == [0, 2]
    assert found.named[1].weight == pytest.approx(1.0)
    assert found.documents.tolist() == [1, 2]
    assert found.shares == pytest.approx(np.full(2, 1 / (1 + K1) * idf(4, 3) / idf(4, 2)))


def test_a_name_that_nobody_says_is_found_by_what_its_owner_wrote() -> None:
    found = named([["@"], ["y"]])
    assert found is not None
    assert found.sizes == [0, 0]
    assert found.named[1].documents.tolist() == [0]


def test_a_name_that_writes_little_counts_little_for_having_written() -> None:
    found = named([["@"], ["ann"], *[["y"]] * 98])
    assert found is not None
    assert found.weights[1] == pytest.approx(idf(100, 2))
    assert found.named[1].weight == pytest.approx(MAX_NAME_WEIGHT / idf(100, 2))


def test_what_is_dead_was_written_by_nobody() -> None:
    found = named([["@"], ["ann"], ["@"]], dead=2)
    assert found is not None
    assert found.named[1].documents.tolist() == [0]
    assert named([["@"], ["y"]], dead=0) is None


def test_what_is_dead_says_no_name() -> None:
    found = named([["@"], ["ann"], *[["y"]] * 98], dead=1)
    assert found is not None
    assert found.weights[1] == pytest.approx(idf(99, 1))


SAID = 1 / (1 + K1)


def weighed(kept: Sequence[str], query: str = "kid", dead: int = 0) -> TermScores | None:
    """Weigh *query* among *kept*, a word each, where "child" and "teen" are .8 like "kid".

    The last so many are *dead*.
    """
    index = KeywordIndex()
    index.extend([[author_term(word[1:]) if word[0] == "@" else word] for word in kept])
    live = len(kept) - dead
    ones = np.ones(len(kept), dtype=np.int32)
    synonyms = {"kid": [Synonym("child", 0.8), Synonym("teen", 0.8)]}
    return Bm25(index, ones, np.arange(len(kept)) < live, live, live).score_terms(
        query.split(), synonyms
    )


def shares(found: TermScores | None) -> dict[int, float]:
    """Return the shares of the last term of *found* among the living, by position."""
    assert found is not None
    last = slice(len(found.documents) - found.sizes[-1], None)
    told = zip(found.documents[last].tolist(), found.shares[last].tolist(), strict=True)
    return {at: share for at, share in told if share}


def test_a_synonym_is_evidence_by_the_square_of_its_likeness() -> None:
    found = weighed(["dog", "child", "kid", "teen"])
    worth = SYNONYM_WEIGHT * 0.8**2 * SAID
    assert shares(found) == pytest.approx({2: SAID, 1: worth, 3: worth})
    assert found is not None
    assert found.weights == pytest.approx([idf(4, 1)])


def test_a_word_that_nobody_says_is_found_by_its_synonyms() -> None:
    found = weighed(["dog", "child"])
    assert shares(found) == pytest.approx({1: SYNONYM_WEIGHT * 0.8**2 * SAID})
    assert found is not None
    assert found.weights == pytest.approx([idf(2, 0)])


def test_plain_terms_come_first() -> None:
    found = weighed(["child", "dog", "cat"], "kid dog cat")
    assert found is not None
    assert (found.plain_count, found.sizes, found.documents.tolist()) == (2, [1, 1, 1], [1, 2, 0])


def test_a_frequent_word_has_no_synonyms_and_is_none() -> None:
    assert len(shares(weighed(["child"] * FEW + ["kid"] * FEW))) == 2 * FEW
    assert len(shares(weighed(["child"] * FEW + ["kid"] * (FEW + 1)))) == FEW + 1
    assert len(shares(weighed(["child"] * (FEW + 1) + ["kid"]))) == 1


def test_what_is_frequent_grows_with_the_memory() -> None:
    most = 2 * FEW
    dogs = ["dog"] * int(most / RARE_SHARE)
    assert len(shares(weighed(dogs[most:] + ["child"] * most))) == most
    assert weighed(dogs[most + 2 :] + ["child"] * (most + 1)) is None


def test_only_the_living_count_for_how_frequent_a_word_is() -> None:
    found = shares(
        weighed(
            ["child"] * FEW + ["kid"] + ["kid", "child"] * FEW,
            dead=2 * FEW,
        )
    )
    assert len(found) == FEW + 1
    assert weighed(["dog"] + ["child"] * (FEW + 2), dead=1) is None


def test_a_name_has_no_synonyms() -> None:
    assert shares(weighed(["@kid", "child"])) == {}


def spelt(word: str, *kept: str, dead: int | None = None) -> list[int]:
    """Return the documents of *kept*, each of a word, that have *word* or what it may stand for."""
    index = KeywordIndex()
    index.extend([[each] for each in kept])
    alive = np.arange(len(kept)) != dead
    ones, count = np.ones(len(kept), dtype=np.int32), int(alive.sum())
    found = Bm25(index, ones, alive, count, count).score_terms([word], fuzzy=True)
    return [] if found is None else found.documents[found.shares > 0].tolist()


@pytest.mark.parametrize("word", ["calender", "calndar", "calenndar", "calednar", "calendar"])
def test_a_word_of_no_document_finds_the_word_that_differs_by_a_slip(word: str) -> None:
    assert spelt(word, "calendar", "calamari") == [0]


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("configgu", "configur"),  # of "configguration"
        ("confgura", "configur"),
        ("mueller", "muller"),
        ("muller", "mueller"),
        ("schroede", "schroder"),
        ("oster", "oester"),
    ],
)
def test_a_long_word_is_cut_and_an_umlaut_has_two_spellings(word: str, kept: str) -> None:
    assert spelt(word, kept, "unrelated") == [0]


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("callender", "calendar"),  # two letters
        ("kalendar", "calendar"),  # at the beginning
        ("bank", "band"),  # too short
        ("card", "cardboard"),  # another word
        ("v2345", "v2346"),
    ],
)
def test_a_word_further_away_is_no_slip(word: str, kept: str) -> None:
    assert spelt(word, kept) == []


def test_a_misspelt_word_stands_for_the_word_of_most_living_documents() -> None:
    assert spelt("planed", "planet", "planes", "planet") == [0, 2]
    assert spelt("planed", "planed", "planet") == [0]
    assert spelt("planed", "planed", "planet", dead=0) == [1]


def test_a_word_with_synonyms_is_not_misspelt() -> None:
    index = KeywordIndex()
    index.extend([["contact"]])
    one = np.ones(1, dtype=np.int32)
    found = Bm25(index, one, one.astype(bool), 1, 1)
    like = {"contract": [Synonym("deal", 1.0)]}
    assert found.score_terms(["contract"], like, fuzzy=True) is None
    assert found.score_terms(["contract"], fuzzy=True) is not None
    assert found.score_terms(["contract"]) is None
