"""The behaviour of working memories: values by key, and changes that nobody loses."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

import pytest

from ...errors import ValidationError
from ...features.working import MemoryItem

VALUES: dict[str, Any] = {
    "nothing": None,
    "truth": True,
    "zero": 0,
    "huge": -(2**70),
    "float": 0.1 + 0.2,
    "small": 5e-324,
    "minus zero": -0.0,
    "whole": 1.0,
    "empty text": "",
    "text": "ä🦊\x00\n\"'\\",
    "half a pair": "\ud83d",
    "list": [[], [1, [2.0, None]], "1"],
    "mapping": {"": {}, "a b": [True, 1, 1.0], "ü": {"n": 2**64}},
}


def keys(memory: Any) -> list[str]:
    """Return the keys in order of remembering."""
    return [item.key for item in memory.recent(99)]


def in_another_thread(work: Callable[[], object]) -> None:
    """Run *work* to the end in a second thread."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


class WorkingMemoryContract(ABC):
    """The behaviour of every working memory; override the fixture ``memory``."""

    @pytest.fixture
    @abstractmethod
    def memory(self) -> Any:
        """Return a new, empty memory."""

    def test_what_is_remembered_is_recalled(self, memory: Any) -> None:
        memory.remember("plan", ["a", {"b": 1}])
        memory.remember("nothing", None)
        assert memory.recall("plan") == ["a", {"b": 1}]
        assert memory.recall("nothing", "default") is None
        assert memory.recall("unknown") is None
        assert memory.recall("unknown", "default") == "default"

    def test_recent_gives_the_newest_last(self, memory: Any) -> None:
        for key in "abc":
            memory.remember(key, key.upper())
        assert memory.recent(2) == (MemoryItem("b", "B"), MemoryItem("c", "C"))
        assert dict(memory.recent(2**70)) == {"a": "A", "b": "B", "c": "C"}
        assert memory.recent(0) == ()

    def test_remembering_again_makes_a_key_the_newest_and_recalling_does_not(
        self, memory: Any
    ) -> None:
        for key in ("a", "b", "c", "a"):
            memory.remember(key, 1)
        memory.recall("b")
        assert keys(memory) == ["b", "c", "a"]

    @pytest.mark.parametrize("n", [-1, 2.5, True, None, "2"])
    def test_recent_needs_a_count(self, memory: Any, n: Any) -> None:
        with pytest.raises(ValidationError):
            memory.recent(n)

    @pytest.mark.parametrize("key", ["", "  ", 3, None, "\ud800"])
    def test_a_key_is_text(self, memory: Any, key: Any) -> None:
        for call in (partial(memory.remember, key, 1), partial(memory.recall, key)):
            with pytest.raises(ValidationError):
                call()
        assert memory.recent(1) == ()

    def test_what_a_caller_changes_is_not_what_is_remembered(self, memory: Any) -> None:
        given = {"steps": ["one"]}
        memory.remember("plan", given)
        given["steps"].append("put in later")
        memory.recall("plan")["steps"].append("got out")
        memory.recent(1)[0].value["steps"].append("got out")
        assert memory.recall("plan") == {"steps": ["one"]}

    def test_what_is_forgotten_is_gone(self, memory: Any) -> None:
        memory.remember("a", 1)
        assert memory.forget("a")
        assert not memory.forget("a")
        assert memory.recall("a", "gone") == "gone"
        memory.remember("a", 2)
        assert memory.recent(9) == (MemoryItem("a", 2),)

    def test_threads_share_a_memory(self, memory: Any) -> None:
        def work(name: str) -> None:
            for n in range(30):
                memory.remember(f"{name}{n % 5}", n)
                assert memory.recall(f"{name}{n % 5}") == n
                assert len(memory.recent(3)) >= 1

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(work, "abcdef"))
        assert len(keys(memory)) == 30


class KeyedMemoryContract(WorkingMemoryContract):
    """The behaviour of every keyed memory; override ``kind`` and the fixture ``place``."""

    kind: ClassVar[Callable[..., Any]]
    """What makes a memory: ``kind(place)``, or ``kind(place, namespace="runs/1")``."""

    @pytest.fixture
    @abstractmethod
    def place(self) -> Any:
        """Return the first argument of ``kind``: an empty store, or a client of an empty server."""

    @pytest.fixture
    def memory(self, place: Any) -> Any:
        """Return a new, empty memory."""
        return self.kind(place)

    @pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
    def test_json_comes_back_to_the_last_digit(self, memory: Any, value: Any) -> None:
        memory.remember("k", value)
        assert repr(memory.recall("k", "default")) == repr(value)
        assert repr(memory.items()[0].value) == repr(memory.recent(1)[0].value) == repr(value)

    @pytest.mark.parametrize("key", ["用户", "a\x00b", " a ", "}{", "*", "k" * 1024])
    def test_any_text_that_is_not_blank_is_a_key(self, memory: Any, key: str) -> None:
        memory.remember(key, 1)
        assert memory.increment(key) == 2
        assert (memory.keys(), keys(memory), memory.forget(key)) == ([key], [key], True)

    @pytest.mark.parametrize("value", [{1: 2}, {1, 2}, object(), float("nan"), [float("inf")]])
    def test_what_is_not_json_is_refused(self, memory: Any, value: Any) -> None:
        for call in (
            partial(memory.remember, "k", value),
            partial(memory.update, "k", lambda _: value),
            partial(memory.compare_and_set, "k", None, value),
        ):
            with pytest.raises(ValidationError):
                call()
        assert memory.items() == []

    def test_a_pair_of_surrogates_is_the_character_it_stands_for(self, memory: Any) -> None:
        memory.remember("k", ["\ud83d\ude00", "\ud83d"])
        assert memory.recall("k") == ["\U0001f600", "\ud83d"]
        assert memory.compare_and_set("k", ["\ud83d\ude00", "\ud83d"], 1)

    def test_increment_adds_and_starts_at_nothing(self, memory: Any) -> None:
        assert [memory.increment("n", by) for by in (1, 1, -5, 0)] == [1, 2, -3, -3]
        assert memory.increment("n", 10**30) == 10**30 - 3
        assert memory.increment("n", 3 - 10**30) == 0
        assert memory.increment("n", 0.5) == 0.5
        assert memory.recall("n") == 0.5

    def test_increment_is_exact_beyond_every_machine_word(self, memory: Any) -> None:
        for start in (2**53 - 1, 2**63 - 1, -(2**63)):
            memory.remember("n", start)
            assert [memory.increment("n"), memory.increment("n", -2)] == [start + 1, start - 1]

    @pytest.mark.parametrize("by", [True, "1", None, float("nan"), float("inf")])
    def test_increment_needs_a_number(self, memory: Any, by: Any) -> None:
        with pytest.raises(ValidationError):
            memory.increment("n", by)
        assert memory.count() == 0

    @pytest.mark.parametrize("value", ["1", True, None, [1], 1.7e308, 10**400])
    def test_increment_leaves_what_it_cannot_count(self, memory: Any, value: Any) -> None:
        memory.remember("n", value)
        with pytest.raises(ValidationError):
            memory.increment("n", 1.7e308)
        assert memory.recall("n") == value
        if not isinstance(value, float | int) or isinstance(value, bool):
            with pytest.raises(ValidationError):
                memory.increment("n")
        memory.remember("n", 1)
        assert memory.increment("n") == 2

    def test_counting_keeps_the_place_and_changing_does_not(self, memory: Any) -> None:
        for key in "abcd":
            memory.remember(key, 0)
        memory.increment("a")
        memory.update("b", lambda n: n + 1)
        memory.compare_and_set("c", 0, 1)
        assert keys(memory) == ["a", "d", "b", "c"]
        assert memory.keys() == ["a", "b", "c", "d"]
        assert memory.items() == [("a", 1), ("b", 1), ("c", 1), ("d", 0)]
        memory.forget("a")
        memory.increment("a")
        memory.increment("d", 0.5)
        assert (memory.keys(), keys(memory)) == (["b", "c", "d", "a"], ["d", "b", "c", "a"])

    def test_a_memory_sees_its_own_namespace(self, place: Any) -> None:
        names = ("runs/1", "runs/2", "runs", "}", "{", "runs/{1}", "用户")
        memories = [self.kind(place, namespace=name) for name in names]
        for number, memory in enumerate(memories):
            assert (memory.count(), memory.recall("k"), memory.recent(9)) == (0, None, ())
            memory.remember("k", number)
        assert [memory.recall("k") for memory in memories] == list(range(len(names)))
        assert (memories[0].keys(), memories[0].clear(), memories[0].clear()) == (["k"], 1, 0)
        assert [memory.count() for memory in memories] == [0, *[1] * (len(names) - 1)]
        with pytest.raises(ValidationError):
            self.kind(place, namespace="a//b")

    def test_compare_and_set_writes_only_over_what_is_expected(self, memory: Any) -> None:
        assert memory.compare_and_set("leader", None, {"name": "ann"})
        assert not memory.compare_and_set("leader", None, {"name": "bob"})
        assert not memory.compare_and_set("leader", {"name": "bob"}, "eve")
        assert memory.compare_and_set("leader", {"name": "ann"}, 1)
        assert not memory.compare_and_set("leader", True, "eve")
        assert memory.recall("leader") == 1
        assert memory.compare_and_set("leader", 1.0, {"a": 1, "b": 2})
        assert memory.compare_and_set("leader", {"b": 2, "a": 1}, None)
        assert memory.compare_and_set("leader", None, "end")

    def test_update_remembers_and_returns_what_the_function_makes(self, memory: Any) -> None:
        start: list[int] = []
        made = memory.update("list", lambda items: [*items, 1], default=start)
        made.append("got out")
        assert memory.update("list", lambda items: items.append(2) or items) == [1, 2]
        assert memory.recall("list") == [1, 2]
        assert memory.update("nothing", lambda value: [value]) == [None]
        assert start == []

    @pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt()], ids=repr)
    def test_a_function_that_raises_leaves_everything_as_it_was(
        self, memory: Any, error: BaseException
    ) -> None:
        memory.remember("k", [1])

        def fail(value: list[int]) -> None:
            value.append(2)
            raise error

        with pytest.raises(type(error)):
            memory.update("k", fail)
        assert memory.recall("k") == [1]
        assert memory.update("k", len) == 1

    def test_a_function_that_returns_nothing_has_forgotten_to(self, memory: Any) -> None:
        memory.remember("k", [1])
        with pytest.raises(ValidationError, match="return the new value"):
            memory.update("k", lambda items: items.append(2))
        assert memory.recall("k") == [1]

    def test_a_default_that_is_no_json_is_refused(self, memory: Any) -> None:
        with pytest.raises(ValidationError, match="default"):
            memory.update("x", lambda value: value, (number for number in range(3)))

    def test_an_update_that_is_overtaken_starts_anew_with_the_newer_value(
        self, memory: Any
    ) -> None:
        seen = []

        def add(items: list[str]) -> list[str]:
            seen.append(list(items))
            if len(seen) < 3:
                in_another_thread(lambda: memory.remember("k", [f"other {len(seen)}"]))
            items.append("mine")
            return items

        assert memory.update("k", add, default=["default"]) == ["other 2", "mine"]
        assert seen == [["default"], ["other 1"], ["other 2"]]

    def test_an_update_notices_that_the_key_was_forgotten(self, memory: Any) -> None:
        memory.remember("k", 5)

        def add(n: int) -> int:
            if n == 5:
                in_another_thread(lambda: memory.forget("k"))
            return n + 1

        assert memory.update("k", add, default=0) == 1

    @pytest.mark.parametrize(
        "write",
        [
            lambda memory: memory.remember("k", 1),
            lambda memory: memory.increment("k"),
            lambda memory: memory.forget("k"),
            lambda memory: memory.compare_and_set("k", 0, 1),
            lambda memory: memory.update("k", lambda n: n),
            lambda memory: memory.update("other", lambda n: memory.increment("k")),
            lambda memory: memory.clear(),
        ],
        ids=["remember", "increment", "forget", "exchange", "update", "inside another", "clear"],
    )
    def test_a_function_may_not_write_what_it_updates(
        self, memory: Any, write: Callable[[Any], object]
    ) -> None:
        memory.remember("k", 0)
        with pytest.raises(ValidationError, match="must return the new value"):
            memory.update("k", lambda n: write(memory))
        assert memory.items() == [("k", 0)]
        assert memory.increment("k") == 1

    def test_a_function_may_write_elsewhere(self, place: Any) -> None:
        memory, other = self.kind(place), self.kind(place, namespace="other")

        def work(n: int) -> int:
            return n + int(memory.increment("k2") + other.increment("k") + memory.recall("k", 0))

        assert memory.update("k", work, default=1) == 3

    def test_threads_that_count_lose_nothing(self, memory: Any) -> None:
        def count(by: float) -> list[Any]:
            return [memory.increment("n", by) for _ in range(200)]

        with ThreadPoolExecutor(8) as threads:
            sums = list(threads.map(count, [1] * 8))
        assert sorted(each for one in sums for each in one) == list(range(1, 1601))
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(count, [0.5, 1, 0.25, -1]))
        assert memory.recall("n") == 1600 + 150

    def test_threads_that_update_one_key_lose_nothing(self, memory: Any) -> None:
        def add(n: int) -> None:
            memory.update("all", lambda items: [*items, n], default=[])

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(add, range(80)))
        assert sorted(memory.recall("all")) == list(range(80))

    def test_of_many_who_compare_and_set_one_wins(self, memory: Any) -> None:
        for turn in range(10):
            ready = threading.Barrier(8)

            def stand(name: str, turn: int = turn, ready: threading.Barrier = ready) -> bool:
                ready.wait()
                won: bool = memory.compare_and_set(f"leader {turn}", None, name)
                assert memory.recall(f"leader {turn}") is not None
                return won

            with ThreadPoolExecutor(8) as threads:
                won = list(threads.map(stand, "abcdefgh"))
            assert won.count(True) == 1
            assert memory.recall(f"leader {turn}") == "abcdefgh"[won.index(True)]
