"""What a store promises of outcomes, each promise in one short test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bethink import MemoryStore, RateLimitError
from bethink.testing import FrozenClock

from ...stored import outcome

DAY = 86_400.0


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def store(clock: FrozenClock) -> Iterator[MemoryStore]:
    with MemoryStore(clock=clock) as store:
        yield store


@pytest.mark.slow
def test_outcome_learning_raises_lowers_more_and_stays_bounded(store: MemoryStore) -> None:
    good, bad, mixed = (record.id for record in store.store_many(["a cat"] * 3))
    store.record_outcome(good, "worked")
    store.record_outcome(bad, "failed")
    store.record_outcome(mixed, "partial")
    assert [outcome(store, id) for id in (good, bad, mixed)] == [0.2, -0.3, 0.05]
    assert [hit.memory.id for hit in store.recall("cat")] == [good, mixed, bad]
    for number in range(100):
        store.record_outcome(good, "worked")
        store.record_outcome(bad, "failed", session=f"s{number}")
    assert (outcome(store, good), outcome(store, bad)) == (1.0, -1.0)
    assert [hit.memory.id for hit in store.recall("cat")] == [good, mixed]


def test_two_failures_archive_until_they_are_forgotten(
    store: MemoryStore, clock: FrozenClock
) -> None:
    record = store.store("restart the server with kill")
    for _ in range(2):
        store.record_outcome(record.id, "failed")
    assert (store.recall("restart the server"), store.all()) == ([], [])
    assert store.why_not(record.id, "restart the server").reason == "archived"
    clock.advance(30 * DAY)
    assert store.drift() == 1
    assert [hit.memory.id for hit in store.recall("restart the server")] == [record.id]


def test_outcomes_drift_to_neutral_after_thirty_days_unused(
    store: MemoryStore, clock: FrozenClock
) -> None:
    used, unused = (record.id for record in store.store_many(["a red cat", "an invoice"]))
    store.mark_useful([used, unused])
    clock.advance(20 * DAY)
    store.recall("red cat")
    clock.advance(20 * DAY)
    store.drift()
    assert (outcome(store, used), outcome(store, unused)) == (0.1, 0.0)
    clock.advance(20 * DAY)
    store.drift()
    assert outcome(store, used) == 0.0


def test_the_fourth_failure_of_a_session_within_an_hour_is_refused(
    store: MemoryStore, clock: FrozenClock
) -> None:
    record = store.store("a cat")
    for _ in range(3):
        store.record_outcome(record.id, "failed", session="s1")
    entries = store.log()
    with pytest.raises(RateLimitError, match="try again in 3600 s"):
        store.record_outcome(record.id, "failed", session="s1")
    assert store.log() == entries
    store.record_outcome(record.id, "failed", session="s2")
    for _ in range(9):
        store.record_outcome(record.id, "worked", session="s1")
    clock.advance(3_600)
    store.record_outcome(record.id, "failed", session="s1")
