"""Moments in words."""

from __future__ import annotations

import pytest

from bethink.text import date_words, terms


def test_date_is_spelled_in_utc_as_search_terms() -> None:
    assert date_words(1683504000.0) == terms("8 May 2023")
    assert date_words(1683504000.0 - 1) == terms("7 May 2023")
    assert set(date_words(0)) <= set(terms("1 January 1970"))


@pytest.mark.parametrize("moment", [1e18, -1e18, float("inf"), float("nan")])
def test_date_outside_the_calendar_has_no_words(moment: float) -> None:
    assert date_words(moment) == []
