"""The closed classes of English, words that say nothing about the subject of a query.

A change requires a higher ``SEGMENT_FORMAT`` and a new name of ``HashEmbedder``.
"""

from __future__ import annotations

from typing import Final

_WORDS = (
    # The stop list of Lucene.
    "a an and are as at be but by for if in into is it no not of on or such that the their "
    "then there these they this to was will with "
    # Pronouns.
    "i me my mine myself we us our ours ourselves you your yours yourself he him his himself "
    "she her hers herself its itself them theirs themselves those "
    # Auxiliary verbs, and their negations in the tokenizer's spelling.
    "am were been being do does did doing have has had having would could should can may might "
    "must shall arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt shouldnt wasnt "
    "werent wont wouldnt "
    # Question words, quantities and fillers.
    "what which who whom whose when where why how many much "
    "about from so than too very just now"
)
STOP_WORDS: Final = frozenset(_WORDS.split())
