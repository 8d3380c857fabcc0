"""What a store promises of moving memories and of damage, each promise in one short test."""

from __future__ import annotations

from io import BytesIO, StringIO
from pathlib import Path

import pytest

from bethink import CorruptStoreError, MemoryStore, StorageError
from bethink.testing import CountingIds, FrozenClock


def lived(path: Path | str = ":memory:") -> MemoryStore:
    """Return a store with something of everything."""
    clock = FrozenClock()
    store = MemoryStore(path, clock=clock, new_id=CountingIds())
    cat, dog = store.store_many(["a red cat", "a red dog"], metadata={"n": [1]}, tags=["x"])
    store.store("Graz", key="office", value={"floor": 2}, vectors={"v": [1.0, 2.0]})
    clock.advance(60)
    store.store("Lyon", key="office", author="Ann")
    store.record_outcome(cat.id, "worked", session="s1")
    store.relate(cat.id, dog.id, "chases")
    store.touch(cat.id)
    store.snapshot("then")
    store.forget(dog.id)
    return store


def test_export_import_export_is_the_same() -> None:
    first, second = BytesIO(), BytesIO()
    with lived() as store, MemoryStore(clock=FrozenClock()) as copy:
        store.export(first)
        first.seek(0)
        copy.import_(first)
        copy.export(second)
        assert second.getvalue() == first.getvalue()
        assert copy.as_of("then").all() == store.as_of("then").all()
        assert copy.audit("office") == store.audit("office")


def test_an_export_cut_short_brings_nothing_in() -> None:
    with lived() as store, MemoryStore() as copy:
        text = StringIO()
        store.export(text)
        lines = text.getvalue().splitlines(keepends=True)
        for damaged in (lines[:-1], [*lines[:2], "{}\n", *lines[3:]]):
            with pytest.raises(CorruptStoreError, match="line"):
                copy.import_(StringIO("".join(damaged)))
            assert (copy.count(), copy.log()) == (0, [])


def test_merging_two_stores_keeps_both_texts_of_one_id(path: Path) -> None:
    with lived(path) as store, MemoryStore() as other:
        mine = store.get("id-000001")
        other.store("something else altogether", id="id-000001")
        other.store("a blue whale", id="whale")
        merged = store.merge_from(other)
        assert (merged.added, list(merged.renamed)) == (2, ["id-000001"])
        assert store.get("id-000001") == mine
        renamed = store.get(merged.renamed["id-000001"])
        assert renamed is not None
        assert renamed.content == "something else altogether"
        head = store.log(limit=1)
        assert store.merge_from(other).added == 0
        assert store.log(limit=1) == head


def test_a_merge_is_all_or_nothing(path: Path) -> None:
    class Broken(Exception):
        pass

    def clock() -> float:
        if broken:
            raise Broken
        return 1_000.0

    broken = False
    with MemoryStore(path, clock=clock) as store, lived() as other:
        store.store("a blue whale")
        entries = store.log()
        broken = True
        with pytest.raises(Broken):
            store.merge_from(other)
        broken = False
        assert store.log() == entries
        assert store.merge_from(other).added


def test_a_source_that_is_missing_is_not_made(store: MemoryStore, tmp_path: Path) -> None:
    for verb in (store.merge_from, store.import_):
        with pytest.raises(StorageError, match=r"none\.db"):
            verb(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_damage_is_told(path: Path) -> None:
    with lived(path) as store:
        assert store.verify().ok
    content = path.read_bytes()
    assert content.count(b"a red cat") > 0
    path.write_bytes(content.replace(b"a red cat", b"a bad cat"))
    with MemoryStore(path) as store:
        assert not store.verify().ok
