"""A linked task that is closed scores the memories linked before, once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bethink import MemoryStore
from bethink.testing import FrozenClock
from bethink_adapters.tasks import Listing, Task, link, sync

NAMESPACE = "projects/ferry"


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(1_000.0)


@pytest.fixture
def store(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "memory.db", clock=clock) as opened:
        yield opened


def task(status: str = "open", closed_at: float | None = None, reason: str = "") -> Listing:
    return Listing([Task("beads", "bd-1", "Fix the ferry", status, 0.0, closed_at, reason)])


def test_a_closing_scores_once(store: MemoryStore) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    assert [each.verdict for each in sync(store, task("closed", 2_000.0), namespace=NAMESPACE)] == [
        "worked"
    ]
    assert sync(store, task("closed", 2_000.0), namespace=NAMESPACE) == []
    assert store[memory.id].outcome == pytest.approx(0.2)


@pytest.mark.parametrize("reason", ["duplicate of bd-7", "won't fix", "reverted"])
def test_some_reasons_score_nothing(store: MemoryStore, reason: str) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    assert sync(store, task("closed", 2_000.0, reason), namespace=NAMESPACE) == []


def test_a_memory_linked_after_the_closing_scores_nothing(
    store: MemoryStore, clock: FrozenClock
) -> None:
    early, late = store.store("Pier 3"), store.store("Pier 4 is closed in winter")
    link(store, task().tasks[0], [early.id], namespace=NAMESPACE)
    clock.advance(2_000.0)
    link(store, task().tasks[0], [late.id], namespace=NAMESPACE)
    found = sync(store, task("closed", 2_000.0), namespace=NAMESPACE)
    assert [each.memory for each in found] == [early.id]


def test_a_dry_run_writes_nothing(store: MemoryStore) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    before = store.log(limit=1)
    assert len(sync(store, task("closed", 2_000.0), namespace=NAMESPACE, dry_run=True)) == 1
    assert store.log(limit=1) == before
