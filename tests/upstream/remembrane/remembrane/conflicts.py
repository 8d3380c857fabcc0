"""Helpers inside remembrane, and the estimate of tokens."""

from . import estimate_tokens as estimate_tokens
from .absent import absent

knapsack_pack = absent("the solver of a knapsack")
_np = None
