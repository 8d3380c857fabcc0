"""Times of foreign files, and ours as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink_adapters.formats.times import moment, to_text


@pytest.mark.parametrize(
    "value",
    [
        1705311045.5,
        1705311045500,
        1705311045500000,
        1705311045500000000,
        "2024-01-15T09:30:45.5Z",
        "2024-01-15T09:30:45.500000+00:00",
        "2024-01-15 09:30:45,5",
        "2024-01-15T01:30:45.5-08:00",
        "1705311045.5",
        "1705311045500",
    ],
    ids=repr,
)
def test_every_form_of_a_moment_is_the_same(value: object) -> None:
    assert moment(value) == 1705311045.5


def test_a_moment_before_1970_has_units_too() -> None:
    assert moment(-1705311045500) == -1705311045.5


def test_a_day_begins_at_midnight_in_utc() -> None:
    assert moment("2024-01-15") == 1705276800.0


@pytest.mark.parametrize(
    "value",
    [
        *[20240430, "20240430", "2024/04/30", "2024.04.30", "30.04.2024", "30 April 2024"],
        *["April 30, 2024", "Apr 30, 2024", "Tuesday, April 30, 2024", "2024/04/30 00:00"],
        *[202404300000, "20240430000000", "Tue, 30 Apr 2024 00:00:00 GMT"],
        *["30 Apr 2024 02:00:00 +0200", "1714435200"],
    ],
    ids=repr,
)
def test_every_form_of_a_day_is_the_same(value: object) -> None:
    assert moment(value) == 1714435200.0


@pytest.mark.parametrize("value", [None, ""])
def test_nothing_is_no_time(value: object) -> None:
    assert moment(value) is None


@pytest.mark.parametrize(
    "value", ["soon", True, [], {}, "2024-13-01", "9" * 100, 10**400, "2024", "1.2.", "04/05/2024"]
)
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a time"):
        moment(value)


@given(st.floats(-6e10, 9.9e10))
def test_text_loses_no_digit(seconds: float) -> None:
    assert moment(to_text(seconds)) == seconds


def test_text_can_be_read_by_people() -> None:
    assert to_text(1705311045.5) == "2024-01-15T09:30:45.5Z"
    assert to_text(1705311045.0) == "2024-01-15T09:30:45Z"
    assert to_text(-0.25) == "1969-12-31T23:59:59.75Z"


def test_a_year_beyond_the_calendar_stays_a_number() -> None:
    assert to_text(1e12) == 1e12
