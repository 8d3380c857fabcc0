"""Estimates of tokens."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.text import estimate_tokens, rough_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("12345678", 2), ("用户喜欢", 4), ("Привет", 3), ("é", 1)],
)
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_token_estimate_never_shrinks_as_text_grows(left: str, right: str) -> None:
    assert estimate_tokens(left) <= estimate_tokens(left + right) <= sys.maxsize
    assert bool(left) == bool(estimate_tokens(left))
    assert rough_tokens(left + right) == rough_tokens(left) + rough_tokens(right)
