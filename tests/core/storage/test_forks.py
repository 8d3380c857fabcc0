"""A store that is open when its process forks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from bethink import MemoryStore, ShortTermMemory, StorageError
from bethink.model.forks import watch
from bethink.model.ids import IdFactory
from bethink.storage.anchors import FileAnchor

from ..inside import engine_of
from .processes import Child, Say, ask, forks
from .replay import assert_journal_is_state, unverified

pytestmark = forks


def contents(path: Path) -> set[str]:
    with MemoryStore(path) as store:
        assert_journal_is_state(store)
        found = {record.content for record in store.all()}
    assert unverified(path) == []
    return found


def test_parent_and_child_go_on_with_the_same_store(path: Path) -> None:
    with MemoryStore(path) as store:
        store.store("before the whale")

        def go_on(_: Say) -> list[str]:
            for n in range(5):
                store.store(f"child whale {n}")
            return [hit.memory.content for hit in store.recall("whale", k=20)]

        child = Child(go_on)
        for n in range(5):
            store.store(f"parent whale {n}")
        told = child.result()
        assert {"before the whale", "child whale 4"} <= set(told)
        assert len(store.recall("whale", k=20)) == 11
    assert len(contents(path)) == 11


def test_a_child_that_closes_leaves_its_parent_open(path: Path) -> None:
    with MemoryStore(path) as store:
        store.store("one")
        Child(lambda _: store.close()).result()
        store.store("two")
        assert store.count() == 2
    assert contents(path) == {"one", "two"}


def test_a_child_stores_while_a_thread_of_its_parent_makes_an_id(path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def clock() -> float:
        if threading.current_thread() is thread:
            inside.set()
            go_on.wait()
        return 1.7e9

    new_id = IdFactory(clock)
    thread = threading.Thread(target=new_id)
    with MemoryStore(path, new_id=new_id) as store:
        thread.start()
        inside.wait()
        child = Child(lambda _: store.store("child").content)
        try:
            assert child.result() == "child"
        finally:
            go_on.set()
            thread.join()


def test_a_child_of_a_child_goes_on_too(path: Path) -> None:
    with MemoryStore(path) as store:
        store.store("parent")

        def go_on(_: Say) -> int:
            store.store("child")
            Child(lambda _: store.store("grandchild")).result()
            return store.count()

        assert Child(go_on).result() == 3
    assert contents(path) == {"parent", "child", "grandchild"}


def test_a_child_keeps_its_writes_when_its_parent_closes(path: Path) -> None:
    store = MemoryStore(path)
    store.store("parent")

    def go_on(say: Say) -> None:
        store.store("child, parent open")
        ask(say)
        store.store("child, parent closed")
        ask(say)

    with Child(go_on) as child:
        child.wait_for_question()
        store.close()
        child.answer()
        child.wait_for_question()
    assert contents(path) == {"parent", "child, parent open", "child, parent closed"}


def test_a_child_with_a_store_of_its_own_keeps_its_writes(path: Path) -> None:
    store = MemoryStore(path)
    store.store("parent")

    def go_on(say: Say) -> None:
        own = MemoryStore(path)
        own.store("child, parent open")
        ask(say)
        own.store("child, parent closed")
        ask(say)

    with Child(go_on) as child:
        child.wait_for_question()
        store.close()
        child.answer()
        child.wait_for_question()
    assert contents(path) == {"parent", "child, parent open", "child, parent closed"}


def test_a_file_that_is_opened_twice_stays_locked(path: Path) -> None:
    def go_on(say: Say) -> None:
        first = MemoryStore(path)
        MemoryStore(path).close()
        first.store("one")
        ask(say)
        first.store("two")
        ask(say)

    with Child(go_on) as child:
        child.wait_for_question()
        MemoryStore(path).close()
        child.answer()
        child.wait_for_question()
    assert contents(path) == {"one", "two"}


@contextmanager
def busy(store: MemoryStore) -> Iterator[None]:
    """Write, recall and list in threads all the while."""
    done = threading.Event()

    def repeat(verb: str) -> None:
        while not done.is_set():
            if verb == "store":
                store.store("by a thread")
            elif verb == "recall":
                store.recall("thread")
            else:
                store.all(limit=3)

    threads = [threading.Thread(target=repeat, args=(verb,)) for verb in ("store", "recall", "all")]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


@pytest.mark.slow
def test_a_child_goes_on_while_threads_of_its_parent_were_at_work(path: Path) -> None:
    with MemoryStore(path, durability="normal") as store, busy(store):
        for n in range(10):

            def go_on(_: Say, n: int = n) -> int:
                store.store(f"child {n}")
                return len(store.recall(f"child {n}"))

            assert Child(go_on).result() > 0
    assert {f"child {n}" for n in range(10)} <= contents(path)


@pytest.mark.slow
def test_a_child_can_open_a_store_while_its_parent_was_opening_some(tmp_path: Path) -> None:
    done = threading.Event()

    def open_and_close(name: str) -> None:
        while not done.is_set():
            with MemoryStore(tmp_path / name, durability="normal") as store:
                store.store("by a thread")

    threads = [threading.Thread(target=open_and_close, args=(name,)) for name in ("a.db", "b.db")]
    for thread in threads:
        thread.start()
    try:
        for n in range(10):

            def go_on(_: Say, n: int = n) -> None:
                with MemoryStore(tmp_path / "a.db") as store:
                    store.store(f"child {n}")

            Child(go_on).result()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert {f"child {n}" for n in range(10)} <= contents(tmp_path / "a.db")


def test_a_memory_that_a_thread_makes_during_a_fork_waits_for_its_end() -> None:
    during = list[bool]()

    class Witness:
        def before_fork(self) -> None:
            self.making = threading.Thread(target=ShortTermMemory)
            self.making.start()
            self.making.join(0.1)
            during.append(self.making.is_alive())

        def after_fork(self, *, in_child: bool) -> None:
            pass

    witness = Witness()
    watch(witness)
    Child(lambda _: None).result()
    witness.making.join()
    assert during == [True]


def test_accesses_that_wait_to_be_written_are_counted_once(path: Path) -> None:
    with MemoryStore(path) as store:
        whale = store.store("a whale")
        store.recall("whale")
        Child(lambda _: store.close()).result()
        Child(lambda _: store.store("by a child")).result()
    with MemoryStore(path) as store:
        found = store.get(whale.id)
        assert found is not None
        assert found.access_count == 1


def test_every_thread_hears_that_the_file_is_gone_after_a_fork(path: Path) -> None:
    store = MemoryStore(path)
    Child(lambda _: None).result()
    path.rename(path.with_name("elsewhere.db"))
    for _ in range(2):
        with ThreadPoolExecutor(1) as thread, pytest.raises(StorageError, match="gone"):
            thread.submit(store.count).result()
    store.close()


def in_thread(work: Callable[[], int]) -> int:
    told = Future[int]()
    threading.Thread(target=lambda: told.set_result(work()), daemon=True).start()
    return told.result(timeout=10)


def test_threads_begun_after_a_fork_read_and_write(path: Path) -> None:
    with MemoryStore(path) as store:
        store.store("before")
        reads: list[Callable[[], int]] = [
            store.count,
            store.as_of(1).count,
            lambda: len(store.verify().problems),
        ]

        def go_on(_: Say) -> list[int]:
            with engine_of(store).backend.write():
                beside = list(map(in_thread, reads))
            return [*beside, in_thread(lambda: len(store.store_many(["after", "later"])))]

        assert Child(go_on).result() == [1, 1, 0, 2]
        assert go_on(print) == [3, 1, 0, 2]


def test_a_past_that_was_read_is_the_first_read_after_a_fork(path: Path) -> None:
    with MemoryStore(path) as store:
        store.store("before")
        past = store.as_of(1)
        assert past.count() == 1
        assert Child(lambda _: past.count()).result() == 1
        assert past.count() == 1


def test_memories_in_memory_part_ways() -> None:
    with MemoryStore() as store:
        store.store("before")

        def go_on(_: Say) -> int:
            store.store("child")
            return len(store.recall("child before", k=9))

        assert Child(go_on).result() == 2
        assert store.count() == 1


def test_a_relative_path_means_the_same_file_in_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    with MemoryStore("memory.db") as store:
        store.store("parent")

        def go_on(_: Say) -> int:
            os.chdir(tmp_path / "below")
            store.store("child")
            return store.count()

        assert Child(go_on).result() == 2
    assert contents(tmp_path / "memory.db") == {"parent", "child"}


def test_a_child_born_while_the_anchor_is_written_does_not_keep_it_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anchor, sync = FileAnchor(tmp_path / "anchor"), os.fsync
    inside, go_on = threading.Event(), threading.Event()

    def slow(file: int) -> None:
        inside.set()
        go_on.wait()
        sync(file)

    monkeypatch.setattr(os, "fsync", slow)
    with ThreadPoolExecutor(2) as threads:
        written = threads.submit(anchor.write, "1")
        inside.wait()
        with Child(ask) as child:
            child.wait_for_question()
            go_on.set()
            written.result(timeout=10)
            threads.submit(anchor.write, "2").result(timeout=10)
    assert anchor.read() == "2"
