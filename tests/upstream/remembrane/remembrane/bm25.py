"""Helpers inside remembrane."""

from .absent import absent

bm25_scores = normalized_bm25 = absent("bm25 scores of bare texts")
