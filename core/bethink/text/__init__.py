"""Text into tokens, words and search terms, and facts that a text alone shows.

Saved segments of the index hold terms, counts of words and flags of sentences. A change in the
tokenizer, the stemmer, the stop words, the dates or the sentences therefore requires a higher
``SEGMENT_FORMAT`` in ``model/port.py``. A change of stems or stop words also requires a new name of
``HashEmbedder``, whose vectors files keep. Queries, synonyms and counts of tokens are never saved.
"""

from .dates import MONTHS, date_words, utc
from .queries import Query, is_english, read_query
from .sections import read_sections
from .sentences import count_content_words, is_instruction, is_question, mentions_time
from .stemming import stem, uninflect
from .stop_words import STOP_WORDS
from .synonyms import Synonym
from .token_count import estimate_tokens, rough_tokens
from .tokenizer import stems, terms, word_set, words

__all__ = [
    "MONTHS",
    "STOP_WORDS",
    "Query",
    "Synonym",
    "count_content_words",
    "date_words",
    "estimate_tokens",
    "is_english",
    "is_instruction",
    "is_question",
    "mentions_time",
    "read_query",
    "read_sections",
    "rough_tokens",
    "stem",
    "stems",
    "terms",
    "uninflect",
    "utc",
    "word_set",
    "words",
]
