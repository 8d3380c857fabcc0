"""Make the lists in ``docs/cli.md`` and ``docs/hosts.md``, and the manual page ``docs/bethink.1``.

    python -m tests.making.command_pages

All come from the tables of commands and hosts. What stands above the mark in a page is written by
hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from bethink_adapters.cli.command import Argument, Command
from bethink_adapters.cli.parser import COMMON, GROUPS
from bethink_adapters.hosts import HOSTS

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = DOCS / "cli.md"
MANUAL: Final = DOCS / "bethink.1"
HOSTS_PAGE: Final = DOCS / "hosts.md"
MARK: Final = "<!-- from here on written by tests/making/command_pages.py -->\n"


def page(written: str) -> str:
    """Return the text of ``docs/cli.md``, whose text so far is *written*."""
    return _joined(written, _sections())


def hosts_page(written: str) -> str:
    """Return the text of ``docs/hosts.md``, whose text so far is *written*."""
    return _joined(written, _hosts())


def _joined(written: str, lines: Iterable[str]) -> str:
    head, mark, _ = written.partition(MARK)
    assert mark
    return head + mark + "\n".join(lines)


def _hosts() -> Iterator[str]:
    yield "\n| host | name | servers in | key | hooks in | then |"
    yield "|---|---|---|---|---|---|"
    for each in HOSTS.values():
        path = each.hooks.path if each.hooks else ""
        hooks = _places(f"~/{path}", path) if path else "none"
        wants = each.wants.format(title=each.title)
        servers = _places(each.user, each.project)
        yield f"| {each.title} | `{each.name}` | {servers} | `{each.root}` | {hooks} | {wants} |"
    yield ""


def _places(user: str, project: str | None) -> str:
    return f"`{user}`" + (f", `{project}`" if project else "")


def manual() -> str:
    """Return the manual page."""
    lines = [
        ".TH BETHINK 1",
        ".SH NAME",
        r"bethink \- one-file memory for AI agents",
        ".SH SYNOPSIS",
        r"\fBbethink\fR \fICOMMAND\fR [\fIARGUMENTS\fR]",
        ".SH OPTIONS OF EVERY COMMAND",
        *(line for each in COMMON for line in _manual_argument(each)),
    ]
    for group, commands in GROUPS.items():
        lines.append(f".SH {group.upper()}")
        for each in commands:
            lines += [f".SS bethink {each.name}", _roff(_sentence(each))]
            lines += [line for part in each.arguments for line in _manual_argument(part)]
            lines += [".PP", f"Example: {_roff(each.example)}"]
    lines += [
        ".SH ENVIRONMENT",
        r"BETHINK_DB names the memory file, BETHINK_NAMESPACE the namespace.",
        "NO_COLOR and FORCE_COLOR turn colours off and on. PAGER shows long lists.",
        ".SH EXIT STATUS",
        "0 done, 1 not found or nothing done, 2 wrong usage, 130 interrupted.",
    ]
    return "\n".join(lines) + "\n"


def _sections() -> Iterator[str]:
    yield "\n## Arguments of every command\n"
    yield from _table(COMMON)
    for group, commands in GROUPS.items():
        yield f"\n## {group.capitalize()}\n"
        yield "| command | |"
        yield "|---|---|"
        for each in commands:
            yield f"| [`{each.name}`](#bethink-{each.name}) | {each.help} |"
        for each in commands:
            yield f"\n### bethink {each.name}\n"
            synonyms = " or ".join(f"`{name}`" for name in each.synonyms)
            yield f"{_sentence(each)}{f' Or: {synonyms}.' if synonyms else ''}\n"
            yield f"```sh\n{each.example}\n```"
            if each.arguments:
                yield ""
                yield from _table(each.arguments)
    yield ""


def _table(arguments: Sequence[Argument]) -> Iterator[str]:
    yield "| argument | |"
    yield "|---|---|"
    for each in arguments:
        help = each.options.get("help", "").replace("|", r"\|")
        words = ", ".join(each.words)
        told = help if words in help else f"{words}: {help}"
        yield f"| {_flags(each)} | {told} |"


def _flags(argument: Argument) -> str:
    value = _value(argument)
    return ", ".join(f"`{f'{flag} {value}'.strip()}`" for flag in argument.flags)


def _value(argument: Argument) -> str:
    """Return the name of the value of an option, "" for a flag and a positional argument."""
    if not argument.flags[0].startswith("-") or argument.options.get("action", "") in (
        "store_true",
        "store_false",
        "store_const",
    ):
        return ""
    return str(
        argument.options.get("metavar")
        or ("WORD" if argument.words else argument.flags[-1].strip("-").upper())
    )


def _manual_argument(argument: Argument) -> list[str]:
    value = _value(argument)
    flags = ", ".join(rf"\fB{_roff(each)}\fR" for each in argument.flags)
    named = rf"{flags} \fI{value}\fR" if value else flags
    return [".TP", named, _roff(argument.options.get("help", ""))]


def _sentence(command: Command) -> str:
    return f"{command.help[0].upper()}{command.help[1:]}."


def _roff(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def main() -> None:
    """Write the files."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    HOSTS_PAGE.write_text(hosts_page(HOSTS_PAGE.read_text("utf-8")), encoding="utf-8")
    MANUAL.write_text(manual(), encoding="utf-8")


if __name__ == "__main__":
    main()
