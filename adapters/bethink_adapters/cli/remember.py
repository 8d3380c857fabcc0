"""The commands that write memories: store, update, forget, restore, archive, erase, tidy."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from .arguments import (
    FIELDS,
    FILTER,
    ID,
    IDS,
    SHORT_ID,
    STATES,
    YES,
    arguments,
    fields_of,
    filter_of,
    find_ids,
    time_of,
)
from .command import Command, Context, Failure, Reply, argument

_FILE: Final = argument("--file", metavar="PATH", help="read the text from a file, - for stdin")
_PAST: Final = {
    "forget": "forgot",
    "erase": "erased",
    "restore": "restored",
    "archive": "archived",
    "unarchive": "unarchived",
}
State = Literal["live", "superseded", "archived", "forgotten"]
_SOME_IDS: Final = argument("ids", nargs="*", metavar="ID", help="ids, or their last characters")


def store(context: Context) -> Reply:
    """Store one text, or a memory for each line of JSON."""
    given = context.given
    shared = {"namespace": context.namespace, **fields_of(given)}
    options: dict[str, Any] = {"on_similar": given.on_similar}
    if given.jsonl is not None:
        items = list(_lines(given.jsonl))
        records = context.store.store_many(items, **options, **shared)
        return Reply([each.to_dict() for each in records], [f"stored {len(records)}"])
    if given.supersedes:
        [shared["supersedes"]] = find_ids(context, [given.supersedes])
    record = context.store.store(context.text(given.text, given.file), **options, **shared)
    return Reply(record.to_dict(), [f"stored {record.id[-SHORT_ID:]}"])


def update(context: Context) -> Reply:
    """Change the given fields of a memory."""
    [id] = find_ids(context, [context.given.id])
    changes = fields_of(context.given)
    if context.given.content is not None or context.given.file is not None:
        changes["content"] = context.text(context.given.content, context.given.file)
    if not changes:
        raise Failure("nothing to change: give --content or a field", 2)
    record = context.store.update(id, **changes)
    return Reply(record.to_dict(), [f"updated {id[-SHORT_ID:]}"])


def forget(context: Context) -> Reply:
    """Forget memories by id, or all that pass a filter."""
    return _remove(context, "forget", ("live",))


def erase(context: Context) -> Reply:
    """Erase memories by id, or all that pass a filter, for good."""
    return _remove(context, "erase", STATES)


def _remove(context: Context, verb: str, states: tuple[State, ...]) -> Reply:
    given, where = context.given, filter_of(context.given)
    chosen = find_ids(context, given.ids)
    named = given.namespace is not None or given.everywhere
    if bool(chosen) == (where is not None or named):
        raise Failure("give either ids, or a filter or -n NAMESPACE", 2)
    affected = len(chosen)
    if not chosen:
        for state in states:
            affected += len(context.store.all(namespace=context.scope, where=where, state=state))
    if given.dry_run:
        return Reply({"count": affected, "dry_run": True}, [f"would {verb} {affected}"])
    if not chosen or verb == "erase":
        context.confirm(affected, verb)
    remove = getattr(context.store, verb)
    count = remove(chosen) if chosen else remove(namespace=context.scope, where=where)
    return Reply({"count": count}, [f"{_PAST[verb]} {count}"], 0 if count else 1)


def restore(context: Context) -> Reply:
    """Bring forgotten memories back."""
    return _count(context, "restore")


def archive(context: Context) -> Reply:
    """Put memories aside."""
    return _count(context, "archive")


def unarchive(context: Context) -> Reply:
    """Bring archived memories back."""
    return _count(context, "unarchive")


def tidy(context: Context) -> Reply:
    """Forget what has expired, and let outcomes drift back to 0."""
    retention = context.given.older_than
    expired = context.store.expire(
        retention=None if retention is None else _age(retention),
        floor=context.given.floor,
        namespace=context.scope if context.given.namespace or context.given.everywhere else None,
    )
    drifted = context.store.drift()
    data = {"expired": expired, "drifted": drifted}
    return Reply(data, [f"expired {expired}, drifted {drifted}"])


def _count(context: Context, verb: str) -> Reply:
    count = getattr(context.store, verb)(find_ids(context, context.given.ids))
    return Reply({"count": count}, [f"{_PAST[verb]} {count}"], 0 if count else 1)


def _age(text: str) -> float:
    """Return the seconds of a span such as 90d."""
    import time

    return time.time() - time_of(text)


def _lines(source: str) -> Iterator[Any]:
    """Yield the JSON values of *source*, a path or - for the standard input, a line each."""
    lines = sys.stdin if source == "-" else Path(source).expanduser().open(encoding="utf-8")
    with lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise Failure(f"{source}, line {number}: {error}", 2) from None


COMMANDS: Final = (
    Command(
        "store",
        "keep a text as a memory",
        store,
        arguments(
            argument("text", nargs="?", metavar="TEXT", help="the text, - for stdin"),
            _FILE,
            argument("--jsonl", metavar="PATH", help="a memory for each line, - for stdin"),
            argument("--supersedes", metavar="ID", help="the memory that this replaces"),
            argument(
                "--on-similar",
                choices=("keep", "merge", "raise"),
                default="keep",
                help="what to do beside nearly the same memory (keep both)",
            ),
            FIELDS,
        ),
        "write",
        ("add",),
    ),
    Command(
        "update",
        "change fields of a memory",
        update,
        arguments(
            ID,
            argument("--content", metavar="TEXT", help="the new text, - for stdin"),
            _FILE,
            FIELDS,
        ),
    ),
    Command(
        "forget",
        "forget memories; `restore` brings them back",
        forget,
        arguments(_SOME_IDS, FILTER, YES),
        synonyms=("rm", "delete"),
    ),
    Command("restore", "bring forgotten memories back", restore, (IDS,)),
    Command("archive", "put memories aside", archive, (IDS,)),
    Command("unarchive", "bring archived memories back", unarchive, (IDS,)),
    Command(
        "erase",
        "erase memories and their history for good",
        erase,
        arguments(_SOME_IDS, FILTER, YES),
    ),
    Command(
        "tidy",
        "forget what has expired, let outcomes drift",
        tidy,
        arguments(
            argument("--older-than", metavar="SPAN", help="forget what is older, too: 90d"),
            argument("--floor", type=float, help="forget what has less activation, too"),
        ),
    ),
)
