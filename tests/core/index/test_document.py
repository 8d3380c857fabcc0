from __future__ import annotations

import pytest

from bethink import MemoryRecord, MemoryStore
from bethink.index.document import BRIEF, asks, record_terms


def stored(
    content: str, author: str | None = None, occurred_at: float | None = None
) -> MemoryRecord:
    with MemoryStore(clock=lambda: 1.7e9) as store:
        return store.store(content, author=author, occurred_at=occurred_at)


def test_the_author_is_told_from_who_is_spoken_of() -> None:
    assert record_terms(stored("Anna paints", author="Anna Bell")) == [
        "@anna",
        "@bell",
        "anna",
        "paint",
    ]


def test_a_date_counts_where_it_was_told() -> None:
    assert record_terms(stored("paint", occurred_at=0.0)) == ["1", "januari", "1970", "paint"]
    assert record_terms(stored("paint")) == ["paint"]


@pytest.mark.parametrize(
    ("content", "asking"),
    [
        ("which boat?", True),
        ("which boat", False),
        ("boat " * (BRIEF - 1) + "why?", True),
        ("boat " * BRIEF + "why?", False),
    ],
)
def test_a_brief_question_asks(content: str, asking: bool) -> None:
    assert asks(stored(content)) is asking
