"""What tells of a change says what is so now."""

from __future__ import annotations

import pytest

from bethink.features.statements.changes import rewrite_changes


@pytest.mark.parametrize(
    ("told", "now"),
    [
        ("the deadline moved to march 10", "the deadline is now march 10"),
        ("the launch has just been pushed back from may to june", "the launch is now june"),
        ("we moved our standup to the 3rd of may", "our standup is now the 3rd of may"),
        ("ann pushed the deadline back until next friday", "the deadline is now next friday"),
        ("in may, they raised the price from $20 to $25", "in may, the price is now $25"),
        ("the price went up to $25", "the price is now $25"),
        ("the repo was renamed from alpha to beta", "the repo is now named beta"),
        ("the meeting was brought forward to 9:00", "the meeting is now 9:00"),
        ("my flight got rebooked for may 5", "my flight is now may 5"),
        ("my daughter just turned 5", "my daughter is now 5"),
        ("ann moved to rome last month", "ann moved to rome"),
        ("i switched from vim to emacs", "i switched to emacs"),
    ],
)
def test_a_change_is_told_by_what_it_led_to(told: str, now: str) -> None:
    assert rewrite_changes(told) == now


@pytest.mark.parametrize(
    "told",
    [
        "i moved to 5 elm street",
        "ann moved to oslo",
        "i went to 2 concerts",
        "i went to rome last month",
        "the car turned 90 degrees",
        "we changed for 5 euros more",
        "the price went up by 5",
        "we pushed the change to main",
        "",
    ],
)
def test_what_tells_of_no_other_value_stays(told: str) -> None:
    assert rewrite_changes(told) == told
