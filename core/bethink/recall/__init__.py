"""The way of a read: scope, signals, ranking, exact top k."""

from .question import Mode, Probe, Question
from .search import DIGITS, Found, Search, Standing

__all__ = ["DIGITS", "Found", "Mode", "Probe", "Question", "Search", "Standing"]
