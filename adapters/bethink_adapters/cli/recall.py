"""The commands that read the present: recall, context, get, list and their kin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from . import output
from .arguments import (
    AS_OF,
    FILTER,
    ID,
    LIMIT,
    SEARCH,
    SHORT_ID,
    STATES,
    elsewhere,
    filter_of,
    find_ids,
    moment_of,
    no_key,
    search_of,
)
from .command import Context, Failure, Reply, argument, command

_QUERY: Final = argument("query", metavar="QUERY", help="a question or words, - for stdin")
_K: Final = argument(
    "-k",
    type=int,
    default=DEFAULT_K,
    metavar="N",
    help=f"an answer of at most N memories ({DEFAULT_K})",
)
_TOUCH: Final = argument("--touch", action="store_true", help="count the hits as accessed")


@command(
    _QUERY,
    _K,
    SEARCH,
    argument("--explain", action="store_true", help="show the parts of each score"),
    _TOUCH,
    synonyms=("search",),
    example="bethink recall 'when is standup?' -k 3 --explain",
)
def recall(context: Context) -> Reply:
    """Search memories by meaning and words."""
    given = context.given
    hits = context.store.recall(
        context.text(given.query),
        k=given.k,
        touch=given.touch and given.as_of is None,
        **search_of(context),
    )
    lines = list(output.memories([hit.memory for hit in hits], [hit.score for hit in hits]))
    if given.explain:
        lines = [
            part
            for line, hit in zip(lines, hits, strict=True)
            for part in (line, output.dim(f"      {hit.explain()}"))
        ]
    reason = "nothing found; `bethink why ID QUERY` tells why a memory is missing"
    empty = "" if hits else elsewhere(context, reason)
    return Reply([hit.to_dict() for hit in hits], lines, empty=empty)


@command(
    argument("query", nargs="?", help="the task; without: the newest and most important memories"),
    argument(
        "--budget",
        type=int,
        default=DEFAULT_BUDGET_TOKENS,
        metavar="TOKENS",
        help=f"the most tokens of the block ({DEFAULT_BUDGET_TOKENS})",
    ),
    SEARCH,
    _TOUCH,
    synonyms=("pack",),
    example="bethink context 'when is standup?' --budget 400",
)
def context(context: Context) -> Reply:
    """Pack memories into one block for a prompt."""
    given = context.given
    packed = context.store.pack(
        context.text(given.query) if given.query else "",
        budget_tokens=given.budget,
        touch=given.touch and given.as_of is None,
        **search_of(context),
    )
    reason = "no memory matches and fits into the budget"
    empty = "" if packed.results else elsewhere(context, reason)
    return Reply(packed.to_dict(), packed.text.splitlines(), empty=empty)


@command(
    ID,
    _QUERY,
    _K,
    SEARCH,
    example="bethink why ef5a0645 'when is standup?'",
)
def why(context: Context) -> Reply:
    """Tell what kept a memory out of an answer."""
    given = context.given
    [id] = find_ids(context, [given.id])
    options = search_of(context)
    found = context.store.why_not(id, context.text(given.query), k=given.k, **options)
    lines = [str(found)]
    if found.explanation is not None:
        lines.append(str(found.explanation))
    return Reply(found.to_dict(), lines)


@command(
    argument("id", nargs="?", metavar="ID", help="the whole id, or the last characters"),
    argument("--key", help="the present memory of a key"),
    argument("--history", action="store_true", help="show the log and the outcomes, too"),
    synonyms=("show",),
    example="bethink get --key standup --history",
)
def get(context: Context) -> Reply:
    """Show a memory with all fields."""
    given = context.given
    if (given.id is None) == (given.key is None):
        raise Failure("give an id or --key", 2)
    if given.key is None:
        record = context.store.get(find_ids(context, [given.id])[0])
        missing = f"{given.id} is forgotten, erased or expired; `bethink log {given.id}` tells"
    else:
        record = context.store.get(namespace=context.namespace, key=given.key)
        missing = "" if record else no_key(context, "memory", given.key)
    if record is None:
        raise Failure(missing)
    data, lines = record.to_dict(), list(output.details(record))
    if given.history:
        log = context.store.log(limit=None, id=record.id)
        outcomes = context.store.outcomes(record.id)
        data["log"] = [each.to_dict() for each in log]
        data["outcomes"] = [each.to_dict() for each in outcomes]
        lines += ["", output.bold("history, newest first")]
        lines += [f"#{each.seq}  {output.moment(each.at)}  {each.action}" for each in log]
    return Reply(data, lines)


@command(
    LIMIT,
    argument("--offset", type=int, default=0, metavar="N", help="leave out the first N"),
    argument(
        "--order", default="newest", help="newest, oldest, or a field such as importance (newest)"
    ),
    argument("--state", choices=STATES, default="live", help="the state to list (live)"),
    FILTER,
    example="bethink list --category travel --order importance",
)
def list_(context: Context) -> Reply:
    """List memories."""
    given = context.given
    records = context.store.all(
        namespace=context.scope,
        where=filter_of(given),
        limit=given.limit,
        offset=given.offset,
        order=given.order,
        state=given.state,
    )
    lines, empty = output.memories(records), "" if records else elsewhere(context)
    return Reply([each.to_dict() for each in records], lines, paged=True, empty=empty)


@command(
    ID,
    argument("--kind", help="only links of the kind"),
    example="bethink related ef5a0645 --kind contradicts",
)
def related(context: Context) -> Reply:
    """Show the memories linked with a memory."""
    [id] = find_ids(context, [context.given.id])
    found = context.store.related(id, kind=context.given.kind)
    arrows = {"out": "→", "in": "←"}
    rows = [
        (each.kind, arrows[each.direction], each.memory.id[-SHORT_ID:], each.memory.content)
        for each in found
    ]
    return Reply([each.to_dict() for each in found], output.table(rows, flexible=3))


@command(
    argument("query", nargs="?", help="only among memories that match"),
    argument(
        "--min-tier",
        choices=("likely", "possible"),
        default="possible",
        help="the least certainty (possible)",
    ),
    LIMIT,
    AS_OF,
    FILTER,
    example="bethink conflicts --min-tier likely",
)
def conflicts(context: Context) -> Reply:
    """Show pairs that can hardly both hold."""
    given = context.given
    found = context.store.conflicts(
        given.query,
        namespace=context.scope,
        where=filter_of(given),
        min_tier=given.min_tier,
        limit=given.limit,
        as_of=moment_of(given.as_of),
    )
    rows = [
        row
        for each in found
        for row in (
            (each.tier, each.older.id[-SHORT_ID:], each.older.content),
            ("", each.newer.id[-SHORT_ID:], each.newer.content),
        )
    ]
    empty = "" if found else elsewhere(context, "no conflicts")
    return Reply([each.to_dict() for each in found], output.table(rows, flexible=2), empty=empty)


@command(example="bethink stats --json")
def stats(context: Context) -> Reply:
    """Show what the file holds."""
    found = context.store.stats(namespace=context.whole_scope).to_dict()
    days = len(found["created"])
    created = f"on {days:,} {'day' if days == 1 else 'days'}"
    return Reply(found, _stats_lines(found | {"created": created}))


@command(example="bethink namespaces")
def namespaces(context: Context) -> Reply:
    """List namespaces and counts."""
    found = context.store.namespaces(context.whole_scope)
    rows = [(name, f"{count:,}") for name, count in sorted(found.items())]
    empty = "" if found else elsewhere(context)
    return Reply(found, output.table(rows, flexible=0, right=(1,)), empty=empty)


def _stats_lines(found: dict[str, Any]) -> Iterator[str]:
    nested = {name: each for name, each in found.items() if isinstance(each, dict)}
    plain = {name: each for name, each in found.items() if name not in nested}
    if plain.get("last_change") is not None:
        plain["last_change"] = output.moment(plain["last_change"])
    yield from output.pairs(plain)
    for name, counts in nested.items():
        shown = {each: count for each, count in counts.items() if count}
        if shown:
            yield f"\n{output.bold(name)}"
            yield from output.pairs(shown)


COMMANDS: Final = (recall, context, why, get, list_, related, conflicts, stats, namespaces)
