"""A store answers ``len``, loops, ``in`` and ``[]`` about all namespaces."""

from __future__ import annotations

import asyncio

import pytest

from bethink import AsyncMemoryStore, MemoryStore, NotFoundError


def test_a_store_counts_and_yields_the_live_records_of_all_namespaces() -> None:
    with MemoryStore() as store:
        first = store.store("a")
        second = store.store("b", namespace="users/ann")
        gone = store.store("c")
        moment = store.snapshot("before")
        store.forget(gone.id)
        assert (len(store), list(store)) == (2, [first, second])
        assert len(store.as_of(moment)) == 3


def test_a_record_is_found_by_id_in_any_namespace_and_as_get_finds_it() -> None:
    with MemoryStore() as store:
        record = store.store("a", namespace="users/ann")
        hidden, gone = store.store_many(["b", "c"])
        store.archive(hidden.id)
        store.forget(gone.id)
        assert store[record.id] == record
        assert [each in store for each in (record, record.id, hidden.id)] == [True] * 3
        assert [each in store for each in (gone.id, gone, "unknown", 5)] == [False] * 4
        with pytest.raises(KeyError, match=r"^record 'unknown' was not found$") as caught:
            store["unknown"]
        assert isinstance(caught.value, NotFoundError)
        assert gone.id in store.as_of(3)


def test_get_many_keeps_the_order_and_says_none_as_get_does() -> None:
    with MemoryStore() as store:
        one, two = store.store_many(["a", "b"])
        store.forget(two.id)
        assert store.get_many([two.id, "unknown", one.id, one.id]) == [None, None, one, one]
        assert store.as_of(2).get_many([two.id]) == [two]


def test_an_empty_store_is_true() -> None:
    with MemoryStore() as store:
        assert not len(store)
        assert store
        assert store.as_of(0)


def test_an_awaitable_store_has_the_same_loop() -> None:
    async def live() -> None:
        async with AsyncMemoryStore() as store:
            records = [await store.store("a"), await store.store("b", namespace="users/ann")]
            assert [record async for record in store] == records

    asyncio.run(live())
