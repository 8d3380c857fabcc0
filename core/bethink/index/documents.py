"""The indexed form of a record: the terms for the keyword index, and facts about the content."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..model.records import MemoryRecord
from ..text import (
    count_content_words,
    date_words,
    is_instruction,
    is_question,
    mentions_time,
    terms,
)
from .keyword import author_term

MAX_QUESTION_WORDS: Final = 30
"""The most words of a question that the next turn answers as a whole."""


class Document(NamedTuple):
    """A record as the keyword index sees the record: terms, and facts about the content.

    ``words`` counts the words of the content, ``content_words`` the distinct words that are no stop
    words. ``is_question`` marks a brief question.
    """

    terms: list[str]
    words: int
    content_words: int
    is_question: bool
    tells_time: bool
    is_instruction: bool


def document(record: MemoryRecord) -> Document:
    """Return the terms of date, author and content; terms of the author are marked.

    The date counts only if it differs from the time of storing. A record without content has no
    terms, not even of date and author.
    """
    if not record.content:
        return Document([], 0, 0, False, False, False)
    dated = record.occurred_at != record.created_at
    date = date_words(record.occurred_at) if dated else []
    author = [author_term(term) for term in terms(record.author)] if record.author else []
    content, said = terms(record.content), _said(record)
    words = len(said.split())
    return Document(
        date + author + content,
        words,
        count_content_words(content if said is record.content else terms(said)),
        words <= MAX_QUESTION_WORDS and is_question(said),
        mentions_time(content),
        is_instruction(said),
    )


def _said(record: MemoryRecord) -> str:
    """Return the content without a leading author's name, as in "Ann: I moved"."""
    if record.author is None:
        return record.content
    name, colon, said = record.content.partition(": ")
    return said if colon and name == record.author else record.content
