"""The closed classes of English that say nothing about what a query is after."""

from __future__ import annotations

from typing import Final

_LUCENE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)
_PRONOUNS = (
    "i me my mine myself we us our ours ourselves you your yours yourself he him his himself she "
    "her hers herself its itself them theirs themselves those"
)
_AUXILIARIES = (
    "am were been being do does did doing have has had having would could should can may might "
    "must shall"
)
_NEGATIONS = (
    "arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt shouldnt wasnt werent wont "
    "wouldnt"
)
_QUESTION_WORDS = "what which who whom whose when where why how"
_QUANTIFIERS = "many much"
_FILLERS = "about from so than too very just now"
STOP_WORDS: Final = frozenset(
    " ".join(
        (_LUCENE, _PRONOUNS, _AUXILIARIES, _NEGATIONS, _QUESTION_WORDS, _QUANTIFIERS, _FILLERS)
    ).split()
)
"""English words left out of queries."""
