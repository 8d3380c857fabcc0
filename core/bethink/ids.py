"""Ids that sort by creation: UUID version 7 (RFC 9562) as hex."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from .forks import watch


class IdFactory:
    """Make ids from *clock*.

    Within one millisecond, or when the clock steps back, they count up.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()
        watch(self)

    def before_fork(self) -> None:
        """Do nothing: a lock held by another thread never opens in a child, which gets its own."""

    def after_fork(self, *, in_child: bool) -> None:
        """Go on, in a child with a lock of its own."""
        if in_child:
            self._lock = threading.Lock()

    def __call__(self) -> str:
        """Return 32 hex digits: 48 bits of milliseconds, a 12-bit counter, 62 random bits."""
        with self._lock:
            self._last = max(self._last + 1, int(self._clock() * 1000) << 12)
            stamp = self._last
        time, counter = stamp >> 12 & 0xFFFFFFFFFFFF, stamp & 0xFFF
        random = int.from_bytes(os.urandom(8), "big") >> 2
        return f"{time << 80 | (0x7000 | counter) << 64 | 0x8000000000000000 | random:032x}"
