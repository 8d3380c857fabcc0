"""Helpers for the tests of applications: assertions, a fixed clock, and fixed ids."""

from __future__ import annotations

from .assertions import (
    Expected,
    assert_not_recalls,
    assert_recalls,
    assert_recalls_first,
    recalled_contents,
)
from .determinism import CountingIds, FrozenClock

__all__ = [
    "CountingIds",
    "Expected",
    "FrozenClock",
    "assert_not_recalls",
    "assert_recalls",
    "assert_recalls_first",
    "recalled_contents",
]
