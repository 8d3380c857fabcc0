"""A clock and ids that are equal in every run: ``MemoryStore(clock=…, new_id=…)``."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Final

from ..model import fields

_START: Final = 1_700_000_000.0
_FAR: Final = 1e12


class FrozenClock:
    """A clock that stands still until moved; calling the clock returns Unix seconds.

    The start *now* is Unix seconds or an aware datetime; by default 14 November 2023.
    """

    def __init__(self, now: float | datetime = _START) -> None:
        self._now = fields.timestamp("now", now)
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """Return the current moment."""
        return self._now

    def advance(self, seconds: float) -> float:
        """Move on by *seconds*, at least 0 (see ``set``); return the new moment."""
        step = fields.number("seconds", seconds, 0.0, _FAR)
        with self._lock:
            self._now = fields.timestamp("now", self._now + step)
            return self._now

    def set(self, now: float | datetime) -> float:
        """Move to *now*, also backwards; return *now* as Unix seconds."""
        moment = fields.timestamp("now", now)
        with self._lock:
            self._now = moment
        return moment

    def __repr__(self) -> str:
        return f"FrozenClock({self._now!r})"


class CountingIds:
    """Make the ids ``id-000001``, ``id-000002`` …, with a *prefix* of your choice.

    Ids sort by creation, as the store's own ids do, up to 999,999. A store that already holds such
    ids needs a *start* beyond.
    """

    def __init__(self, prefix: str = "id-", *, start: int = 1) -> None:
        self._prefix = fields.text("prefix", prefix)
        self._next = fields.integer("start", start, 0)
        self._lock = threading.Lock()

    def __call__(self) -> str:
        """Return the next id."""
        with self._lock:
            number = self._next
            self._next += 1
        return f"{self._prefix}{number:06d}"

    def __repr__(self) -> str:
        return f"CountingIds({self._prefix!r}, start={self._next})"
