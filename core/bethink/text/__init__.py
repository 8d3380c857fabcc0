"""Text into words and search terms, and what else a text tells by itself."""

from .cutting import stems, terms, words
from .dates import date_words, utc
from .kinds import ends_asking, instructs, telling, tells_time
from .queries import Query, is_english, read_query
from .stop_words import STOP_WORDS
from .synonyms import Synonym
from .tokens import estimate_tokens, rough_tokens

__all__ = [
    "STOP_WORDS",
    "Query",
    "Synonym",
    "date_words",
    "ends_asking",
    "estimate_tokens",
    "instructs",
    "is_english",
    "read_query",
    "rough_tokens",
    "stems",
    "telling",
    "tells_time",
    "terms",
    "utc",
    "words",
]
