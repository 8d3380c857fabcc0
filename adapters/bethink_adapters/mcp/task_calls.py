"""The tool ``memory_tasks``: tasks of Beads and Claude Code beside the memories of a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bethink import NotFoundError

from ..surface.location import project_namespace
from ..tasks import Listing, Task, context, link, read_all, sync
from .answers import ANSWER_TOKENS, Answer, Page, clipped, cut
from .schema import ArgumentError
from .view import View


def tasks(
    view: View, named: str | None, action: str, task: str | None, ids: Sequence[str], budget: int
) -> Answer:
    """Return the answer to *action* ("list", "context", "link", "sync").

    The tasks are those of the working directory's project. The links are in the namespace *named*,
    else in the project's, as with ``bethink tasks``.
    """
    listing = read_all(Path.cwd())
    bound = named or view.names
    namespace = view.place(named) if bound else project_namespace(Path.cwd(), view.store.location)
    if action == "sync":
        return _synced(view, listing, namespace)
    if action == "link":
        if task is None or not ids:
            raise ArgumentError("the action 'link' needs a task and ids of memories")
        wanted = [view.one(each).id for each in ids]
        _, count = link(view.store, _one(listing, task), wanted, namespace=namespace)
        return Answer(f"Linked {count}.", {"action": action, "count": count})
    chosen = [_one(listing, task)] if task else [each for each in listing.tasks if not each.closed]
    if action == "context":
        text = context(
            view.store,
            chosen,
            namespace=namespace,
            budget_tokens=budget,
            scope=view.within(named),
            within=view.seen,
        )
        text = cut(text, budget - 20)
        return Answer(text or "Nothing is remembered.", {"action": action, "text": text})
    page = Page(ANSWER_TOKENS)
    page.add_all((_line(each), _facts(each)) for each in chosen)
    none = "No open tasks of Beads or Claude Code are in the server's folder."
    page.lines.append(f"({len(page.items)} of {len(chosen)} open tasks)" if chosen else none)
    return Answer(
        "\n".join(page.lines), {"action": action, "count": len(chosen), "tasks": page.items}
    )


def _synced(view: View, listing: Listing, namespace: str) -> Answer:
    found = sync(view.store, listing, namespace=namespace, within=view.seen)
    page = Page(ANSWER_TOKENS)
    page.add_all(
        (f"{each.verdict}: memory {each.memory} by {each.task}", asdict(each)) for each in found
    )
    text = "\n".join(page.lines) or "No linked task has been closed since."
    return Answer(text, {"action": "sync", "count": len(found), "verdicts": page.items})


def _one(listing: Listing, id: str) -> Task:
    found = listing.find(id)
    if len(found) != 1:
        raise NotFoundError("task", id)
    return found[0]


def _line(task: Task) -> str:
    return f"{task.status}: {clipped(task.title)}  (id {task.id}, {task.source})"


def _facts(task: Task) -> dict[str, object]:
    return {name: clipped(value) for name, value in asdict(task).items() if value not in ("", None)}
