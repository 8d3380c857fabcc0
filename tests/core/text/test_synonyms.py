from __future__ import annotations

from hashlib import sha256

import pytest

from bethink.text import STOP_WORDS, synonyms, terms

LINES = synonyms.FILE.read_text("ascii").splitlines()
MADE = "0e6f4c3f7d6f0369b20e752713e30516a1f099819a1bf732515cd06a6af77c1f"


def near(word: str) -> list[str]:
    (term,) = terms(word)
    return [other for other, _ in synonyms.synonyms(term)]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("kids", "children"),
        ("doctor", "physicians"),
        ("marriage", "weddings"),
        ("error", "mistake"),
    ],
)
def test_words_of_like_meaning_stand_for_one_another(word: str, other: str) -> None:
    assert terms(other)[0] in near(word)


@pytest.mark.parametrize(
    "word", ["Dave", "Caroline", "Monday", "yesterday", "the", "7", "xyzzy", "zzz", "a"]
)
def test_names_times_and_unknown_words_have_no_synonyms(word: str) -> None:
    assert near(word) == []


@pytest.mark.parametrize(("word", "other"), [("hot", "cold"), ("quiet", "noisy"), ("east", "west")])
def test_opposites_do_not_stand_for_one_another(word: str, other: str) -> None:
    assert near(word)
    assert terms(other)[0] not in near(word)


def test_the_file_is_the_one_that_was_made() -> None:
    assert sha256(synonyms.FILE.read_bytes()).hexdigest() == MADE


def test_every_line_is_found_again() -> None:
    for line in LINES:
        term, *told = line.split()
        found = synonyms.synonyms.__wrapped__(term)
        assert [f"{other} {likeness:.0%}" for other, likeness in found] == [
            f"{other} {percent}%" for other, percent in zip(told[::2], told[1::2], strict=True)
        ]
        assert 1 <= len(found) <= 3
        assert all(0.6 <= likeness <= 1 and other != term for other, likeness in found)


def test_no_stop_word_is_a_synonym() -> None:
    told = [line.split() for line in LINES]
    assert not STOP_WORDS & {word for term, *others in told for word in (term, *others[::2])}
