"""Text into tokens, words and search terms, and facts that a text alone shows.

Saved segments of the index hold terms, counts of words and flags of sentences. A change in the
tokenizer, the stemmer, the stop words, the dates or the sentences therefore requires a higher
``SEGMENT_FORMAT`` in ``model/port.py``. A change of stems or stop words also requires a new name of
``HashEmbedder``, whose vectors files keep. Queries, synonyms and counts of tokens are never saved.
"""

from .dates import MONTHS as MONTHS
from .dates import WEEKDAYS as WEEKDAYS
from .dates import date_words as date_words
from .dates import utc as utc
from .emoji import PICTURES as PICTURES
from .periods import Period as Period
from .periods import asked_periods as asked_periods
from .queries import Query as Query
from .queries import is_english as is_english
from .queries import read_query as read_query
from .sentences import count_content_words as count_content_words
from .sentences import is_instruction as is_instruction
from .sentences import is_question as is_question
from .sentences import mentions_time as mentions_time
from .stemming import stem as stem
from .stemming import uninflect as uninflect
from .synonyms import Synonym as Synonym
from .token_count import estimate_tokens as estimate_tokens
from .token_count import rough_tokens as rough_tokens
from .tokenizer import LATIN_LETTERS as LATIN_LETTERS
from .tokenizer import stems as stems
from .tokenizer import terms as terms
from .tokenizer import words as words
from .word_lists import STOP_WORDS as STOP_WORDS
from .word_lists import read_sections as read_sections
from .word_lists import word_set as word_set
