from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import MemoryRecord
from bethink.features.duplicates.repetition import fact_identity, find_repetitions


def record(content: str, **fields: Any) -> MemoryRecord:
    given = {
        "id": content,
        "namespace": "n",
        "created_at": 9.0,
        "occurred_at": 9.0,
        "updated_at": 9.0,
    }
    return MemoryRecord(content=content, **{**given, **fields})


def is_repeated(first: MemoryRecord, second: MemoryRecord) -> bool:
    assert find_repetitions([first])[0] is False
    return find_repetitions([first, second])[1]


@pytest.mark.parametrize(
    ("kept", "dropped"),
    [
        ("User prefers dark mode", "User prefers dark mode"),
        ("User prefers dark mode", "The user prefers a dark mode."),
        ("User prefers dark mode", "USER PREFERS DARK MODE!"),
        ("User doesn't eat meat", "User doesn\u2019t eat meat"),
        ("Ann from Oslo prefers dark mode", "Ann from prefers dark mode"),
        ("👍", "👍"),
        ("So, please!", "so please"),
    ],
)
def test_the_same_words_are_a_repetition(kept: str, dropped: str) -> None:
    assert is_repeated(record(kept), record(dropped))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The limit is 100 requests per minute", "The limit is 200 requests per minute"),
        ("It was -5 degrees outside", "It was 5 degrees outside"),
        ("It costs $5", "It costs €5"),
        ("Ann deploys on Fridays each week", "Ann never deploys on Fridays each week"),
        ("Ann likes to eat raw fish", "Ann doesn't like to eat raw fish"),
        ("Ann really likes to eat raw fish here", "Ann formerly likes to eat raw fish here"),
        ("Ann has cats at her home", "Ann has two cats at her home"),
        ("Ann lives in London now", "Ann lives in Paris now"),
        ("Ann lives in Paris", "Ann lived in Paris"),
        ("Ann owes Bob", "Bob owes Ann"),
        ("I know the code of the door", "I don't know the code of the door"),
        ("Send bills by fax, email in May", "Send bills by fax or email in May"),
        ("a flight from Oslo to Rome", "a flight to Oslo from Rome"),
        ("Ann is here", "Ann is here?"),
        ("...", "!"),
        ("The box is heavy for the lift", "The box is too heavy for the lift"),
        ("The report for the board is finished", "The report for the board is almost finished"),
        ("She codes in C", "She codes in C++"),
        ("👍", "👎"),
        ("The password is Tiger7", "The password is tiger7"),
        ("The page is a.com/X", "The page is a.com/x"),
        ("Run chmod -r on it", "Run chmod -R on it"),
        ("The delimiter is ;", "The delimiter is ,"),
        ("Ann got grade A", "Ann got grade A-"),
        ("The password is Sunshine", "The password is sunshine"),
        ("Ann sits in room a upstairs", "Ann sits in room b upstairs"),
        ("Vitamin c helps", "Vitamin d helps"),
        ("Her blood type is a positive", "Her blood type is b positive"),
        ("We chose option A for the house", "We chose option B for the house"),
        ("The password is correct-horse", "The password is correct_horse"),
        ("Retry if !is_ready(queue)", "Retry if is_ready(queue)"),
        ("Edit ~/.a first", "Edit ~/.b first"),
        ("She said he lied", "He said she lied"),
    ],
)
def test_what_may_be_another_fact_is_kept(one: str, other: str) -> None:
    assert not is_repeated(record(one), record(other))
    assert not is_repeated(record(other), record(one))


def test_a_memory_that_says_more_is_kept() -> None:
    short, long = "Ann likes the dark mode everywhere", "Ann likes the dark blue mode everywhere"
    assert not is_repeated(record(short), record(long))
    assert is_repeated(record(long), record(short))


@pytest.mark.parametrize(
    "fields",
    [{"author": "Bob"}, {"key": "k"}, {"value": 1}, {"occurred_at": 86_400.0 * 3}],
    ids=str,
)
def test_the_same_words_about_something_else_are_kept(fields: dict[str, Any]) -> None:
    assert not is_repeated(record("ran five miles"), record("ran five miles", **fields))


def test_facts_learned_on_two_days_are_one_fact() -> None:
    later = record("Ann likes tea", created_at=86_400.0 * 3, occurred_at=86_400.0 * 3)
    assert is_repeated(record("Ann likes tea"), later)


def test_what_happened_twice_within_a_day_is_one_fact() -> None:
    noon, night = (record("ran five miles", occurred_at=3600.0 * hour) for hour in (84, 95))
    assert is_repeated(noon, night)


def test_a_repetition_hides_nothing_itself() -> None:
    contents = [
        "the blue cats dance every Friday near green hills inside Jericho",
        "the cats dance every Friday near green hills inside Jericho",
        "the dance every Friday near green hills inside Jericho",
    ]
    assert find_repetitions(record(content) for content in contents) == [False, True, False]


def test_what_others_say_makes_no_repetition_of_two_that_are_none_alone() -> None:
    assert not is_repeated(record("7 a b"), record("7a b"))
    assert find_repetitions(map(record, ("7 a b", "7a 7a x", "7a b"))) == [False, False, False]


def test_a_repetition_is_found_however_many_stand_between() -> None:
    others = [f"guest {number} likes tea" for number in range(600)]
    contents = ["The cat sleeps at noon", *others, "the cat sleeps at noon", "guest 7 likes tea"]
    assert [
        place for place, again in enumerate(find_repetitions(map(record, contents))) if again
    ] == [
        601,
        602,
    ]


def repeats_by_trying(memories: list[MemoryRecord]) -> list[bool]:
    """Compare every memory with every one before it that repeats none."""
    kept: list[MemoryRecord] = []
    told = []
    for memory in memories:
        same = [each for each in kept if fact_identity(each) == fact_identity(memory)]
        told.append(any(is_repeated(each, memory) for each in same))
        kept += [] if told[-1] else [memory]
    return told


WORDS = ("Ann", "likes", "é茶", "tea", "so", "the", "don\u2019t", "7", "7th", "noon", "x_1", "?")


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            lambda words, author: record(" ".join(words), author=author),
            st.lists(st.sampled_from(WORDS), max_size=12)
            | st.lists(st.text("aB7 é茶\u2019'.,-_?\u2212…\xa0", max_size=3), max_size=4)
            | st.permutations(WORDS[:10])
            | st.integers(0, 11).map(lambda at: WORDS[:at] + WORDS[at + 1 :]),
            st.sampled_from((None, "Ann")),
        ),
        max_size=9,
    )
)
def test_many_are_compared_as_two_are(memories: list[MemoryRecord]) -> None:
    distinct = [replace(each, id=str(place)) for place, each in enumerate(memories)]
    assert find_repetitions(distinct) == repeats_by_trying(distinct)
