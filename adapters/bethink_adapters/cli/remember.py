"""The commands that write memories: store, update, forget, restore, archive, erase, tidy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from . import output
from .arguments import (
    FIELDS,
    FILTER,
    ID,
    SHORT_ID,
    STATES,
    YES,
    days_of,
    fields_of,
    filter_of,
    find_ids,
    places,
)
from .command import MARK, Context, Failure, Reply, argument, command

if TYPE_CHECKING:
    from bethink import MemoryRecord, MemoryStore
    from bethink.adapting import Listed

_FILE: Final = argument("--file", metavar="PATH", help="read the text from a file, - for stdin")
_PAST: Final = {
    "forget": "forgot",
    "erase": "erased",
    "restore": "restored",
    "archive": "archived",
    "unarchive": "unarchived",
}
_SOME_IDS: Final = argument(
    "ids", nargs="*", metavar="ID", help="whole ids, or the last characters"
)


@command(
    argument("text", nargs="?", metavar="TEXT", help="the text, - for stdin"),
    _FILE,
    argument("--jsonl", metavar="PATH", help="a memory for each line, - for stdin"),
    argument("--supersedes", metavar="ID", help="the memory that the new text replaces"),
    argument(
        "--on-similar",
        choices=("keep", "merge", "raise"),
        default="keep",
        help="what to do beside a memory that says nearly the same (keep both)",
    ),
    FIELDS,
    writes=True,
    synonyms=("add",),
    example="bethink store 'Standup is at 10:00' --key standup --tag team",
)
def store(context: Context) -> Reply:
    """Keep a text as a memory."""
    given = context.given
    shared = {"namespace": context.namespace, **fields_of(given)}
    options: dict[str, Any] = {"on_similar": given.on_similar}
    if given.jsonl is not None:
        if any(each is not None for each in (given.text, given.file, given.supersedes)):
            raise Failure("with --jsonl, give neither a text nor --file nor --supersedes", 2)
        records = _store_lines(context, given.jsonl, {**options, **shared})
        return Reply([each.to_dict() for each in records], [f"stored {len(records)}"])
    if given.supersedes is not None:
        [shared["supersedes"]] = find_ids(context, [given.supersedes])
    text = context.text(given.text, given.file)  # a wrong use makes no file
    record = context.store.store(text, **options, **shared)
    return Reply(record.to_dict(), [f"stored {record.id[-SHORT_ID:]}"])


@command(
    ID,
    argument("text", nargs="?", metavar="TEXT", help="the new text, - for stdin"),
    argument("--content", metavar="TEXT", help="the same, by name"),
    _FILE,
    FIELDS,
    example="bethink update 4a998ed4 'Standup is at 11:00'",
)
def update(context: Context) -> Reply:
    """Replace fields of a memory, such as all tags."""
    given = context.given
    [id] = find_ids(context, [given.id])
    changes = fields_of(given)
    texts = [each for each in (given.text, given.content) if each is not None]
    if len(texts) > 1:
        raise Failure("give TEXT or --content, not both", 2)
    if texts or given.file is not None:
        changes["content"] = context.text(texts[0] if texts else None, given.file)
    if not changes:
        raise Failure("nothing to change: give a text or a field", 2)
    record = context.store.update(id, **changes)
    return Reply(record.to_dict(), [f"updated {id[-SHORT_ID:]}"])


@command(
    _SOME_IDS,
    FILTER,
    YES,
    synonyms=("rm", "delete"),
    example="bethink forget --category travel --dry-run",
)
def forget(context: Context) -> Reply:
    """Forget memories; `restore` brings them back."""
    return _change(context, "forget", ("live",))


@command(_SOME_IDS, FILTER, YES, example="bethink erase ef5a0645 --yes")
def erase(context: Context) -> Reply:
    """Erase memories and their history for good."""
    return _change(context, "erase", STATES)


def _change(context: Context, verb: str, states: tuple[Listed, ...]) -> Reply:
    given, where = context.given, filter_of(context.given)
    chosen = list(dict.fromkeys(find_ids(context, given.ids)))
    removes = verb in ("forget", "erase")
    # Beside ids a namespace changes nothing; a removal of more than is meant is refused.
    named = (given.namespace is not None or given.everywhere) and (removes or not chosen)
    if bool(chosen) == (where is not None or named):
        raise Failure("give either ids, or a filter or -n NAMESPACE", 2)
    if chosen:
        found = [each for each in context.store.get_many(chosen) if each is not None]
    else:
        scope = context.scope
        found = [
            each
            for state in states
            for each in context.store.all(namespace=scope, where=where, state=state)
        ]
    count = len(chosen) or len(found)
    preview = [*output.preview(found, len(found))]
    hint = "" if count else places(context)
    if given.dry_run:
        data = {"count": count, "ids": chosen or [each.id for each in found], "dry_run": True}
        return Reply(data, [*preview, f"would {verb} {count}{hint}"])
    if not chosen or verb == "erase":
        context.confirm(count, verb, preview)
    change = getattr(context.store, verb)
    if chosen or not removes:
        count = change(chosen or [each.id for each in found])
    else:
        count = change(namespace=context.scope, where=where)
    return Reply({"count": count}, [f"{_PAST[verb]} {count}{hint}"], 0 if count else 1)


@command(_SOME_IDS, FILTER, YES, example="bethink restore 7f1de620")
def restore(context: Context) -> Reply:
    """Bring forgotten memories back."""
    return _change(context, "restore", ("forgotten",))


@command(_SOME_IDS, FILTER, YES, example="bethink archive ef5a0645")
def archive(context: Context) -> Reply:
    """Put memories aside."""
    return _change(context, "archive", ("live",))


@command(_SOME_IDS, FILTER, YES, example="bethink unarchive 0b3c55d9")
def unarchive(context: Context) -> Reply:
    """Bring archived memories back."""
    return _change(context, "unarchive", ("archived",))


@command(
    argument(
        "--unused", metavar="SPAN", help="also forget memories without use for a span such as 90d"
    ),
    argument(
        "--floor",
        type=float,
        metavar="0..1",
        help="also forget memories of less importance, which halves every 14 days without use",
    ),
    YES,
    example="bethink tidy --unused 90d -n default --dry-run",
)
def tidy(context: Context) -> Reply:
    """Forget what has expired, set unused outcomes back to 0."""
    from ..surface.verbs import copied

    given = context.given
    chosen = given.unused is not None or given.floor is not None
    if chosen and not (given.namespace or given.everywhere):
        raise Failure("--unused and --floor want -n NAMESPACE, or -a for all", 2)
    if given.dry_run or (chosen and not given.yes):
        with copied(context.store) as trial:
            expired, drifted = _tidy(context, trial)
        if given.dry_run:
            data = {"expired": expired, "drifted": drifted, "dry_run": True}
            return Reply(data, [f"would forget {expired}, and set {drifted} unused outcomes to 0"])
        context.confirm(expired, "forget")
    expired, drifted = _tidy(context, context.store)
    return Reply(
        {"expired": expired, "drifted": drifted},
        [f"forgot {expired}, set {drifted} unused outcomes to 0"],
    )


def _tidy(context: Context, store: MemoryStore) -> tuple[int, int]:
    unused = context.given.unused
    expired = store.expire(
        retention=None if unused is None else days_of(unused),
        floor=context.given.floor,
        namespace=context.scope if context.given.namespace or context.given.everywhere else None,
    )
    return expired, store.drift()


def _store_lines(context: Context, source: str, shared: dict[str, Any]) -> list[MemoryRecord]:
    """Store a memory for each line of JSON; a failure names the line."""
    from bethink import ValidationError

    lines = list(_lines(source))
    try:
        return context.store.store_many([item for _, item in lines], **shared)
    except ValidationError as error:
        item = 0 if len(lines) == 1 else error.item
        if item is None:
            raise
        number, _ = lines[item]
        reason = str(error).removeprefix(f"item {item}: ")
        raise Failure(f"{_name(source)}, line {number}: {reason}", 2) from None


def _lines(source: str) -> Iterator[tuple[int, Any]]:
    """Yield number and JSON value of each line of *source*, a path or - for the standard input."""
    import json
    from pathlib import Path

    lines = sys.stdin if source == "-" else Path(source).expanduser().open(encoding="utf-8")
    with lines:
        for number, line in enumerate(lines, 1):
            if line := line.removeprefix(MARK).strip():
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    reason = f"{_name(source)}, line {number}: no JSON: {error}"
                    raise Failure(reason, 2) from None


def _name(source: str) -> str:
    return "standard input" if source == "-" else source


COMMANDS: Final = (store, update, forget, restore, archive, unarchive, erase, tidy)
