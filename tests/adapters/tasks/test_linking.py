"""A linked task that is closed scores the memories linked before, once."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bethink import MemoryStore
from bethink.testing import FrozenClock
from bethink_adapters.tasks import Listing, Task, context, find, link, linked, sync, unlink

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


def test_an_undone_outcome_counts_again(store: MemoryStore) -> None:
    memory, opened = store.store("The ferry leaves from pier 3"), task()
    link(store, opened.tasks[0], [memory.id], namespace=NAMESPACE)
    closed = task("closed", 2_000.0)
    sync(store, closed, namespace=NAMESPACE)
    mark, outcome = (store.log(id=id)[0].seq for id in (_record(store), memory.id))
    for seq in (mark, outcome):
        store.undo(seq)
    assert [each.memory for each in sync(store, closed, namespace=NAMESPACE)] == [memory.id]
    assert store[memory.id].outcome == pytest.approx(0.2)


def _record(store: MemoryStore) -> str:
    record = find(store, task().tasks[0], NAMESPACE)
    assert record is not None
    return record.id


def test_a_removed_link_scores_nothing(store: MemoryStore) -> None:
    memory, opened = store.store("The ferry leaves from pier 3"), task().tasks[0]
    assert not unlink(store, opened, memory.id, namespace=NAMESPACE)
    link(store, opened, [memory.id], namespace=NAMESPACE)
    assert unlink(store, opened, memory.id, namespace=NAMESPACE)
    assert sync(store, task("closed", 2_000.0), namespace=NAMESPACE) == []


def test_a_dry_run_writes_nothing(store: MemoryStore) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    before = store.log(limit=1)
    assert len(sync(store, task("closed", 2_000.0), namespace=NAMESPACE, dry_run=True)) == 1
    assert store.log(limit=1) == before


def closed(at: float, source: str = "beads", **more: str) -> Listing:
    return Listing([replace(task("closed", at).tasks[0], source=source, **more)])  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["blocked", "deferred", "in_progress", "hooked", "in_review"])
def test_a_status_that_is_not_closed_scores_nothing(store: MemoryStore, status: str) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    assert sync(store, task(status), namespace=NAMESPACE) == []
    assert store[memory.id].outcome == 0.0


def test_a_task_opened_and_closed_again_scores_again(store: MemoryStore) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    assert len(sync(store, closed(2_000.0), namespace=NAMESPACE)) == 1
    assert sync(store, task("open"), namespace=NAMESPACE) == []
    assert len(store.outcomes(memory.id)) == 1
    assert len(sync(store, closed(3_000.0), namespace=NAMESPACE)) == 1
    assert len(sync(store, closed(4_000.0), namespace=NAMESPACE)) == 1  # opened between, unseen
    assert sync(store, closed(4_000.0), namespace=NAMESPACE) == []
    assert len(store.outcomes(memory.id)) == 3


def test_a_touched_file_of_a_done_task_scores_nothing_more(store: MemoryStore) -> None:
    memory = store.store("The ferry leaves from pier 3")
    first = closed(2_000.0, "claude-tasks")
    link(store, replace(first.tasks[0], status="pending"), [memory.id], namespace=NAMESPACE)
    assert len(sync(store, first, namespace=NAMESPACE)) == 1
    assert sync(store, closed(9_000.0, "claude-tasks"), namespace=NAMESPACE) == []


def test_a_task_that_is_closed_when_linked_scores_nothing(store: MemoryStore) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, closed(2_000.0).tasks[0], [memory.id], namespace=NAMESPACE)
    assert sync(store, closed(2_000.0), namespace=NAMESPACE) == []


def test_a_task_that_is_gone_or_never_linked_scores_nothing(store: MemoryStore) -> None:
    memory = store.store("The ferry leaves from pier 3")
    assert sync(store, closed(2_000.0), namespace=NAMESPACE) == []
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    assert sync(store, Listing(), namespace=NAMESPACE) == []
    assert store.outcomes(memory.id) == []


def test_a_reason_of_failure_scores_only_when_allowed(store: MemoryStore) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    reverted = task("closed", 2_000.0, "reverted, did not work")
    assert sync(store, reverted, namespace=NAMESPACE, dry_run=True) == []
    found = sync(store, reverted, namespace=NAMESPACE, allow_failed=True)
    assert [each.verdict for each in found] == ["failed"]
    assert store.outcomes(memory.id)[0].session == "task:beads:bd-1@2000"


@pytest.mark.parametrize("reason", ["Fixed; nothing failed", "no longer fails", "done"])
def test_a_denied_failure_is_a_success(store: MemoryStore, reason: str) -> None:
    memory = store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)
    found = sync(store, task("closed", 2_000.0, reason), namespace=NAMESPACE, allow_failed=True)
    assert [each.verdict for each in found] == ["worked"]


def test_a_link_is_a_relation_and_a_new_title_keeps_the_link(
    store: MemoryStore,
) -> None:
    memory = store.store("The ferry leaves from pier 3")
    record, count = link(store, task().tasks[0], [memory.id, memory.id], namespace=NAMESPACE)
    assert (count, record.key, record.tags) == (1, "task:beads:bd-1", ("task",))
    assert link(store, task().tasks[0], [memory.id], namespace=NAMESPACE)[1] == 0
    sync(store, Listing([replace(task().tasks[0], title="Mend the ferry")]), namespace=NAMESPACE)
    again = find(store, task().tasks[0], NAMESPACE)
    assert again is not None
    assert again.content == "Mend the ferry"
    assert [each.id for each in linked(store, again)] == [memory.id]


def test_the_context_has_linked_memories_first_and_no_tasks(store: MemoryStore) -> None:
    linked_memory = store.store("Ann has the key of the shed", namespace=NAMESPACE)
    store.store("The ferry leaves from pier 3")
    link(store, task().tasks[0], [linked_memory.id], namespace=NAMESPACE)
    options = {"namespace": NAMESPACE, "budget_tokens": 400}
    alone = context(store, task().tasks, **options)  # type: ignore[arg-type]
    assert "Ann has the key" in alone
    assert "pier 3" not in alone
    wide = context(store, task().tasks, scope=["default", NAMESPACE], **options)  # type: ignore[arg-type]
    assert wide.index("Ann has the key") < wide.index("pier 3")
    assert "Fix the ferry" not in wide
