"""Consolidating a store: what only repeats is merged, what differs in any detail stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import EVERYWHERE, Consolidated, HashEmbedder, MemoryStore, Subtree, ValidationError
from bethink.features.duplicates import merging
from bethink.features.duplicates.similarity import are_interchangeable, cosine
from bethink.features.statements import MIN_DUPLICATE_COSINE, parse_record

from ....stored import contents
from ...clock import Clock

TEXT = "The kitchen of the office is painted green"
FULLER = "The small kitchen of the office is painted green"
LIMIT = "The limit of the public interface is {} requests per minute for each registered client"


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(clock=clock) as store:
        yield store


def test_of_those_that_repeat_each_other_the_fullest_stays(store: MemoryStore) -> None:
    first, other, fuller, last = store.store_many([TEXT, "Something new", FULLER, TEXT])
    (merged,) = store.consolidate()
    assert store.all() == [other, merged.record]
    assert merged.record.id == fuller.id
    assert merged == Consolidated(merged.record, (first, last))
    assert store.consolidate() == []


def test_what_was_merged_is_told_in_order_of_insertion(store: MemoryStore, clock: Clock) -> None:
    short = store.store("Ann likes tea")
    clock.now += 1
    long = store.store(TEXT)
    store.store_many([short.content, TEXT])
    assert [merged.record.id for merged in store.consolidate()] == [short.id, long.id]


def test_of_equals_the_oldest_stays(store: MemoryStore, clock: Clock) -> None:
    first = store.store(TEXT)
    clock.now += 5
    store.store(TEXT + "!")
    store.consolidate()
    assert [record.id for record in store.all()] == [first.id]


def test_nothing_that_was_earned_or_noted_is_lost(store: MemoryStore) -> None:
    one = store.store(TEXT, importance=0.3, tags=["x"], metadata={"a": 1})
    two = store.store(TEXT, importance=0.9, tags=["y"], metadata={"b": 2})
    store.record_outcome(one.id, "worked")
    store.record_outcome(two.id, "worked")
    store.touch([one.id, two.id, two.id])
    (merged,) = store.consolidate()
    kept = merged.record
    assert (kept.id, kept.importance, kept.outcome, kept.access_count) == (one.id, 0.9, 0.4, 2)
    assert (kept.tags, kept.metadata) == (("x", "y"), {"a": 1, "b": 2})


def test_a_value_is_never_lost(store: MemoryStore) -> None:
    store.store_many([LIMIT.format(100), LIMIT.format(200), LIMIT.format(100)])
    (merged,) = store.consolidate()
    assert len(merged.others) == 1
    assert contents(store, EVERYWHERE) == [LIMIT.format(100), LIMIT.format(200)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The office is closed on Monday", "The office is closed on Tuesday"),
        ("The lease of the office ends in May", "The lease of the office ends in June"),
        ("We deploy on Fridays", "We never deploy on Fridays"),
        ("Ann owes Bob ten euros", "Bob owes Ann ten euros"),
        ("Ticket 811 is fixed", "Ticket 812 is fixed"),
    ],
)
def test_what_differs_in_a_detail_stays(one: str, other: str) -> None:
    near = HashEmbedder(8)
    with MemoryStore(embedder=near) as store:
        store.store_many([one, other])
        assert store.consolidate() == []
        assert contents(store, EVERYWHERE) == [one, other]


@pytest.mark.parametrize(
    "fields",
    [{"thread": "t"}, {"author": "Ann"}, {"key": "k"}, {"value": 1}, {"occurred_at": 5.0}],
)
def test_what_differs_besides_the_words_stays(store: MemoryStore, fields: dict[str, Any]) -> None:
    store.store(TEXT)
    store.store(TEXT, **fields)
    assert store.consolidate() == []


def test_turns_of_a_conversation_stay(store: MemoryStore) -> None:
    store.store_many(["hi", "hi", "hi"], thread="t", author="Ann")
    assert store.consolidate() == []
    assert store.count() == 3


def test_only_what_is_in_the_scope_is_merged(store: MemoryStore) -> None:
    for namespace in ("a", "a/b", "a/b", "c", "c"):
        store.store(TEXT, namespace=namespace, tags=[namespace])
    assert store.consolidate() == []
    assert store.consolidate(namespace="c", where={"tags": {"$contains": "other"}}) == []
    (merged,) = store.consolidate(namespace=Subtree("a"))
    assert merged.record.namespace == "a/b"
    assert len(store.consolidate(namespace=EVERYWHERE)) == 1
    assert store.namespaces() == {"a": 1, "a/b": 1, "c": 1}


def test_a_merged_record_says_by_what_it_was_superseded(store: MemoryStore) -> None:
    first, last = store.store_many([TEXT, TEXT])
    store.consolidate()
    gone = store.get(last.id)
    assert gone is not None
    assert (gone.state, gone.superseded_by) == ("superseded", first.id)
    assert [entry.action for entry in store.log(limit=2)] == ["merge", "supersede"]


def test_consolidating_can_be_undone_and_asked_about(store: MemoryStore) -> None:
    before = store.store_many([TEXT, FULLER, TEXT])
    store.update(before[0].id, tags=["x"])
    before, seq = store.all(), store.log(limit=1)[0].seq
    (merged,) = store.consolidate()
    assert store.as_of(seq).all() == before
    assert merged.record.tags == ("x",)
    store.undo(store.log(limit=1)[0].seq)
    assert [(each.id, each.tags) for each in store.all()] == [
        (each.id, each.tags) for each in before
    ]
    assert len(store.consolidate()) == 1


def test_undoing_brings_back_only_what_was_merged(store: MemoryStore) -> None:
    kept, dropped, _ = store.store_many([TEXT, "The kitchen is blue", TEXT])
    store.resolve(kept.id, dropped.id)
    store.consolidate()
    store.undo(store.log(limit=1)[0].seq)
    assert contents(store, EVERYWHERE) == [TEXT, TEXT]


def test_two_that_nearly_failed_do_not_fail_together(store: MemoryStore) -> None:
    for record in store.store_many([TEXT, TEXT]):
        store.record_outcome(record.id, "failed", session=record.id)
    (merged,) = store.consolidate()
    assert (merged.record.outcome, merged.record.state) == (-0.5, "live")


@pytest.mark.parametrize(("changed", "left"), [(0, []), (2, [1])])
def test_what_changes_meanwhile_is_left_alone(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, changed: int, left: list[int]
) -> None:
    records, grouped = store.store_many([TEXT] * 3), merging._groups

    def grouped_before_a_change(*asked: Any) -> Any:
        found = grouped(*asked)
        store.update(records[changed].id, content="Something new")
        return found

    monkeypatch.setattr(merging, "_groups", grouped_before_a_change)
    merged = store.consolidate()
    assert [other.id for each in merged for other in each.others] == [records[n].id for n in left]
    assert store.count() == 3 - len(left)


def test_a_bad_scope_is_refused(store: MemoryStore) -> None:
    with pytest.raises(ValidationError):
        store.consolidate(namespace=None)  # type: ignore[arg-type]


@pytest.mark.slow
def test_many_copies_are_merged_at_once(store: MemoryStore) -> None:
    store.store_many([TEXT] * 300)
    (merged,) = store.consolidate()
    assert len(merged.others) == 299
    assert store.all() == [merged.record]


WORDS = ["the", "office", "kitchen", "is", "green", "not", "3", "4", "now"]
texts = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join),
    max_size=12,
)


@pytest.mark.slow
@given(texts)
def test_it_merges_what_comparing_all_merges(given_texts: list[str]) -> None:
    embedder = HashEmbedder(16)
    with MemoryStore(embedder=embedder, clock=Clock()) as store:
        records = store.store_many(given_texts)
        vectors = (
            dict(zip((r.id for r in records), embedder.embed(given_texts), strict=True))
            if records
            else {}
        )
        kept: dict[str, list[str]] = {}
        parsed_records = [parse_record(record) for record in records]
        by_id = {each.record.id: each for each in parsed_records}
        for each in sorted(
            parsed_records, key=lambda r: (-len(set(r.features.words)), r.record.id)
        ):
            alike = []
            for id in kept:
                other = by_id[id]
                equal = other.record.content == each.record.content
                near = 1.0 if equal else cosine(vectors[each.record.id], vectors[id])
                if near >= MIN_DUPLICATE_COSINE and are_interchangeable(each, other):
                    alike.append((-near, id))
            kept.setdefault(min(alike)[1] if alike else each.record.id, []).append(each.record.id)
        expected = {id: set(some) - {id} for id, some in kept.items() if len(some) > 1}
        found = store.consolidate()
    assert {m.record.id: {other.id for other in m.others} for m in found} == expected


def test_a_lower_similarity_merges_what_a_longer_memory_contains(store: MemoryStore) -> None:
    store.store("use tabs")
    kept = store.store("always use tabs for Go code")
    assert store.consolidate() == []
    (merged,) = store.consolidate(similarity=0.5)
    assert merged.record.id == kept.id
