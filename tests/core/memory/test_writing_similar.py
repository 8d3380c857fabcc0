"""Storing what the store nearly says already: kept, merged or refused, whoever else is writing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import EVERYWHERE, HashEmbedder, MemoryStore, SimilarMemoryError, ValidationError
from bethink.features.duplicates import near_duplicates
from bethink.features.duplicates.similarity import are_interchangeable
from bethink.features.statements import MIN_DUPLICATE_COSINE, parse_record

from ..clock import Clock
from ..storage.processes import forks, together

TEXT = "The kitchen of the office is painted green"


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(clock=clock) as store:
        yield store


def test_by_default_what_is_similar_is_stored_beside_it(store: MemoryStore) -> None:
    store.store(TEXT)
    store.store(TEXT)
    assert store.count() == 2


def test_merging_returns_the_record_that_was_there(store: MemoryStore, clock: Clock) -> None:
    first = store.store(TEXT, tags=["walls"], metadata={"seen": 1}, importance=0.8)
    clock.now += 60
    again = store.store(TEXT + "!", on_similar="merge", tags=["home"], metadata={"seen": 2})
    assert (again.id, again.content, again.importance) == (first.id, TEXT, 0.8)
    assert (again.tags, again.metadata) == (("walls", "home"), {"seen": 2})
    assert (again.access_count, again.last_accessed_at) == (1, clock.now)
    assert store.all() == [again]


@pytest.mark.parametrize("similarity", [0.92, 0.0])
def test_texts_in_other_capitals_both_stay(store: MemoryStore, similarity: float) -> None:
    with MemoryStore() as other:
        for text in ("The wifi password is Sunshine", "The wifi password is sunshine"):
            other.store(text)
            store.store(text, on_similar="merge", similarity=similarity)
        store.merge_from(other)
    store.consolidate(similarity=similarity)
    assert store.count() == 2


def test_merging_is_one_entry_that_can_be_undone(store: MemoryStore) -> None:
    first = store.store(TEXT)
    store.store(TEXT, on_similar="merge", id="new", tags=["home"])
    entry, _ = store.log()
    assert (entry.action, entry.id) == ("merge", first.id)
    assert entry.changes["merged"] == ["new"]
    assert store.undo(entry.seq).tags == ()
    assert store.as_of(1).all() == [first]
    assert store.as_of(2).all()[0].tags == ("home",)


def test_a_fuller_text_takes_the_place_of_the_briefer(store: MemoryStore) -> None:
    first = store.store(TEXT)
    fuller = store.store("The small kitchen of the office is painted green", on_similar="merge")
    assert fuller.id == first.id
    assert fuller.content == "The small kitchen of the office is painted green"
    (hit,) = store.recall("small", mode="keyword")
    assert hit.memory.id == first.id
    assert store.store(TEXT, on_similar="merge").content == fuller.content


def test_a_text_that_stays_keeps_its_vector(store: MemoryStore) -> None:
    store.store(TEXT)
    store.store(TEXT + " now", on_similar="merge")
    (hit,) = store.recall(TEXT, mode="semantic")
    assert hit.explain().signals["vector"] == pytest.approx(1.0)


def test_raising_tells_the_record_and_writes_nothing(store: MemoryStore) -> None:
    first = store.store(TEXT)
    with pytest.raises(SimilarMemoryError) as caught:
        store.store_many(["Something new", TEXT], on_similar="raise")
    assert (caught.value.record, caught.value.similarity) == (first, 1.0)
    assert len(store.log()) == 1
    assert store.store("Something new", on_similar="raise").content == "Something new"


@pytest.mark.parametrize(
    "other",
    [
        "The kitchen of the office is not painted green",
        "The kitchen of the office is painted blue",
        "The 2 kitchens of the office are painted green",
        "The kitchen of the office is painted green on Monday",
    ],
)
def test_what_differs_in_a_detail_is_not_similar(store: MemoryStore, other: str) -> None:
    store.store(TEXT)
    store.store(other, on_similar="raise")
    assert store.count() == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"namespace": "other"},
        {"thread": "t"},
        {"author": "Ann"},
        {"key": "kitchen"},
        {"value": 1},
        {"occurred_at": 5.0},
    ],
)
def test_what_differs_besides_the_words_is_not_similar(
    store: MemoryStore, fields: dict[str, Any]
) -> None:
    store.store(TEXT)
    store.store(TEXT, on_similar="raise", **fields)
    assert store.count(namespace=EVERYWHERE) == 2


@pytest.mark.parametrize("gone", ["forget", "archive", "expire"])
def test_what_is_not_recalled_is_not_similar(store: MemoryStore, clock: Clock, gone: str) -> None:
    first = store.store(TEXT, expires_at=clock.now + 5)
    if gone == "expire":
        clock.now += 10
    else:
        getattr(store, gone)(first.id)
    assert store.store(TEXT, on_similar="merge").id != first.id


def test_the_same_fact_under_its_key_is_merged(store: MemoryStore) -> None:
    first = store.store("Standup is at 9:30", key="standup")
    assert store.store("Standup is at 9:30.", key="standup", on_similar="merge").id == first.id
    later = store.store("Standup is at 10:00", key="standup", on_similar="merge")
    assert store.all() == [later]


def test_what_a_memory_supersedes_is_not_similar_to_it(store: MemoryStore) -> None:
    first, other = store.store_many([TEXT, "The kitchen is green"])
    second = store.store(TEXT, supersedes=first.id, on_similar="raise")
    assert store.all() == [other, second]
    merged = store.store(TEXT, supersedes=other.id, on_similar="merge")
    gone = store.get(other.id)
    assert gone is not None
    assert (merged.id, gone.superseded_by) == (second.id, second.id)


def test_the_memories_of_one_batch_are_compared_with_each_other(store: MemoryStore) -> None:
    one, two, other = store.store_many([TEXT, TEXT + ".", "Something new"], on_similar="merge")
    assert one == two
    assert one.access_count == 1
    assert store.all() == [one, other]


def test_a_refusal_names_the_stored_memory_or_the_two_items_of_the_batch(
    store: MemoryStore,
) -> None:
    items = ["Something new", TEXT, "Something else", f"{TEXT}."]
    with pytest.raises(SimilarMemoryError, match=r"stored: items 1 and 3 say nearly the") as caught:
        store.store_many(items, on_similar="raise")
    assert (caught.value.id, caught.value.items, len(store)) == (None, (1, 3), 0)
    stored = store.store(TEXT)
    with pytest.raises(SimilarMemoryError, match=f"record '{stored.id}' says") as caught:
        store.store_many(items, on_similar="raise")
    assert (caught.value.id, caught.value.items, len(store)) == (stored.id, None, 1)


def test_words_that_the_embedder_does_not_know_are_similar_when_equal(store: MemoryStore) -> None:
    first = store.store("Я живу в Москве")
    assert store.store("Я живу в Москве", on_similar="merge").id == first.id
    assert store.store("Я живу в Киеве", on_similar="merge").id != first.id


def test_signs_without_a_word_are_similar_when_equal(store: MemoryStore) -> None:
    thanks = store.store("👍")
    store.store_many([{"content": "", "value": 1}, "👎"])
    assert store.store("👍", on_similar="merge").id == thanks.id
    assert store.count() == 3


@pytest.mark.parametrize(
    "pattern", ["Ticket {} of the payments team is fixed", "{} likes green tea in the morning"]
)
def test_of_many_texts_of_one_pattern_the_like_is_found(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(near_duplicates, "MAX_CANDIDATES", 2)
    names = [f"Jo{number}hn" if "likes" in pattern else f"8{number}" for number in range(20)]
    stored = store.store_many([pattern.format(name) for name in names])
    merged = [store.store(f"{each.content}!", on_similar="merge").id for each in stored]
    assert merged == [each.id for each in stored]


def test_accesses_that_are_not_written_yet_are_not_lost(store: MemoryStore) -> None:
    first = store.store(TEXT)
    store.touch([first.id, first.id])
    assert store.store(TEXT, on_similar="merge").access_count == 2
    with_snapshot = store.snapshot("written")
    assert store.as_of(with_snapshot.name).all()[0].access_count == 2


@pytest.mark.parametrize(
    ("brief", "full"),
    [
        ("use snake_case", "always use snake_case for Python"),
        ("Use snake_case.", "Please always use snake_case in Python modules"),
        ("Run the linter", "Always run the linter before a push"),
        ("never commit secrets", "Never commit secrets to git"),
        ("Ann likes green tea", "Ann likes green tea with honey in the morning"),
        ("use tabs", "We always use tabs in Go"),
        ("write tests first", "always write tests first for new modules"),
        ("deploys need approval", "All deploys need approval by Ann"),
        ("use UTC", "Use UTC for the 3 time columns"),
        ("Nutzer mag Tee", "Der Nutzer mag Tee am Morgen"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_text_inside_another_is_similar_from_a_lower_threshold(
    store: MemoryStore, brief: str, full: str, turned: bool
) -> None:
    first, second = (full, brief) if turned else (brief, full)
    stored = store.store(first)
    with pytest.raises(SimilarMemoryError) as caught:
        store.store(second, on_similar="raise", similarity=0.3)
    assert caught.value.id == stored.id
    assert 0.3 <= caught.value.similarity < 1
    (merged,) = store.store_many([second], on_similar="merge", similarity=0.3)
    assert (merged.id, merged.content) == (stored.id, full)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use snake_case", "never use snake_case for Python"),
        ("use snake_case", "always use camelCase for Python"),
        ("use two workers", "always use three workers"),
        ("The server is down", "The server is always down"),
        ("Ann likes tea", "Bob likes tea"),
        ("Ann likes tea", "Ann might like tea"),
        ("deploy on Fridays", "we might deploy on Fridays"),
        ("use tabs", "use tabs unless Ann says otherwise"),
        ("Tests pass", "Some tests pass"),
    ],
)
def test_no_threshold_makes_a_difference_in_fact_similar(
    store: MemoryStore, one: str, other: str
) -> None:
    store.store(one)
    store.store(other, on_similar="raise", similarity=0.0)
    assert store.count() == 2


def test_a_higher_threshold_keeps_what_is_only_nearly_equal(store: MemoryStore) -> None:
    fuller = "The small kitchen of the office is painted green"
    store.store(TEXT)
    store.store(fuller, on_similar="raise", similarity=1.0)
    with pytest.raises(SimilarMemoryError):
        store.store(TEXT, on_similar="raise", similarity=1.0)
    assert store.count() == 2


@pytest.mark.parametrize("similarity", [-0.1, 1.1, float("nan"), "0.8", None, True])
def test_a_threshold_is_a_number_from_0_to_1(store: MemoryStore, similarity: Any) -> None:
    for on_similar in ("raise", "merge"):
        with pytest.raises(ValidationError, match="similarity"):
            store.store(TEXT, on_similar=on_similar, similarity=similarity)
    assert store.count() == 0


def test_another_word_for_it_is_refused(store: MemoryStore) -> None:
    with pytest.raises(ValidationError, match="on_similar"):
        store.store(TEXT, on_similar="replace")  # type: ignore[arg-type]
    assert store.count() == 0


WORDS = ["the", "office", "kitchen", "is", "green", "not", "3", "4", "now"]
texts = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join),
    max_size=8,
)


@pytest.mark.slow
@given(texts, st.integers(0, 8))
def test_no_two_records_say_the_same_after_merging(contents: list[str], cut: int) -> None:
    with MemoryStore(embedder=HashEmbedder(64), clock=Clock()) as store:
        store.store_many(contents[:cut], on_similar="merge")
        for content in contents[cut:]:
            store.store(content, on_similar="merge")
        kept = [parse_record(record) for record in store.all()]
        vectors = HashEmbedder(64).embed([each.record.content for each in kept])
        assert not any(
            are_interchangeable(one, other)
            and float(vectors[i] @ vectors[j]) - 1e-6 >= MIN_DUPLICATE_COSINE
            for i, one in enumerate(kept)
            for j, other in enumerate(kept[:i])
        )


@pytest.mark.slow
def test_of_threads_that_say_the_same_one_stores_it(path: Path) -> None:
    with MemoryStore(path, durability="normal") as store:
        start = threading.Barrier(8)

        def remember() -> None:
            start.wait()
            for number in range(5):
                store.store(f"Room {number} is painted green", on_similar="merge")

        threads = [threading.Thread(target=remember) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = store.all()
    assert sorted(each.content for each in found) == [
        f"Room {n} is painted green" for n in range(5)
    ]
    assert [each.access_count for each in found] == [7] * 5


@pytest.mark.slow
@forks
def test_of_processes_that_say_the_same_one_stores_it(path: Path) -> None:
    def remember() -> list[str]:
        with MemoryStore(path, durability="normal") as store:
            texts = [f"Room {number} is painted green" for number in range(5)]
            return [store.store(text, on_similar="merge").id for text in texts]

    told = together([remember] * 4)
    with MemoryStore(path) as store:
        ids = [each.id for each in store.all()]
    assert len(ids) == 5
    assert all(sorted(each) == sorted(ids) for each in told)
