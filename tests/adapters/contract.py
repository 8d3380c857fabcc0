"""What every framework adapter promises, run against the real framework with a fake model.

An adapter's test file writes `class TestContract(AdapterContract)` and fills in the abstract
methods; pytest collects the inherited tests. All methods are synchronous: an asynchronous
framework is driven with `asyncio.run` inside, a new loop each call. Turns of one user on one store
object belong to one conversation (keep the agents in `self`; pytest makes a new one per test).
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bethink import (
    EVERYWHERE,
    ArgumentError,
    Files,
    MemoryRecord,
    MemoryStore,
    RecallResult,
    StorageError,
    StoreClosedError,
    segment,
)

from .makers import make, makeable

FACT = "The spare key lies under the cobalt flowerpot."
QUESTION = "Where does the spare key lie?"
CAFE = "Das Café in Zürich öffnet früh."

LOOKALIKES = (
    *("ann", "Ann", "ann ", "ann/b", "ann%2Fb", "annb", "", "/", "//", ".", "..", "ann/..", "%"),
    *("*", "default", "\u00c4nn", "A\u0308nn", "\uff41nn", "用户", "🦊", "\x00", "\n", "\udc80"),
)


def place(user: str) -> str:
    """Return the namespace of *user* in the tests of adapters."""
    return f"users/{segment(user)}"


class GatedStore(MemoryStore):
    """A real store whose reads wait at a gate, so that a test can stop a call half-way."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        backend: Any = self._engine.backend
        backend.values = self._gated(backend.values)  # of a message log, which asks for no record
        backend.values_and_contents = self._gated(backend.values_and_contents)

    def _gated(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def gated(*args: Any) -> Any:
            self._wait()
            return read(*args)

        return gated

    def _wait(self) -> None:
        self.entered.set()
        assert self.gate.wait(30), "nobody opened the gate"

    def recall(self, *args: Any, **kwargs: Any) -> list[RecallResult]:
        self._wait()
        return super().recall(*args, **kwargs)

    def all(self, *args: Any, **kwargs: Any) -> list[MemoryRecord]:
        self._wait()
        return super().all(*args, **kwargs)


async def cancel_at_gate(store: GatedStore, call: Coroutine[Any, Any, object]) -> None:
    """Run *call* until it stands at the gate of *store*, cancel it there, then open the gate."""
    store.entered.clear()
    store.gate.clear()
    task = asyncio.ensure_future(call)
    try:
        assert await asyncio.to_thread(store.entered.wait, 30), "the call never read the store"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        store.gate.set()


class SlowStore(MemoryStore):
    """A real store whose first write waits until `cancel_in_write` has cancelled it."""

    def __init__(self, location: str = ":memory:") -> None:
        super().__init__(location)
        self.begun, self.gate = threading.Event(), threading.Event()

    def wait(self) -> None:
        """Let the first who comes here wait."""
        if not self.begun.is_set():
            self.begun.set()
            assert self.gate.wait(30), "nobody opened the gate"

    def _store_items(self, *args: Any, **kwargs: Any) -> list[MemoryRecord]:  # every way to store
        self.wait()
        return super()._store_items(*args, **kwargs)


class SlowFiles(Files):
    """Files in a `SlowStore`, of which the first write waits, too."""

    store: SlowStore

    def create(self, path: str, text: str) -> MemoryRecord:
        self.store.wait()
        return super().create(path, text)

    def append(self, path: str, text: str) -> int:
        self.store.wait()
        return super().append(path, text)


async def cancel_in_write(
    store: SlowStore, first: Coroutine[Any, Any, object], then: Coroutine[Any, Any, object]
) -> None:
    """Cancel *first* while it writes, run *then*; see that neither is still under way."""
    task = asyncio.ensure_future(first)
    assert await asyncio.to_thread(store.begun.wait, 30), "the call never wrote"
    task.cancel()
    asyncio.get_running_loop().call_later(0.1, store.gate.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    await then
    await asyncio.sleep(0.2)


class MeetingStore(MemoryStore):
    """A real store whose first reads by two threads wait for each other, for a moment."""

    def __init__(self, location: str = ":memory:") -> None:
        super().__init__(location)
        self._both_have_read = threading.Barrier(2)

    def all(self, *args: Any, **kwargs: Any) -> list[MemoryRecord]:
        found = super().all(*args, **kwargs)
        with suppress(threading.BrokenBarrierError):
            self._both_have_read.wait(0.2)
        return found


class AdapterContract:
    """The sixteen points; a subclass supplies the framework, or each test of the point fails."""

    not_applicable: ClassVar[Mapping[str, str]] = {}
    """Why a point does not apply: keys "dump", "budget", "order", "erase user",
    "failed run", "erased turn", "answers"."""

    failure_is_loud: ClassVar[str] = ""
    """Why a run on a failing store raises; empty when it goes on and the failure is logged."""

    failure: ClassVar[type[Exception]] = StoreClosedError
    """What an explicit call raises when the store is closed."""

    failure_logger: ClassVar[str] = "bethink_adapters"
    """The logger (or its parent) that reports a failing store."""

    remembered_in_history: ClassVar[int] = 0
    """1 where `remember` writes a message of the framework's history itself (message logs)."""

    # -- the framework, supplied by the adapter's tests

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        """Run one turn of *user* with a fake model answering *reply*; return its last prompt."""
        raise NotImplementedError

    def ingest(self, store: MemoryStore, user: str) -> None:
        """Hand the last turn of *user* to the memory; called again, it is a retry of that turn."""
        raise NotImplementedError

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        """Write *text* through the adapter."""
        raise NotImplementedError

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        """Search (or read) through the adapter, best first."""
        raise NotImplementedError

    def framework_history(self, store: MemoryStore, user: str) -> str:
        """Serialise what the framework itself keeps of the turns of *user*."""
        raise NotImplementedError

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        """Start an asynchronous turn or search and cancel it at the gate: see `cancel_at_gate`."""
        raise NotImplementedError

    def erase_user(self, store: MemoryStore, user: str) -> int:
        """Erase all that the adapter keeps of *user*, as the adapter's page says."""
        raise NotImplementedError

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        """Run one turn of *user* whose model raises; False when `not_applicable` says why not."""
        return False

    def dump(self, store: MemoryStore, user: str) -> str | None:
        """Serialise the configured adapter; None when `not_applicable` says why not."""
        return None

    reload_code: ClassVar[str] = ""
    """Python for a new process: dump on stdin, query in sys.argv[1], texts found on stdout."""

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str | None:
        """Return all that a run adds to the prompt; None when `not_applicable` says why."""
        return None

    def chat(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        """Run one turn and see that the memory has it."""
        prompt = self.run(store, user, text, reply)
        self.ingest(store, user)
        return prompt

    def chat_concurrently(
        self, store: MemoryStore, turns: Sequence[tuple[str, str, str]]
    ) -> list[str]:
        """Run all *turns* of (user, text, reply) at once, each in its own thread."""
        with ThreadPoolExecutor(len(turns)) as pool:
            return list(pool.map(lambda turn: self.chat(store, *turn), turns))

    # -- 1, 2, 3: one turn after the other

    def test_second_turn_sees_the_memory_once(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            self.remember(store, "ann", FACT)
            first = self.chat(store, "ann", QUESTION, "Where you left it.")
            second = self.chat(
                store, "ann", "Once more, where does the spare key lie?", "Same place."
            )
        assert first.count("cobalt flowerpot") == 1
        assert second.count("cobalt flowerpot") == 1

    def test_said_things_reach_the_model_once(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            self.chat(store, "ann", "My parrot is called Quetzal.", "Noted.")
            prompt = self.chat(store, "ann", "What is my parrot called?", "You told me.")
        assert prompt.count("Quetzal") == 1

    def test_recalled_text_stays_out_of_the_frameworks_history(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            self.remember(store, "ann", FACT)
            for turn in range(2):
                self.chat(store, "ann", f"{QUESTION} ({turn})", "Where you left it.")
            kept = self.framework_history(store, "ann")
        assert "Where you left it." in kept or not kept
        # A message log *is* the history: there the fact stands once, as the message it is.
        assert kept.count("cobalt flowerpot") == self.remembered_in_history

    def test_ingesting_a_turn_again_adds_nothing(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            self.chat(store, "ann", "My parrot is called Quetzal.", "A fine name.")
            before = [record.id for record in store.all(namespace=EVERYWHERE)]
            self.ingest(store, "ann")
            after = [record.id for record in store.all(namespace=EVERYWHERE)]
        assert before
        assert after == before

    # -- 4: isolation

    def test_nobody_finds_what_another_wrote(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            for number, user in enumerate(LOOKALIKES):
                self.remember(store, user, f"The vault code is secret{number:02d}.")
            found = [self.find(store, user, "vault code") for user in LOOKALIKES]
        assert found == [[f"The vault code is secret{n:02d}."] for n in range(len(LOOKALIKES))]

    @pytest.mark.parametrize("user", ["", "ann/b", "ann"])
    def test_no_prompt_shows_what_another_wrote(self, tmp_path: Path, user: str) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            for other in ("", "/", "ann", "ann/b", "annb"):
                self.remember(
                    store, other, f"The vault code is {'mine' if other == user else 'theirs'}."
                )
            prompt = self.chat(store, user, "What is the vault code?", "A secret.")
        assert prompt.count("vault code is mine") == 1
        assert "theirs" not in prompt

    # -- 5, 6: trouble

    def test_run_on_a_failing_store(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        store = MemoryStore(tmp_path / "memory.db")
        self.remember(store, "ann", FACT)
        store.close()
        if self.failure_is_loud:
            with pytest.raises(self.failure):
                self.run(store, "ann", QUESTION, "I do not know.")
            return
        with caplog.at_level(logging.WARNING):
            prompt = self.run(store, "ann", QUESTION, "I do not know.")
        assert QUESTION in prompt
        assert "cobalt" not in prompt
        assert any(record.name.startswith(self.failure_logger) for record in caplog.records)

    def test_explicit_calls_on_a_failing_store_raise(self, tmp_path: Path) -> None:
        store = MemoryStore(tmp_path / "memory.db")
        self.remember(store, "ann", FACT)
        store.close()
        with pytest.raises(self.failure):
            self.find(store, "ann", QUESTION)
        with pytest.raises(self.failure):
            self.remember(store, "ann", "The bakery opens at seven.")

    def test_cancelling_mid_recall_leaves_the_store_consistent(self, tmp_path: Path) -> None:
        path = tmp_path / "memory.db"
        with GatedStore(str(path)) as store:
            self.remember(store, "ann", FACT)
            before = _contents(store)
            self.cancel_mid_recall(store, "ann", QUESTION)
            after = _contents(store)
            assert after in (before, [*before, QUESTION])
            self.remember(store, "ann", "The bakery opens at seven.")
            assert FACT in self.find(store, "ann", QUESTION)
        with MemoryStore(path) as store:
            assert store.count(namespace=EVERYWHERE) == len(after) + 1

    # -- 7: configuration

    def test_dump_has_no_secret_and_reloads_in_a_new_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-any-dump")
        with MemoryStore(tmp_path / "memory.db") as store:
            self.remember(store, "ann/b", FACT)
            self.remember(store, "ann", "The spare key of another one.")
            dump = self.dump(store, "ann/b")
        if dump is None:
            assert self.not_applicable["dump"]
            return
        assert "sk-not-for-any-dump" not in dump
        assert "cobalt" not in dump
        assert self._reload(dump) == [FACT]

    def _reload(self, dump: str) -> list[str]:
        command = [sys.executable, "-X", "utf8", "-c", self.reload_code, QUESTION]
        done = subprocess.run(
            command, input=dump, capture_output=True, encoding="utf-8", timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    # -- 17: a store or a path

    def test_a_store_or_a_path_is_checked_at_construction(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            places = list(makeable(store))
        assert places
        for place in places:
            with pytest.raises(StorageError):
                make(place, tmp_path)  # a folder
            with pytest.raises(ValueError, match="store must be a MemoryStore"):
                make(place, 5)

    def test_a_wrong_argument_is_answered_with_the_right_argument(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            for place in makeable(store):
                with pytest.raises(ArgumentError, match="unknown argument 'min_shares'; "):
                    make(place, store, min_shares=0.5)

    # -- 8, 12: concurrency and event loops

    def test_twenty_concurrent_runs_share_one_store(self, tmp_path: Path) -> None:
        users = [f"user-{number:02d}" for number in range(20)]
        with MemoryStore(tmp_path / "memory.db") as store:
            for user in users:
                self.remember(store, user, f"The locker code is code-of-{user}.")
            turns = [
                (user, "What is the locker code?", f"It was said to {user}.") for user in users
            ]
            prompts = self.chat_concurrently(store, turns)
            kept = [self.find(store, user, "locker code") for user in users]
        for user, prompt, texts in zip(users, prompts, kept, strict=True):
            assert [other for other in users if f"code-of-{other}." in prompt] == [user]
            assert f"The locker code is code-of-{user}." in texts

    def test_every_call_may_have_its_own_event_loop(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store, ThreadPoolExecutor(1) as other_thread:
            self.remember(store, "ann", FACT)
            first = self.chat(store, "ann", QUESTION, "Where you left it.")
            second = other_thread.submit(
                self.chat, store, "ann", f"{QUESTION} Tell me.", "There."
            ).result(120)
            third = self.chat(store, "ann", f"{QUESTION} Please.", "Still there.")
        prompts = (first, second, third)
        assert [prompt.count("cobalt flowerpot") for prompt in prompts] == [1, 1, 1]

    # -- 9: budget

    @pytest.mark.parametrize("budget", [0, 1, 60, 120])
    def test_budget_holds(self, tmp_path: Path, budget: int) -> None:
        def words(text: str) -> int:
            return len(text.split())

        with MemoryStore(tmp_path / "memory.db") as store:
            for number in range(40):
                text = f"The spare key number {number} lies under flowerpot {number} by the door."
                self.remember(store, "ann", text)
            block = self.block_within(store, "ann", QUESTION, budget, words)
        if block is None:
            assert self.not_applicable["budget"]
            return
        assert words(block) <= budget
        assert ("flowerpot" in block) == (budget >= 60)

    # -- 10: durability

    def test_nothing_is_lost_by_closing_and_reopening(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            self.remember(store, "ann", FACT)
            self.chat(store, "ann", "My parrot is called Quetzal.", "A fine name.")
            before = store.all(namespace=EVERYWHERE)
        with MemoryStore(tmp_path / "memory.db") as store:
            after = store.all(namespace=EVERYWHERE)
            prompt = self.chat(store, "ann", QUESTION, "Where you left it.")
            parrot = self.find(store, "ann", "What is the parrot called?")
        assert [(kept.id, kept.content) for kept in after] == [(r.id, r.content) for r in before]
        assert prompt.count("cobalt flowerpot") == 1
        assert any("Quetzal" in text for text in parrot)

    # -- 11: languages

    @pytest.mark.parametrize(
        ("memory", "query"),
        [
            pytest.param("我最喜欢的水果是苹果。", "喜欢什么水果", id="chinese"),
            pytest.param("私の好きな果物はりんごです。", "好きな果物", id="japanese"),
            pytest.param("제가 좋아하는 과일은 사과입니다.", "좋아하는 과일", id="korean"),
            pytest.param(CAFE, unicodedata.normalize("NFD", "Café Zürich"), id="decomposed-query"),
            pytest.param(unicodedata.normalize("NFD", CAFE), "Café Zürich", id="decomposed-memory"),
        ],
    )
    def test_other_scripts_are_found(self, tmp_path: Path, memory: str, query: str) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            self.remember(store, "ann", memory)
            assert self.find(store, "ann", query) == [memory]
            assert memory in self.run(store, "ann", query, "Yes.")

    # -- 13: what was said, in order

    def test_a_text_said_again_later_is_the_newest_memory(self, tmp_path: Path) -> None:
        if "order" in self.not_applicable:
            return
        with MemoryStore(tmp_path / "memory.db") as store:
            for city in ("Oslo", "Rome", "Oslo"):
                self.chat(store, "ann", f"I live in {city} now.", "Noted.")
            homes = [text for text in _contents(store) if "I live in" in text]
        assert [text.split()[3] for text in homes] in (["Oslo", "Rome", "Oslo"], ["Rome", "Oslo"])

    def test_a_question_asked_again_keeps_the_earlier_answer(self, tmp_path: Path) -> None:
        if not {"order", "answers"}.isdisjoint(self.not_applicable):
            return
        answers = ["The sun shines.", "It rains.", "The sun shines."]
        with MemoryStore(tmp_path / "memory.db") as store:
            for answer in answers:
                self.chat(store, "ann", "How is the weather?", answer)
            kept = [text for text in _contents(store) if text in answers]
        assert kept == answers

    def test_a_question_asked_again_after_a_restart_keeps_the_earlier_answer(
        self, tmp_path: Path
    ) -> None:
        if not {"order", "answers"}.isdisjoint(self.not_applicable):
            return
        answers = ["The sun shines.", "It rains.", "It snows."]
        restarted: list[MemoryStore] = []  # kept: a new object may get the id of an old object
        for answer in answers:
            with MemoryStore(tmp_path / "memory.db") as store:
                restarted.append(store)
                self.chat(store, "ann", "How is the weather?", answer)
                kept = [text for text in _contents(store) if text in answers]
        assert kept == answers

    # -- 14: what was deleted stays deleted

    def test_erasing_a_user_leaves_no_byte_and_no_other_user_out(self, tmp_path: Path) -> None:
        if "erase user" in self.not_applicable:
            return
        path = tmp_path / "memory.db"
        with MemoryStore(path) as store:
            for user, bird in (("ann", "Quetzal"), ("ann/b", "Hoatzin")):
                self.remember(store, user, f"The parrot of this house is {bird}.")
                self.chat(store, user, f"My parrot is called {bird}.", f"{bird} is a fine name.")
            assert self.erase_user(store, "ann") > 0
            assert self.find(store, "ann", "parrot called") == []
            assert any("Hoatzin" in text for text in self.find(store, "ann/b", "parrot called"))
            assert store.verify().ok
        assert b"Quetzal" not in path.read_bytes()
        assert b"Hoatzin" in path.read_bytes()

    def test_what_was_erased_does_not_come_back_with_the_turn_again(self, tmp_path: Path) -> None:
        if "erased turn" in self.not_applicable:
            return
        with MemoryStore(tmp_path / "memory.db") as store:
            self.chat(store, "ann", "My parrot is called Quetzal.", "A fine name.")
            store.erase([record.id for record in store.all(namespace=EVERYWHERE)])
            self.ingest(store, "ann")
            assert not any("Quetzal" in text for text in _contents(store))

    # -- 15: a run that failed

    def test_what_a_user_said_in_a_failed_run_is_kept(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            if not self.run_failing(store, "ann", "My parrot is called Quetzal."):
                assert self.not_applicable["failed run"]
                return
            kept = [text for text in _contents(store) if "Quetzal" in text]
            found = self.find(store, "ann", "What is my parrot called?")
        assert len(kept) == 1
        assert any("Quetzal" in text for text in found)

    # -- 16: odd names

    @pytest.mark.parametrize("user", ["", " ", "\n", "\t ", "用户", "\x00", "\udc80", "a" * 200])
    def test_any_text_names_a_user(self, tmp_path: Path, user: str) -> None:
        with MemoryStore(tmp_path / "memory.db") as store:
            self.chat(store, user, "My parrot is called Quetzal.", "A fine name.")
            assert any("Quetzal" in text for text in self.find(store, user, "parrot called"))


def _contents(store: MemoryStore) -> list[str]:
    """Return the texts of all live records, oldest first."""
    return [record.content for record in store.all(namespace=EVERYWHERE)]
