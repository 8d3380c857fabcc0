"""The periods that English questions name, asked on Wednesday, 14 June 2023, at ten."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.text import asked_periods

NOW = datetime(2023, 6, 14, 10, tzinfo=UTC).timestamp()


def named(text: str, now: float = NOW) -> list[tuple[str, str]]:
    """Return the first and the last day of each period that *text* names."""
    return [
        (f"{datetime.fromtimestamp(start, UTC):%F}", f"{datetime.fromtimestamp(end - 1, UTC):%F}")
        for start, end in asked_periods(text, now)
    ]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did I do today?", "2023-06-14", "2023-06-14"),
        ("What did Ann say this morning?", "2023-06-14", "2023-06-14"),
        ("What did I do yesterday?", "2023-06-13", "2023-06-13"),
        ("Who called Last Night?", "2023-06-13", "2023-06-13"),
        ("and the day before yesterday?", "2023-06-12", "2023-06-12"),
        ("two days ago", "2023-06-11", "2023-06-13"),
        ("a couple of days ago", "2023-06-11", "2023-06-13"),
        ("a week ago", "2023-06-03", "2023-06-11"),
        ("three months ago", "2023-02-28", "2023-03-30"),
        ("12 years ago", "2010-12-13", "2011-12-14"),
        ("in the last three days", "2023-06-11", "2023-06-14"),
        ("in the past few weeks", "2023-05-24", "2023-06-14"),
        ("the past month", "2023-05-15", "2023-06-14"),
        ("this week", "2023-06-12", "2023-06-14"),
        ("this month", "2023-06-01", "2023-06-14"),
        ("this year", "2023-01-01", "2023-06-14"),
        ("last week", "2023-06-05", "2023-06-11"),
        ("last month", "2023-05-01", "2023-05-31"),
        ("the previous year", "2022-01-01", "2022-12-31"),
        ("last weekend", "2023-06-10", "2023-06-11"),
        ("over the weekend", "2023-06-10", "2023-06-11"),
        ("last Friday", "2023-06-09", "2023-06-09"),
        ("last wednesday", "2023-06-07", "2023-06-07"),
        ("What did we decide on Friday?", "2023-06-09", "2023-06-09"),
        ("What was it that Ann said on the Sunday?", "2023-06-11", "2023-06-11"),
        ("on 2023-05-01", "2023-05-01", "2023-05-01"),
        ("on May 3, 2021", "2021-05-03", "2021-05-03"),
        ("the 3rd of May", "2023-05-03", "2023-05-03"),
        ("on 14 June", "2023-06-14", "2023-06-14"),
        ("on June 15th", "2022-06-15", "2022-06-15"),
        ("29 February 2020", "2020-02-29", "2020-02-29"),
        ("in May 2021", "2021-05-01", "2021-05-31"),
        ("in July 2023", "2023-07-01", "2023-07-31"),
        ("in May", "2023-05-01", "2023-05-31"),
        ("last December", "2022-12-01", "2022-12-31"),
        ("in 2021", "2021-01-01", "2021-12-31"),
        ("since May 2022", "2022-05-01", "2023-06-14"),
        ("after last Friday", "2023-06-09", "2023-06-14"),
        ("29 February", "2020-02-29", "2020-02-29"),
        ("in Feb.", "2023-02-01", "2023-02-28"),
        ("on 3 Sept 2022", "2022-09-03", "2022-09-03"),
        ("in Q1", "2023-01-01", "2023-03-31"),
        ("Q4 2022", "2022-10-01", "2022-12-31"),
        ("since 2021 in Oslo", "2021-01-01", "2023-06-14"),
        ("after 2021", "2021-01-01", "2023-06-14"),
        ("last quarter", "2023-01-01", "2023-03-31"),
        ("last summer", "2022-06-01", "2022-08-31"),
        ("What did we do this spring?", "2023-03-01", "2023-05-31"),
        ("this summer", "2023-06-01", "2023-08-31"),
        ("last spring", "2023-03-01", "2023-05-31"),
        ("over the winter", "2022-12-01", "2023-02-28"),
        ("since 2021", "2021-01-01", "2023-06-14"),
        ("in early 2021", "2021-01-01", "2021-05-02"),
        ("in the Spring", "2023-03-01", "2023-05-31"),
        ("Summer 2022", "2022-06-01", "2022-08-31"),
        ("in the fall of 2021", "2021-09-01", "2021-11-30"),
        ("at Christmas", "2022-12-24", "2022-12-26"),
        ("What happened on New Year\u2019s Eve?", "2022-12-31", "2022-12-31"),
        ("in early April", "2023-04-01", "2023-04-10"),
        ("mid-March", "2023-03-11", "2023-03-21"),
        ("at the end of last month", "2023-05-21", "2023-05-31"),
        ("at the start of the year", "2023-01-01", "2023-05-02"),
        ("in the first half of April", "2023-04-01", "2023-04-15"),
        ("the second week of March", "2023-03-08", "2023-03-14"),
        ("the last few days of May", "2023-05-25", "2023-05-31"),
        ("the fourth quarter of 2021", "2021-10-01", "2021-12-31"),
        ("the week before last", "2023-05-29", "2023-06-04"),
        ("the week before Christmas", "2022-12-17", "2022-12-23"),
        ("the day after Halloween", "2022-11-01", "2022-11-01"),
        ("two weeks before 1 June", "2023-05-14", "2023-05-22"),
        ("a month after 9 April", "2023-04-24", "2023-05-24"),
        ("between March and May", "2023-03-01", "2023-05-31"),
        ("between Christmas and New Year", "2022-12-24", "2023-01-01"),
        ("from March to December", "2023-03-01", "2023-06-14"),
        ("between May and July 2021", "2021-05-01", "2021-07-31"),
        ("between April 3 and May 5, 2021", "2021-04-03", "2021-05-05"),
        ("between May and July last year", "2022-05-01", "2022-07-31"),
        ("the last summer", "2022-06-01", "2022-08-31"),
        ("May of 2021", "2021-05-01", "2021-05-31"),
        ("the last quarter of last year", "2022-10-01", "2022-12-31"),
        ("early this month", "2023-06-01", "2023-06-10"),
        ("early last month", "2023-05-01", "2023-05-11"),
        ("at the start of the quarter", "2023-04-01", "2023-05-01"),
        ("two days until Christmas", "2022-12-21", "2022-12-23"),
        ("since Christmas", "2022-12-24", "2023-06-14"),
        ("What happened on Monday?", "2023-06-12", "2023-06-12"),
        ("What did we do on the weekend?", "2023-06-10", "2023-06-11"),
        ("over Easter", "2023-04-07", "2023-04-10"),
        ("at Easter 2019", "2019-04-19", "2019-04-22"),
        ("Easter of 2025", "2025-04-18", "2025-04-21"),
        ("What did we do at Easter last year?", "2022-04-15", "2022-04-18"),
        ("in May last year", "2022-05-01", "2022-05-31"),
        ("in the summer of last year", "2022-06-01", "2022-08-31"),
        ("last year over Christmas", "2022-12-24", "2022-12-26"),
        ("this year in the spring", "2023-03-01", "2023-05-31"),
    ],
)
def test_a_period_is_read(text: str, first: str, last: str) -> None:
    assert named(text) == [(first, last)]


def test_easter_to_come_is_the_easter_of_last_year() -> None:
    february = datetime(2023, 2, 14, tzinfo=UTC).timestamp()
    assert named("at Easter", february) == [("2022-04-15", "2022-04-18")]


def test_numbers_up_to_twelve_may_be_words() -> None:
    words = "one two three four five six seven eight nine ten eleven twelve"
    for number, word in enumerate(words.split(), 1):
        assert named(f"{word} weeks ago") == named(f"{number} weeks ago") != []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What do I like?",
        "What is planned for this weekend?",
        "Do I have a meeting on Friday?",
        "next week",
        "tomorrow",
        "before June 2022",
        "until yesterday",
        "the last bus",
        "the past",
        "I may march",
        "31 February 2023",
        "2023-13-01",
        "room 2021",
        "todays",
        "before Christmas",
        "a letter from Jan",
        "the name of Jan's dog",
        "a present for April",
        "the first week",
        "the last week of school",
        "fall out of use",
        "the summer house",
        "a filter in Spring Boot",
        "the version of spring boot",
        "Does this fall under the warranty?",
        "a letter from Summer",
        "does it run on spring water",
        "over 2000 users",
        "at 2000 rpm",
        "after 2000 steps",
        "an Audi Q3",
        "ask April about the market",
        "by the end of it",
        "gestern",
        "What are we doing on the weekend?",
        "Easter eggs",
    ],
)
def test_no_period_is_read(text: str) -> None:
    assert named(text) == []


def test_a_text_may_name_several_periods() -> None:
    found = named("yesterday, last week and in May 2021")
    assert sorted(found) == [
        ("2021-05-01", "2021-05-31"),
        ("2023-06-05", "2023-06-11"),
        ("2023-06-13", "2023-06-13"),
    ]


@pytest.mark.parametrize("now", [1e18, -1e18, -62135596800.0, 253402300799.0])
def test_a_clock_at_the_end_of_the_calendar_does_no_harm(now: float) -> None:
    for text in ("two years ago", "today", "this year", "last week", "in the past 900 years"):
        assert asked_periods(text, now) is not None


WORDS = """
    last past this since before a few two 31 0 999 2024 day days week years ago of in may february
    between and from to until after the early first half quarter q1 summer christmas
    29 friday weekend yesterday today the previous couple 2024-02-30
"""


@given(
    st.lists(st.sampled_from(WORDS.split())),
    st.floats(-1e11, 1e12),
)
def test_any_words_at_any_time_give_periods_that_end_after_the_start(
    words: list[str], now: float
) -> None:
    assert all(start < end for start, end in asked_periods(" ".join(words), now))


@pytest.mark.parametrize("text", ["did x on " * 20_000, "between 2030 and May 2023"])
def test_no_text_takes_long_or_gives_a_period_of_negative_length(text: str) -> None:
    assert all(start < end for start, end in asked_periods(text + "last week", NOW))
