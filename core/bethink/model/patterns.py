"""Regular expressions, compiled on first use, so that imports stay fast."""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """A regular expression that compiles on the first access to a method.

    The instance keeps each method as an attribute, so later calls cost no more than calls of a
    compiled expression. Two threads may both compile at first, with equal results.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a stand-in for ``re.compile(pattern, flags)`` with the methods and nothing else."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
