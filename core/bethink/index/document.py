"""What of a record is indexed: the words the keyword index sees, and the text the embedder sees."""

from __future__ import annotations

from typing import Final

from ..records import MemoryRecord
from ..text import date_words, ends_asking, terms
from .keyword import authored

BRIEF: Final = 30
"""The most words of a question that the next turn answers as a whole."""

ASSISTANT: Final = terms("assistant ai")
"""An author of such a name is an assistant."""

REPLY: Final = 0.85
"""What an assistant's words count for a query that is not after them."""


def record_terms(record: MemoryRecord) -> list[str]:
    """Return the terms of date, author and content; those of the author are marked as such.

    The date counts only where it says more than when the record was stored.
    """
    dated = record.occurred_at != record.created_at
    date = date_words(record.occurred_at) if dated else []
    author = [authored(term) for term in terms(record.author or "")]
    return date + author + terms(record.content)


def asks(record: MemoryRecord) -> bool:
    """Tell whether *record* is a brief question."""
    return ends_asking(record.content) and len(record.content.split()) <= BRIEF


def embedded_text(record: MemoryRecord) -> str:
    """Return "author: content"."""
    return f"{record.author}: {record.content}" if record.author else record.content
