"""Processes that want to write at once: they stand in line, and who stops there stops nobody."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from bethink import HashEmbedder, MemoryStore, StoreBusyError
from bethink.storage.sqlite import connections, write_queue
from bethink.storage.sqlite.write_queue import WriteQueue

from .processes import Child, Say, ask, forks


def opened(path: Path) -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(8))


def has_length(file: Path, length: int) -> bool:
    return file.exists() and file.stat().st_size == length


@forks
def test_a_process_that_stops_in_line_does_not_stop_the_others(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.1)
    opened(path).close()

    def stop(say: Say) -> None:
        import fcntl

        line = os.open(f"{path}-gate", os.O_CREAT | os.O_RDWR | os.O_APPEND)
        os.write(line, b".")
        fcntl.lockf(line, fcntl.LOCK_EX, 1, 1)
        ask(say)

    def write(_: Say) -> None:
        with opened(path) as store:
            store.store("whale")

    with Child(stop) as stopped:
        stopped.wait_for_question()
        Child(write).result(patience=10)


@forks
def test_processes_write_in_the_order_in_which_they_came(path: Path) -> None:
    opened(path).close()
    line = Path(f"{path}-gate")

    def write(say: Say) -> None:
        with opened(path) as store:
            ask(say)
            store.store("whale", id=f"{os.getpid()}")

    waiting = [Child(write) for _ in range(5)]
    try:
        for each in waiting:
            each.wait_for_question()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for place, each in enumerate(waiting, 1):
                each.answer()
                each.wait_until(partial(has_length, line, place))
        for each in waiting:
            each.result()
    finally:
        for each in waiting:
            with suppress(ProcessLookupError):
                each.kill()
    with opened(path) as store:
        assert [record.id for record in store.all()] == [str(each.pid) for each in waiting]


class Watch:
    """A clock in seconds that only a sleep moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("waited", "left"), [(0.0, 1.0), (0.75, 0.25), (2.0, 0.0)])
def test_the_wait_for_other_threads_shortens_the_wait_for_other_processes(
    waited: float, left: float, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(path).close()
    watch = Watch()
    monkeypatch.setattr(write_queue, "time", watch)
    with closing(sqlite3.connect(path)) as other, closing(sqlite3.connect(path)) as mine:
        other.execute("BEGIN IMMEDIATE")
        mine.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            WriteQueue(os.fspath(path), patience=1.0).begin(mine, waited=waited)
    assert watch.now == pytest.approx(left, abs=0.01)


def test_a_thread_in_line_has_waited_once_the_thread_before_gives_up(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.2)
    told: list[float] = []

    def begin(queue: WriteQueue, writer: sqlite3.Connection, *, waited: float) -> None:
        told.append(waited)
        real(queue, writer, waited=waited)

    with opened(path) as store, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        real = WriteQueue.begin
        monkeypatch.setattr(WriteQueue, "begin", begin)
        with ThreadPoolExecutor(2) as threads:
            writes = [threads.submit(store.store, text) for text in ("whale", "shark")]
        assert all(isinstance(write.exception(), StoreBusyError) for write in writes)
        monkeypatch.undo()
    assert sorted(told)[1] > 0.1
