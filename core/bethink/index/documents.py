"""What of a record is indexed: the words the keyword index sees, and the text the embedder sees."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..model.records import MemoryRecord
from ..text import date_words, ends_asking, instructs, telling, tells_time, terms
from .keyword import authored

BRIEF: Final = 30
"""The most words of a question that the next turn answers as a whole."""

ASSISTANT: Final = terms("assistant ai")
"""An author of such a name is an assistant."""

UNASKED: Final = 0.8
"""What a keyword score counts of a text that is not of the kind that a query is after.

That is an assistant's, where nothing speaks to one, or one that tells no time to who asks for one.
"""

STANDING: Final = 0.1
"""How much of what is missing to a full keyword score a standing instruction gets for any score."""


class Document(NamedTuple):
    """A record as the keyword index sees it: its terms, and what its content is.

    ``words`` counts those of the content, ``telling`` the distinct ones that are no stop words. It
    ``asks`` if it is a brief question.
    """

    terms: list[str]
    words: int
    telling: int
    asks: bool
    tells_time: bool
    instructs: bool


def document(record: MemoryRecord) -> Document:
    """Return the terms of date, author and content; those of the author are marked as such.

    The date counts only where it says more than when the record was stored.
    """
    dated = record.occurred_at != record.created_at
    date = date_words(record.occurred_at) if dated else []
    author = [authored(term) for term in terms(record.author)] if record.author else []
    content, said = terms(record.content), _said(record)
    words = len(said.split())
    return Document(
        date + author + content,
        words,
        telling(content if said is record.content else terms(said)),
        words <= BRIEF and ends_asking(said),
        tells_time(content),
        instructs(said),
    )


def _said(record: MemoryRecord) -> str:
    """Return the content without the author's name in front of it, as in "Ann: I moved"."""
    if record.author is None:
        return record.content
    name, colon, said = record.content.partition(": ")
    return said if colon and name == record.author else record.content
