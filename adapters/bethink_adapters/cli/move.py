"""The commands that move memories: export, import, merge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from . import output
from .arguments import FILTER, arguments, filter_of
from .command import Command, Context, Failure, Reply, argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FORMATS: Final = (
    "bethink", "chatgpt", "claude", "markdown", "mcp", "mem0", "memory-layer", "remembrane",
)  # fmt: skip


def export(context: Context) -> Reply:
    """Write memories to a file."""
    given, where = context.given, filter_of(context.given)
    if given.format == "md":
        from ..formats import export_markdown

        written = export_markdown(context.store, given.target, namespace=context.whole_scope)
        return Reply({"written": _number(written)}, [f"wrote {_number(written)}"])
    target: Any = sys.stdout if given.target == "-" else given.target
    count = context.store.export(target, namespace=context.whole_scope, where=where)
    if given.target == "-":
        return Reply(None, ())
    return Reply({"written": count}, [f"wrote {count}"])


def import_(context: Context) -> Reply:
    """Read memories of bethink, or of another system."""
    given = context.given
    source = Path(given.source).expanduser()
    if given.source != "-" and not source.exists():
        raise Failure(f"no file at {source}", 1)
    if given.format == "bethink":
        merged = context.store.import_(sys.stdin if given.source == "-" else source)
        return Reply(merged.to_dict(), output.pairs(merged.to_dict()))
    from .. import formats

    readers: dict[str, Callable[[Any], Iterable[Any]]] = {
        "chatgpt": formats.read_chatgpt,
        "claude": formats.read_claude,
        "markdown": formats.read_markdown,
        "mcp": formats.read_mcp_memory,
        "mem0": formats.read_mem0,
        "memory-layer": formats.read_memory_layer,
        "remembrane": formats.read_remembrane,
    }
    report = formats.import_from(
        context.store, readers[given.format](source), namespace=given.namespace
    )
    skipped = [str(each) for each in report.skipped]
    for each in skipped:
        print(f"skipped: {each}", file=sys.stderr)
    counts = {"imported": report.imported, "known": report.known, "skipped": len(skipped)}
    return Reply(counts, output.pairs(counts))


def merge(context: Context) -> Reply:
    """Take the memories of another file in."""
    source = Path(context.given.source).expanduser()
    if not source.exists():
        raise Failure(f"no file at {source}")
    merged = context.store.merge_from(source)
    return Reply(merged.to_dict(), output.pairs(merged.to_dict()))


def _number(written: Any) -> int:
    return written if isinstance(written, int) else len(written)


COMMANDS: Final = (
    Command(
        "export",
        "write memories and history to a file",
        export,
        arguments(
            argument("target", metavar="PATH", help="the file to write, - for stdout"),
            argument("--format", choices=("jsonl", "md"), default="jsonl", help="(jsonl)"),
            FILTER,
        ),
    ),
    Command(
        "import",
        "read memories of bethink or of another system",
        import_,
        (
            argument("source", metavar="PATH", help="file or folder, - for stdin"),
            argument(
                "--from", dest="format", choices=_FORMATS, default="bethink", help="(bethink)"
            ),
        ),
        "write",
        ("ingest",),
    ),
    Command(
        "merge",
        "take the memories of another file in",
        merge,
        (argument("source", metavar="PATH", help="another memory file"),),
        "write",
    ),
)
