"""What memories earn by helping or failing, how they lose it, and who may say so how often."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import (
    EVERYWHERE,
    FiveSignal,
    HashEmbedder,
    MemoryRecord,
    MemoryStore,
    NotFoundError,
    RateLimitError,
    ValidationError,
)
from bethink.features.outcomes import DRIFT_AFTER_SECONDS, HOUR, VERDICTS
from bethink.memory.ranking import DAY

from ...stored import outcome
from ..clock import Clock
from ..storage.processes import forks, together
from ..storage.replay import replayed, table, unverified

START = 1.7e9


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with opened(":memory:", clock) as store:
        yield store


def opened(path: Path | str, clock: Callable[[], float]) -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(16), durability="normal", clock=clock)


def remembered(store: MemoryStore, content: str = "retry the upload with a token") -> str:
    return store.store(content).id


def state(store: MemoryStore, id: str) -> str:
    record = store.get(id)
    assert record is not None
    return record.state


def fail(store: MemoryStore, id: str, times: int = 1) -> MemoryRecord:
    """Report failures from as many sessions."""
    for number in range(times):
        record = store.record_outcome(id, "failed", session=f"s{number}")
    return record


def assert_told(store: MemoryStore) -> None:
    """Check that what the journal tells, who judged aside, leads to what is stored."""
    entries = store.log(limit=None)[::-1]
    told = [
        replace(entry, changes={k: v for k, v in entry.changes.items() if k != "session"})
        for entry in entries
    ]
    assert replayed(told) == table(store)


# Verdicts


def test_working_raises_failing_lowers_more_and_a_part_counts_a_little(store: MemoryStore) -> None:
    id = remembered(store)
    found = [store.record_outcome(id, verdict).outcome for verdict in VERDICTS]
    assert VERDICTS == ("worked", "failed", "partial")
    assert found == [0.2, -0.1, -0.05]
    assert outcome(store, id) == -0.05


def test_an_outcome_stays_within_its_range(store: MemoryStore) -> None:
    good, bad = remembered(store), remembered(store, "never retry")
    for _ in range(7):
        store.record_outcome(good, "worked")
    assert outcome(store, good) == 1.0
    assert fail(store, bad, 60).outcome == -1.0


@pytest.mark.slow
@given(st.lists(st.sampled_from(VERDICTS), max_size=30))
def test_outcomes_add_up_without_rounding_errors(verdicts: list[str]) -> None:
    tenths = 0
    ticks = itertools.count(START, HOUR)
    with opened(":memory:", lambda: next(ticks)) as store:
        id = remembered(store)
        for verdict in verdicts:
            store.record_outcome(id, verdict)  # type: ignore[arg-type]
            tenths += {"worked": 20, "failed": -30, "partial": 5}[verdict]
            tenths = min(max(tenths, -100), 100)
            assert outcome(store, id) == tenths / 100
            assert (outcome(store, id) < -0.5) == (state(store, id) == "archived")


def test_what_worked_is_ranked_before_what_failed(store: MemoryStore) -> None:
    first, second = remembered(store), remembered(store)
    fail(store, first)
    store.record_outcome(second, "worked")
    for ranking in (None, FiveSignal()):
        hits = store.recall("upload token", ranking=ranking, touch=False)
        assert [hit.memory.id for hit in hits] == [second, first]
    assert hits[0].explain().signals["outcome"] == 0.6
    assert [each.id for each in store.all(where={"outcome": {"$lt": 0}})] == [first]


def test_a_verdict_is_no_use_of_a_record_and_changes_nothing_else(
    store: MemoryStore, clock: Clock
) -> None:
    before = store.store("retry", importance=0.3, confidence=0.4)
    clock.now += 5
    after = store.record_outcome(before.id, "worked")
    assert after == replace(before, outcome=0.2, updated_at=clock.now) == store.get(before.id)


@pytest.mark.parametrize("verdict", ["", "WORKED", "success", None, 1, ["worked"]])
def test_an_unknown_verdict_is_refused(store: MemoryStore, verdict: object) -> None:
    id = remembered(store)
    with pytest.raises(ValidationError, match="'worked', 'failed', 'partial'"):
        store.record_outcome(id, verdict)  # type: ignore[arg-type]
    assert store.outcomes(id) == []


@pytest.mark.parametrize("session", ["", "  ", 7, "\ud800"])
def test_a_session_must_be_a_name(store: MemoryStore, session: object) -> None:
    with pytest.raises(ValidationError, match="session"):
        store.record_outcome(remembered(store), "worked", session)  # type: ignore[arg-type]


# Whose outcome


def test_what_get_does_not_return_has_no_outcome_to_record(
    store: MemoryStore, clock: Clock
) -> None:
    forgotten, erased = remembered(store), remembered(store)
    expired = store.store("soon over", expires_at=clock.now + 5).id
    clock.now += 5
    store.forget(forgotten)
    store.erase(erased)
    head = store.log(limit=1)[0].seq
    for id in ("unknown", forgotten, erased, expired):
        for judge in (
            partial(store.record_outcome, id, "worked"),
            partial(store.record_outcome, id, "failed"),
            partial(store.mark_useful, id),
            partial(store.mark_useless, [id]),
        ):
            with pytest.raises(NotFoundError, match=id):
                judge()
    assert store.log(limit=1)[0].seq == head


def test_a_failure_of_nothing_does_not_count(store: MemoryStore) -> None:
    id = remembered(store)
    for _ in range(5):
        with pytest.raises(NotFoundError):
            store.record_outcome("unknown", "failed")
    assert store.record_outcome(id, "failed").outcome == -0.3


def test_a_superseded_record_is_judged_and_stays_superseded(store: MemoryStore) -> None:
    old = store.store("port 80", key="port").id
    new = store.store("port 8080", key="port").id
    assert (fail(store, old, 2).state, outcome(store, old)) == ("superseded", -0.6)
    assert [hit.memory.id for hit in store.recall("port")] == [new]
    assert_told(store)


# Archived by outcomes


def test_two_failures_archive_and_nothing_is_lost(store: MemoryStore) -> None:
    id = remembered(store)
    assert store.recall("upload")
    assert fail(store, id, 2).state == "archived"
    assert not store.recall("upload")
    assert not store.all()
    assert store.why_not(id, "upload").reason == "archived"
    archived = store.get(id)
    assert archived is not None
    assert archived.content == "retry the upload with a token"


def test_half_way_down_is_not_yet_archived(store: MemoryStore) -> None:
    id = remembered(store)
    for _ in range(2):
        store.record_outcome(id, "partial")
    assert (fail(store, id, 2).outcome, state(store, id)) == (-0.5, "live")


def test_success_brings_back_what_failures_archived(store: MemoryStore) -> None:
    id = remembered(store)
    fail(store, id, 2)
    assert store.record_outcome(id, "partial").state == "archived"
    assert store.record_outcome(id, "partial").state == "live"
    assert [hit.memory.id for hit in store.recall("upload")] == [id]
    assert_told(store)


def test_it_does_not_come_back_where_another_holds_its_key(store: MemoryStore) -> None:
    old = store.store("port 80", key="port").id
    fail(store, old, 2)
    new = store.store("port 8080", key="port").id
    assert store.record_outcome(old, "worked").state == "archived"
    found = store.get(key="port")
    assert found is not None
    assert found.id == new


def test_what_was_archived_by_hand_stays_archived(store: MemoryStore, clock: Clock) -> None:
    id = remembered(store)
    store.archive(id)
    assert fail(store, id, 3).outcome == -0.5
    assert store.record_outcome(id, "worked").state == "archived"
    clock.now += DRIFT_AFTER_SECONDS
    assert (store.drift(), outcome(store, id), state(store, id)) == (1, 0.0, "archived")


def test_unarchived_by_hand_it_has_one_more_chance(store: MemoryStore) -> None:
    id = remembered(store)
    fail(store, id, 3)
    assert store.unarchive(id) == 1
    assert (outcome(store, id), state(store, id)) == (-0.5, "live")
    assert store.record_outcome(id, "partial").state == "live"
    assert fail(store, id).state == "archived"
    store.forget(id)
    store.restore(id)
    store.archive(id)
    assert outcome(store, id) == -0.5


def test_archiving_is_one_entry_that_can_be_undone(store: MemoryStore) -> None:
    id = remembered(store)
    fail(store, id, 2)
    entry = store.log(limit=1)[0]
    assert (entry.action, entry.changes) == (
        "failed",
        {"outcome": -0.6, "state": "archived", "session": "s1"},
    )
    undone = store.undo(entry.seq)
    assert (undone.outcome, undone.state) == (-0.3, "live")
    assert store.recall("upload", as_of=entry.seq) == []
    assert len(store.recall("upload", as_of=entry.seq - 1)) == len(store.recall("upload")) == 1


# At most three failures an hour


def test_the_fourth_failure_within_an_hour_is_refused(store: MemoryStore, clock: Clock) -> None:
    ids = [remembered(store) for _ in range(4)]
    for id in ids[:3]:
        store.record_outcome(id, "failed", "s")
        clock.now += 600
    head = store.log(limit=1)[0].seq
    with pytest.raises(RateLimitError, match=r"more than 3 failures of session 's' in 3600 s; try"):
        store.record_outcome(ids[3], "failed", "s")
    assert (outcome(store, ids[3]), store.log(limit=1)[0].seq) == (0.0, head)


def test_the_error_tells_when_to_try_again(store: MemoryStore, clock: Clock) -> None:
    id = remembered(store)
    for _ in range(3):
        store.record_outcome(id, "failed")
        clock.now += 600
    with pytest.raises(RateLimitError, match="outside any session") as refused:
        store.record_outcome(id, "failed")
    assert refused.value.retry_after == 1_800
    clock.now += 1_799
    with pytest.raises(RateLimitError):
        store.record_outcome(id, "failed")
    clock.now += 1
    store.record_outcome(id, "failed")
    with pytest.raises(RateLimitError):
        store.record_outcome(id, "failed")


def test_sessions_have_a_limit_each_and_those_without_a_name_share_one(store: MemoryStore) -> None:
    id = remembered(store)
    for session in ("a", "b", None):
        for _ in range(3):
            store.record_outcome(id, "failed", session)
        with pytest.raises(RateLimitError):
            store.record_outcome(id, "failed", session)


def test_good_news_and_marks_have_no_limit(store: MemoryStore) -> None:
    id = remembered(store)
    for _ in range(3):
        store.record_outcome(id, "failed")
    for _ in range(10):
        store.record_outcome(id, "worked")
        store.record_outcome(id, "partial")
        store.mark_useful(id)
        store.mark_useless(id)
    assert len(store.outcomes(id)) == 43


def test_the_limit_outlives_the_store(path: Path, clock: Clock) -> None:
    for _ in range(3):
        with opened(path, clock) as store:
            id = remembered(store)
            store.record_outcome(id, "failed", "s")
    with opened(path, clock) as store, pytest.raises(RateLimitError):
        store.record_outcome(id, "failed", "s")


@pytest.mark.parametrize("step", [-DAY, -1e-3, DAY])
def test_a_clock_that_steps_keeps_nobody_out(store: MemoryStore, clock: Clock, step: float) -> None:
    id = remembered(store)
    for _ in range(3):
        store.record_outcome(id, "failed")
    clock.now += step
    if abs(step) < HOUR:
        with pytest.raises(RateLimitError):
            store.record_outcome(id, "failed")
    else:
        assert store.record_outcome(id, "failed").outcome == -1.0


def test_only_the_last_hour_is_kept_and_no_name_of_a_session(path: Path, clock: Clock) -> None:
    with opened(path, clock) as store:
        id = remembered(store)
        for number in range(50):
            store.record_outcome(id, "failed", f"private-{number}")
            clock.now += 120
        store.erase(id)
    with closing(sqlite3.connect(path)) as connection:
        (kept,) = connection.execute(
            "SELECT value FROM facts WHERE name = 'outcomes:failed'"
        ).fetchone()
    assert len(json.loads(kept)) == 30
    assert b"private-" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


# Marks


def test_marks_move_gently_and_count_once_for_each_record(store: MemoryStore) -> None:
    first, second = remembered(store), remembered(store)
    marked = store.mark_useful([first, second, first])
    assert [(each.id, each.outcome) for each in marked] == [(first, 0.1), (second, 0.1)]
    assert store.mark_useless(first)[0].outcome == 0.0
    assert [entry.action for entry in store.outcomes(first)] == ["useful", "useless"]
    assert store.mark_useful([]) == []


def test_marks_never_archive(store: MemoryStore) -> None:
    bad, good = remembered(store), remembered(store)
    for _ in range(50):
        store.mark_useless(bad)
        store.mark_useful(good)
    assert (outcome(store, bad), outcome(store, good)) == (-0.5, 0.5)
    assert len(store.recall("upload", ranking=FiveSignal())) == 2


def test_marks_take_nothing_from_what_verdicts_gave(store: MemoryStore) -> None:
    good, bad = remembered(store), remembered(store)
    for _ in range(4):
        store.record_outcome(good, "worked")
    fail(store, bad, 3)
    assert store.mark_useful(good)[0].outcome == 0.8
    assert store.mark_useless(good)[0].outcome == 0.7
    assert store.mark_useless(bad)[0].outcome == -0.9
    assert store.mark_useful(bad)[0].outcome == -0.8


def test_marks_are_all_or_nothing(store: MemoryStore) -> None:
    id = remembered(store)
    with pytest.raises(NotFoundError, match="unknown"):
        store.mark_useful([id, "unknown"])
    assert (outcome(store, id), store.outcomes(id)) == (0.0, [])


# Drift


def test_unused_for_thirty_days_an_outcome_is_neutral_again(
    store: MemoryStore, clock: Clock
) -> None:
    good, bad, new = (remembered(store) for _ in range(3))
    store.record_outcome(good, "worked")
    fail(store, bad)
    clock.now += DRIFT_AFTER_SECONDS - 1
    assert (store.drift(), outcome(store, good)) == (0, 0.2)
    clock.now += 1
    assert (store.drift(), store.drift()) == (2, 0)
    assert outcome(store, good) == outcome(store, bad) == outcome(store, new) == 0.0
    assert [entry.action for entry in store.outcomes(good)] == ["worked", "drift"]


def test_what_failures_archived_comes_back_by_drift(store: MemoryStore, clock: Clock) -> None:
    id, over = remembered(store), store.store("soon over", expires_at=START + DAY).id
    fail(store, id, 3)
    fail(store, over, 2)
    clock.now += DRIFT_AFTER_SECONDS
    assert store.drift() == 2
    assert [(hit.memory.id, hit.memory.outcome) for hit in store.recall("upload")] == [(id, 0.0)]
    assert store.count(namespace=EVERYWHERE) == 1
    assert_told(store)


@pytest.mark.parametrize("written", [True, False])
def test_recalling_a_record_keeps_its_outcome(
    store: MemoryStore, clock: Clock, written: bool
) -> None:
    used, unused = remembered(store), remembered(store, "Vienna")
    store.mark_useful([used, unused])
    clock.now += DRIFT_AFTER_SECONDS - 1
    assert [hit.memory.id for hit in store.recall("upload", mode="keyword")] == [used]
    if written:
        store.snapshot("writes what is pending")
    clock.now += 1
    assert store.drift() == 1
    assert (outcome(store, used), outcome(store, unused)) == (0.1, 0.0)


def test_recall_changes_no_outcome_and_answers_the_same(store: MemoryStore, clock: Clock) -> None:
    id = remembered(store)
    store.record_outcome(id, "worked")
    clock.now += 2 * DRIFT_AFTER_SECONDS
    for _ in range(2):
        (hit,) = store.recall("upload", now=START, touch=False)
        assert (hit.memory.outcome, hit.score) == (0.2, hit.explain().score)
    assert [entry.action for entry in store.outcomes(id)] == ["worked"]


def test_a_verdict_on_something_long_unused_starts_from_zero(
    store: MemoryStore, clock: Clock
) -> None:
    id, other = remembered(store), remembered(store)
    store.record_outcome(id, "worked")
    clock.now += DRIFT_AFTER_SECONDS - HOUR
    store.drift()
    clock.now += HOUR
    assert fail(store, id).outcome == -0.3
    assert [entry.outcome for entry in store.outcomes(id)] == [0.2, 0.0, -0.3]
    assert store.outcomes(other) == []


def test_once_a_day_a_verdict_lets_all_others_drift(store: MemoryStore, clock: Clock) -> None:
    early, late, judged = (remembered(store) for _ in range(3))
    store.mark_useful(early)
    clock.now += HOUR
    store.mark_useful(late)
    clock.now = START + DRIFT_AFTER_SECONDS
    store.record_outcome(judged, "worked")
    assert (outcome(store, early), outcome(store, late)) == (0.0, 0.1)
    clock.now += HOUR
    store.record_outcome(judged, "worked")
    assert outcome(store, late) == 0.1
    clock.now += DAY
    store.record_outcome(judged, "worked")
    assert outcome(store, late) == 0.0


# What is told of it


def test_outcomes_tell_the_whole_story_oldest_first(store: MemoryStore, clock: Clock) -> None:
    id = remembered(store)
    store.record_outcome(id, "worked", "monday")
    clock.now += 60
    store.update(id, content="retry the upload twice")
    store.undo(store.log(limit=2)[1].seq)
    store.mark_useful(id)
    told = [(each.at, each.action, each.outcome, each.session) for each in store.outcomes(id)]
    assert told == [
        (START, "worked", 0.2, "monday"),
        (START + 60, "undo", 0.0, None),
        (START + 60, "useful", 0.1, None),
    ]
    assert [each.seq for each in store.outcomes(id)] == [2, 4, 5]


def test_outcomes_of_a_forgotten_record_are_told_of_an_erased_one_they_are_gone(
    store: MemoryStore,
) -> None:
    id = remembered(store)
    store.record_outcome(id, "worked")
    store.forget(id)
    assert len(store.outcomes(id)) == 1
    store.erase(id)
    assert store.outcomes(id) == []
    with pytest.raises(NotFoundError, match="unknown"):
        store.outcomes("unknown")


def test_the_past_knows_the_outcomes_it_had(store: MemoryStore) -> None:
    id = remembered(store)
    for _ in range(3):
        store.record_outcome(id, "worked")
    past = store.as_of(3).get(id)
    assert past is not None
    assert past.outcome == 0.4
    assert store.diff(2).changed[0].after.outcome == 0.6


def test_an_open_recall_sees_the_outcomes_of_another_store(path: Path, clock: Clock) -> None:
    with opened(path, clock) as one, opened(path, clock) as other:
        id = remembered(one)
        assert one.recall("upload")[0].memory.outcome == 0.0
        other.record_outcome(id, "worked")
        assert one.recall("upload")[0].explain().signals["outcome"] == 0.6
        fail(other, id, 3)
        assert one.recall("upload") == []
        other.unarchive(id)
        assert one.recall("upload")[0].memory.outcome == -0.5


@pytest.mark.slow
@forks
def test_processes_lose_no_verdict_and_share_one_limit(path: Path, clock: Clock) -> None:
    with opened(path, clock) as store:
        good, bad = remembered(store), remembered(store)

    def work() -> int:
        refused = 0
        with opened(path, clock) as store:
            for _ in range(4):
                store.record_outcome(good, "partial")
            for _ in range(2):
                try:
                    store.record_outcome(bad, "failed", "s")
                except RateLimitError:
                    refused += 1
        return refused

    assert sum(together([work] * 4)) == 5
    with opened(path, clock) as store:
        assert (outcome(store, good), outcome(store, bad)) == (0.8, -0.9)
        assert len(store.outcomes(good)) == 16
    assert unverified(path) == []


def test_the_journal_tells_all_of_it(path: Path, clock: Clock) -> None:
    with opened(path, clock) as store:
        ids = [remembered(store) for _ in range(3)]
        for number in range(40):
            id = ids[number % 3]
            with suppress(RateLimitError):
                store.record_outcome(id, VERDICTS[number % 4 % 3])
            store.mark_useless(id)
            clock.now += number * HOUR
        clock.now += DRIFT_AFTER_SECONDS
        store.drift()
        assert_told(store)
        assert {entry.action for entry in store.log(limit=None)} > {*VERDICTS, "drift", "useless"}
    assert unverified(path) == []
