"""Many threads, many processes, and calls that fail half-way: nothing is lost, nothing hangs."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bethink import (
    EVERYWHERE,
    HashEmbedder,
    MemoryRecord,
    MemoryStore,
    StorageError,
    StoreBusyError,
    StoreClosedError,
    Subtree,
    ValidationError,
)
from bethink.model.namespaces import Scope
from bethink.model.port import Changes
from bethink.storage.sqlite import connections

from ..stored import assert_unlocked
from .inside import connections_of, engine_of
from .storage.processes import Child, Say, ask, fork, forks, together
from .storage.replay import assert_journal_is_state, unverified
from .storage.scripts import State, script, state_of

SCOPES: tuple[Scope, ...] = ("default", "a/b", Subtree("a"), EVERYWHERE)
NOW = 2e9


class Failing:
    """A function that raises *error* on call number *when*."""

    def __init__(self, real: Callable[..., Any], error: BaseException, when: int = 1) -> None:
        self.real = real
        self.error = error
        self.left = when

    def __call__(self, *arguments: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return self.real(*arguments)


class Words(HashEmbedder):
    """An embedder whose work can be replaced."""

    def __init__(self) -> None:
        super().__init__(64)
        self.work: Callable[..., npt.NDArray[np.float32]] = super().embed

    def embed(self, texts: Any) -> npt.NDArray[np.float32]:
        return self.work(texts)


def opened(location: str | Path, **given: Any) -> MemoryStore:
    return MemoryStore(location, embedder=Words(), durability="normal", **given)


def settle(store: MemoryStore) -> None:
    """Write the accesses that wait for a write to take them along."""
    with engine_of(store).writing(closing=True):
        pass


def integrity(path: Path) -> list[tuple[object]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall()


CALLS: dict[str, Callable[[MemoryStore], object]] = {
    "store": lambda store: store.store("new"),
    "batch": lambda store: store.store_many(["new", {"content": "newer", "key": "k"}]),
    "supersede": lambda store: store.store("new", key="k"),
    "update": lambda store: store.update("r1", content="new"),
    "patch": lambda store: store.update("r1", importance=0.9),
    "forget": lambda store: store.forget(where={"importance": {"$lt": 1}}, namespace="default"),
    "restore": lambda store: store.restore(["gone"]),
}


@pytest.fixture
def store(path: Path) -> Iterator[MemoryStore]:
    with opened(path) as store:
        store.store("one", id="r1", key="k")
        store.store("two", id="gone")
        store.forget("gone")
        yield store


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("error", [OSError("no clock"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("when", [1, 2])
def test_a_clock_that_fails_undoes_the_call(
    store: MemoryStore,
    path: Path,
    call: Callable[[MemoryStore], object],
    error: BaseException,
    when: int,
) -> None:
    engine, before = engine_of(store), store.log()
    clock, engine.clock = engine.clock, Failing(engine.clock, error, when)
    with suppress(type(error)):
        call(store)
        before = store.log()  # it did not ask so often
    engine.clock = clock
    assert_unlocked(path)
    assert store.log() == before
    call(store)
    assert_journal_is_state(store)


@pytest.mark.parametrize("name", ["store", "batch", "supersede", "update"])
def test_an_embedder_that_fails_undoes_the_call(store: MemoryStore, path: Path, name: str) -> None:
    words, before = store.embedder, store.log()
    assert isinstance(words, Words)
    words.work = Failing(words.work, RuntimeError("no model"))
    with pytest.raises(RuntimeError, match="no model"):
        CALLS[name](store)
    assert_unlocked(path)
    assert store.log() == before
    CALLS[name](store)
    assert_journal_is_state(store)


def test_a_maker_of_ids_that_fails_undoes_the_call(path: Path) -> None:
    names = Failing(iter("abc").__next__, RuntimeError("no id"), when=2)
    with opened(path, new_id=names) as store:
        with pytest.raises(RuntimeError, match="no id"):
            store.store_many(["one", "two"])
        assert_unlocked(path)
        assert store.count() == 0
        assert store.store("three").id == "b"


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.store_many(["new", {"content": "again", "id": "r1"}]),
        lambda store: store.store_many(
            [{"content": "a", "vectors": {"v": [1]}}, {"content": "b", "vectors": {"v": [1, 2]}}]
        ),
        lambda store: store.forget(["r1", "none"]),
        lambda store: store.restore(["gone", "none"]),
        lambda store: store.update("gone", importance=0.1),
        lambda store: store.update("none", importance=0.1),
    ],
    ids=["an id again", "two dimensions", "forget", "restore", "update forgotten", "update none"],
)
def test_a_refused_call_changes_nothing(
    store: MemoryStore, path: Path, call: Callable[[MemoryStore], object]
) -> None:
    before = store.log()
    with pytest.raises((ValidationError, LookupError)):
        call(store)
    assert_unlocked(path)
    assert store.log() == before
    assert_journal_is_state(store)


def limit(store: MemoryStore, pages: int | None = None) -> None:
    """Let the file grow to so many pages, or not at all."""
    writer = connections_of(store)._writer
    used = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {used if pages is None else pages}")


@pytest.mark.slow
def test_a_full_disk_undoes_the_call(store: MemoryStore, path: Path) -> None:
    before = store.log()
    limit(store)
    with pytest.raises(StorageError, match="full"):
        store.store_many(["x" * 50_000, "y" * 50_000])
    assert_unlocked(path)
    assert store.log() == before
    limit(store, 1_000_000)
    store.store("now it fits")
    assert_journal_is_state(store)
    assert integrity(path) == [("ok",)]


@pytest.mark.slow
def test_threads_on_a_full_disk_know_what_was_stored(store: MemoryStore, path: Path) -> None:
    limit(store)
    limit(store, 60)

    def fill(name: str) -> list[str]:
        done = []
        for n in range(20):
            with suppress(StorageError):
                done.append(store.store(f"{name} {n} " * 300, id=f"{name}{n}").id)
        return done

    with ThreadPoolExecutor(6) as threads:
        stored = [id for done in threads.map(fill, "abcdef") for id in done]
    assert 0 < len(stored) < 120
    assert {record.id for record in store.all()} == {*stored, "r1"}
    limit(store, 1_000_000)
    store.store("now it fits")
    assert_journal_is_state(store)
    assert (integrity(path), unverified(path)) == ([("ok",)], [])


def test_a_read_during_an_export_waits_for_nobody(store: MemoryStore) -> None:
    class Target:
        def write(self, _: object) -> None:
            with engine_of(store).backend.write():
                assert reader.submit(store.get, "r1").result(timeout=10) is not None

    with ThreadPoolExecutor(1) as reader:
        assert store.export(Target()) == 2


@forks
def test_a_file_that_is_gone_is_not_made_anew(store: MemoryStore, path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    fork(store)
    for call in (store.verify, store.count):
        with pytest.raises(StorageError, match="is gone"):
            call()
    assert not path.exists()


@forks
@pytest.mark.parametrize("replaced", [False, True])
def test_nothing_is_written_to_a_file_that_is_no_longer_there(
    store: MemoryStore, path: Path, tmp_path: Path, *, replaced: bool
) -> None:
    with MemoryStore(tmp_path / "other.db", embedder=store.embedder) as other:
        other.store("a whale", id="r3")
    for part in tmp_path.glob(f"{path.name}*"):  # the log, too
        part.unlink()
    if replaced:
        (tmp_path / "other.db").rename(path)
    for call in (lambda: store.store("a lost whale"), lambda: store.export(tmp_path / "lines")):
        with pytest.raises(StorageError, match="is gone"):
            call()
    store.close()
    with MemoryStore(path, embedder=store.embedder) as found:
        assert [record.id for record in found.all()] == ["r3"] * replaced


def test_nothing_is_written_to_a_file_that_moved_behind_a_link(
    store: MemoryStore, path: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved.db"
    path.rename(moved)
    path.symlink_to(moved)  # others would keep their log beside what it leads to
    with pytest.raises(StorageError, match="is gone"):
        store.store("a lost whale")


@pytest.mark.parametrize("replaced", [False, True])
def test_nothing_is_written_behind_a_link_that_leads_there_no_more(
    tmp_path: Path, *, replaced: bool
) -> None:
    target, other, link = (tmp_path / name for name in ("target.db", "other.db", "link.db"))
    for place in (target, other):
        MemoryStore(place).close()
    link.symlink_to(target)
    with MemoryStore(link) as store:
        store.store("a whale")
        link.unlink()
        if replaced:
            link.symlink_to(other)
        with pytest.raises(StorageError, match="is gone"):
            store.store("a lost whale")
    for place, count in ((target, 1), (other, 0)):
        with MemoryStore(place) as found:
            assert found.count() == count


def test_accesses_outlast_a_write_that_fails(store: MemoryStore) -> None:
    for _ in range(3):
        store.touch("r1")
    with pytest.raises(KeyError), engine_of(store).writing(closing=True):
        raise KeyError
    record = store.get("r1")
    assert record is not None
    assert record.access_count == 3
    settle(store)
    assert [entry.action for entry in store.log(limit=1)] == ["touch"]
    assert_journal_is_state(store)


@forks
def test_a_file_that_is_locked_for_long_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.1)
    with opened(path) as store:
        store.store("whale")

        def hold(say: Say) -> None:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                ask(say)

        with Child(hold) as holder:
            holder.wait_for_question()
            with pytest.raises(StoreBusyError):
                store.store("parrot")
            assert len(store.recall("whale parrot")) == 1
        store.store("parrot")
        assert len(store.recall("whale parrot")) == 2


def live(store: MemoryStore, name: str, steps: int) -> State:
    """Go through a script of its own and touch what all share; return the state it comes to."""
    state: State = {}
    for number, (do, after) in enumerate(islice(script(name, 1, {}), steps)):
        do(store)
        state = after
        if number % 5 == 0:
            store.store(f"{name} {number}", key="shared", namespace="shared")
            store.touch("touched")
            store.recall("whales", namespace=EVERYWHERE, touch=False)
            assert store.get(namespace="shared", key="shared") is not None
    return state


def assert_lived(store: MemoryStore, states: dict[str, State], steps: int) -> None:
    """Check that every one of those who lived on *store* left all that it did."""
    rounds = len(states) * len(range(0, steps, 5))
    for name, state in states.items():
        assert state_of(store, name) == state
    conditions = [condition for _, condition, _ in state_of(store, "shared").values()]
    assert sorted(conditions) == ["live", *["superseded"] * (rounds - 1)]
    touched = store.get("touched")
    assert touched is not None
    assert touched.access_count == rounds
    assert_journal_is_state(store)


@pytest.mark.slow
@pytest.mark.parametrize("location", [":memory:", "memory.db"])
def test_threads_lose_nothing_of_each_other(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"thread{n}" for n in range(8)]
    with opened(location) as store:
        store.store("all touch this", id="touched", namespace="touched")
        with ThreadPoolExecutor(8) as threads:
            states = dict(
                zip(names, threads.map(lambda name: live(store, name, 25), names), strict=True)
            )
        settle(store)
        assert_lived(store, states, 25)
        found = {hit.memory.id for hit in store.recall("whales", k=9999, namespace=EVERYWHERE)}
        whales = [record for record in store.all(namespace=EVERYWHERE)]
        assert found >= {record.id for record in whales if "whales" in record.content}


@pytest.mark.slow
def test_closing_while_threads_write_loses_nothing_they_were_told(path: Path) -> None:
    done: list[str] = []
    store = opened(path)
    ready = threading.Barrier(5)

    def write(name: str) -> None:
        ready.wait()
        with suppress(StoreClosedError):
            for n in range(10_000):
                done.append(store.store("a memory", id=f"{name}{n}").id)

    with ThreadPoolExecutor(4) as threads:
        writers = [threads.submit(write, name) for name in "abcd"]
        ready.wait()
        while len(done) < 20:
            assert not any(writer.done() for writer in writers)
        store.close()
        for writer in writers:
            writer.result()
    with opened(path) as again:
        assert {record.id for record in again.all()} >= set(done)
        assert_journal_is_state(again)


def found(store: MemoryStore) -> list[list[tuple[str, float, MemoryRecord]]]:
    """Return what recalls of every scope show."""
    return [
        [
            (hit.memory.id, round(hit.score, 9), hit.memory)
            for hit in store.recall(query, k=99, namespace=scope, now=NOW, touch=False)
        ]
        for scope in SCOPES
        for query in ("whale", "parrot ferry")
    ]


CHANGES: dict[str, Callable[[MemoryStore], object]] = {
    "store": lambda store: store.store("another whale"),
    "batch": lambda store: store.store_many(["whale", "parrot"], namespace="a"),
    "update text": lambda store: store.update("r1", content="a ferry"),
    "update number": lambda store: store.update("r1", importance=1.0, expires_at=NOW + 5),
    "expire": lambda store: store.update("r1", expires_at=NOW - 5),
    "move": lambda store: store.update("r1", namespace="a/b"),
    "supersede": lambda store: store.store("a new whale", key="k", namespace="a/b"),
    "forget": lambda store: store.forget(["r1", "r2"]),
    "restore": lambda store: store.restore("gone"),
    "touch": lambda store: store.touch(["r1", "r2"]),
    "all at once": lambda store: [call(store) for call in list(CHANGES.values())[:-1]],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_store_sees_what_another_changed(
    path: Path, change: Callable[[MemoryStore], object]
) -> None:
    with opened(path) as one, opened(path) as two:
        one.store("a whale", id="r1")
        one.store("whale and parrot", id="r2", namespace="a/b", key="k")
        one.store("a ferry and a whale", id="gone", thread="t", author="Ann")
        one.forget("gone")
        before = found(two)
        change(one)
        settle(one)
        after = found(two)
        with opened(path) as fresh:
            assert after == found(fresh) == found(one)
        assert after != before


def test_a_change_caught_up_with_is_not_taken_twice(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as store, opened(path) as other:
        store.store("a whale", id="r1")
        found(store)
        index, apply = engine_of(store).index, engine_of(store).index.apply

        def late(changes: Changes) -> None:
            other.store("a parrot")
            found(store)
            apply(changes)

        monkeypatch.setattr(index, "apply", late)
        store.store_many(["another whale", "a ferry"])
        store.update("r1", content="whale and ferry")
        store.forget("r1")
        with opened(path) as fresh:
            assert found(store) == found(fresh)


def test_changes_may_be_taken_in_any_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as store:
        store.store("a whale", id="r1")
        found(store)
        waiting: list[Changes] = []
        index, apply = engine_of(store).index, engine_of(store).index.apply
        monkeypatch.setattr(index, "apply", waiting.append)
        store.store("another whale", id="r2")
        store.update("r1", content="a ferry")
        store.forget("r2")
        for changes in reversed(waiting):
            apply(changes)
        with opened(path) as fresh:
            assert found(store) == found(fresh)


def start_and_write(path: Path, name: str) -> str:
    with opened(path) as store:
        store.store(f"{name} was here", id=name)
        assert store.recall(name)
    return name


@pytest.mark.slow
@forks
def test_processes_that_make_a_file_at_once_make_it_once(tmp_path: Path) -> None:
    names = [f"process{n}" for n in range(12)]
    for round in range(4):
        path = tmp_path / f"{round}.db"
        together([partial(start_and_write, path, name) for name in names])
        with opened(path) as store:
            assert sorted(record.id for record in store.all()) == sorted(names)
            assert_journal_is_state(store)


@pytest.mark.slow
@forks
def test_processes_lose_nothing_of_each_other(path: Path) -> None:
    names, steps = [f"process{n}" for n in range(16)], 12
    with opened(path) as store:
        store.store("all touch this", id="touched", namespace="touched")

    def run(name: str) -> State:
        with opened(path) as store:
            return live(store, name, steps)

    states = dict(zip(names, together([partial(run, name) for name in names]), strict=True))
    with opened(path) as store:
        assert_lived(store, states, steps)
        print(f"{len(store.log(limit=None))} entries of {len(names)} processes, none lost")
    assert (integrity(path), unverified(path)) == ([("ok",)], [])


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0"])
def test_a_program_that_ends_without_closing_loses_no_access(path: Path, end: str) -> None:
    program = f"""
from bethink import MemoryStore
store = MemoryStore({str(path)!r})
store.store("the ferry leaves at nine")
store.recall("ferry")
{end}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode == 0) == (end == "")
    with MemoryStore(path) as store:
        assert [record.access_count for record in store.all()] == [1]
