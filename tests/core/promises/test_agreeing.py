"""What a store promises of repetitions and contradictions, each promise in one short test."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from bethink import MemoryStore, SimilarMemoryError, ValidationError
from bethink.features import statements
from bethink.features.duplicates import similarity

from ...stored import contents

LIMIT = "The limit of the public interface is {} requests per minute for each registered client"
KITCHEN = "The kitchen of the office is painted green"


def test_a_restatement_is_offered_for_merging_and_another_value_never(store: MemoryStore) -> None:
    record = store.store(KITCHEN, tags=["x"])
    with pytest.raises(SimilarMemoryError) as caught:
        store.store(KITCHEN + "!", on_similar="raise")
    assert (caught.value.id, caught.value.similarity > 0.92) == (record.id, True)
    merged = store.store(KITCHEN + "!", on_similar="merge", tags=["y"], importance=0.9)
    assert (merged.id, merged.tags, merged.importance) == (record.id, ("x", "y"), 0.9)
    for on_similar in ("merge", "raise"):
        store.store(KITCHEN.replace("green", "blue"), on_similar=on_similar, key=on_similar)
    store.store_many([LIMIT.format(number) for number in (100, 200)], on_similar="merge")
    assert len(contents(store)) == 5


def test_consolidating_loses_nothing(store: MemoryStore) -> None:
    one, other = store.store_many([KITCHEN, KITCHEN + "."], metadata={"a": 1})
    store.store_many([LIMIT.format(number) for number in (100, 200)])
    store.record_outcome(one.id, "worked")
    store.record_outcome(other.id, "partial")
    store.touch([one.id, other.id])
    (merged,) = store.consolidate()
    assert (merged.record.outcome, merged.record.access_count) == (0.25, 2)
    assert contents(store) == [KITCHEN, LIMIT.format(100), LIMIT.format(200)]
    assert store.undo(store.log(limit=1)[0].seq).outcome == 0.2
    assert len(contents(store)) == 4


def test_a_conversation_keeps_its_repeated_turns(store: MemoryStore) -> None:
    store.store_many(["hi", "hello", "hi", "bye"], thread="s1")
    assert store.consolidate() == []
    assert len(contents(store)) == 4


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user lives in London", "The user lives in Paris"),
        ("Tokens expire after 30 days", "Tokens expire after 90 days"),
        ("We deploy on Fridays", "We never deploy on Fridays"),
        (LIMIT.format(100), LIMIT.format(200)),
    ],
)
def test_conflicts_are_told_in_tiers(store: MemoryStore, older: str, newer: str) -> None:
    store.store_many([older, "The invoice run starts on the first Monday", newer])
    (conflict,) = store.conflicts()
    assert (conflict.older.content, conflict.newer.content) == (older, newer)
    assert conflict.tier == "likely"
    assert store.conflicts(min_tier="likely") == [conflict]


def test_resolving_is_journaled_and_keeps_the_kept(store: MemoryStore) -> None:
    kept, dropped = store.store_many(["The user lives in Paris", "The user lives in London"])
    for drop in (kept.id, [dropped.id, kept.id]):
        with pytest.raises(ValidationError):
            store.resolve(kept.id, drop)
    assert store.resolve(kept.id, dropped.id, reason="moved in May") == 1
    entry = store.log(limit=1)[0]
    assert (entry.action, entry.id, entry.changes["reason"]) == (
        "resolve",
        dropped.id,
        "moved in May",
    )
    assert contents(store) == [kept.content]
    assert store.conflicts() == []
    store.undo(entry.seq)
    assert len(store.conflicts()) == 1


THINGS = ["kitchen", "garage", "library", "cellar", "garden", "attic", "stable", "tower", "gate"]
PLACES = ["school", "castle", "farm", "hotel", "museum", "church", "harbour", "station", "mill"]
STATES = ["open", "closed", "painted", "cleaned", "heated", "locked", "rented", "empty", "full"]
OWNERS = ["Ann", "Bob", "Cleo"]
MANY = [
    f"The {thing} of the {place} of {owner} is {state}"
    for thing, place, state, owner in product(THINGS, PLACES, STATES, OWNERS)
]
"""Texts of which each shares words with every other."""


def counted(patch: pytest.MonkeyPatch, module: object, name: str) -> list[object]:
    """Return a list that grows with every call of the function called *name*."""
    calls: list[object] = []
    called: Callable[..., Any] = getattr(module, name)

    def counting(*args: Any) -> Any:
        calls.append(args)
        return called(*args)

    patch.setattr(module, name, counting)
    return calls


@pytest.mark.slow
def test_the_conflicts_of_thousands_are_found_without_comparing_all_with_all(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.store_many([*MANY, "The invoices go to Zoe", "The invoices never go to Zoe"])
    compared = counted(monkeypatch, statements, "find_conflict")
    found = {(each.older.content, each.newer.content) for each in store.conflicts()}
    assert ("The invoices go to Zoe", "The invoices never go to Zoe") in found
    assert len(compared) <= 32 * store.count()


@pytest.mark.slow
def test_thousands_are_consolidated_without_comparing_all_with_all(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.store_many([*MANY, *MANY[:100]])
    compared = counted(monkeypatch, similarity, "are_interchangeable")
    merged = store.consolidate()
    assert len(merged) == 100
    assert len(compared) <= 2 * len(MANY)
