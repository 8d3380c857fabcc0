"""Stores and forks: no database connection and no held lock ever crosses one.

SQLite remembers per process which locks it holds, and a forked child inherits the memory without
the locks. So just before a fork every open store finishes what it is doing and lets go of its file;
parent and child open it again when they next need it.
"""

from __future__ import annotations

import os
import threading
from typing import Final, Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What has to be told of a fork."""

    def before_fork(self) -> None:
        """Come to rest and hold still."""

    def after_fork(self, *, in_child: bool) -> None:
        """Go on; a child has none of its parent's other threads."""


opening: Final = threading.RLock()
"""Held while a store is opened, so that none is half open, and unknown here, at a fork."""

_known: WeakSet[Forkable] = WeakSet()
_resting: list[Forkable] = []


def watch(forkable: Forkable) -> None:
    """Tell *forkable* of every fork for as long as it lives; one that is under way ends first."""
    with opening:
        _known.add(forkable)


def _before() -> None:
    opening.acquire()
    for forkable in list(_known):
        forkable.before_fork()
        _resting.append(forkable)


def _after(*, in_child: bool) -> None:
    while _resting:
        _resting.pop().after_fork(in_child=in_child)
    opening.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(in_child=False),
        after_in_child=lambda: _after(in_child=True),
    )
