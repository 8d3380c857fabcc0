"""A list of a few scopes is searched in the indexes of the scopes, as if in one index of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bethink import HashEmbedder, MemoryStore, Subtree
from bethink.adapting import find_near_duplicates
from bethink.index import MAX_JOINED, keyword

SCOPE: list[str | Subtree] = ["ann", Subtree("shared"), "shared/rules", "new"]
QUERIES = (
    "cat",
    "What did Ann say about the cats?",
    "the garden of Bob",
    "gatos del jardín",
    "yes",
    "cat in May 2024",
    "",
)
TEXTS = (
    "The cat sleeps in the garden",
    "Yes, that one!",
    "Which cat do you mean?",
    "Ann: the black one in the garden of Bob",
    "Los gatos duermen en el jardín",
    "Always answer in French",
    "Bob bought two cats in May",
)
NAMES = ("ann", "shared", "shared/rules", "shared/a/b", "bob")
memories = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.sampled_from(TEXTS),
            "namespace": st.sampled_from(NAMES),
            "thread": st.sampled_from([None, "t", "u"]),
            "author": st.sampled_from([None, "Ann", "Bob", "assistant"]),
            "occurred_at": st.sampled_from([1.6e9, 1.715e9, 1.75e9]),
            "metadata": st.sampled_from([{}, {"lang": "es"}]),
            "expires_at": st.sampled_from([None, 1.7e9]),
        }
    ),
    min_size=1,
    max_size=24,
)


OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"where": {"metadata.lang": "es"}},
    {"mode": "keyword"},
    {"mode": "semantic"},
    {"as_of": 1},
)


def filled(given: Sequence[dict[str, Any]]) -> MemoryStore:
    ids = map(str, count())
    store = MemoryStore(embedder=HashEmbedder(16), clock=lambda: 1.76e9, new_id=lambda: next(ids))
    for each in given:
        store.store(**each)
    return store


def answer(store: MemoryStore, query: str, scope: Any, **options: Any) -> list[Any]:
    hits = store.recall(query, namespace=scope, **options)
    return [(hit.memory, hit.score, hit.explanation.contributions) for hit in hits]


@given(memories, st.integers(1, 30), st.sampled_from(QUERIES), st.sampled_from(OPTIONS))
@example(
    [{"content": text, "namespace": name, "thread": "t"} for name in NAMES for text in TEXTS],
    9,
    "cat",
    {},
)
def test_answers_are_those_of_one_index_of_all(
    given: list[dict[str, Any]], k: int, query: str, options: dict[str, Any]
) -> None:
    longer = [*SCOPE, *map(str, range(MAX_JOINED))]
    with pytest.MonkeyPatch.context() as patch, filled(given) as store:
        patch.setattr(keyword, "BLOCK_DOCUMENTS", 4)
        found, expected = (
            answer(store, query, scope, k=k, touch=False, **options) for scope in (SCOPE, longer)
        )
    assert found == expected


def test_near_duplicates_are_those_of_one_index_of_all() -> None:
    given = [{"content": text, "namespace": name} for name in NAMES for text in TEXTS]
    longer = [*SCOPE, *map(str, range(MAX_JOINED))]
    with filled(given) as store:
        for text in (*TEXTS, "!?"):
            found, expected = (
                find_near_duplicates(store, text, namespace=scope) for scope in (SCOPE, longer)
            )
            assert found == expected
            assert len(found) == 4 * (text in TEXTS)


@pytest.mark.parametrize("id", ["0", "1", "9"])
def test_the_reason_is_that_of_one_index_of_all(id: str) -> None:
    given = [{"content": text, "namespace": name} for name in NAMES for text in TEXTS]
    with filled(given) as store:
        longer = [*SCOPE, *map(str, range(MAX_JOINED))]
        why, expected = (
            store.why_not("cats of Bob", id, namespace=scope) for scope in (SCOPE, longer)
        )
        assert why == expected


def test_short_lists_share_the_index_of_a_namespace() -> None:
    given = [{"content": f"Cat {number}", "namespace": "shared"} for number in range(300)]
    longer = list(map(str, range(MAX_JOINED)))
    with filled([*given, {"content": "A cat", "namespace": "ann"}]) as store:
        store.recall("cat", namespace="shared", touch=False)
        alone = store.stats().resident_bytes
        for number in range(9):
            store.recall("cat", namespace=["ann", "shared", f"of/{number}"], touch=False)
        assert alone < store.stats().resident_bytes < 3 * alone
        for number in range(9):
            store.recall("cat", namespace=["shared", f"of/{number}", *longer], touch=False)
        assert store.stats().resident_bytes > 9 * alone
