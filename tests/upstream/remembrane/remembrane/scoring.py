"""Helpers inside remembrane."""

from .absent import absent

composite_score = recency_factor = usefulness_factor = absent("the parts of a score")
