"""Stats agree with the verbs that list and count."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import get_args

import pytest

from bethink import (
    EVERYWHERE,
    AsyncMemoryStore,
    HashEmbedder,
    MemoryStore,
    StoreClosedError,
    Subtree,
)
from bethink.adapting import foreign_record, import_foreign
from bethink.model.records import Listed


def test_stats_count_by_state_namespace_and_category() -> None:
    now = [100.0]
    with MemoryStore(clock=lambda: now[0]) as store:
        kept, gone, old, erased = store.store_many(["a", "b", "c", "d"], category="note")
        store.store("e", namespace="users/ann", expires_at=150.0)
        store.store("f", namespace="users/ann", key="k")
        store.store("g", namespace="users/ann", key="k", category="fact")
        store.forget(gone.id)
        store.archive(old.id)
        store.erase(erased.id)
        now[0] = 200.0
        stats = store.stats()
        for state in get_args(Listed):
            assert (
                stats.states[state]
                == len(store.all(namespace=EVERYWHERE, state=state))
                == 1 + (state == "live")
            )
        assert stats.states["erased"] == 1
        assert stats.namespaces == store.namespaces() == {"default": 1, "users/ann": 1}
        assert stats.categories == {"fact": 1, "note": 1}
        assert store.get(kept.id) is not None


def test_stats_count_by_outcome_and_by_day_of_creation() -> None:
    midnight = 1_795_651_200.0  # 2026-11-26 in UTC
    now = [midnight - 1.0]
    with MemoryStore(clock=lambda: now[0]) as store:
        judged, _ = store.store("a"), store.store("b", namespace="users/ann")
        now[0] = midnight
        archived = store.store("c", namespace="users/ann")
        store.store("d", namespace="users/ann")
        store.archive(archived.id)
        store.record_outcome(judged.id, "failed")
        stats = store.stats()
        assert stats.created == {"2026-11-25": 2, "2026-11-26": 1}
        assert stats.outcomes == {f"{store[judged.id].outcome:.1f}": 1, "0.0": 2}


def test_stats_count_days_beyond_the_calendar() -> None:
    with MemoryStore(clock=lambda: 1e12) as store:
        store.store("a")
        assert store.stats().created == {"33658-09-27": 1}


def test_stats_of_namespaces_count_what_is_inside() -> None:
    with MemoryStore() as store:
        store.store("a", category="note")
        store.store("b", namespace="users/ann", category="fact")
        gone = store.store("c", namespace="users/bob")
        store.archive(gone.id)
        stats = store.stats(namespace=Subtree("users"))
        assert (stats.states["live"], stats.states["archived"]) == (1, 1)
        assert (stats.namespaces, stats.categories) == ({"users/ann": 1}, {"fact": 1})
        assert stats.outcomes == {"0.0": 1}
        assert stats.bytes == store.stats().bytes
        assert store.stats(namespace="nowhere").states["live"] == 0


def test_an_outcome_a_little_below_nothing_is_told_as_nothing(store: MemoryStore) -> None:
    given = {"namespace": "default", "content": "x", "outcome": -0.04}
    import_foreign(store, [foreign_record(store, {"id": "r1", **given})])
    assert store.stats().outcomes == {"0.0": 1}


def test_stats_tell_the_facts_of_the_file(tmp_path: Path) -> None:
    path, key = tmp_path / "a.db", b"0123456789abcdef"
    with MemoryStore(path, embedder=HashEmbedder(), clock=lambda: 7.0, integrity_key=key) as store:
        assert (store.stats().journal_length, store.stats().last_change) == (0, None)
        store.store("a")
        stats = store.stats()
        store.close()
        assert stats.bytes == path.stat().st_size
        assert (stats.journal_length, stats.last_change) == (1, 7.0)
        assert (stats.schema_version, stats.keyed) == (2, True)
        assert (stats.embedder, stats.location) == (HashEmbedder().name, str(path))
        with pytest.raises(StoreClosedError):
            store.stats()
    with MemoryStore() as unkeyed:
        assert not unkeyed.stats().keyed


def test_stats_and_get_many_are_awaitable() -> None:
    async def live() -> None:
        async with AsyncMemoryStore() as store:
            record = await store.store("a")
            assert (await store.stats()).states["live"] == 1
            assert await store.get_many([record.id, "unknown"]) == [record, None]

    asyncio.run(live())


def test_stats_tell_what_grows(path: Path) -> None:
    with MemoryStore(path, embedder=HashEmbedder(16)) as store:
        records = store.store_many(f"note {n} of the whale" for n in range(200))
        empty = store.stats()
        assert (empty.journal_entries, empty.access_rows, empty.pending_accesses) == (200, 0, 0)
        assert (empty.resident_bytes, empty.free_bytes) == (0, 0)
        store.recall("whale", k=10)
        used = store.stats()
        assert (used.pending_accesses, used.access_rows) == (10, 0)
        assert used.resident_bytes > 200 * 16 * 4
        store.forget(record.id for record in records[:100])
        store.snapshot("now")
        assert store.stats().pending_accesses == 0
        assert 0 < store.stats().access_rows <= 10
        store.forget(record.id for record in records[100:])
        before = store.stats()
        store.compact(keep=0)
        after = store.stats()
        assert after.journal_entries < 10 < before.journal_entries
        assert after.journal_length > before.journal_length
        assert after.access_rows == 0
