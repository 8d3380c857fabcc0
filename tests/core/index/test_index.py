from __future__ import annotations

from pathlib import Path

import pytest

from bethink import EVERYWHERE, HashEmbedder, MemoryStore, StorageError, Subtree
from bethink import index as resident
from bethink.backends import Loading
from bethink.index import keyword
from bethink.namespaces import Scope

from ..twin import Asked, Twin, assert_same


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "SEAL", 8)
    monkeypatch.setattr(keyword, "FANOUT", 2)
    for name, value in (("SEAL", 8), ("_AT_ONCE", 16), ("_WORTH_SAVING", 3), ("_SCOPE_COST", 1)):
        monkeypatch.setattr(resident, name, value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


def opened(path: Path | str = ":memory:") -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(16), clock=lambda: 1000.0, durability="normal")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Scope]:
    """Note every scope that is read from a file."""
    from bethink.backends.sqlite import SQLiteBackend

    noted: list[Scope] = []
    load = SQLiteBackend.load

    def noting(self: SQLiteBackend, scope: Scope, loose: int | None = None) -> Loading:
        if loose is None:
            noted.append(scope)
        return load(self, scope, loose)

    monkeypatch.setattr(SQLiteBackend, "load", noting)
    return noted


def fill(store: MemoryStore, count: int, namespace: str = "a") -> list[str]:
    stored = store.store_many((f"red cat {n}" for n in range(count)), namespace=namespace)
    return [record.id for record in stored]


def assert_like_its_twin(store: MemoryStore, *scopes: Scope) -> None:
    for scope in scopes:
        asked = Asked("red cat 7", k=99, namespace=scope, now=1000.0)
        assert_same(asked.of(store), Twin.of(store).recall(asked))


def test_a_scope_is_read_once(loads: list[Scope]) -> None:
    with opened() as store:
        for _ in range(3):
            fill(store, 2)
            assert_like_its_twin(store, "a", Subtree("a"), EVERYWHERE)
        assert loads == ["a", Subtree("a"), EVERYWHERE]


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


def test_the_scope_unused_for_longest_makes_room(
    loads: list[Scope], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "MAX_RESIDENT", 25)
    with opened() as store:
        for namespace in "abc":
            fill(store, 8, namespace)
        assert_like_its_twin(store, "a", "b", "a", "c", "a", "b")
        assert loads == ["a", "b", "c", "b"]


def test_a_scope_too_large_to_stay_is_still_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "MAX_RESIDENT", 2)
    with opened() as store:
        fill(store, 9)
        assert_like_its_twin(store, "a", EVERYWHERE, "a")


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


def test_what_is_stored_is_stored_even_if_the_index_cannot_be_saved(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bethink.backends.sqlite import SQLiteBackend

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
