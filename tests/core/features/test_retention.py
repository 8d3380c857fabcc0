"""Unused memories are forgotten on request, and old memories are rolled up."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from bethink import (
    EVERYWHERE,
    Files,
    KeyedMemory,
    MemoryStore,
    Subtree,
    ValidationError,
    VectorMemory,
)
from bethink.features import retention

from ..clock import Clock

DAY = 86_400.0


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", clock=clock) as store:
        yield store


def texts(store: MemoryStore, **options: Any) -> list[str]:
    return [record.content for record in store.all(namespace=EVERYWHERE, **options)]


def test_retention_forgets_what_nobody_used_for_so_many_days(
    store: MemoryStore, clock: Clock
) -> None:
    read, changed, *_ = store.store_many(["read", "changed", "unused", "long unused"])
    clock.now += 3 * DAY
    store.recall("read", k=1, mode="keyword")
    store.update(changed.id, tags=["new"])
    clock.now += 2 * DAY
    assert store.expire(retention=5.1, namespace="default") == 0
    assert store.expire(retention=5, namespace="default") == 2
    assert texts(store) == ["read", "changed"]
    assert store.get(read.id)
    assert {entry.action for entry in store.log(limit=2)} == {"expire"}
    assert store.restore([record.id for record in store.all(state="forgotten")]) == 2


def test_a_floor_forgets_what_is_unimportant_or_long_unused(
    store: MemoryStore, clock: Clock
) -> None:
    for importance in (0.1, 0.5, 1.0):
        store.store(str(importance), importance=importance)
    assert store.expire(floor=0.2, namespace="default") == 1
    clock.now += 14 * DAY  # e^(-.05 · 14) = .497
    assert store.expire(floor=0.2, namespace="default") == 0
    assert store.expire(floor=0.25, namespace="default") == 1
    assert store.expire(floor=0.5, rate=0.01, namespace="default") == 0
    assert store.expire(floor=0.5, namespace="default") == 1


@pytest.mark.parametrize("limits", [{}, {"retention": 5}, {"floor": 0.5}])
def test_a_few_records_are_forgotten_at_a_time(
    limits: dict[str, float], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_BATCH_RECORDS", 2)

    def tick() -> float:
        clock.now += 1
        return clock.now

    with MemoryStore(":memory:", clock=tick) as store:
        fields: dict[str, Any] = {} if limits else {"expires_at": clock.now + DAY}
        store.store_many([f"note {number}" for number in range(5)], **fields)
        clock.now += 30 * DAY
        assert store.expire(namespace="default", **limits) == 5
        moments = [entry.at for entry in store.log() if entry.action == "expire"]
        assert (len(moments), len(set(moments))) == (5, 3)


@pytest.mark.parametrize("limits", [{}, {"retention": 5}, {"floor": 0.5}])
def test_a_record_that_is_used_after_the_look_stays(
    limits: dict[str, float], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used_meanwhile(*given: Any) -> list[str]:
        found = real(*given)
        store.update(found[0], tags=["in use"], expires_at=None)
        store.forget(found[1])
        return found

    real = retention._Limits.candidates
    monkeypatch.setattr(retention._Limits, "candidates", used_meanwhile)
    with MemoryStore(":memory:", clock=clock) as store:
        fields: dict[str, Any] = {} if limits else {"expires_at": clock.now + DAY}
        store.store_many(["used", "forgotten", "unused"], importance=0.6, **fields)
        clock.now += 30 * DAY
        assert store.expire(namespace="default", **limits) == 1
        assert texts(store) == ["used"]


def test_other_namespaces_keep_everything(store: MemoryStore, clock: Clock) -> None:
    store.store("here", namespace="users/ann/notes")
    store.store("there", namespace="users/bob")
    store.store("expired", namespace="users/bob", expires_at=clock.now)
    clock.now += DAY
    assert store.expire(retention=1, namespace=Subtree("users/ann")) == 1
    assert texts(store) == ["there"]
    assert store.expire() == 1  # everywhere


@pytest.mark.parametrize(
    "wrong",
    [
        {"retention": 1},
        {"floor": 0.1},
        {"retention": -1, "namespace": "default"},
        {"floor": 1.5, "namespace": "default"},
        {"rate": -1, "floor": 0.1, "namespace": "default"},
        {"retention": "30", "namespace": "default"},
        {"retention": 1, "namespace": "a//b"},
    ],
)
def test_wrong_limits_are_refused_before_anything_is_forgotten(
    store: MemoryStore, clock: Clock, wrong: dict[str, Any]
) -> None:
    store.store("kept", importance=0.0)
    clock.now += 99 * DAY
    with pytest.raises(ValidationError):
        store.expire(**wrong)
    assert texts(store) == ["kept"]


@pytest.mark.parametrize("limits", [{"retention": 5}, {"floor": 0.4}])
def test_values_and_files_stay_beside_unused_memories(
    store: MemoryStore, clock: Clock, limits: dict[str, float]
) -> None:
    store.store("a stale note")
    store.store("a stale fact", key="office")
    files, values, vectors = Files(store), KeyedMemory(store), VectorMemory(store, namespace="v")
    files.append("log.txt", "first line\n" * 200)
    files.write("/short.md", "one line\n")
    values.remember("config", {"a": 1})
    vectors.remember_vector("north", 1, [0.0, 1.0])
    clock.now += 10 * DAY
    files.append("log.txt", "last line\n")
    assert store.expire(namespace=EVERYWHERE, **limits) == 2
    assert files.read("log.txt") == "first line\n" * 200 + "last line\n"
    assert (values.recall("config"), vectors.recall("north")) == ({"a": 1}, 1)
    assert store.count() == 0


def test_rolling_up_merges_old_repetitions_and_forgets_old_versions(
    store: MemoryStore, clock: Clock
) -> None:
    store.store("Standup is at 9:30.", key="standup")
    store.store("Standup is at 10:00.", key="standup")
    store.store_many(["Ann likes green tea", "Ann likes green tea."])
    clock.now += 40 * DAY
    store.store_many(["Bob likes mint", "Bob likes mint."])
    (merged,) = store.roll_up(older_than=30)
    assert "green tea" in merged.record.content
    assert len(texts(store)) == 4
    assert [version.content for version in store.audit("standup")] == [
        "Standup is at 9:30.",
        "Standup is at 10:00.",
    ]
    assert texts(store, state="forgotten") == ["Standup is at 9:30."]
    clock.now += 31 * DAY
    store.roll_up(older_than=30)
    assert len(texts(store, state="forgotten")) == 2  # the old version, and what was merged then
    assert store.verify().ok


def test_a_span_in_place_of_the_time_of_expiry_is_refused() -> None:
    with MemoryStore() as store:
        id = store.store("The code is 1234", expires_at=time.time() + 60).id
        for write in (
            lambda: store.store("The code is 4321", expires_at=60),
            lambda: store.store_many([{"content": "The code is 4321", "expires_at": 0}]),
            lambda: store.update(id, expires_at=7 * DAY),
        ):
            with pytest.raises(ValidationError, match="must be a time, not a span of"):
                write()
        assert store.stats().states["live"] == 1


def test_a_memory_that_has_expired_long_ago_is_stored_with_a_warning_and_imported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = io.StringIO()
    with MemoryStore() as store, MemoryStore() as copy:
        store.store("The code was 1234", expires_at=date(1999, 12, 31))
        [warning] = caplog.records
        assert warning.getMessage().startswith("1 stored memories had expired before")
        caplog.clear()
        kept = store.store("The code is 4321", expires_at=date(2999, 12, 31)).id
        store.store("", value="gone", key="code", expires_at=date(1999, 12, 31))
        store.export(lines)
        copy.import_(io.StringIO(lines.getvalue()))
        assert copy.stats().states["expired"] == store.stats().states["expired"] == 2
        store.update(kept, expires_at=store.clock())
        assert caplog.records == []
