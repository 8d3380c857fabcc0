"""The keyed working memory: JSON by name in a store, and changes that nobody loses."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import (
    KeyedMemory,
    MemoryItem,
    MemoryStore,
    StoreBusyError,
    StoreClosedError,
    ValidationError,
)
from bethink.features.working import keyed as keyed_module

from ....stored import assert_unlocked
from ...clock import Clock
from ...storage.processes import Child, forks
from ...storage.replay import assert_journal_is_state, unverified
from .test_working import keys

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.slow
@given(value=JSON)
def test_any_json_comes_back(value: Any) -> None:
    with MemoryStore() as store:
        KeyedMemory(store).remember("k", value)
        assert repr(KeyedMemory(store).recall("k", "default")) == repr(value)


@pytest.mark.parametrize("value", [{1: 2}, {1, 2}, object(), float("nan"), [float("inf")]])
def test_what_is_not_json_is_refused(keyed: KeyedMemory, value: Any) -> None:
    for verb in (
        lambda: keyed.remember("k", value),
        lambda: keyed.update("k", lambda _: value),
        lambda: keyed.compare_and_set("k", None, value),
    ):
        with pytest.raises(ValidationError):
            verb()
    assert keyed.store.log() == []


def test_a_counter_stays_one_record_and_the_log_tells_its_history(keyed: KeyedMemory) -> None:
    assert [keyed.increment("n") for _ in range(5)] == [1, 2, 3, 4, 5]
    keyed.remember("n", 50)
    history = [entry.changes["value"] for entry in keyed.store.log(namespace="working")]
    assert history == [50, 5, 4, 3, 2, 1]
    assert len({entry.id for entry in keyed.store.log()}) == 1
    assert_journal_is_state(keyed.store)
    assert unverified(keyed.store.location) == []


def test_values_are_not_embedded_nor_recalled_by_meaning(keyed: KeyedMemory) -> None:
    keyed.remember("plan", "buy a parrot")
    assert keyed.store.recall("parrot", namespace="working") == []
    record = keyed.store.get(namespace="working", key="plan")
    assert record is not None
    assert (record.content, record.value) == ("", "buy a parrot")


def test_a_record_with_a_text_counts_for_it_and_is_superseded(store: MemoryStore) -> None:
    old = store.store("Standup is at 9:30", key="standup")
    keyed = KeyedMemory(store, namespace="default")
    assert keyed.recall("standup") == "Standup is at 9:30"
    assert keyed.compare_and_set("standup", "Standup is at 9:30", {"at": 10})
    before = store.get(old.id)
    assert before is not None
    assert before.state == "superseded"
    assert keyed.items() == [MemoryItem("standup", {"at": 10})]
    assert_journal_is_state(store)


def test_increment_adds_and_starts_at_nothing(keyed: KeyedMemory) -> None:
    assert keyed.increment("n", 10**30) == 10**30
    assert keyed.increment("n", -(10**30)) == 0
    assert keyed.increment("n", 0.5) == 0.5
    assert keyed.recall("n") == 0.5


@pytest.mark.parametrize("by", [True, "1", None, float("nan"), float("inf")])
def test_increment_needs_a_number(keyed: KeyedMemory, by: Any) -> None:
    with pytest.raises(ValidationError):
        keyed.increment("n", by)
    assert keyed.count() == 0


@pytest.mark.parametrize("value", ["1", True, None, [1], 1.7e308, 10**400])
def test_increment_leaves_what_it_cannot_count(keyed: KeyedMemory, path: Path, value: Any) -> None:
    keyed.remember("n", value)
    with pytest.raises(ValidationError):
        keyed.increment("n", 1.7e308)
    assert keyed.recall("n") == value
    assert_unlocked(path)


def test_counting_keeps_the_place_and_changing_does_not(keyed: KeyedMemory) -> None:
    for key in "abcd":
        keyed.remember(key, 0)
    keyed.increment("a")
    keyed.update("b", lambda n: n + 1)
    keyed.compare_and_set("c", 0, 1)
    assert keys(keyed) == ["a", "d", "b", "c"]
    assert keyed.keys() == ["a", "b", "c", "d"]
    assert keyed.items() == [("a", 1), ("b", 1), ("c", 1), ("d", 0)]


def test_a_memory_sees_its_own_namespace_and_what_has_a_key(store: MemoryStore) -> None:
    one, other = KeyedMemory(store, namespace="runs/1"), KeyedMemory(store, namespace="runs/2")
    one.remember("k", 1)
    store.store("a memory beside it", namespace="runs/1")
    assert (one.count(), other.count(), other.recall("k"), other.recent(9)) == (1, 0, None, ())
    assert (one.keys(), one.clear(), one.clear()) == (["k"], 1, 0)
    assert store.count(namespace="runs/1") == 1
    with pytest.raises(ValidationError):
        KeyedMemory(store, namespace="a//b")


def test_compare_and_set_writes_only_over_what_is_expected(keyed: KeyedMemory) -> None:
    assert keyed.compare_and_set("leader", None, {"name": "ann"})
    assert not keyed.compare_and_set("leader", None, {"name": "bob"})
    assert not keyed.compare_and_set("leader", {"name": "bob"}, "eve")
    assert keyed.compare_and_set("leader", {"name": "ann"}, 1)
    assert not keyed.compare_and_set("leader", True, "eve")
    assert keyed.recall("leader") == 1
    assert len(keyed.store.log()) == 2


def test_recent_takes_in_no_record_without_a_key(keyed: KeyedMemory) -> None:
    for key in "abca":
        keyed.remember(key, 0)
    keyed.store.store("without a key", namespace="working")
    assert keys(keyed) == ["b", "c", "a"]
    assert [item.key for item in keyed.recent(2)] == ["c", "a"]


def test_update_remembers_and_returns_what_the_function_makes(keyed: KeyedMemory) -> None:
    start: list[int] = []
    made = keyed.update("list", lambda items: [*items, 1], default=start)
    made.append("got out")
    assert keyed.update("list", lambda items: items.append(2) or items) == [1, 2]
    assert keyed.recall("list") == [1, 2]
    assert keyed.update("nothing", lambda value: [value]) == [None]
    assert start == []


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt()], ids=repr)
def test_a_function_that_raises_leaves_everything_as_it_was(
    keyed: KeyedMemory, path: Path, error: BaseException
) -> None:
    keyed.remember("k", [1])
    before = keyed.store.log()

    def fail(value: list[int]) -> None:
        value.append(2)
        raise error

    with pytest.raises(type(error)):
        keyed.update("k", fail)
    assert_unlocked(path)
    assert (keyed.store.log(), keyed.recall("k")) == (before, [1])
    assert keyed.update("k", len) == 1


def test_a_function_that_returns_nothing_has_forgotten_to(keyed: KeyedMemory) -> None:
    keyed.remember("k", [1])
    with pytest.raises(ValidationError, match="return the new value"):
        keyed.update("k", lambda items: items.append(2))
    assert keyed.recall("k") == [1]


def in_another_thread(work: Callable[[], object]) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


def test_an_update_that_is_overtaken_starts_anew_with_the_newer_value(keyed: KeyedMemory) -> None:
    seen = []

    def add(items: list[str]) -> list[str]:
        seen.append(list(items))
        if len(seen) < 3:
            in_another_thread(lambda: keyed.remember("k", [f"other {len(seen)}"]))
        items.append("mine")
        return items

    assert keyed.update("k", add, default=["default"]) == ["other 2", "mine"]
    assert seen == [["default"], ["other 1"], ["other 2"]]
    assert_journal_is_state(keyed.store)


def test_an_update_is_not_overtaken_by_what_leaves_the_value(keyed: KeyedMemory) -> None:
    keyed.remember("k", 5)
    (held,) = keyed.store.all(namespace="working")
    seen = []

    def add(n: int) -> int:
        seen.append(n)
        keyed.store.update(held.id, importance=0.9)
        return n + 1

    assert keyed.update("k", add) == 6
    assert seen == [5]


def test_an_update_notices_that_the_key_was_forgotten(keyed: KeyedMemory) -> None:
    keyed.remember("k", 5)

    def add(n: int) -> int:
        if n == 5:
            in_another_thread(lambda: keyed.forget("k"))
        return n + 1

    assert keyed.update("k", add, default=0) == 1


def test_an_update_that_is_always_overtaken_gives_up(
    keyed: KeyedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyed_module, "MAX_UPDATE_SECONDS", 0.0)

    def slow(n: int) -> int:
        in_another_thread(lambda: keyed.increment("k"))
        return n + 100

    with pytest.raises(StoreBusyError, match="'k'"):
        keyed.update("k", slow, default=0)
    assert keyed.recall("k") == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda keyed: keyed.remember("k", 1),
        lambda keyed: keyed.increment("k"),
        lambda keyed: keyed.forget("k"),
        lambda keyed: keyed.compare_and_set("k", 0, 1),
        lambda keyed: keyed.update("k", lambda n: n),
        lambda keyed: keyed.update("other", lambda n: keyed.increment("k")),
        KeyedMemory.clear,
    ],
    ids=["remember", "increment", "forget", "compare and set", "update", "inside another", "clear"],
)
def test_a_function_may_not_write_what_it_updates(
    keyed: KeyedMemory, write: Callable[[KeyedMemory], object]
) -> None:
    keyed.remember("k", 0)
    with pytest.raises(ValidationError, match="must return the new value"):
        keyed.update("k", lambda n: write(keyed))
    assert keyed.items() == [("k", 0)]
    assert keyed.increment("k") == 1


@pytest.mark.parametrize("location", [":memory:", "memory.db"])
def test_a_function_may_use_the_store(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with MemoryStore(location, durability="normal") as store, MemoryStore() as beside:
        keyed, other = KeyedMemory(store), KeyedMemory(store, namespace="other")
        elsewhere = KeyedMemory(beside)

        def work(n: int) -> int:
            store.store("a memory of it", namespace="log")
            more = other.increment("k") + elsewhere.increment("k")
            return n + int(keyed.increment("k2") + more + keyed.recall("k", 0))

        assert keyed.update("k", work, default=1) == 4
        assert store.count(namespace="log") == 1


@forks
def test_a_function_may_fork(keyed: KeyedMemory) -> None:
    def work(n: int) -> int:
        return n + int(Child(lambda _: keyed.increment("k2")).result())

    assert keyed.update("k", work, default=1) == 2
    assert keyed.recall("k2") == 1


def test_a_closed_store_remembers_nothing(keyed: KeyedMemory) -> None:
    keyed.store.close()
    for verb in (
        lambda: keyed.remember("k", 1),
        lambda: keyed.recall("k"),
        lambda: keyed.recent(1),
        lambda: keyed.update("k", lambda n: 1),
        lambda: keyed.items(),
    ):
        with pytest.raises(StoreClosedError):
            verb()


def test_what_has_expired_is_not_recent(clock: Clock) -> None:
    with MemoryStore(clock=clock) as store:
        memory = KeyedMemory(store)
        for key, expiry in (("a", None), ("b", 1_005.0), ("c", 2_000.0)):
            store.store("", value=1, key=key, namespace=memory.namespace, expires_at=expiry)
        clock.now = 1_005.0
        assert [item.key for item in memory.recent(2)] == ["a", "c"]


def test_a_key_that_holds_none_can_be_updated() -> None:
    with MemoryStore() as store:
        memory = KeyedMemory(store)
        memory.remember("k", None)
        held = store.get(namespace=memory.namespace, key="k")
        assert held is not None
        assert store.update(held.id, importance=0.9).importance == 0.9
        with pytest.raises(ValidationError):
            store.update(held.id, value=None)


def test_a_pair_of_surrogates_is_the_character_it_stands_for() -> None:
    with MemoryStore() as store:
        memory = KeyedMemory(store)
        memory.remember("k", ["\ud83d\ude00", "\ud83d"])
        assert memory.recall("k") == ["\U0001f600", "\ud83d"]
        assert memory.compare_and_set("k", ["\ud83d\ude00", "\ud83d"], 1)


def test_a_default_that_is_no_json_is_refused(keyed: KeyedMemory) -> None:
    with pytest.raises(ValidationError, match="default"):
        keyed.update("x", lambda value: value, (number for number in range(3)))
