from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, HashEmbedder, MemoryStore, StorageError, Subtree
from bethink import index as resident
from bethink.index import keyword, scope
from bethink.index.access_buffer import AccessBuffer, Pending
from bethink.model.namespaces import Scope
from bethink.model.port import IndexData, Row
from bethink.storage.sql.authenticator import Authenticator

from ..inside import engine_of
from ..twin import Asked, Twin, assert_same


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "BLOCK_DOCUMENTS", 8)
    monkeypatch.setattr(keyword, "MERGED_BLOCKS", 2)
    monkeypatch.setattr(resident, "_MIN_RECENT_ROWS", 2)
    for name, value in (("BLOCK_DOCUMENTS", 8), ("_BATCH_ROWS", 16), ("_MIN_SAVED_ROWS", 3)):
        monkeypatch.setattr(resident, name, value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


def opened(path: Path | str = ":memory:", max_resident: int | None = None) -> MemoryStore:
    return MemoryStore(
        path,
        embedder=HashEmbedder(16),
        clock=lambda: 1000.0,
        durability="normal",
        max_resident=max_resident,
    )


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Scope]:
    """Note every scope that is read from a file."""
    from bethink.storage.sqlite import SQLiteBackend

    noted: list[Scope] = []
    load = SQLiteBackend.load

    def noting(
        self: SQLiteBackend, scope: Scope, limit: int | None = None, **recent: Any
    ) -> IndexData:
        if limit is None:
            noted.append(scope)
        return load(self, scope, limit, **recent)

    monkeypatch.setattr(SQLiteBackend, "load", noting)
    return noted


def fill(store: MemoryStore, count: int, namespace: str = "a") -> list[str]:
    stored = store.store_many((f"red cat {n}" for n in range(count)), namespace=namespace)
    return [record.id for record in stored]


def assert_like_its_twin(store: MemoryStore, *scopes: Scope) -> None:
    for each in scopes:
        asked = Asked("red cat 7", k=99, namespace=each, now=1000.0)
        assert_same(asked.of(store), Twin.of(store).recall(asked))


def test_a_scope_is_read_once(loads: list[Scope]) -> None:
    with opened() as store:
        for _ in range(3):
            fill(store, 2)
            assert_like_its_twin(store, "a", Subtree("a"), EVERYWHERE)
        assert loads == ["a", Subtree("a"), EVERYWHERE]


def test_a_scope_takes_what_it_covers(path: Path) -> None:
    with opened(path) as one, opened(path) as other:
        for store in (one, other):
            assert_like_its_twin(one, Subtree("a"), EVERYWHERE)
            for namespace in ("a", "a/b", "ab"):
                store.store("a red cat", namespace=namespace)
        assert_like_its_twin(one, "a", "a/b", Subtree("a"), EVERYWHERE)


def test_what_another_store_wrote_is_caught_up_with(path: Path, loads: list[Scope]) -> None:
    with opened(path) as one, opened(path) as other:
        ids = fill(one, 3)
        assert_like_its_twin(one, "a")
        fill(other, 2)
        other.update(ids[0], content="blue dog")
        other.forget(ids[1])
        assert_like_its_twin(one, "a")
        assert loads == ["a"]


def test_what_another_store_wrote_before_ones_own_is_not_passed_over(path: Path) -> None:
    with opened(path) as one, opened(path) as other:
        fill(one, 2)
        assert_like_its_twin(one, "a")
        fill(other, 2)
        fill(one, 2)
        assert_like_its_twin(one, "a")


def bytes_of(count: int, namespace: str = "a") -> int:
    """Return what a scope of so many memories takes."""
    with opened() as store:
        fill(store, count, namespace)
        store.recall("cat", namespace=namespace)
        (index,) = engine_of(store).index._scopes.indexes.values()
        return index.nbytes


def test_the_scope_unused_for_longest_makes_room(loads: list[Scope]) -> None:
    most = int(2.5 * bytes_of(8))
    loads.clear()
    with opened(max_resident=most) as store:
        for namespace in "abc":
            fill(store, 8, namespace)
        assert_like_its_twin(store, "a", "b", "a", "c", "a", "b")
        assert loads == ["a", "b", "c", "b"]


@pytest.mark.parametrize("most", [0, 1, 20_000, 60_000, None])
def test_answers_are_the_same_whatever_the_bound(most: int | None) -> None:
    with opened(max_resident=most) as store:
        ids = fill(store, 9) + fill(store, 20, "b") + fill(store, 3, "a/b")
        for namespace in ("a", EVERYWHERE, "b", Subtree("a"), "a", "none"):
            assert_like_its_twin(store, namespace)
            store.update(ids[2], content="a blue cat")
            fill(store, 1, "b")
            store.forget(ids.pop())


@pytest.mark.slow
def test_what_grows_crowds_out_what_is_not_in_use(loads: list[Scope]) -> None:
    most = bytes_of(200)
    loads.clear()
    with opened(max_resident=most) as store:
        assert_like_its_twin(store, "b", "a")
        fill(store, 300, "b")
        assert_like_its_twin(store, "a", "b", "a")
        assert loads == ["b", "a", "b", "a"]


def test_named_vectors_that_are_read_later_count_as_well(loads: list[Scope]) -> None:
    with opened(max_resident=200_000) as store:
        wide = [float(n % 7) for n in range(4000)]
        store.store_many(["red cat"] * 60, namespace="a", vectors={"wide": wide})
        store.recall(None, namespace="a", vector=("wide", wide))
        assert_like_its_twin(store, "b", "a")
        assert loads == ["a", "b", "a"]


def test_accesses_survive_that_their_scope_goes(loads: list[Scope]) -> None:
    with opened(max_resident=0) as store:
        (id,) = fill(store, 1)
        for namespace in ("a", EVERYWHERE, "a"):
            store.recall("cat", namespace=namespace)
        assert loads == ["a", EVERYWHERE, "a"]
        index = engine_of(store).index.open(EVERYWHERE)
        assert index.columns["accesses"].tolist() == [3]
        record = store.get(id)
        assert record is not None
        assert (record.access_count, record.last_accessed_at) == (3, 1000.0)


def test_what_went_before_it_was_saved_is_saved_at_the_end(path: Path) -> None:
    with opened(path, max_resident=0) as store:
        assert_like_its_twin(store, "a")
        fill(store, 7)
        assert_like_its_twin(store, "b")
        assert segments(path) == []
    assert segments(path) == [(1, 7)]


def test_what_is_sealed_on_reading_is_saved_with_the_next_write(path: Path) -> None:
    with opened(path) as store, opened(path) as one, opened(path) as other:
        fill(one, 5)
        fill(other, 5)
        assert_like_its_twin(store, "a")
        assert segments(path) == []
        fill(store, 1, "b")
        assert segments(path) == [(1, 8)]


@pytest.mark.slow
def test_a_key_told_anew_takes_no_more_room_each_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "MIN_DEAD", 6)
    with opened(path) as store:
        fill(store, 3)
        for n in range(100):
            store.store(f"a red cat, number {n}", namespace="a", key="cat")
            store.recall("cat", namespace=Subtree("a"))
            assert_like_its_twin(store, "a")
            assert all(
                index.size <= 12 for index in engine_of(store).index._scopes.indexes.values()
            )
    with opened(path) as store:
        assert_like_its_twin(store, "a", Subtree("a"))
        assert engine_of(store).index.open("a").size <= 12


def test_saved_segments_of_the_dead_are_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "MIN_DEAD", 6)
    with opened(path) as store:
        ids = fill(store, 40)
    assert sum(last - first + 1 for first, last in segments(path)) == 40
    with opened(path) as store:
        store.forget(ids[:10] + ids[12:])
    with opened(path) as store:
        assert_like_its_twin(store, "a")
        assert engine_of(store).index.open("a").size == 2
    assert segments(path) == [(11, 12)]
    with opened(path) as store:
        store.forget(ids[10:12])
        fill(store, 1)
        assert_like_its_twin(store, "a")


def test_a_filter_asked_before_the_dead_were_removed_finds_the_same_records(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "MIN_DEAD", 6)
    with opened(path) as store:
        dead = store.store_many(f"a dead cat {number}" for number in range(8))
        store.store_many(["a cat", "another cat"], author="Eve")
        store.store("my cat", id="mine", author="Ann")

        def found() -> list[str]:
            hits = store.recall("cat", where={"author": "Ann"}, touch=False)
            return [hit.record.id for hit in hits]

        assert found() == ["mine"]
        store.forget([record.id for record in dead])
        assert found() == ["mine"]
        assert engine_of(store).index.open("default").size == 3


def test_nothing_is_left_of_a_scope_that_died_but_what_tells_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "MIN_DEAD", 6)
    with opened(path) as store:
        ids = fill(store, 40)
        assert_like_its_twin(store, "a")
        store.forget(ids)
        assert_like_its_twin(store, "a")
        assert engine_of(store).index.open("a").size == 1
    assert segments(path) == [(40, 40)]
    with opened(path) as store:
        store.restore(ids[7])
        assert_like_its_twin(store, "a")


def segments(path: Path) -> list[tuple[int, int]]:
    import sqlite3

    connection = sqlite3.connect(path)
    found = connection.execute("SELECT first, last FROM segments ORDER BY first").fetchall()
    connection.close()
    return found


def test_sealed_blocks_are_saved_as_they_fill(path: Path) -> None:
    with opened(path) as store:
        for _ in range(5):
            fill(store, 4)
            assert_like_its_twin(store, "a")
        assert segments(path) == [(1, 16)]
    assert segments(path) == [(1, 16), (17, 20)]
    with opened(path) as store:
        assert_like_its_twin(store, "a", EVERYWHERE)


def test_what_is_never_recalled_is_saved_as_well(path: Path) -> None:
    with opened(path) as store:
        fill(store, 20)
        fill(store, 2, "b")
        assert segments(path) == [(1, 16)]
    assert segments(path) == [(1, 16), (17, 20)]
    with opened(path) as store:
        assert_like_its_twin(store, "a", "b")


def test_what_was_just_written_is_indexed_without_being_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    read_rows = Authenticator.read_rows

    def noting(*arguments: Any, **named: Any) -> list[Row]:
        found = read_rows(*arguments, **named)
        read.extend(row.row for row in found)
        return found

    monkeypatch.setattr(Authenticator, "read_rows", noting)
    with opened(path) as store, opened(path) as other:
        ids = fill(store, 6)
        store.update(ids[0], importance=1.0)
        store.forget(ids[1])
        other.update(ids[2], content="blue dog")
        fill(store, 6)
        assert read == [1, 9]
        assert segments(path) == [(1, 12)]
        assert list(engine_of(store).index._recent.rows) == [13, 14, 15]
        assert_like_its_twin(store, "a")
        assert not engine_of(store).index._recent.rows
    with opened(path) as store:
        assert_like_its_twin(store, "a")


@pytest.mark.slow
def test_small_segments_of_what_is_never_recalled_merge(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "_BATCH_ROWS", 64)
    with opened(path) as store:
        for count in range(40):
            fill(store, 4)
            fill(store, 4, "b")
            ids = [record.id for record in store.all(namespace="a")]
            store.forget(ids[count])
            store.update(ids[-1], importance=1.0)
            store.touch(ids[-2])
    assert len(segments(path)) < 20  # of 40 times 8 rows
    with opened(path) as store:
        assert_like_its_twin(store, "a", "b", EVERYWHERE)
        assert engine_of(store).backend.load("a").unindexed == ()


def test_what_is_stored_is_stored_even_if_the_index_cannot_be_saved(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bethink.storage.sqlite import SQLiteBackend

    def full(self: SQLiteBackend, segments: object) -> None:
        raise StorageError(str(path), "no space left")

    with opened(path) as store:
        with monkeypatch.context() as patch:
            patch.setattr(SQLiteBackend, "save", full)
            assert len(fill(store, 9)) == 9
        assert_like_its_twin(store, "a")
        fill(store, 9)
    with opened(path) as store:
        assert_like_its_twin(store, "a")
    assert segments(path)[0][0] == 1


def test_no_memory_is_lost_between_segments_of_two_stores(path: Path) -> None:
    with opened(path) as one:
        fill(one, 5)
        one.recall("cat", namespace="a", touch=False)
        with opened(path) as other:
            other.recall("cat", namespace="a", touch=False)
        fill(one, 3)
        fill(one, 8)
    with opened(path) as store:
        assert_like_its_twin(store, "a")


def test_what_changed_after_saving_is_seen_on_loading(path: Path) -> None:
    with opened(path) as store:
        ids = fill(store, 8)
        assert segments(path) == [(1, 8)]
        store.update(ids[1], importance=1.0)
        store.update(ids[2], content="blue dog")
        store.forget(ids[3:5])
        store.restore(ids[4])
        store.touch(ids[5])
    with opened(path) as store:
        assert_like_its_twin(store, "a", EVERYWHERE)
        assert store.count(namespace="a") == 7


def accesses(store: MemoryStore, scope: Scope) -> list[int]:
    found = store.recall("red cat", k=99, namespace=scope, touch=False)
    return sorted(hit.memory.access_count for hit in found)


def test_what_is_saved_counts_no_access_that_is_not_written(path: Path) -> None:
    crashed = opened(path)
    fill(crashed, 4)
    crashed.recall("red cat", namespace="a")
    crashed.recall("red cat", namespace=Subtree("a"))
    fill(crashed, 4)
    assert segments(path) == [(1, 8)]
    for each in ("a", Subtree("a"), EVERYWHERE):
        assert accesses(crashed, each) == [0] * 4 + [2] * 4
    with opened(path) as store:
        assert accesses(store, "a") == [0] * 8
    crashed.close()


def test_accesses_that_are_being_written_count_in_a_scope_that_is_loaded(path: Path) -> None:
    with opened(path) as store, opened(path) as other:
        (id,) = fill(store, 1)
        store.recall("red cat", namespace="a")
        assert accesses(store, "a") == [1]
        other.update(id, importance=0.9)
        with engine_of(store).writing(closing=True):
            for namespace in ("a", EVERYWHERE):
                assert accesses(store, namespace) == [1]
        for namespace in ("a", EVERYWHERE):
            assert accesses(store, namespace) == [1]


def test_accesses_that_were_just_written_count_once_in_a_scope_that_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, found = AccessBuffer.written, list[list[int]]()

    def loading(self: AccessBuffer, taken: Pending) -> None:
        found.append(accesses(store, EVERYWHERE))
        written(self, taken)

    with opened() as store:
        fill(store, 1)
        store.recall("red cat", namespace="a")
        monkeypatch.setattr(AccessBuffer, "written", loading)
        engine_of(store).flush()
    assert found == [[1]]


@pytest.mark.parametrize("query", ["cat", "fish"])
def test_no_text_stays_in_memory_after_the_first_answer(path: Path, query: str) -> None:
    with MemoryStore(path) as store:
        store.store("a cat", namespace="a")
        store.store("a dog", namespace="a")
    with MemoryStore(path) as store:
        assert len(store.recall(query, namespace="a", mode="keyword")) == (query == "cat")
        index = engine_of(store).index.open("a")
        assert isinstance(index, resident.ScopeIndex)
        assert index.reader._kept == {}
