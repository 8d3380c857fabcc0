"""Stores and forks: no database connection and no held lock ever crosses a fork.

SQLite remembers held locks per process, and a forked child inherits the memory without the locks.
So just before a fork every open store finishes and closes the file; parent and child open the
file again when needed.
"""

from __future__ import annotations

import os
import threading
from typing import Final, Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """An object to be notified of forks."""

    def before_fork(self) -> None:
        """Come to rest and hold still."""

    def after_fork(self, *, in_child: bool) -> None:
        """Continue; a child has no other threads."""


fork_lock: Final = threading.RLock()
"""Held while a store is opened, so that no store is half open, and unknown here, at a fork."""

_known: WeakSet[Forkable] = WeakSet()
_resting: list[Forkable] = []


def watch(forkable: Forkable) -> None:
    """Notify *forkable* of every later fork for life; a fork under way ends first."""
    with fork_lock:
        _known.add(forkable)


def _before() -> None:
    fork_lock.acquire()
    for forkable in list(_known):
        forkable.before_fork()
        _resting.append(forkable)


def _after(*, in_child: bool) -> None:
    while _resting:
        _resting.pop().after_fork(in_child=in_child)
    fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(in_child=False),
        after_in_child=lambda: _after(in_child=True),
    )
