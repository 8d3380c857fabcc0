from __future__ import annotations

import pytest

from bethink import MemoryRecord, MemoryStore
from bethink.index.documents import MAX_QUESTION_WORDS, document
from bethink.index.keyword_scoring import ASSISTANT_TERMS
from bethink.text import terms


def stored(
    content: str, author: str | None = None, occurred_at: float | None = None
) -> MemoryRecord:
    with MemoryStore(clock=lambda: 1.7e9) as store:
        return store.store(content, author=author, occurred_at=occurred_at)


def test_the_author_is_told_from_who_is_spoken_of() -> None:
    assert document(stored("Anna paints", author="Anna Bell")).terms == [
        "@anna",
        "@bell",
        "anna",
        "paint",
    ]


def test_a_date_counts_where_it_was_told() -> None:
    assert document(stored("paint", occurred_at=0.0)).terms == ["1", "januari", "1970", "paint"]
    assert document(stored("paint")).terms == ["paint"]


def test_a_record_without_content_has_no_terms() -> None:
    with MemoryStore(clock=lambda: 1.7e9) as store:
        call = store.store("", value={"call": 1}, author="Anna", occurred_at=0.0)
    assert document(call) == ([], 0, 0, False, False, False)


def test_only_what_the_content_says_tells_time() -> None:
    assert document(stored("painted last Friday")).tells_time
    assert not document(stored("painted", author="May 9", occurred_at=0.0)).tells_time


@pytest.mark.parametrize(
    ("content", "asking"),
    [
        ("which boat?", True),
        ("which boat", False),
        ("boat " * (MAX_QUESTION_WORDS - 1) + "why?", True),
        ("boat " * MAX_QUESTION_WORDS + "why?", False),
    ],
)
def test_a_brief_question_asks(content: str, asking: bool) -> None:
    assert document(stored(content)).is_question is asking


def test_the_words_of_the_content_are_counted() -> None:
    found = document(stored("Anna paints a boat", author="Anna Bell", occurred_at=0.0))
    assert (found.words, found.content_words) == (4, 3)


def test_the_name_of_the_author_in_front_is_not_said() -> None:
    asked, said = "Always paint boats blue?", document(stored("Always paint boats blue?"))
    named = document(stored(f"Anna: {asked}", author="Anna"))
    assert named._replace(terms=said.terms) == said
    other = document(stored(f"Anna: {asked}", author="Bob"))
    assert (other.words, other.content_words, other.is_instruction) == (5, 5, False)


def test_an_assistants_names_are_search_terms() -> None:
    assert terms("assistant ai") == ASSISTANT_TERMS
