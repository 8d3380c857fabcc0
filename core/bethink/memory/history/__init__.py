"""Time travel: the store at any moment, and the differences between two moments.

A moment is a position in the journal, so no clock decides the order. A time means the last entry,
in the journal's order, made by then. Where the clock once stepped back, every entry before belongs
to the moment, even an entry with a later date.
"""

from .diff import Change, Diff, Version, audit, diff
from .moments import Moments, When

__all__ = ["Change", "Diff", "Moments", "Version", "When", "audit", "diff"]
