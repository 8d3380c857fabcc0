"""Conflicts among the records of a store, and how they are settled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import EVERYWHERE, Conflict, MemoryStore, NotFoundError, Subtree, ValidationError
from bethink.features import statements
from bethink.features.duplicates import similarity
from bethink.features.statements import find_conflict, parse_record

from ...clock import Clock
from ...inside import engine_of
from ...storage.test_growth import count_calls

OFFICE = ("The office is in Lyon", "The office is in Graz")
HALL = ("We painted the hall blue", "We painted the hall green")


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(clock=clock) as store:
        yield store


def told(found: list[Conflict]) -> list[tuple[str, str]]:
    return [(each.older.content, each.newer.content) for each in found]


def test_a_store_tells_its_conflicts_likely_ones_first(store: MemoryStore) -> None:
    store.store_many([*HALL, *OFFICE, "The stairs are made of oak"])
    found = store.conflicts()
    assert told(found) == [OFFICE, HALL]
    assert [each.tier for each in found] == ["likely", "possible"]
    assert all(0.4 < each.similarity < 1 for each in found)
    assert "value lyon / graz" in found[0].describe()


def test_a_log_of_measures_is_no_heap_of_conflicts(store: MemoryStore) -> None:
    weights = [f"Weight {kilos} kg" for kilos in (84, 83, 85, 82)]
    store.store_many([*weights, *OFFICE])
    assert len(store.conflicts()) == 7
    store.store_many(["Weight 81 kg", "Weight 80 kg"])
    found = told(store.conflicts())
    assert sorted(found) == [OFFICE, ("Weight 81 kg", "Weight 80 kg")]


@pytest.mark.parametrize("kilos", [[79, 84, 83, 85, 82, 81, 81], [81, 84, 83, 85, 82, 79, 81]])
def test_the_conflict_of_a_log_is_between_the_newest_different_measures(
    store: MemoryStore, kilos: list[int]
) -> None:
    for day, weight in enumerate(kilos):
        store.store(f"Weight {weight} kg", occurred_at=day)
    (conflict,) = store.conflicts()
    older = [weight for weight in kilos if weight != 81][-1]
    assert told([conflict]) == [(f"Weight {older} kg", "Weight 81 kg")]


def test_the_conflict_of_a_long_log_is_found_whatever_the_order_of_storing(
    store: MemoryStore,
) -> None:
    days = sorted(range(100), key=lambda day: day * 37 % 100)
    store.store_many({"content": f"Weight {day + 50} kg", "occurred_at": day} for day in days)
    assert told(store.conflicts()) == [("Weight 148 kg", "Weight 149 kg")]


def test_things_told_apart_by_a_number_are_no_log_of_measures(store: MemoryStore) -> None:
    store.store_many(f"Server {number} has {8 * number} GB" for number in range(1, 9))
    store.store("Server 4 has 64 GB")
    assert told(store.conflicts()) == [("Server 4 has 32 GB", "Server 4 has 64 GB")]


def test_similarities_are_the_same_however_many_are_reckoned_at_once(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    towns = ("Lyon", "Graz", "Oslo", "Rome", "Bonn")
    store.store_many(f"The office is in {town}" for town in towns)
    found = store.conflicts()
    monkeypatch.setattr(similarity, "_KEPT", 1)
    assert store.conflicts() == found
    monkeypatch.undo()
    monkeypatch.setattr(similarity, "_AT_ONCE", 3)
    assert store.conflicts() == found
    likeness = similarity.similarity_function(engine_of(store), [each.id for each in store.all()])
    assert [each.similarity for each in found] == [
        likeness(each.older.id, each.newer.id) for each in found
    ]


def test_conflicts_can_be_narrowed(store: MemoryStore) -> None:
    store.store_many([*HALL, *OFFICE])
    assert told(store.conflicts(min_tier="likely")) == [OFFICE]
    assert told(store.conflicts(limit=1)) == [OFFICE]
    assert told(store.conflicts(where={"category": "other"})) == []
    assert told(store.conflicts("Where is the office?", k=2)) == [OFFICE]
    assert told(store.conflicts("Which colour has the hall?", k=2)) == [HALL]
    assert store.conflicts("Where is the office?", k=1) == []


@pytest.mark.parametrize("tier", ["likely", "possible"])
def test_a_limit_gives_the_first_of_all_and_ends_the_work(
    tier: Literal["likely", "possible"], store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"The rate limit of {each} is {number}" for each in "ABC" for number in range(6)]
    store.store_many([*texts, "Ann likes tea", "Ann does not like tea", "Ann dislikes tea"])
    judged = count_calls(monkeypatch, statements, "find_conflict")
    everything = store.conflicts(min_tier=tier)
    most = len(judged)
    for limit in range(len(everything) + 2):
        judged.clear()
        assert store.conflicts(min_tier=tier, limit=limit) == everything[:limit]
        assert len(judged) < most or limit > 20


def test_a_query_for_conflicts_is_no_access(store: MemoryStore) -> None:
    store.store_many(OFFICE)
    store.conflicts("Where is the office?")
    assert [each.access_count for each in store.all()] == [0, 0]


def test_records_of_two_namespaces_never_conflict(store: MemoryStore) -> None:
    store.store_many([{"content": text, "namespace": f"a/{n}"} for n, text in enumerate(OFFICE)])
    assert store.conflicts(namespace=EVERYWHERE) == store.conflicts(namespace=Subtree("a")) == []
    store.store(OFFICE[0], namespace="a/1")
    assert told(store.conflicts(namespace=Subtree("a"))) == [OFFICE[::-1]]
    assert store.conflicts(namespace="a/0") == []


@pytest.mark.parametrize("gone", ["forget", "archive", "expire", "supersede"])
def test_only_what_is_recalled_is_in_conflict(store: MemoryStore, clock: Clock, gone: str) -> None:
    _, newer = store.store_many(OFFICE)
    if gone == "expire":
        store.update(newer.id, expires_at=clock.now + 5)
        clock.now += 10
    elif gone == "supersede":
        store.store("The stairs are made of oak", supersedes=newer.id)
    else:
        getattr(store, gone)(newer.id)
    assert store.conflicts() == []


def test_long_statements_that_differ_in_one_number_are_seen(store: MemoryStore) -> None:
    text = "The limit of the public interface is {} requests per minute for each registered client"
    store.store_many([text.format(100), text.format(200)])
    (found,) = store.conflicts()
    assert found.similarity > 0.92
    assert found.signals["number"] == "100 / 200"


WORDS = ["user", "prefers", "tabs", "spaces", "never", "3", "4", "tea", "is", "open", "closed"]
texts = st.lists(
    st.lists(st.sampled_from(WORDS)).map(" ".join).filter(str.strip),
    max_size=10,
)


@pytest.mark.slow
@given(texts)
def test_a_small_store_finds_what_comparing_all_finds(contents: list[str]) -> None:
    with MemoryStore(clock=Clock()) as store:
        records = store.store_many(contents)
        found = {(each.older.id, each.newer.id, each.tier) for each in store.conflicts()}
        pairs = combinations(map(parse_record, records), 2)
        every = [conflict for one, other in pairs if (conflict := find_conflict(one, other))]
    assert found == {(each.older.id, each.newer.id, each.tier) for each in every}


@pytest.mark.slow
def test_the_answer_is_the_same_every_time(store: MemoryStore) -> None:
    store.store_many([f"User prefers theme{number}" for number in range(60)])
    with MemoryStore(clock=Clock()) as other:
        other.store_many([f"User prefers theme{number}" for number in range(60)])
        assert told(store.conflicts()) == told(store.conflicts())
        assert sorted(told(store.conflicts())) == sorted(told(other.conflicts()))


def test_bad_arguments_are_refused(store: MemoryStore) -> None:
    bad: list[dict[str, Any]] = [
        {"min_tier": "sure"},
        {"limit": -1},
        {"namespace": None},
        {"k": -1},
    ]
    for arguments in bad:
        with pytest.raises(ValidationError):
            store.conflicts("office", **arguments)


def test_a_resolved_conflict_does_not_come_up_again(store: MemoryStore) -> None:
    lyon, graz = store.store_many(OFFICE)
    before = store.log(limit=1)[0].seq
    assert store.resolve(graz.id, [lyon.id], "they moved in May") == 1
    assert store.conflicts() == []
    assert [each.content for each in store.all()] == [OFFICE[1]]
    dropped = store.get(lyon.id)
    assert dropped is not None
    assert (dropped.state, dropped.superseded_by) == ("superseded", graz.id)
    assert told(store.conflicts(as_of=before)) == [OFFICE]
    assert told(store.conflicts("Where is the office?", as_of=before)) == [OFFICE]


def test_the_log_has_the_reason(store: MemoryStore) -> None:
    lyon, graz = store.store_many(OFFICE)
    store.resolve(graz.id, lyon.id, "they moved in May")
    (entry,) = store.log(limit=1)
    assert (entry.action, entry.id) == ("resolve", lyon.id)
    assert entry.changes == {
        "state": "superseded",
        "superseded_by": graz.id,
        "reason": "they moved in May",
    }


def test_resolving_can_be_undone(store: MemoryStore) -> None:
    lyon, graz = store.store_many(OFFICE)
    store.resolve(graz.id, lyon.id)
    assert store.undo(store.log(limit=1)[0].seq).id == lyon.id
    assert told(store.conflicts()) == [OFFICE]


def test_several_are_dropped_at_once(store: MemoryStore) -> None:
    kept, *others = store.store_many(
        [f"The office is in {city}" for city in ("Graz", "Lyon", "Oslo")]
    )
    ids = [each.id for each in others]
    assert store.resolve(kept.id, [*ids, *ids]) == 2
    assert store.all() == [kept]
    assert store.resolve(kept.id, []) == 0


def test_nothing_is_dropped_for_itself(store: MemoryStore) -> None:
    lyon, graz = store.store_many(OFFICE)
    with pytest.raises(ValidationError, match="both kept and dropped"):
        store.resolve(lyon.id, [graz.id, lyon.id])
    assert store.count() == 2


def test_what_is_not_there_can_be_neither_kept_nor_dropped(
    store: MemoryStore, clock: Clock
) -> None:
    lyon, graz = store.store_many(OFFICE)
    expiring = store.store("The office is in Oslo", expires_at=clock.now + 1)
    clock.now += 2
    for keep, drop in (("none", lyon.id), (lyon.id, "none"), (expiring.id, lyon.id)):
        with pytest.raises(NotFoundError):
            store.resolve(keep, [graz.id, drop])
    assert store.count() == 2
    store.resolve(lyon.id, graz.id)
    with pytest.raises(NotFoundError, match="live record"):
        store.resolve(lyon.id, graz.id)
