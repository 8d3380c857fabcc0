from __future__ import annotations

from hashlib import sha256

import pytest

from bethink.text import STOP_WORDS, synonyms, terms

LINES = synonyms.FILE.read_text("ascii").splitlines()
MADE = "11a539c8ef362b78b0f37d491d9ac1bc7e6c5f1ee1828720f653ce39ff1888b0"


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


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("hot", "cold"),
        ("quiet", "noisy"),
        ("quiet", "noise"),
        ("east", "west"),
        ("eastern", "west"),
        ("northeast", "northwest"),
        ("older", "younger"),
        ("oldest", "younger"),
        ("smaller", "larger"),
        ("faster", "slowly"),
        ("cold", "warmly"),
        ("husband", "wives"),
        ("children", "parent"),
        ("buyer", "seller"),
        ("landlord", "tenant"),
        ("alive", "die"),
        ("alive", "died"),
        ("legal", "unlawful"),
    ],
)
def test_opposites_do_not_stand_for_one_another(word: str, other: str) -> None:
    assert near(word) or near(other)
    assert terms(other)[0] not in near(word)
    assert terms(word)[0] not in near(other)


def test_numbers_do_not_stand_for_one_another() -> None:
    numbers = (
        "two three four five six seven eight nine ten eleven twelve dozen thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy "
        "eighty ninety hundred thousand million billion trillion first second third fourth "
        "fifth sixth tenth eleventh fifteenth twentieth half quarter double triple once twice "
        "quartet quintet"
    )
    found = {term for number in numbers.split() for term in terms(number)}
    assert not [
        (term, other) for term in found for other in synonyms.synonyms(term) if other.term in found
    ]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("newest", "latest"),
        ("earlier", "early"),
        ("finances", "financial"),
        ("surgery", "surgical"),
    ],
)
def test_words_that_are_opposites_in_another_sense_alone_stay(word: str, other: str) -> None:
    assert terms(other)[0] in near(word)


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
