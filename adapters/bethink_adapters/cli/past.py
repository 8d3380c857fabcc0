"""The commands about the past: log, snapshot, diff, audit, undo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from . import output
from .arguments import AS_OF, LIMIT, SHORT_ID, elsewhere, entry_of, find_ids, moment_of, no_key
from .command import Context, Failure, Reply, argument, command

if TYPE_CHECKING:
    from bethink import LogEntry, MemoryStore
    from bethink.adapting import Scope

_SECONDS: Final = 0.5
"""How often ``log --follow`` looks for entries."""


@command(
    argument("id", nargs="?", metavar="ID", help="only changes of the memory"),
    LIMIT,
    argument("--since", metavar="WHEN", help="after an entry (12), time, age (2d), or snapshot"),
    argument("--until", metavar="WHEN", help="up to an entry (12), time, age (2d), or snapshot"),
    argument("--follow", action="store_true", help="show new entries as they come, oldest first"),
    example="bethink log --limit 20",
)
def log(context: Context) -> Reply:
    """Show what happened, newest first."""
    given = context.given
    id = find_ids(context, [given.id])[0] if given.id else None
    scope = context.scope if given.namespace else None
    if given.follow and given.until is not None:
        raise Failure("--follow goes on after the newest entry; leave --until out", 2)
    since, until = _position(context, given.since) or 0, _position(context, given.until)
    found = context.store.log(limit=given.limit, id=id, namespace=scope, since=since, until=until)
    if given.follow:
        if given.form == "json":
            raise Failure("--follow has no end; use --jsonl in place of --json", 2)
        entries = _followed(context.store, found, id, scope, since)
        if given.form:
            return Reply(each.to_dict() for each in entries)
        return Reply(lines=map(_entry, entries))  # no end, and so no pager
    empty = elsewhere(context) if given.namespace and not found else "nothing found"
    lines = map(_entry, found)
    return Reply([each.to_dict() for each in found], lines, paged=True, empty=empty)


def _position(context: Context, moment: str | None) -> int | None:
    """Return the number of the last journal entry at a *moment*."""
    if moment is None:
        return None
    number = moment.removeprefix("#")
    return int(number) if number.isdecimal() else context.store.as_of(moment_of(moment)).seq


@command(
    argument("name", nargs="?", help="a name for the present; without: list the names"),
    example="bethink snapshot after-move",
)
def snapshot(context: Context) -> Reply:
    """Name the present, or list the names."""
    if context.given.name is not None:
        made = context.store.snapshot(context.given.name)
        return Reply(made.to_dict(), [f"{made.name!r} names the state after entry #{made.seq}"])
    found = context.store.snapshots()
    rows = [(each.name, f"#{each.seq}", output.moment(each.at)) for each in found]
    return Reply([each.to_dict() for each in found], output.table(rows, flexible=0, right=(1,)))


@command(
    argument(
        "since", metavar="SINCE", help="the first moment: time, age (2d), snapshot, or entry (12)"
    ),
    argument("until", nargs="?", metavar="UNTIL", help="the second moment (now)"),
    example="bethink diff before-move",
)
def diff(context: Context) -> Reply:
    """Show what changed between two moments."""
    given = context.given
    found = context.store.diff(
        moment_of(given.since), moment_of(given.until), namespace=context.scope
    )
    rows = [("+", each.id[-SHORT_ID:], each.content) for each in found.added]
    rows += [
        ("~", each.after.id[-SHORT_ID:], f"{each.after.content}  [{', '.join(each.fields)}]")
        for each in found.changed
    ]
    rows += [("-", each.id[-SHORT_ID:], each.content) for each in found.removed]
    lines = list(output.table(rows, flexible=2)) or ["no change"]
    return Reply(found.to_dict(), lines)


@command(
    argument("key", help="the key of the fact"),
    LIMIT,
    AS_OF,
    example="bethink audit standup --as-of before-move",
)
def audit(context: Context) -> Reply:
    """Show every version of a fact."""
    given = context.given
    found = context.store.audit(
        given.key,
        namespace=context.namespace,
        as_of=moment_of(given.as_of),
        limit=given.limit,
    )
    rows = [
        (f"#{each.seq}", output.moment(each.at), each.ended_by or "stands", each.content)
        for each in found
    ]
    if not found:
        raise Failure(no_key(context, "fact", given.key))
    lines = output.table(rows, flexible=3, right=(0,))
    return Reply([each.to_dict() for each in found], lines)


@command(
    argument("entry", nargs="?", type=entry_of, help="the number in the log; without: the last"),
    example="bethink undo 3",
)
def undo(context: Context) -> Reply:
    """Undo a journal entry."""
    entry = context.given.entry
    if entry is None:
        last = next((each for each in _newest(context.store) if _is_change(each)), None)
        if last is None:
            raise Failure("nothing can be undone yet")
        if last.action == "erase":
            raise Failure(f"the last change, #{last.seq}, erased for good; name an entry to undo")
        entry = last.seq
    record = context.store.undo(entry)
    return Reply(record.to_dict(), [f"undid #{entry}: {record.id[-SHORT_ID:]} is {record.state}"])


def _newest(store: MemoryStore) -> Iterator[LogEntry]:
    """Yield all entries, newest first, page by page: many touches may follow the last change."""
    until = None
    while page := store.log(until=until):
        yield from page
        until = page[-1].seq - 1


def _is_change(entry: LogEntry) -> bool:
    told = bool(entry.changes) and entry.action != "base"
    return entry.id is not None and (told or entry.action == "erase")


def _entry(entry: LogEntry) -> str:
    what = entry.changes.get("content") or ", ".join(entry.changes)
    id = (entry.id or "")[-SHORT_ID:]
    line = f"#{entry.seq:<6} {output.moment(entry.at)[:19]}  {entry.action:9}  {id:8}  "
    return output.fit(line + output.clean(str(what)), output.columns()).rstrip()


def _followed(
    store: MemoryStore, shown: list[LogEntry], id: str | None, scope: Scope | None, since: int
) -> Iterator[LogEntry]:
    """Yield *shown* from the oldest on, then entries of *id* in *scope* as the entries come.

    A database that gives no answer is asked again until an answer comes.
    """
    import sys
    import time

    from bethink import StorageError

    is_silent = False
    while True:
        for entry in reversed(shown):
            since = entry.seq
            yield entry
        time.sleep(_SECONDS)
        try:
            shown = store.log(limit=None, id=id, namespace=scope, since=since)
        except StorageError as error:
            if not error.is_unreachable:
                raise
            if not is_silent:
                reason = error.reason.splitlines()[0]
                print(f"bethink: {error.path}: {reason}; waiting for an answer", file=sys.stderr)
            shown, is_silent = [], True
        else:
            is_silent = False


COMMANDS: Final = (log, snapshot, diff, audit, undo)
