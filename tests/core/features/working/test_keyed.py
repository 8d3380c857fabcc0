"""The keyed working memory: JSON by name in a store, and changes that nobody loses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from bethink.features.working import atomic
from bethink.testing.contracts import KeyedMemoryContract
from bethink.testing.contracts.memories import in_another_thread, keys

from ....stored import assert_unlocked
from ...clock import Clock
from ...storage.processes import Child, forks
from ...storage.replay import assert_journal_is_state, unverified

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


class TestKeyedMemory(KeyedMemoryContract):
    kind = KeyedMemory

    @pytest.fixture(params=[":memory:", "memory.db"])
    def place(self, request: pytest.FixtureRequest, quick_folder: Path) -> Iterator[MemoryStore]:
        in_memory = request.param == ":memory:"
        location = ":memory:" if in_memory else str(quick_folder / request.param)
        with MemoryStore(location, durability="normal") as store:
            yield store
            assert_journal_is_state(store)
            if not in_memory:
                assert_unlocked(Path(location))


@pytest.mark.slow
@given(value=JSON)
def test_any_json_comes_back(value: Any) -> None:
    with MemoryStore() as store:
        KeyedMemory(store).remember("k", value)
        assert repr(KeyedMemory(store).recall("k", "default")) == repr(value)


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


def test_a_memory_sees_what_has_a_key(keyed: KeyedMemory) -> None:
    for key in "abca":
        keyed.remember(key, 0)
    keyed.store.store("a memory beside it", namespace="working")
    assert keys(keyed) == ["b", "c", "a"]
    assert [item.key for item in keyed.recent(2)] == ["c", "a"]
    assert (keyed.count(), keyed.clear()) == (3, 3)
    assert keyed.store.count(namespace="working") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda keyed: keyed.remember("k", object()),
        lambda keyed: keyed.increment("k", "1"),
        lambda keyed: keyed.compare_and_set("k", None, {1, 2}),
        lambda keyed: keyed.update("k", lambda _: float("nan")),
    ],
    ids=["remember", "increment", "compare and set", "update"],
)
def test_a_refused_change_is_not_in_the_journal(
    keyed: KeyedMemory, wrong: Callable[[KeyedMemory], object]
) -> None:
    with pytest.raises(ValidationError):
        wrong(keyed)
    assert keyed.store.log() == []


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


def test_an_update_that_is_always_overtaken_gives_up(
    keyed: KeyedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "MAX_UPDATE_SECONDS", 0.0)

    def slow(n: int) -> int:
        in_another_thread(lambda: keyed.increment("k"))
        return n + 100

    with pytest.raises(StoreBusyError, match="'k'"):
        keyed.update("k", slow, default=0)
    assert keyed.recall("k") == 1


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
