"""Time travel: the store as it was at any moment, and what changed between two moments.

A moment is a position in the journal, so no clock decides what came first. A time means the last
entry, in the journal's order, that was made at that time or before: where the clock once stepped
back, everything up to that entry belongs to the moment, even what an earlier clock dated later.
"""

from .diff import Change, Diff, Version, audit, diff
from .moments import Moments, When

__all__ = ["Change", "Diff", "Moments", "Version", "When", "audit", "diff"]
