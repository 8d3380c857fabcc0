"""What a reader sees: lines and tables as wide as the terminal, colour, the pager, JSON."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from .arguments import SHORT_ID
from .command import Reply

if TYPE_CHECKING:
    from bethink import MemoryRecord

_DIM: Final = "2"
_BOLD: Final = "1"
_NAMESPACE: Final = 24
"""The most columns of a namespace in a table."""
_EMOJI: Final = "\ufe0f"
"""Makes the character before an emoji, two columns wide."""
_BAR: Final = 30
"""Columns of a bar."""
PREVIEWED: Final = 5
"""How many memories a preview lists."""


def show(reply: Reply, *, form: str, pager: bool) -> None:
    """Print *reply* as "text", "json" or "jsonl"."""
    import json

    if reply.data is None and form != "text":
        return
    if form == "json":
        print(json.dumps(reply.data, ensure_ascii=False, indent=2))
    elif form == "jsonl":
        values = reply.data if isinstance(reply.data, list | Iterator) else [reply.data]
        for each in values:
            print(json.dumps(each, ensure_ascii=False), flush=True)
    elif reply.paged and pager and sys.stdout.isatty() and (lines := [*reply.lines]):
        _page(lines)
    else:
        line = None
        for line in reply.lines:
            print(line, flush=True)
        if line is None and reply.data is not None:
            print(reply.empty, file=sys.stderr)


def bar(noun: str) -> Callable[[int, int | None], None] | None:
    """Return a function that shows progress on the standard error, None without a terminal."""
    if not sys.stderr.isatty():
        return None

    def tell(done: int, total: int | None) -> None:
        if total is None:
            line = f"{done:,} {noun}"
        else:
            filled = _BAR * min(done, total) // max(1, total)
            line = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:,} of {total:,} {noun}"
        ending = "\n" if done == total else ""
        print(f"\r{fit(line, columns() - 1)}", end=ending, file=sys.stderr, flush=True)

    return tell


def coloured() -> bool:
    """Return whether to colour: on a terminal, unless NO_COLOR; FORCE_COLOR always."""
    if os.environ.get("FORCE_COLOR"):
        return True
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and sys.stdout.isatty()


def dim(text: str) -> str:
    """Return *text* in the background."""
    return f"\x1b[{_DIM}m{text}\x1b[0m" if coloured() else text


def bold(text: str) -> str:
    """Return *text* in the foreground."""
    return f"\x1b[{_BOLD}m{text}\x1b[0m" if coloured() else text


def table(
    rows: Iterable[Sequence[str]], *, flexible: int, right: Sequence[int] = ()
) -> Iterable[str]:
    """Yield *rows* in columns that fit the terminal; the column *flexible* is cut to fit.

    The columns *right* are aligned to the right.
    """
    shown = [[clean(cell) for cell in row] for row in rows]
    if not shown:
        return
    widths = [max(width(row[place]) for row in shown) for place in range(len(shown[0]))]
    others = sum(widths) - widths[flexible] + 2 * (len(widths) - 1)
    widths[flexible] = min(widths[flexible], max(20, columns() - others))
    for row in shown:
        cells = [fit(cell, widths[place], right=place in right) for place, cell in enumerate(row)]
        yield "  ".join(cells).rstrip()


def columns() -> int:
    """Return the width of the terminal in columns, 80 without a terminal."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def width(text: str) -> int:
    """Return how many columns *text* takes: wide characters take two, marks none."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def fit(text: str, size: int, *, right: bool = False) -> str:
    """Return *text* in exactly *size* columns: cut with an ellipsis, or filled with spaces."""
    if width(text) > size:
        kept, used = "", 0
        for each in text:
            used += _columns_of(each)
            if used > size - 1:
                break
            kept += each
        text = f"{kept.rstrip()}…"
    space = " " * (size - width(text))
    return space + text if right else text + space


def memories(
    records: Sequence[MemoryRecord], scores: Sequence[float] | None = None
) -> Iterable[str]:
    """Yield a line for each of *records*: score, id, text, day, and the namespaces if several."""
    several = len({each.namespace for each in records}) > 1
    rows = [
        (
            *(() if scores is None else (f"{scores[place]:.2f}",)),
            each.id[-SHORT_ID:],
            each.content or _plain(each.value),
            day(each.occurred_at),
            *((_tail(each.namespace),) if several else ()),
        )
        for place, each in enumerate(records)
    ]
    return table(rows, flexible=1 if scores is None else 2)


def preview(found: Sequence[MemoryRecord], count: int) -> Iterable[str]:
    """Yield a line for each of the first records *found*, and how many of *count* are left."""
    shown = found[:PREVIEWED]
    yield from memories(shown)
    if count > len(shown):
        yield f"… and {count - len(shown):,} more"


def details(record: MemoryRecord) -> Iterable[str]:
    """Yield every field of *record* that says something, the text last."""
    fields = record.to_dict()
    for name, value in fields.items():
        if name != "content" and value not in (None, [], {}):
            shown = moment(value) if name.endswith("_at") else _plain(value)
            yield f"{dim(fit(name, 18))}{shown}"
    yield ""
    yield record.content


def moment(seconds: float) -> str:
    """Return a time in the local zone, to the second; the number for years beyond the calendar."""
    from datetime import datetime

    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")
    except (OverflowError, OSError, ValueError):
        return f"{seconds:.0f}"


def day(seconds: float) -> str:
    """Return the local day of a time."""
    return moment(seconds).partition(" ")[0]


def pairs(values: Mapping[str, Any]) -> Iterable[str]:
    """Yield a line for each name and value; numbers have thousands apart."""
    size = max((width(name) + 2 for name in values), default=0)
    for name, value in values.items():
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
        yield f"{fit(name, max(18, size))}{shown}"


def _plain(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tail(namespace: str) -> str:
    """Return *namespace*, or the end of a long one."""
    return namespace if len(namespace) <= _NAMESPACE else f"…{namespace[1 - _NAMESPACE :]}"


def clean(text: str) -> str:
    """Return *text* in one line, without characters that move the cursor."""
    return "".join(filter(str.isprintable, " ".join(text.split())))


@cache
def _columns_of(character: str) -> int:
    if character == _EMOJI:
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _page(lines: Sequence[str]) -> None:
    """Show *lines* in the pager of PAGER (less), if they are more than the terminal's rows."""
    import shlex
    import shutil
    import subprocess

    text = "\n".join(lines) + "\n" if lines else ""
    command = shlex.split(os.environ.get("PAGER", "less"))
    few = len(lines) < shutil.get_terminal_size((80, 24)).lines
    if few or not command or shutil.which(command[0]) is None:
        sys.stdout.write(text)
        return
    environment = {"LESS": "FRX", **os.environ}
    subprocess.run(command, input=text.encode(), env=environment, check=False)
