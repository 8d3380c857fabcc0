"""Which of Weaveflow's own tests do not pass on bethink, and why: a pytest plugin."""

from __future__ import annotations

import pytest

MARKS = {
    "test_cosine_returns_zero_for_zero_norm_vector": pytest.mark.skip(
        reason="a helper function inside Weaveflow"
    ),
    "test_long_term_recent_returns_insertion_tail": pytest.mark.xfail(
        reason="remember makes a key the newest", strict=True
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what looks inside, expect the deliberate failure, and no other."""
    found = {item.name: item for item in items}
    for name, mark in MARKS.items():
        found[name].add_marker(mark)
