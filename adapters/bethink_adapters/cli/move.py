"""The commands that move memories: export, import, merge, archive-to."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..surface.location import tenant_at, to_location
from . import output
from .arguments import FILTER, SIMILARITY, YES, filter_of, places
from .command import Context, Failure, Reply, argument, command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_READERS: Final = {
    "chatgpt": "read_chatgpt",
    "claude": "read_claude",
    "markdown": "read_markdown",
    "mcp": "read_mcp_memory",
    "mem0": "read_mem0",
    "memory-layer": "read_memory_layer",
    "remembrane": "read_remembrane",
}
"""The name in ``formats`` of the reader of each foreign system's files."""

_SYSTEMS: Final = ("bethink", *_READERS)

_LEFT: Final = ("forgotten", "erased")
"""States of memories that ``archive-to`` copies without more to forget here."""


@command(
    argument("target", metavar="PATH", help="the file to write, - for stdout"),
    argument(
        "--format",
        choices=("jsonl", "md"),
        default="jsonl",
        help="lines of JSON, or a folder of Markdown notes (jsonl)",
    ),
    FILTER,
    example="bethink export memories.jsonl",
)
def export(context: Context) -> Reply:
    """Write memories and history to a file."""
    given, where = context.given, filter_of(context.given)
    if given.target == "-":
        if given.format == "md":
            raise Failure("notes go into a folder; give a path in place of -", 2)
        context.store.export(sys.stdout, namespace=context.whole_scope, where=where)
        return Reply()
    if given.format == "md":
        from ..formats import export_markdown

        count = export_markdown(
            context.store, given.target, namespace=context.whole_scope, where=where
        )
    else:
        count = context.store.export(
            given.target, namespace=context.whole_scope, where=where, progress=output.bar("written")
        )
    hint = "" if count or not context.named else places(context)
    return Reply({"written": count}, [f"wrote {count:,} to {given.target}{hint}"])


@command(
    argument("source", metavar="PATH", help="file or folder, - for stdin"),
    argument(
        "--from",
        dest="format",
        choices=_SYSTEMS,
        default="bethink",
        metavar="SYSTEM",
        help=", ".join(_SYSTEMS),
    ),
    writes=True,
    synonyms=("ingest",),
    example="bethink import notes --from markdown -n notes",
)
def import_(context: Context) -> Reply:
    """Read memories of bethink or of a different system."""
    from pathlib import Path

    given = context.given
    source = Path(given.source).expanduser()
    if given.source != "-" and not source.exists():
        raise Failure(f"no file at {source}")
    if given.format == "bethink":
        return _import_export(context, source)
    if given.source == "-":
        raise Failure(f"--from {given.format} reads a file, not the standard input", 2)
    from .. import formats

    read: Callable[[Any], Iterable[Any]] = getattr(formats, _READERS[given.format])
    report = formats.import_from(
        context.store,
        read(source),
        namespace=context.named or tenant_at(context.location),
        progress=output.bar("read"),
    )
    for what, findings in (("skipped", report.skipped), ("incomplete", report.incomplete)):
        for each in findings:
            print(f"{what}: {each}", file=sys.stderr)
    counts = {
        "imported": report.imported,
        "known": report.known,
        "changed": report.changed,
        "without_past": report.without_past,
        "skipped": len(report.skipped),
        "incomplete": len(report.incomplete),
    }
    taken, left = report.imported + report.known, len(report.skipped)
    if left:
        print(f"bethink: {left:,} of {left + taken:,} were skipped, see above", file=sys.stderr)
    in_vain = bool(left) and not taken
    return Reply(counts, output.pairs(counts), int(in_vain))


def _import_export(context: Context, source: Path) -> Reply:
    if source.is_dir():
        raise Failure(f"{source} is a folder; say whose it is, such as --from markdown", 2)
    with _told_apart(
        "for another system's file add --from, for a memory use `bethink merge`, "
        "for lines of your own `bethink store --jsonl`"
    ):
        data = context.store.import_(
            sys.stdin.buffer if context.given.source == "-" else source,
            progress=output.bar("read"),
        ).to_dict()
    return _merged(data)


@command(
    argument("source", metavar="PATH", help="the second memory file, or a URL"),
    SIMILARITY,
    writes=True,
    example="bethink merge second.db",
)
def merge(context: Context) -> Reply:
    """Take the memories of a second store in."""
    given = context.given
    source = to_location(given.source)
    if not source.exists():
        raise Failure(f"no file at {source}")
    with _told_apart("an export or a file of another system goes in by `bethink import`"):
        merged = context.store.merge_from(
            source,
            namespace=context.whole_scope,
            similarity=given.similarity,
            progress=output.bar("merged"),
        )
    return _merged(merged.to_dict())


def _merged(counts: dict[str, Any]) -> Reply:
    return Reply(counts, output.pairs(counts | {"renamed": len(counts["renamed"])}))


@command(
    argument("target", metavar="PATH", help="the second memory file, or a URL"),
    YES,
    example="bethink archive-to 2025.db --namespace users/ann --yes",
)
def archive_to(context: Context) -> Reply:
    """Move a namespace with all history to a second store."""
    given = context.given
    target = to_location(given.target)
    if not given.namespace:
        raise Failure("give the namespace to move: --namespace NAME", 2)
    store, scope = context.store, context.scope
    states = store.stats(namespace=scope).states
    count = sum(number for state, number in states.items() if state not in _LEFT)
    if not count:
        raise Failure(f"nothing to move in {given.namespace!r}{places(context)}")
    preview = output.preview(store.all(namespace=scope, limit=output.PREVIEWED), count)
    where = f"of {given.namespace} to {target}"
    if given.dry_run:
        return Reply(
            {"forgotten": count, "dry_run": True},
            [*preview, f"would move {count:,} {_memories(count)} {where}"],
        )
    context.confirm(count, "move", preview, (f"memory {where}", f"memories {where}"))
    done = store.archive_to(target, namespace=scope, progress=output.bar("copied"))
    moved = f"moved {done.forgotten:,} {_memories(done.forgotten)} {where}, with all history"
    lines = [moved, "here they are forgotten; `bethink compact` removes what is forgotten"]
    if done.changed:
        stay = "stay, since they changed meanwhile; archive these to a new file"
        lines.append(f"{done.changed:,} {stay}")
    return Reply(done.to_dict(), lines)


def _memories(count: int) -> str:
    return "memory" if count == 1 else "memories"


@contextmanager
def _told_apart(advice: str) -> Iterator[None]:
    """Give *advice* where a file is of a different kind."""
    from bethink import NotABethinkFileError

    try:
        yield
    except NotABethinkFileError as error:
        raise Failure(f"{error}; {advice}") from None


COMMANDS: Final = (export, import_, merge, archive_to)
