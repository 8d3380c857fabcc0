"""A merge of chosen namespaces, with a chosen similarity of near-duplicates."""

from __future__ import annotations

import pytest

from bethink import MemoryStore, ValidationError


def test_only_the_namespaces_asked_for_are_merged() -> None:
    with MemoryStore() as ours, MemoryStore() as theirs:
        for name in ("a", "b", "c"):
            theirs.store(f"a memory of {name}", namespace=name)
        assert ours.merge_from(theirs, namespace=["a", "b"]).added == 2
        assert set(ours.namespaces()) == {"a", "b"}
        assert ours.merge_from(theirs).added == 1


@pytest.mark.parametrize(("similarity", "absorbed"), [(0.5, 1), (0.92, 0)])
def test_the_similarity_of_near_duplicates_can_be_chosen(similarity: float, absorbed: int) -> None:
    with MemoryStore() as ours, MemoryStore() as theirs:
        ours.store("use snake_case")
        theirs.store("always use snake_case for Python")
        assert ours.merge_from(theirs, similarity=similarity).absorbed == absorbed


def test_a_similarity_outside_of_its_range_is_refused() -> None:
    with (
        MemoryStore() as ours,
        MemoryStore() as theirs,
        pytest.raises(ValidationError, match="similarity"),
    ):
        ours.merge_from(theirs, similarity=1.5)
