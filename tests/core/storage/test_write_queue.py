"""Processes that want to write at once: they stand in line, and who stops there stops nobody."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from bethink import HashEmbedder, MemoryStore
from bethink.storage.sqlite import connection as connections

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
