"""One record takes in another: nothing that either had is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import MemoryRecord
from bethink.features.duplicates.merging import combine


def record(content: str = "The office is in Lyon", at: float = 10.0, **fields: Any) -> MemoryRecord:
    times = {"created_at": at, "occurred_at": at, "updated_at": at}
    return MemoryRecord(**{"id": "a", "namespace": "default", "content": content} | times | fields)


def test_the_highest_and_the_sum_of_both_are_kept() -> None:
    kept = record(importance=0.4, confidence=0.9, access_count=2, tags=("x", "y"), outcome=0.25)
    other = record(importance=0.7, confidence=0.5, access_count=3, tags=("y", "z"), outcome=0.5)
    after = combine(kept, other)
    assert (after.importance, after.confidence, after.access_count) == (0.7, 0.9, 5)
    assert (after.tags, after.outcome) == (("x", "y", "z"), 0.75)


def test_the_later_of_two_metadata_counts() -> None:
    kept = record(metadata={"seen": 1, "by": "Ann"})
    other = record(at=20.0, metadata={"seen": 2, "in": "chat"})
    assert combine(kept, other).metadata == {"seen": 2, "by": "Ann", "in": "chat"}
    assert combine(other, kept).metadata == {"seen": 2, "by": "Ann", "in": "chat"}


def test_what_a_record_lacks_it_takes() -> None:
    other = record(category="place")
    assert combine(record(), other).category == "place"
    assert combine(record(category="fact"), other).category == "fact"


@pytest.mark.parametrize(
    ("one", "other", "expected"), [(None, 50.0, None), (50.0, None, None), (50.0, 70.0, 70.0)]
)
def test_it_expires_when_the_last_of_them_would(
    one: float | None, other: float | None, expected: float | None
) -> None:
    assert combine(record(expires_at=one), record(expires_at=other)).expires_at == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"), [(None, None, None), (None, 5.0, 5.0), (7.0, 5.0, 7.0)]
)
def test_it_was_accessed_when_either_was(
    one: float | None, other: float | None, expected: float | None
) -> None:
    after = combine(record(last_accessed_at=one), record(last_accessed_at=other))
    assert after.last_accessed_at == expected


def test_what_happened_happened_when_it_was_last_told_to() -> None:
    assert combine(record(), record(at=20.0)).occurred_at == 10.0
    dated = record(occurred_at=3.0), record(at=20.0, occurred_at=4.0)
    assert combine(*dated).occurred_at == 4.0


@pytest.mark.parametrize(
    ("kept", "other", "expected"),
    [
        ("The kitchen is green", "The big kitchen is green", "The big kitchen is green"),
        ("The big kitchen is green", "The kitchen is green", "The big kitchen is green"),
        ("The kitchen is green", "The kitchen is green!", "The kitchen is green"),
    ],
)
def test_the_fuller_text_stays(kept: str, other: str, expected: str) -> None:
    assert combine(record(kept), record(other)).content == expected


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_what_two_earned_together_never_archives(one: float, other: float) -> None:
    after = combine(record(outcome=max(one, -0.5)), record(outcome=max(other, -0.5)))
    assert -0.5 <= after.outcome <= 1
