"""The way of a read: scope, signals, ranking, exact top k."""

from .question import Mode, Probe, Question
from .search import DIGITS, Hit, Search, Standing

__all__ = ["DIGITS", "Hit", "Mode", "Probe", "Question", "Search", "Standing"]
