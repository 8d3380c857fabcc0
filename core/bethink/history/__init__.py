"""Time travel: the store as it was at any moment, what changed since, and taking changes back.

A moment is a position in the journal, so no clock decides what came first. A time means the last
entry, in the journal's order, that was made at that time or before: where the clock once stepped
back, everything up to that entry belongs to the moment, even what an earlier clock dated later.
"""

from .differences import Change, Diff, Version, audit, diff
from .fold import Moment
from .moments import Moments, Past, When
from .undo import undo

__all__ = [
    "Change",
    "Diff",
    "Moment",
    "Moments",
    "Past",
    "Version",
    "When",
    "audit",
    "diff",
    "undo",
]
