"""Ids in order of creation: UUID version 7 (RFC 9562) as hex."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable
from typing import Final

from .forks import watch

_TIME: Final = 0xFFFFFFFFFFFF
_MARKS: Final = 7 << 76 | 1 << 63  # version and variant


class IdFactory:
    """Make ids from *clock*; within one millisecond, or after a step back, ids count up."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()
        watch(self)

    def before_fork(self) -> None:
        """Do nothing: a child makes a new lock, since a thread of the parent may hold the old."""

    def after_fork(self, *, in_child: bool) -> None:
        """Continue in a child, with a new lock."""
        if in_child:
            self._lock = threading.Lock()

    def __call__(self) -> str:
        """Return 32 hex digits: 48 bits of milliseconds, a 12-bit counter, 62 random bits."""
        return self.many(1)[0]

    def many(self, count: int) -> list[str]:
        """Return *count* ids, at one reading of the clock."""
        with self._lock:
            first = max(self._last + 1, int(self._clock() * 1000) << 12)
            self._last = first + count - 1
        drawn = struct.unpack(f">{count}Q", os.urandom(8 * count))
        return [
            f"{(stamp >> 12 & _TIME) << 80 | (stamp & 0xFFF) << 64 | random >> 2 | _MARKS:032x}"
            for stamp, random in enumerate(drawn, first)
        ]
