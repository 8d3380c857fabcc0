from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from bethink import (
    AsyncMemoryStore,
    FiveSignal,
    HashEmbedder,
    MemoryStore,
    StoreClosedError,
    ValidationError,
)
from bethink.features.outcomes import DRIFT_AFTER_SECONDS

VERBS = [
    name
    for name, verb in inspect.getmembers(MemoryStore, inspect.isfunction)
    if not name.startswith("_") and name != "for_source"  # makes a handle without any input
]


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_awaitable_with_the_same_signature(name: str) -> None:
    verb, awaitable = getattr(MemoryStore, name), getattr(AsyncMemoryStore, name)
    assert inspect.iscoroutinefunction(awaitable)
    assert inspect.signature(awaitable) == inspect.signature(verb)
    assert awaitable.__doc__ == verb.__doc__


def test_the_verbs_do_what_the_verbs_do() -> None:
    async def live() -> None:
        async with AsyncMemoryStore(clock=lambda: 7.0) as store:
            cat = await store.store("a red cat", key="k")
            (dog,) = await store.store_many(["a red dog"], vectors={"v": [1, 2]})
            assert await store.get(key="k") == cat
            assert await store.all() == [cat, dog]
            assert await store.count() == 2
            assert await store.namespaces() == {"default": 2}
            assert (await store.recall("cat", touch=False))[0].memory == cat
            assert (await store.recall("cat", ranking=FiveSignal(), touch=False))[0].score > 0.4
            assert (await store.why_not(cat.id, "cat", k=1)).rank == 1
            await store.touch(dog.id)
            assert (await store.update(dog.id, author="Ann")).access_count == 1
            assert list(await store.vectors(dog.id, "v")) == [dog.id]
            assert await store.forget(cat.id) == 1
            assert await store.restore(cat.id) == 1
            assert len(await store.log()) == 5
        with pytest.raises(StoreClosedError):
            await store.count()

    asyncio.run(live())


def test_the_past_is_awaitable_too() -> None:
    async def live() -> None:
        async with AsyncMemoryStore(clock=lambda: 7.0) as store:
            cat = await store.store("a red cat", key="k")
            assert await store.snapshot("cat") == (await store.snapshots())[0]
            await store.forget(cat.id)
            past = await store.as_of("cat")
            assert (past.seq, past.at) == (1, 7.0)
            assert await past.get(key="k") == cat
            assert await past.all() == [cat]
            assert (await past.count(), await past.namespaces()) == (1, {"default": 1})
            assert (await store.recall("cat", as_of="cat"))[0].memory == cat
            assert (await store.diff("cat")).removed == (cat,)
            assert (await store.undo(3)).state == "live"

    asyncio.run(live())


def test_errors_are_raised_where_one_awaits() -> None:
    async def live() -> None:
        async with AsyncMemoryStore() as store:
            with pytest.raises(ValidationError):
                await store.recall("x", k=-1)

    asyncio.run(live())


def test_it_takes_what_a_store_takes(tmp_path: Path) -> None:
    store = AsyncMemoryStore(
        str(tmp_path / "m.db"), embedder=HashEmbedder(16), new_id=lambda: "1", max_resident=0
    )
    assert store.sync.location == str(tmp_path / "m.db")
    assert asyncio.run(store.store("x")).id == "1"
    asyncio.run(store.close())


def test_a_store_tells_the_place_the_embedder_and_the_end(tmp_path: Path) -> None:
    async def told() -> list[bool]:
        async with AsyncMemoryStore(tmp_path / "a.db", embedder=HashEmbedder(16)) as store:
            assert store.location == str(tmp_path / "a.db")
            assert store.embedder is store.sync.embedder
            before = store.closed
        return [before, store.closed]

    assert asyncio.run(told()) == [False, True]


def test_a_wrapped_store_is_the_same_store(store: MemoryStore) -> None:
    wrapped = AsyncMemoryStore.wrap(store)
    record = asyncio.run(wrapped.store("x"))
    assert store.get(record.id) == record
    assert wrapped.sync is store


def test_one_store_serves_any_number_of_loops(tmp_path: Path) -> None:
    store = AsyncMemoryStore(str(tmp_path / "m.db"), durability="normal")

    async def write(name: str) -> None:
        await asyncio.gather(*(store.store(f"{name} {n}") for n in range(10)))

    loops = [threading.Thread(target=asyncio.run, args=(write(name),)) for name in "ab"]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()
    assert asyncio.run(store.count()) == 20
    asyncio.run(store.close())


class Waiting(HashEmbedder):
    """Wait in the middle of embedding until told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.go = threading.Event(), threading.Event()

    def embed(self, texts: Any) -> Any:
        self.reached.set()
        assert self.go.wait(20)
        return super().embed(texts)


def test_the_loop_runs_while_a_verb_waits() -> None:
    embedder = Waiting()

    async def live() -> None:
        async with AsyncMemoryStore(embedder=embedder) as store:
            writing = asyncio.create_task(store.store("x"))
            await asyncio.to_thread(embedder.reached.wait, 20)
            assert not writing.done()
            embedder.go.set()
            await writing
            assert await store.count() == 1

    asyncio.run(live())


def test_who_cancels_a_write_waits_until_it_is_through() -> None:
    embedder = Waiting()

    async def live() -> None:
        async with AsyncMemoryStore(embedder=embedder) as store:
            writing = asyncio.create_task(store.store("x"))
            await asyncio.to_thread(embedder.reached.wait, 20)
            for _ in range(3):  # who is impatient waits, too
                writing.cancel()
                await asyncio.sleep(0)
            assert not writing.done()
            embedder.go.set()
            with pytest.raises(asyncio.CancelledError):
                await writing
            assert await store.count() == 1
            assert len(await store.log()) == 1

    asyncio.run(live())


def test_who_cancels_the_drift_of_outcomes_waits_until_it_is_through() -> None:
    now, reached, go = 1.0, threading.Event(), threading.Event()

    def clock() -> float:
        if now > 1.0:
            reached.set()
            go.wait(20)
        return now

    async def live() -> None:
        nonlocal now
        async with AsyncMemoryStore(clock=clock) as store:
            failed = await store.record_outcome((await store.store("x")).id, "failed")
            now += DRIFT_AFTER_SECONDS
            drifting = asyncio.create_task(store.drift())
            await asyncio.to_thread(reached.wait, 20)
            drifting.cancel()
            for _ in range(3):
                await asyncio.sleep(0)
            assert not drifting.done()
            go.set()
            with pytest.raises(asyncio.CancelledError):
                await drifting
            told = await store.outcomes(failed.id)
            assert [entry.action for entry in told] == ["failed", "drift"]

    asyncio.run(live())
