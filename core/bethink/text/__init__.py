"""Text into words and search terms, and what else a text tells by itself."""

from .cutting import stems, terms, words
from .dates import date_words, utc
from .queries import STOP_WORDS, ends_asking, query_terms
from .tokens import estimate_tokens, rough_tokens

__all__ = [
    "STOP_WORDS",
    "date_words",
    "ends_asking",
    "estimate_tokens",
    "query_terms",
    "rough_tokens",
    "stems",
    "terms",
    "utc",
    "words",
]
