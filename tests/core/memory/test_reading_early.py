"""Recalls that begin before they have the lock: what is written meanwhile counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

from bethink import MemoryStore
from bethink.index import ScopeIndex, keyword_scores, scope, vectors
from bethink.index.combining import Combiner
from bethink.index.vectors import EarlyScan, VectorColumn
from bethink.memory import reading, search
from bethink.memory.search import EarlySearch, search_early
from bethink.model.arrays import Floats
from bethink.text import Query

from ..clock import Clock
from ..inside import engine_of


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(clock=clock) as store:
        yield store


def write_nothing(store: MemoryStore) -> None:
    pass


def write_more(store: MemoryStore) -> None:
    store.store_many([f"a red cat and {n} dogs" for n in range(6)])


def forget_most(store: MemoryStore) -> None:
    store.forget([f"{n}" for n in range(9)])


def erase_some(store: MemoryStore) -> None:
    store.erase(["1", "10"])
    store.recall("cat", touch=False)


@pytest.fixture
def mice(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """Return a store whose recalls scan before they have the lock."""
    monkeypatch.setattr(vectors, "_MIN_EARLY_ROWS", 4)
    monkeypatch.setattr(scope, "MIN_DEAD", 4)
    store.store_many({"content": f"a red cat and {n} mice", "id": str(n)} for n in range(16))
    store.recall("cat", touch=False)
    return store


@pytest.mark.parametrize("write", [write_nothing, write_more, forget_most, erase_some])
def test_what_is_written_after_a_scan_without_the_lock_counts(
    mice: MemoryStore, monkeypatch: pytest.MonkeyPatch, write: Callable[[MemoryStore], None]
) -> None:
    def scan_and_write(self: VectorColumn, queries: Sequence[Floats]) -> Iterator[EarlyScan]:
        found = list(real(self, queries))
        if scans:
            scans.pop()
            write(mice)
        return iter(found)

    real, scans = VectorColumn.scan_early, ["once"]
    monkeypatch.setattr(VectorColumn, "scan_early", scan_and_write)
    found = mice.recall("the red cat and 3 mice", k=20, touch=False)
    monkeypatch.setattr(VectorColumn, "has_early_scans", False)
    assert found == mice.recall("the red cat and 3 mice", k=20, touch=False)
    assert len(found) >= 7
    assert scans == []


def save_tail(store: MemoryStore) -> None:
    engine_of(store).index.save(closing=True)


@pytest.fixture
def early(mice: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """Return a store whose recalls begin the whole search before they have the lock."""
    monkeypatch.setattr(Combiner, "is_shared", True)
    monkeypatch.setattr("bethink.index._MIN_SAVED_ROWS", 4)
    return mice


@pytest.mark.parametrize("write", [write_nothing, write_more, forget_most, erase_some, save_tail])
def test_what_is_written_after_an_early_search_began_counts(
    early: MemoryStore, monkeypatch: pytest.MonkeyPatch, write: Callable[[MemoryStore], None]
) -> None:
    def begin_and_write(*given: Any) -> EarlySearch | None:
        found = search_early(*given)
        write(early)
        return found

    def count(*given: Any) -> Floats:
        looked_up.append(given)
        return keyword_scores(*given)

    looked_up = list[Any]()
    with monkeypatch.context() as patch:
        patch.setattr(reading, "search_early", begin_and_write)
        patch.setattr(search, "keyword_scores", count)
        found = early.recall("the red cat and 3 mice", k=20, touch=False)
    assert len(looked_up) == (1 if write is write_nothing else 2 + (write is erase_some))
    monkeypatch.setattr(Combiner, "is_shared", False)
    assert found == early.recall("the red cat and 3 mice", k=20, touch=False)
    assert len(found) >= 7


@pytest.mark.parametrize("fails", [["early"], ["early", "again"]])
def test_an_error_of_an_early_search_counts_if_it_comes_again(
    early: MemoryStore, monkeypatch: pytest.MonkeyPatch, fails: list[str]
) -> None:
    def fail_first(index: ScopeIndex, words: Query) -> Floats:
        if fails:
            raise IndexError(fails.pop(0))
        return keyword_scores(index, words)

    monkeypatch.setattr(search, "keyword_scores", fail_first)
    if len(fails) == 1:
        assert len(early.recall("red cat", k=20, touch=False)) == 16
    else:
        with pytest.raises(IndexError, match="again"):
            early.recall("red cat", touch=False)


def test_a_recall_in_the_middle_of_a_change_waits_for_the_end(
    early: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recall_between(self: VectorColumn, vectors: Any) -> None:
        if not found:
            found.append(pool.submit(early.recall, "red cat", k=20, touch=False))
            wait(found, 0.05)
            assert not found[0].done()
        append(self, vectors)

    found, append = list[Future[Any]](), VectorColumn.append
    monkeypatch.setattr(VectorColumn, "append", recall_between)
    with ThreadPoolExecutor(1) as pool:
        early.store("a red cat in between")
        assert len(found[0].result()) == 17


def test_recalls_of_many_threads_at_once_answer_as_one_after_the_other(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_MIN_EARLY_ROWS", 4)
    store.store_many(f"a red cat, {n} mice and {n * n % 97} dogs" for n in range(300))
    queries = [f"the cat and {n} dogs" for n in range(97)]
    expected = [store.recall(query, touch=False) for query in queries]
    with ThreadPoolExecutor(12) as pool:
        for _ in range(3):
            found = list(pool.map(lambda query: store.recall(query, touch=False), queries))
            assert found == expected
