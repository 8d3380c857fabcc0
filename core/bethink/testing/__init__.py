"""For the tests of those who build on bethink: assertions, and a clock and ids that hold still."""

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
