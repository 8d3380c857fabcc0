"""The command ``bethink tasks``: list, show, context, link, unlink, sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..shared.defaults import DEFAULT_BUDGET_TOKENS
from ..surface.location import project_namespace
from . import output
from .arguments import SHORT_ID, find_ids
from .command import Context, Failure, Reply, argument, command

if TYPE_CHECKING:
    from bethink.adapting import Scope

    from ..tasks import Listing, Task

_ACTIONS: Final = ("list", "show", "context", "link", "unlink", "sync")
_OLD_SECONDS: Final = 3_600.0


@command(
    argument("action", choices=_ACTIONS, nargs="?", default="list", help="what to do (list)"),
    argument(
        "task",
        nargs="?",
        metavar="TASK",
        help="the id of the task, for all but list and sync",
    ),
    argument("ids", nargs="*", metavar="ID", help="memories to link or unlink"),
    argument(
        "--source",
        choices=("beads", "claude-tasks", "claude-todos"),
        help="only tasks of the source",
    ),
    argument("--done", action="store_true", help="list closed tasks, too"),
    argument(
        "--budget",
        type=int,
        default=DEFAULT_BUDGET_TOKENS,
        metavar="TOKENS",
        help=f"context: the most tokens of the block ({DEFAULT_BUDGET_TOKENS})",
    ),
    argument(
        "--allow-failed",
        action="store_true",
        help="sync: let a task closed as reverted count as failed",
    ),
    argument("--dry-run", action="store_true", help="sync: show the verdicts, record none"),
    example="bethink tasks sync --dry-run",
)
def tasks(context: Context) -> Reply:
    """Tasks of Beads and Claude Code beside memories."""
    from pathlib import Path

    from ..tasks import read_all

    listing = read_all(Path.cwd())
    action = {
        "list": _list,
        "show": _show,
        "context": _context,
        "link": _link,
        "unlink": _unlink,
        "sync": _sync,
    }
    return action[context.given.action](context, listing)


def _list(context: Context, listing: Listing) -> Reply:
    given = context.given
    shown = _of_source(context, listing) if given.done else _open(context, listing)
    rows = [
        (each.source, each.id[-24:], each.status, f"{each.title}{_after(each)}") for each in shown
    ]
    data = {"tasks": [_facts(each) for each in shown], "skipped": listing.skipped}
    return Reply(data, [*output.table(rows, flexible=3), *_notes(listing)])


def _show(context: Context, listing: Listing) -> Reply:
    from ..tasks import find, linked

    task = _one(context, listing)
    record = find(context.store, task, _namespace(context)) if context.location.exists() else None
    memories = linked(context.store, record) if record is not None else []
    facts = {name: value for name, value in _facts(task).items() if value not in (None, "", [])}
    lines = [*output.pairs(facts), "", *output.memories(memories)]
    return Reply({**_facts(task), "memories": [each.to_dict() for each in memories]}, lines)


def _context(context: Context, listing: Listing) -> Reply:
    from ..tasks import context as block

    chosen = [_one(context, listing)] if context.given.task else _open(context, listing)
    text = block(
        context.store,
        chosen,
        namespace=_namespace(context),
        scope=_scope(context),
        budget_tokens=context.given.budget,
    )
    return Reply({"text": text}, text.splitlines())


def _link(context: Context, listing: Listing) -> Reply:
    from ..tasks import link

    task, ids = _one(context, listing), _ids(context)
    record, count = link(context.store, task, ids, namespace=_namespace(context))
    return Reply({"record": record.id, "linked": count}, [f"linked {count} with {task.id}"])


def _unlink(context: Context, listing: Listing) -> Reply:
    from ..tasks import unlink

    task, ids = _one(context, listing), _ids(context)
    count = sum(unlink(context.store, task, id, namespace=_namespace(context)) for id in ids)
    return Reply({"unlinked": count}, [f"unlinked {count} from {task.id}"], 0 if count else 1)


def _sync(context: Context, listing: Listing) -> Reply:
    from dataclasses import asdict

    from ..tasks import sync

    given = context.given
    listing.tasks = _of_source(context, listing)
    found = sync(
        context.store,
        listing,
        namespace=_namespace(context),
        dry_run=given.dry_run,
        allow_failed=given.allow_failed,
    )
    rows = [(each.verdict, each.memory[-SHORT_ID:], each.task) for each in found]
    lines = [*output.table(rows, flexible=2)] or ["nothing to record"]
    return Reply([asdict(each) for each in found], [*lines, *_notes(listing)])


def _one(context: Context, listing: Listing) -> Task:
    wanted = context.given.task
    if not wanted:
        raise Failure("name a task", 2)
    found = listing.find(wanted) or [each for each in listing.tasks if each.id.endswith(wanted)]
    if len(found) != 1:
        raise Failure(f"{len(found) or 'no'} tasks have the id {wanted!r}")
    return found[0]


def _ids(context: Context) -> list[str]:
    ids = find_ids(context, context.given.ids)
    if not ids:
        raise Failure("give the ids of memories", 2)
    return ids


def _open(context: Context, listing: Listing) -> list[Task]:
    return [each for each in _of_source(context, listing) if not each.closed]


def _of_source(context: Context, listing: Listing) -> list[Task]:
    return [each for each in listing.tasks if context.given.source in (None, each.source)]


def _namespace(context: Context) -> str:
    """Return the namespace that is named, else the project's."""
    from pathlib import Path

    return context.named or project_namespace(Path.cwd(), context.location)


def _scope(context: Context) -> Scope:
    """Return the namespace that is named with all below, else the project's beside the home."""
    from bethink import Subtree

    named = context.named
    return Subtree(named) if named else [context.namespace, Subtree(_namespace(context))]


def _after(task: Task) -> str:
    return (
        f" (after {', '.join(each[-24:] for each in task.blocked_by)})" if task.blocked_by else ""
    )


def _facts(task: Task) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(task), "blocked_by": list(task.blocked_by)}


def _notes(listing: Listing) -> list[str]:
    """Return lines about files that are old, and about skipped parts."""
    import time

    now = time.time()
    old = [
        f"{path} is {(now - changed) / 3_600:.0f} h old"
        for path, changed in listing.read.items()
        if path.suffix == ".jsonl" and now - changed > _OLD_SECONDS
    ]
    return [output.dim(line) for line in (*old, *listing.skipped)]
