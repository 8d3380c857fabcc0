"""Tasks and memories: links between both, and outcomes once a linked task is done.

Only a linked task becomes a record, with the key ``task:<source>:<id>`` and the tag "task". Links,
the log, ``undo`` and ``as_of`` are those of the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from bethink import EVERYWHERE, MemoryRecord, MemoryStore, NotFoundError, RateLimitError
from bethink.adapting import Scope, Verdict, covers

from .task import Listing, Task

TAG: Final = "task"
CATEGORY: Final = "todo"
USED: Final = "used"
"""The kind of the link from a task to a memory."""
_NO_VERDICT: Final = re.compile(
    r"\b(won'?t ?fix|duplicate|obsolete|cannot reproduce|not reproducible|superseded|stale"
    r"|invalid|not needed|abandoned)\b",
    re.IGNORECASE,
)
_FAILED: Final = re.compile(
    r"\b(failed|reverted|did ?n[o']t work|does ?n[o']t work|gave up|rolled back)\b", re.IGNORECASE
)
_DENIED: Final = re.compile(
    r"\b(no longer|not|never|nothing)\s+(failed|fails|reverted)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Verdicts:
    """The verdict of a closed *task* on *memory*; ``recorded`` says whether the store took it."""

    task: str
    memory: str
    verdict: Verdict
    recorded: bool


def link(
    store: MemoryStore, task: Task, ids: Iterable[str], *, namespace: str
) -> tuple[MemoryRecord, int]:
    """Link *task* with the memories *ids*; return the task's record and the number of new links.

    A task that is closed already scores nothing until the task is opened and closed again.
    """
    record = find(store, task, namespace)
    if record is None:
        record = store.store(
            task.title,
            namespace=namespace,
            key=task.key,
            category=CATEGORY,
            tags=[TAG],
            value=_seen(task, None),
            source=task.source,
        )
    return record, sum(store.relate(record.id, id, USED) for id in dict.fromkeys(ids))


def unlink(store: MemoryStore, task: Task, id: str, *, namespace: str) -> bool:
    """Remove the link of *task* with the memory *id*; return whether the link existed."""
    record = find(store, task, namespace)
    return record is not None and store.unrelate(record.id, id, USED)


def find(store: MemoryStore, task: Task, namespace: str) -> MemoryRecord | None:
    """Return the record of *task*, None without a link."""
    return store.get(namespace=namespace, key=task.key)


def linked(store: MemoryStore, record: MemoryRecord) -> list[MemoryRecord]:
    """Return the memories that the task of *record* is linked with."""
    return [each.memory for each in store.related(record.id, kind=USED, direction="out")]


def sync(
    store: MemoryStore,
    listing: Listing,
    *,
    namespace: str,
    dry_run: bool = False,
    allow_failed: bool = False,
    within: Scope = EVERYWHERE,
) -> list[Verdicts]:
    """Record an outcome for the memories of each linked task that has been closed since; once.

    A task that was closed for a reason such as "duplicate" gives no verdict; with *allow_failed*, a
    reason such as "reverted" gives "failed". Memories linked after the closing get no verdict. With
    *dry_run* nothing is written. Linked memories outside of *within* are passed over.
    """
    found = []
    for task in listing.tasks:
        record = find(store, task, namespace)
        if record is None:
            continue
        seen = record.value if isinstance(record.value, dict) else {}
        verdict = _verdict(task, allow_failed) if _is_closed_since(task, seen) else None
        if verdict is not None:
            found += _judge(store, task, record, verdict, dry_run, within)
        now = _seen(task, seen.get("scored_at") if verdict is None else task.closed_at)
        if not dry_run and (now, task.title) != (seen, record.content):
            store.update(record.id, value=now, content=task.title)
    return found


def context(
    store: MemoryStore,
    tasks: Sequence[Task],
    *,
    namespace: str,
    budget_tokens: int,
    scope: Scope | None = None,
    within: Scope = EVERYWHERE,
) -> str:
    """Return the memories linked with *tasks*, and those that match the titles, as one block.

    The links are those of *namespace*; titles are looked up in *scope*, without a scope in
    *namespace*. Linked memories outside of *within* are left out.
    """
    from bethink import context_block

    records: dict[str, MemoryRecord] = {}
    for task in tasks:
        record = find(store, task, namespace)
        if record is not None:
            records |= {
                each.id: each
                for each in linked(store, record)
                if each.state == "live" and covers(within, each.namespace)
            }
    titles = "\n".join(task.title for task in tasks)
    packed = store.pack(
        titles,
        budget_tokens=budget_tokens,
        namespace=namespace if scope is None else scope,
        where={"$not": {"$or": [{"tags": {"$contains": TAG}}, {"id": {"$in": list(records)}}]}},
    )
    block = context_block(records.values())
    return "\n\n".join(part for part in (block, packed.text) if part)


def _judge(
    store: MemoryStore,
    task: Task,
    record: MemoryRecord,
    verdict: Verdict,
    dry_run: bool,
    within: Scope,
) -> list[Verdicts]:
    closed = task.closed_at
    session = f"{task.key}@{closed:.0f}" if closed is not None else task.key
    found = []
    for relation in store.related(record.id, kind=USED, direction="out"):
        memory, is_late = relation.memory.id, closed is not None and relation.at > closed
        seen = covers(within, relation.memory.namespace)
        if is_late or not seen or _is_judged(store, memory, session):
            continue
        recorded = False
        if not dry_run:
            with suppress(NotFoundError, RateLimitError):
                store.record_outcome(memory, verdict, session)
                recorded = True
        found.append(Verdicts(task.key, memory, verdict, recorded))
    return found


def _is_judged(store: MemoryStore, memory: str, session: str) -> bool:
    """Return whether *memory* has an outcome of *session* that nobody has undone."""
    undone: set[int] = set()
    for entry in store.log(id=memory, limit=None):  # the newest first
        if entry.seq in undone:
            continue
        if entry.action == "undo":
            undone.add(entry.changes["undoes"])
        elif entry.changes.get("session") == session:
            return True
    return False


def _verdict(task: Task, allow_failed: bool) -> Verdict | None:
    reason = task.close_reason
    if _NO_VERDICT.search(reason):
        return None
    if _FAILED.search(reason) and not _DENIED.search(reason):
        return "failed" if allow_failed else None
    return "worked"


def _is_closed_since(task: Task, seen: dict[str, Any]) -> bool:
    """Return whether *task* was closed after the task was *seen*, perhaps opened between."""
    if not task.closed or not seen.get("closed"):
        return task.closed
    scored = seen.get("scored_at")
    closed_again = isinstance(scored, int | float) and task.closed_at is not None
    return task.source == "beads" and closed_again and task.closed_at != scored


def _seen(task: Task, scored_at: Any) -> dict[str, Any]:
    """Return the state of *task* as the record keeps the state."""
    facts = asdict(task)
    kept = {name: facts[name] for name in ("status", "updated_at", "close_reason")}
    return {**kept, "closed": task.closed, "scored_at": scored_at}
