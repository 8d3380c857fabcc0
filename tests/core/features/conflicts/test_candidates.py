"""Which records are compared: while they are few all that share a word, then the most alike."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.features.conflicts import candidates
from bethink.features.conflicts.candidates import NEIGHBOURS, candidate_pairs
from bethink.features.statements import ParsedRecord, find_conflict

from ..statements.parsed_records import parsed_records

WORDS = ["user", "prefers", "tabs", "spaces", "never", "likes", "tea", "open", "100", "200"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=20)


def compared(known: list[ParsedRecord], neighbours: int = NEIGHBOURS) -> list[tuple[int, ...]]:
    return list(map(tuple, candidate_pairs(known, neighbours).tolist()))


@pytest.mark.slow
@given(texts)
def test_few_records_are_compared_wherever_they_share_a_word(contents: list[str]) -> None:
    known = parsed_records(contents)
    sharing = [
        (one, other)
        for one, other in combinations(range(len(known)), 2)
        if not known[one].features.bag.isdisjoint(known[other].features.bag)
    ]
    assert compared(known) == sharing


@pytest.mark.slow
@given(texts)
def test_no_conflict_is_missed_among_few(contents: list[str]) -> None:
    known = parsed_records(contents)
    every = {
        (one, other)
        for one, other in combinations(range(len(known)), 2)
        if find_conflict(known[one], known[other])
    }
    assert every <= set(compared(known))


def naive(known: list[ParsedRecord], neighbours: int) -> list[tuple[int, int]]:
    """Compare every reading with every other, and keep the most alike."""
    bags = [each.features.bag for each in known]
    often = {word: sum(word in bag for bag in bags) for bag in bags for word in bag}
    weigh = {word: round(math.log1p(len(bags) / count) * 1024) for word, count in often.items()}

    def weight(words: frozenset[str]) -> int:
        return sum(weigh[word] for word in words)

    found = set()
    for place, bag in enumerate(bags):
        ranked = []
        for other, words in enumerate(bags):
            if other != place and (both := weight(bag & words)):
                least, most = sorted((weight(bag), weight(words)))
                ranked.append((-(float(both) ** 3) / (least**2 * most), abs(other - place), other))
        found |= {
            (min(place, other), max(place, other)) for *_, other in sorted(ranked)[:neighbours]
        }
    return sorted(found)


@pytest.mark.slow
@given(texts, st.integers(1, 4))
def test_of_many_each_is_compared_with_the_most_alike(contents: list[str], most: int) -> None:
    known = parsed_records(contents)
    assert compared(known, most) == naive(known, most)


def test_what_is_compared_grows_with_the_number_of_records() -> None:
    known = parsed_records([f"User prefers theme{number}" for number in range(300)])
    assert len(compared(known)) <= 300 * NEIGHBOURS


def test_a_common_word_does_not_count_where_rarer_ones_suffice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = parsed_records([*["common"] * 4, "common rare", "common rare"])
    assert {(3, 4), (4, 5)} <= set(compared(known, 2))
    monkeypatch.setattr(candidates, "LOOKED_AT", 2)
    assert (3, 4) not in compared(known, 2)
    assert (4, 5) in compared(known, 2)


def test_nothing_is_compared_with_nothing() -> None:
    assert compared([]) == []
    assert compared(parsed_records(["", "!?", "100"])) == []
