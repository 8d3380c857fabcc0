"""What a store promises to threads, tasks and processes, each promise in one short test."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from bethink import (
    EVERYWHERE,
    AsyncKeyedMemory,
    AsyncMemoryStore,
    HashEmbedder,
    KeyedMemory,
    MemoryStore,
)

from ..storage.processes import Child, Say, forks, together
from ..storage.replay import assert_journal_is_state, unverified


def mixed(path: Path, name: str) -> int:
    """Do a little of everything in a process of its own; return how many records it left."""
    with MemoryStore(path, embedder=HashEmbedder(16)) as store:
        for number in range(8):
            record = store.store(f"{name} saw whale {number}", key=f"{name}{number % 3}")
            assert store.recall("whale", k=50)
            store.mark_useful(record.id)
            assert store.pack("whale saw").results
            KeyedMemory(store).increment("n")
        return 3


@pytest.mark.slow
@forks
def test_processes_share_a_file(path: Path) -> None:
    names = [f"process{n}" for n in range(6)]
    kept = together([partial(mixed, path, name) for name in names])
    with MemoryStore(path) as store:
        assert store.count() == sum(kept)
        assert KeyedMemory(store).recall("n") == 8 * len(names)
        assert_journal_is_state(store)
    assert unverified(path) == []


@forks
def test_nothing_acknowledged_is_lost_by_kill(path: Path) -> None:
    def write(say: Say) -> None:
        with MemoryStore(path, embedder=HashEmbedder(16)) as store:
            while True:
                say(store.store("acknowledged").id)

    child = Child(write)
    child.wait_for(5)
    child.kill()
    acknowledged = child.hear()
    assert len(acknowledged) >= 5
    with MemoryStore(path) as store:
        assert {record.id for record in store.all()} >= set(acknowledged)
        assert_journal_is_state(store)


@pytest.mark.slow
def test_tasks_and_threads_count_exactly() -> None:
    async def run() -> object:
        async with AsyncMemoryStore(embedder=HashEmbedder(16)) as store:
            memory = AsyncKeyedMemory(store)
            await asyncio.gather(*(memory.increment("runs") for _ in range(300)))
            await asyncio.gather(*(store.store(f"run {n}") for n in range(50)))
            assert await store.count() == 50
            return await memory.recall("runs")

    assert asyncio.run(run()) == 300


def test_readers_do_not_disturb_each_other(path: Path) -> None:
    with MemoryStore(path) as one, MemoryStore(path) as other:
        one.store_many(f"whale {number}" for number in range(50))
        assert one.recall("whale", touch=False)
        head, size = one.log(limit=1), path.stat().st_size
        for _ in range(20):
            assert other.recall("whale")
        assert (one.log(limit=1), path.stat().st_size) == (head, size)
        assert all(record.access_count == 0 for record in one.all())
        assert other.recall("whale", touch=False)[0].memory.access_count == 20


@pytest.mark.slow
def test_answers_hold_while_others_forget(path: Path) -> None:
    with MemoryStore(path, embedder=HashEmbedder(16)) as store:
        ids = [record.id for record in store.store_many(f"whale {n}" for n in range(60))]

        def read(_: int) -> None:
            for id in ids[::6]:
                store.pack("whale")
                store.why_not(id, "whale")
                store.recall("whale", k=60, namespace=EVERYWHERE)

        with ThreadPoolExecutor(4) as threads:
            readers = [threads.submit(read, number) for number in range(3)]
            for start in range(0, 60, 2):
                store.forget(ids[start])
                store.update(ids[start + 1], content=f"dolphin {start}")
            for reader in readers:
                reader.result()
        assert store.recall("whale", mode="keyword") == []
        assert store.count() == 30
