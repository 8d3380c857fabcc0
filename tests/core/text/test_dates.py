"""Moments in words."""

from __future__ import annotations

import pytest

from bethink.text import date_words, tells_time, terms


def test_date_is_spelled_in_utc_as_search_terms() -> None:
    assert date_words(1683504000.0) == terms("8 May 2023")
    assert date_words(1683504000.0 - 1) == terms("7 May 2023")
    assert set(date_words(0)) <= set(terms("1 January 1970"))


@pytest.mark.parametrize("moment", [1e18, -1e18, float("inf"), float("nan")])
def test_date_outside_the_calendar_has_no_words(moment: float) -> None:
    assert date_words(moment) == []


@pytest.mark.parametrize(
    "text",
    [
        "two weeks ago",
        "Yesterday!",
        "on Tuesdays",
        "in September",
        "since 2019",
        "at 9:30",
        "٣ مايو",
    ],
)
def test_a_text_tells_time_by_its_words_and_numbers(text: str) -> None:
    assert tells_time(terms(text))


@pytest.mark.parametrize("text", ["", "we met", "a weekly color42", "always and often", "東京"])
def test_other_texts_tell_none(text: str) -> None:
    assert not tells_time(terms(text))
