"""A list of a few scopes is searched in the indexes of the scopes, as if in one index of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bethink import EVERYWHERE, HashEmbedder, MemoryRecord, MemoryStore, Subtree
from bethink.adapting import find_near_duplicates
from bethink.index import keyword
from bethink.index.joined import MAX_JOINED, JoinedIndex
from bethink.index.scope import ScopeIndex
from bethink.model.filters import Compare
from bethink.model.namespaces import Scope
from bethink.model.port import EMBEDDED, IndexData, Row

from .shelf import Shelf

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


def row(number: int, namespace: str) -> Row:
    text, author = TEXTS[number % len(TEXTS)], ("Ann", "Bob", "assistant")[number % 3]
    record = MemoryRecord(
        str(number), namespace, text, 1.0, 1.0, 1.0, thread=namespace, author=author
    )
    return Row(number, number, record, {EMBEDDED: np.array([1, number], dtype=np.float32)})


# The largest part comes first, so that positions are those of one index of all rows.
SIZES = {"a": 30, "b": 8, "c": 4, "d": 1}
ROWS = list(map(row, count(1), (name for name, size in SIZES.items() for _ in range(size))))
PLACES = np.array([42, 0, 34, 29, 30])  # of all parts but one


@pytest.fixture
def shelves() -> dict[str, Shelf]:
    return {
        name: Shelf([each for each in ROWS if each.record.namespace == name], name)
        for name in "cadb"
    }


@pytest.fixture
def joined(shelves: dict[str, Shelf]) -> JoinedIndex:
    return JoinedIndex(map(loaded, shelves.values()))


@pytest.fixture
def whole() -> ScopeIndex:
    return loaded(Shelf(ROWS, EVERYWHERE))


def loaded(shelf: Shelf) -> ScopeIndex:
    return ScopeIndex.of(shelf, 2, IndexData(0, (), {}, tuple(shelf.rows.values()), ()))


def test_positions_follow_each_other(joined: JoinedIndex) -> None:
    assert joined.positions([43, 1, 99, 31, 42]).tolist() == [42, 0, -1, 30, 41]


@pytest.mark.parametrize("name", ["row", "length", "before", "after", "thread"])
def test_columns_follow_each_other(joined: JoinedIndex, whole: ScopeIndex, name: str) -> None:
    assert joined.columns[name].tolist() == whole.columns[name].tolist()


def test_records_and_vectors_are_those_of_the_positions(
    joined: JoinedIndex, whole: ScopeIndex
) -> None:
    assert joined.accessed(PLACES) == whole.accessed(PLACES)
    assert np.array_equal(joined.directions(EMBEDDED, PLACES), whole.directions(EMBEDDED, PLACES))


def test_positions_of_scopes_and_filters_are_those_of_all(
    joined: JoinedIndex, whole: ScopeIndex
) -> None:
    scope: Scope = ("b", Subtree("c"))
    assert joined.within(scope, PLACES).tolist() == whole.within(scope, PLACES).tolist()
    of_ann = Compare(("author",), "$eq", "Ann")
    assert joined.passing(of_ann).tolist() == whole.passing(of_ann).tolist()


def test_words_and_authors_are_found_at_the_positions_of_all(
    joined: JoinedIndex, whole: ScopeIndex
) -> None:
    terms = ["cat", "garden"]
    assert sorted(joined.keyword.with_all(terms)) == sorted(whole.keyword.with_all(terms)) != []
    for name in ("bob", "nobody"):
        found = joined.keyword.by_authors([name])
        assert sorted(found) == sorted(whole.keyword.by_authors([name]))
    assert joined.keyword.starting_with("ga") == whole.keyword.starting_with("ga") != []


@pytest.mark.parametrize("among", [None, PLACES, np.array([38]), PLACES[:0]])
def test_a_scan_compares_the_positions_asked_for(
    joined: JoinedIndex, whole: ScopeIndex, among: Any
) -> None:
    query = np.array([0.6, 0.8])
    found, expected = (
        index.vector_column(EMBEDDED, 2).scan(query, among) for index in (joined, whole)
    )
    wanted = slice(None) if among is None else among
    assert np.allclose(found.raw[wanted] * found.unit, expected.raw[wanted] * expected.unit)


def test_a_write_to_any_scope_overtakes_the_reads(
    joined: JoinedIndex, shelves: dict[str, Shelf]
) -> None:
    for again in (False, True):
        joined.reader.start(again=again)
        assert not joined.reader.overtaken
        shelves["c"].overtaken = True
        assert joined.reader.overtaken
