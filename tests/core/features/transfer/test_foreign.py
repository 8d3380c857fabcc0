"""Records of foreign systems keep times, counts, outcomes and, in an empty store, their past."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from bethink import MemoryRecord, MemoryStore, NotFoundError, SourceError, ValidationError
from bethink.adapting import PastChange, foreign_link, foreign_record, import_foreign

from ...clock import Clock

DAY = 86_400.0
NOW = 1_000 * DAY
EARNED: dict[str, Any] = {
    **{"outcome": 0.7, "access_count": 3, "last_accessed_at": 40.0, "importance": 0.9},
    **{"created_at": 10.0, "updated_at": 30.0, "occurred_at": 5.0, "category": "gotcha"},
}


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", clock=clock) as store:
        yield store
        assert store.verify().ok


def bring(store: MemoryStore, *past: PastChange, id: str = "tea", **given: Any) -> Any:
    fields = {"id": id, "namespace": "default", "content": "Ann likes tea", **given}
    return import_foreign(store, [foreign_record(store, fields, past)])


def found(store: MemoryStore, id: str = "tea") -> MemoryRecord:
    record = store.get(id)
    assert record is not None
    return record


@pytest.mark.parametrize("empty", [True, False])
def test_a_record_keeps_what_it_earned(store: MemoryStore, empty: bool) -> None:
    if not empty:
        store.store("something else")
    bring(store, **EARNED)
    record = found(store)
    assert {name: getattr(record, name) for name in EARNED} == EARNED
    (entry,) = [each for each in store.log(id="tea") if each.action == "store"]
    assert entry.changes["imported_at"] == NOW


def test_an_empty_store_answers_for_the_past_as_the_source_did(store: MemoryStore) -> None:
    past = [
        PastChange(10.0, "store", {"content": "Ann likes coffee", "importance": 0.2}),
        PastChange(20.0, "update", {"content": "Ann likes tea"}),
        PastChange(30.0, "useful", {"outcome": 0.5}),
    ]
    fields = {"id": "tea", "namespace": "default", "content": "Ann likes tea", "outcome": 0.5}
    records = [
        foreign_record(store, fields, past),
        foreign_record(store, {**fields, "id": "b", "created_at": 15.0, "outcome": 0.0}),
    ]
    link = foreign_link("tea", "repeats", "b", 25.0)
    left = import_foreign(store, records, [link], {"early": 12.0, "late": 26.0})
    assert (left.snapshots, left.without_past) == ((), 0)
    (early,) = store.as_of("early").all()
    assert (early.content, early.importance, early.updated_at) == ("Ann likes coffee", 0.2, 10.0)
    assert [each.id for each in store.as_of(16.0).all()] == ["tea", "b"]
    assert store.as_of(9.0).count() == 0
    assert [hit.record.id for hit in store.recall("coffee", as_of=12.0)] == ["tea"]
    assert not store.as_of(24.0).related("b")
    assert store.as_of("late").related("b")[0].memory.outcome == 0.0
    assert [(each.at, each.action, each.outcome) for each in store.outcomes("tea")] == [
        (30.0, "useful", 0.5)
    ]
    assert found(store).updated_at == 30.0


def test_a_gap_between_past_and_present_is_closed(store: MemoryStore) -> None:
    past = [PastChange(10.0, "store", {}), PastChange(20.0, "reinforce", {"importance": 0.6})]
    bring(store, *past, importance=0.8, updated_at=50.0)
    entries = [(each.at, each.action) for each in reversed(store.log(id="tea"))]
    assert entries == [(10.0, "store"), (20.0, "reinforce"), (50.0, "import")]
    assert store.as_of(30.0).all()[0].importance == 0.6


def test_a_time_after_the_import_becomes_the_time_of_the_import(store: MemoryStore) -> None:
    bring(store, created_at=NOW + 5, last_accessed_at=NOW + 9, access_count=1)
    assert {entry.at for entry in store.log()} == {NOW}
    assert found(store).last_accessed_at == NOW + 9


def test_a_store_with_a_journal_keeps_its_own_past(store: MemoryStore, clock: Clock) -> None:
    clock.now = 20.0
    store.store("own")
    clock.now = NOW
    past = [PastChange(10.0, "store", {"importance": 0.1}), PastChange(15.0, "update", {})]
    fields = {"id": "tea", "namespace": "default", "content": "Ann likes tea"}
    arrived = import_foreign(store, [foreign_record(store, fields, past)], (), {"then": 12.0})
    assert arrived.added == {"tea"}
    assert (arrived.without_past, arrived.snapshots) == (1, ("then",))
    assert found(store).created_at == 10.0
    assert [each.content for each in store.as_of(20.0).all()] == ["own"]
    assert store.snapshots() == []


def test_records_that_the_source_forgot_come_with_the_past_only(store: MemoryStore) -> None:
    past = [PastChange(10.0, "store", {}), PastChange(20.0, "forget", {"state": "forgotten"})]
    bring(store, *past, state="forgotten")
    bring(store, *past, id="late", state="forgotten")
    assert store.as_of(15.0).count() == 1
    assert store.restore("tea") == 1
    with pytest.raises(NotFoundError):
        store.restore("late")


def test_a_later_change_of_the_source_counts(store: MemoryStore) -> None:
    bring(store, created_at=10.0)
    arrived = bring(store, created_at=10.0, updated_at=20.0, content="Ann likes mate", outcome=0.4)
    assert not arrived.added
    assert arrived.changed == {"tea"}
    record = found(store)
    assert (record.content, record.outcome, record.updated_at) == ("Ann likes mate", 0.4, 20.0)
    assert [hit.record.id for hit in store.recall("mate")] == ["tea"]
    assert store.as_of(1).all()[0].content == "Ann likes tea"
    assert not bring(store, created_at=10.0, updated_at=20.0, content="Ann likes mate").changed


def test_a_later_change_here_stays_and_accesses_add_up_to_the_most(
    store: MemoryStore, clock: Clock
) -> None:
    bring(store, created_at=10.0, access_count=2)
    clock.now += 1
    store.update("tea", content="Ann likes milk")
    bring(store, created_at=10.0, updated_at=20.0, access_count=5, last_accessed_at=20.0)
    record = found(store)
    assert (record.content, record.access_count) == ("Ann likes milk", 5)
    assert (record.last_accessed_at, record.updated_at) == (20.0, NOW + 1)


@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_what_is_gone_here_stays_gone(store: MemoryStore, verb: str) -> None:
    bring(store, created_at=10.0)
    getattr(store, verb)("tea")
    bring(store, created_at=10.0, updated_at=NOW + 20, content="Ann likes mate")
    assert store.count() == 0


def test_a_record_leaves_as_it_left_the_source(store: MemoryStore) -> None:
    bring(store, created_at=10.0)
    bring(store, created_at=10.0, updated_at=20.0, state="archived")
    assert found(store).state == "archived"
    bring(store, created_at=10.0, updated_at=30.0)
    assert found(store).state == "live"
    bring(store, created_at=10.0, updated_at=40.0, state="superseded", superseded_by="b")
    bring(store, created_at=10.0, updated_at=50.0)
    assert found(store).state == "superseded"


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": 1.5},
        {"outcome": -0.6},
        {"access_count": -1},
        {"created_at": "now"},
        {"state": "erased"},
        {"state": "gone"},
        {"content": ""},
        {"colour": "red"},
    ],
)
def test_a_wrong_field_is_refused(store: MemoryStore, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        bring(store, **wrong)
    past = [PastChange(1.0, "store", {}), PastChange(2.0, "update", wrong)]
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        bring(store, *past)
    assert store.log() == []


def test_a_past_begins_with_the_storing_and_goes_on_with_changes(store: MemoryStore) -> None:
    stored = PastChange(1.0, "store", {})
    for action in ("store", "erase", "touch", "relate"):
        with pytest.raises(ValidationError, match=f"'{action}' is no action of change 2"):
            bring(store, stored, PastChange(2.0, action, {}))
    with pytest.raises(ValidationError, match="'update' is no action of change 1"):
        bring(store, PastChange(1.0, "update", {}))


def test_wrong_links_and_names_are_refused(store: MemoryStore) -> None:
    with pytest.raises(ValidationError, match="two records"):
        foreign_link("a", "fixes", "a", 1.0)
    with pytest.raises(ValidationError, match="snapshot"):
        import_foreign(store, [], (), {"": 1.0})
    assert import_foreign(store, [], [foreign_link("a", "fixes", "b", 1.0)]).added == frozenset()


def test_a_screen_sees_every_version() -> None:
    def hide(record: MemoryRecord) -> str:
        return record.content.replace("1234", "****")

    with MemoryStore(":memory:", screen=hide) as store:
        past = PastChange(1.0, "store", {"content": "My PIN is 1234"})
        bring(store, past, updated_at=2.0)
        assert store.as_of(1.0).all()[0].content == "My PIN is ****"


def test_a_handle_of_a_source_takes_records_of_the_source(store: MemoryStore) -> None:
    handle = store.for_source("web")
    with pytest.raises(SourceError):
        bring(handle, source="remembrane:1")
    bring(handle, created_at=10.0)
    assert found(store).source == "web"


def test_outcomes_rest_for_thirty_days_after_an_import(store: MemoryStore, clock: Clock) -> None:
    bring(store, created_at=10.0, outcome=0.7)
    clock.now += 29 * DAY
    assert store.drift() == 0
    clock.now += 2 * DAY
    assert store.drift() == 1


def test_the_past_goes_along_into_an_export(store: MemoryStore) -> None:
    past = [PastChange(10.0, "store", {}), PastChange(20.0, "useful", {"outcome": 0.2})]
    bring(store, *past, **EARNED)
    copy = io.StringIO()
    store.export(copy)
    copy.seek(0)
    with MemoryStore(":memory:") as other:
        other.import_(copy)
        assert other.as_of(15.0).all() == store.as_of(15.0).all()
        assert other.all() == store.all()
