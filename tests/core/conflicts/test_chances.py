"""Which pairs are compared word by word: all that can be in conflict, and few of the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.conflicts import find_conflict
from bethink.conflicts.chances import promising
from bethink.conflicts.pairs import sharing

from .readings import readings

SAID = (
    "I my the user is was not never no no. lives likes tea coffee Oslo Paris main current new now "
    "moved Order 12 15 May Friday open closed happy unhappy running red blue if rains, work at too "
    "東京 大阪 without . , and also employer server"
)
WORDS = SAID.split()
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=25)


@pytest.mark.slow
@given(texts)
def test_whatever_is_in_conflict_has_a_chance(contents: list[str]) -> None:
    known = readings(contents)
    pairs = sharing(known)
    conflicts = [(i, j) for i, j in pairs.places() if find_conflict(known[i], known[j])]
    assert set(conflicts) <= set(promising(known, pairs))


def test_each_kind_of_conflict_has_a_chance() -> None:
    told = [
        ("The cache is enabled in tests", "The cache is not enabled in tests"),
        ("The shop is open on Sunday", "The shop is closed on Sunday"),
        ("Ann is happy here", "Ann is unhappy here"),
        ("I live in Oslo", "I live in Paris"),
        ("The budget is 100 euros", "The budget is 200 euros"),
        ("The meeting is at 3 pm", "The meeting is cancelled"),
        ("I am vegan", "I am vegetarian"),
        ("My current employer is Initech", "For my current employer Globex I travel"),
    ]
    for pair in told:
        known = readings(list(pair))
        assert find_conflict(*known) is not None, pair
        assert promising(known, sharing(known)) == [(0, 1)], pair


def test_what_only_shares_a_word_has_none() -> None:
    known = readings(["The parser reads a table", "An old table stands in the kitchen"])
    assert sharing(known).places() == [(0, 1)]
    assert promising(known, sharing(known)) == []


def test_texts_of_many_statements_always_have_one() -> None:
    known = readings(["The parser reads a table. " * 5, "A table stands in the kitchen. " * 4])
    assert promising(known, sharing(known)) == [(0, 1)]


def test_without_statements_there_is_nothing_to_compare() -> None:
    assert promising([], sharing([])) == []
    known = readings(["", "Who is it?"])
    assert promising(known, sharing(known)) == []
