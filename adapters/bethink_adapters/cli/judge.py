"""The commands that judge memories: outcome, reinforce, relate, resolve, consolidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from . import output
from .arguments import FILTER, ID, IDS, SHORT_ID, SIMILARITY, YES, filter_of, find_ids
from .command import Context, Reply, argument, command

if TYPE_CHECKING:
    from bethink import Consolidated, MemoryStore

_VERDICTS: Final = ("worked", "failed", "partial", "useful", "useless")


@command(
    argument("outcome", choices=_VERDICTS, metavar="VERDICT", help=", ".join(_VERDICTS)),
    IDS,
    argument("--session", metavar="NAME", help="who judges; at most three failures an hour count"),
    example="bethink outcome worked 4a998ed4 ef5a0645",
)
def outcome(context: Context) -> Reply:
    """Record how following memories went."""
    from ..surface.verbs import judge

    given = context.given
    records = judge(context.store, find_ids(context, given.ids), given.outcome, given.session)
    rows = [(each.id[-SHORT_ID:], f"outcome {each.outcome:+.2f}", each.state) for each in records]
    return Reply([each.to_dict() for each in records], output.table(rows, flexible=2))


@command(
    ID,
    argument("--amount", type=float, default=0.1, help="how much to add (0.1)"),
    example="bethink reinforce 4a998ed4 --amount 0.2",
)
def reinforce(context: Context) -> Reply:
    """Raise the importance of a memory."""
    [id] = find_ids(context, [context.given.id])
    record = context.store.reinforce(id, context.given.amount)
    return Reply(record.to_dict(), [f"{id[-SHORT_ID:]}  importance {record.importance:.2f}"])


@command(
    argument("source", metavar="SOURCE", help="the memory that the link leaves"),
    argument("kind", help="the name of the link, such as causes, part_of, used"),
    argument("target", metavar="TARGET", help="the memory that the link reaches"),
    argument("--remove", action="store_true", help="remove the link"),
    example="bethink relate 4a998ed4 part_of ef5a0645",
)
def relate(context: Context) -> Reply:
    """Link two memories."""
    given = context.given
    source, target = find_ids(context, [given.source, given.target])
    verb = context.store.unrelate if given.remove else context.store.relate
    changed = verb(source, target, given.kind)
    done = "unlinked" if given.remove else "linked"
    return Reply({"changed": changed}, [done if changed else "nothing to change"], int(not changed))


@command(
    argument("keep", metavar="KEEP", help="the memory that holds"),
    argument("drop", nargs="+", metavar="DROP", help="the memories that give way"),
    argument("--reason", help="a reason for the journal"),
    example="bethink resolve 5b7d1c02 ef5a0645 --reason 'pier 3 is closed'",
)
def resolve(context: Context) -> Reply:
    """Settle a conflict: one memory supersedes others."""
    given = context.given
    keep, *drop = find_ids(context, [given.keep, *given.drop])
    count = context.store.resolve(keep, drop, given.reason)
    return Reply({"count": count}, [f"resolved {count}"], 0 if count else 1)


@command(FILTER, SIMILARITY, YES, example="bethink consolidate --dry-run")
def consolidate(context: Context) -> Reply:
    """Merge memories that nearly repeat each other."""
    from ..surface.verbs import copied

    given = context.given
    if given.dry_run or not given.yes:
        with copied(context.store) as trial:
            merged = _consolidated(context, trial)
        if given.dry_run:
            return Reply([each.to_dict() for each in merged], _groups(merged))
        context.confirm(sum(len(each.others) for each in merged), "merge", _groups(merged))
    merged = _consolidated(context, context.store)
    return Reply([each.to_dict() for each in merged], _groups(merged))


def _consolidated(context: Context, store: MemoryStore) -> Sequence[Consolidated]:
    return store.consolidate(
        namespace=context.scope,
        where=filter_of(context.given),
        similarity=context.given.similarity,
        progress=output.bar("compared"),
    )


def _groups(merged: Sequence[Consolidated]) -> list[str]:
    """Return lines that show each kept memory above the memories that it absorbs."""
    rows = [
        row
        for each in merged
        for row in (
            ("keep", each.record.id[-SHORT_ID:], each.record.content),
            *(("", other.id[-SHORT_ID:], other.content) for other in each.others),
        )
    ]
    return list(output.table(rows, flexible=2)) or ["nothing to merge"]


COMMANDS: Final = (outcome, reinforce, relate, resolve, consolidate)
