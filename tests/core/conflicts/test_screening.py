from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.conflicts.screening import suspects

IDLE = frozenset(("the", "so"))
SIGNS = '[-\u2212]?\\d+(?:[.,]\\d+)*|\\w+|[^\\w\\s.,;:!"()\u2026\u201c\u201d-]'


def words(text: str) -> set[str]:
    found = set(re.findall(SIGNS, re.sub("['\u2019]", "", text.casefold())))
    return found - IDLE or found or {text}


TEXTS = (
    st.text()
    | st.text("aB7 é茶\u2019'.,-_?\u2212…", max_size=9)
    | st.sampled_from(("", "the", "ß 7"))
)


@given(st.lists(TEXTS, max_size=9))
def test_nobody_escapes_whose_words_another_has(texts: list[str]) -> None:
    found = suspects(texts, IDLE)
    for place, text in enumerate(texts):
        for other, longer in enumerate(texts):
            if other != place and words(text) <= words(longer):
                mine, theirs = found[place], found[other]
                assert mine is not None
                assert theirs is not None
                assert set(mine) <= set(theirs)


def test_what_has_a_word_of_its_own_escapes() -> None:
    texts = ["the red cat", "the red dog", "a red cat", "茶 is red", "so red, so 17", "red 71"]
    assert [each is None for each in suspects(texts, IDLE)] == [
        False,
        True,
        False,
        True,
        True,
        True,
    ]
    assert suspects([], IDLE) == []


@pytest.mark.parametrize(
    "sign", [chr(each) for each in range(sys.maxunicode) if chr(each).isspace()]
)
def test_every_space_parts_words_alike(sign: str) -> None:
    first, second = suspects([f"red{sign}cat", "red cat"], IDLE)
    assert first == second is not None
