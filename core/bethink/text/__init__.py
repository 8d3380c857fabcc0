"""Text into words and search terms, and what else a text tells by itself."""

from .dates import MONTHS, date_words, utc
from .queries import Query, is_english, read_query
from .sentences import ends_asking, instructs, telling, tells_time
from .stemming import stem
from .stop_words import STOP_WORDS
from .synonyms import Synonym
from .token_count import estimate_tokens, rough_tokens
from .tokenizer import stems, terms, word_set, words

__all__ = [
    "MONTHS",
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
    "stem",
    "stems",
    "telling",
    "tells_time",
    "terms",
    "utc",
    "word_set",
    "words",
]
