"""Each of many new records finds the one that says the same, whatever came to the store since."""

from __future__ import annotations

import pytest

from bethink import (
    HashEmbedder,
    MemoryRecord,
    MemoryStore,
    SimilarMemoryError,
    Subtree,
    ValidationError,
)
from bethink.adapting import find_near_duplicates
from bethink.features.duplicates import near_duplicates
from bethink.features.duplicates.near_duplicates import DuplicateSearch
from bethink.features.statements import parse_record

from ...inside import engine_of

EMBEDDER = HashEmbedder(64)
LONG = "the nightly backup of the billing database runs on the small server in the cellar"


def new(*contents: str) -> list[MemoryRecord]:
    with MemoryStore(embedder=EMBEDDER) as other:
        return other.store_many(contents)


def looked_for(store: MemoryStore, records: list[MemoryRecord]) -> DuplicateSearch:
    vectors = EMBEDDER.embed([record.content for record in records])
    return DuplicateSearch(engine_of(store), records, list(vectors))


def found(store: MemoryStore, nearest: DuplicateSearch, record: MemoryRecord) -> str | None:
    """Return the content of the record that is found for *record*."""
    with engine_of(store).writing() as transaction:
        nearest.begin(transaction)
        pair = nearest.to(transaction, parse_record(record))
    return None if pair is None else pair[1].content


def test_each_finds_its_like() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        texts = [f"{LONG} of {name}" for name in ("Ann", "Ben", "Cleo", "Dan", "Eve")]
        store.store_many(texts)
        store.store(f"{LONG} of Fred", namespace="elsewhere")
        records = new(*(f"{text} now" for text in texts), f"{LONG} of Fred", "a red cat")
        nearest = looked_for(store, records)
        assert [found(store, nearest, record) for record in records] == [*texts, None, None]


def test_the_very_text_comes_before_what_is_nearly_it() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store_many([f"{LONG} now", LONG, f"{LONG} too"])
        (record,) = new(LONG)
        assert found(store, looked_for(store, [record]), record) == LONG


def test_what_has_changed_or_gone_meanwhile_is_not_found() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        gone, changed, valued = store.store_many([LONG, f"{LONG} now", f"{LONG} also"])
        (record,) = new(LONG)
        nearest = looked_for(store, [record])
        store.update(changed.id, content=f"{LONG} of 2 houses")
        store.update(valued.id, value=1)
        assert found(store, nearest, record) == LONG
        store.forget(gone.id)
        assert found(store, nearest, record) is None


def test_what_was_stored_meanwhile_is_found() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        (record,) = new(LONG)
        nearest = looked_for(store, [record])
        store.store(f"{LONG} now")
        assert found(store, nearest, record) == f"{LONG} now"


def test_of_many_that_are_all_near_each_finds_its_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "MAX_CANDIDATES", 2)
    with MemoryStore(embedder=EMBEDDER) as store:
        texts = [f"{LONG} of house {number}" for number in range(20)]
        store.store_many(texts)
        records = new(*(f"{text} now" for text in texts))
        nearest = looked_for(store, records)
        assert [found(store, nearest, record) for record in records] == texts


def test_of_many_that_are_nearer_those_with_the_same_figures_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(near_duplicates, "MAX_CANDIDATES", 2)
    pattern = f"{LONG}, as the team on the second floor says in its report about house {{}}"
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store_many([pattern.format(number) for number in range(20)])
        fuller = store.store(f"{pattern.format(99)} for Ann and Ben").content
        (record,) = new(pattern.format(99))
        assert found(store, looked_for(store, [record]), record) == fuller


TEXTS = [
    "We always use tabs in Go",
    "Use tabs in Go",
    "Use tabs in Go always!",
    "Use 4 tabs in Go",
    "Never use tabs in Go",
    "Use spaces in Python",
]


@pytest.mark.parametrize("least", [0.5, 0.8, 0.92, 1.0])
def test_near_duplicates_are_those_that_a_write_would_find(least: float) -> None:
    """A write in a namespace is refused if and only if a near-duplicate is found there."""
    with MemoryStore(embedder=EMBEDDER) as store:
        for text in TEXTS:
            store.store(text, namespace=f"of/{text}")
        before = store.log(limit=None)
        for text in ("Use tabs in Go", "use tabs", "Use 4 tabs", "..."):
            near = find_near_duplicates(store, text, namespace=Subtree("of"), similarity=least)
            assert store.log(limit=None) == before
            assert [cosine for _, cosine in near] == sorted(
                (each[1] for each in near), reverse=True
            )
            refused = dict[str, float]()
            for other in TEXTS:
                try:
                    made = store.store(
                        text, namespace=f"of/{other}", on_similar="raise", similarity=least
                    )
                    store.erase([made.id])
                except SimilarMemoryError as error:
                    refused[other] = error.similarity
            before = store.log(limit=None)
            assert {record.content: cosine for record, cosine in near} == refused


def test_a_record_is_no_near_duplicate_of_itself() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        one, other, elsewhere = (
            store.store(text, namespace=name)
            for text, name in (("Use tabs", "a"), ("use tabs.", "a"), ("Use tabs", "b"))
        )
        assert find_near_duplicates(store, one, namespace="a") == [(other, 1.0)]
        assert find_near_duplicates(store, one, namespace=("a", "b")) == [
            (elsewhere, 1.0),
            (other, 1.0),
        ]
        store.forget(other.id)
        assert find_near_duplicates(store, one, namespace="a") == []
        found = find_near_duplicates(store, one, namespace=("a", "b"), where={"namespace": "a"})
        assert found == []
        with pytest.raises(ValidationError):
            find_near_duplicates(store, one, namespace="a", similarity=2)
