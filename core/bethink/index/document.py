"""What of a record is indexed: the words the keyword index sees, and the text the embedder sees."""

from __future__ import annotations

from ..records import MemoryRecord
from ..text import date_words, terms


def record_terms(record: MemoryRecord) -> list[str]:
    """Return the terms of "date author: content".

    The date counts only where it says more than when the record was stored.
    """
    found = terms(f"{record.author}: {record.content}" if record.author else record.content)
    return (
        found if record.occurred_at == record.created_at else date_words(record.occurred_at) + found
    )


def embedded_text(record: MemoryRecord) -> str:
    """Return "author: content"."""
    return f"{record.author}: {record.content}" if record.author else record.content
