"""The parser of the command line, made of the tables of all groups."""

from __future__ import annotations

import os
from argparse import (
    SUPPRESS,
    Action,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NoReturn

from . import care, connect, judge, move, past, recall, remember
from .arguments import EVERYWHERE
from .command import Argument, Command, Failure, argument

GROUPS: Final[Mapping[str, Sequence[Command]]] = {
    "remember": remember.COMMANDS,
    "recall": recall.COMMANDS,
    "judge": judge.COMMANDS,
    "past": past.COMMANDS,
    "move": move.COMMANDS,
    "care": care.COMMANDS,
    "connect": connect.COMMANDS,
}
"""Every command by group, in the order of the help."""

BY_NAME: Final[Mapping[str, Command]] = {
    name: each for group in GROUPS.values() for each in group for name in each.names
}
"""Every command by name, and by synonym."""


def _filled(text: str) -> str:
    """Return *text*; refuse the empty text of a shell variable without a value."""
    if not text:
        raise ArgumentTypeError("the text is empty")
    return text


COMMON: Final = (
    argument(
        "--db",
        type=_filled,
        metavar="PATH",
        help="the memory: a file or a URL; else BETHINK_DB, .bethink/memory.db, or the user's file",
    ),
    argument(
        "-n",
        "--namespace",
        type=_filled,
        metavar="NAME",
        help="the namespace, read with all below; else BETHINK_NAMESPACE, the tenant, or default",
    ),
    EVERYWHERE,
    argument("--json", dest="form", action="store_const", const="json", help="answer in JSON"),
    argument(
        "--jsonl", dest="form", action="store_const", const="jsonl", help="answer in lines of JSON"
    ),
    argument("--no-pager", dest="pager", action="store_false", help="never use a pager"),
)
"""The arguments of every command; all may stand before or after the command's name."""


def parse(words: Sequence[str]) -> Namespace:
    """Return the arguments in *words*; raise ``Failure`` for a wrong use.

    Only commands whose names are among *words* are made.
    """
    names = {BY_NAME[word].name for word in words if word in BY_NAME}
    given = make_parser(names).parse_args(words)
    if given.namespace is not None and given.everywhere:
        raise Failure("give -n NAMESPACE, or -a for all namespaces, not both", 2)
    return given


def make_parser(names: Collection[str] | None = None) -> ArgumentParser:
    """Return the parser of the commands *names*, or of every command."""
    parser = _Parser(
        prog="bethink",
        usage="bethink COMMAND [ARGUMENTS]",
        description="One-file memory for AI agents.\n\n" + "\n".join(_overview()),
        epilog="`bethink COMMAND --help` tells the arguments of a command.",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    _add(parser, COMMON)
    commands = parser.add_subparsers(
        prog="bethink", metavar="COMMAND", help=SUPPRESS, required=True
    )
    for command in (each for group in GROUPS.values() for each in group):
        if names is None or command.name in names:
            _add_command(commands, command)
    return parser


class _Parser(ArgumentParser):
    """A parser whose errors are raised, and name the command that is meant."""

    def parse_known_args(self, *given: Any) -> tuple[Any, list[str]]:  # type: ignore[override]
        """Return the arguments; refuse unknown ones under the name of the command."""
        found, unknown = super().parse_known_args(*given)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._remedy(unknown[0])}")
        return found, unknown

    def _remedy(self, unknown: str) -> str:
        """Return what to write in place of the first *unknown* word, if known."""
        from bethink.adapting import unknown_name

        if not unknown.startswith("-"):
            takes_text = any(each.dest in ("text", "query") for each in self._actions)
            return "; put a text of several words in quotes" if takes_text else ""
        flags = {flag.lstrip("-").replace("-", "_"): flag for flag in self._option_string_actions}
        wrong = unknown.partition("=")[0].lstrip("-").replace("-", "_")
        _, _, right = str(unknown_name("argument", wrong, flags)).partition("; use ")
        flag = flags.get(right.split(" or ")[0][1:-1])
        return f"; use {flag}" if flag else ""

    def error(self, message: str) -> NoReturn:
        unknown = "argument COMMAND: invalid choice: "
        if message.startswith(unknown):
            word = message.removeprefix(unknown).partition(" (choose")[0]
            close = " or ".join(f"`bethink {name}`" for name in _meant(word.strip("'")))
            hint = f"perhaps {close}; " if close else ""
            raise Failure(f"no command {word}; {hint}`bethink --help` lists the commands", 2)
        raise Failure(f"{message}; `{self.prog} --help` tells the arguments", 2)


def _meant(word: str) -> Sequence[str]:
    """Return the commands that are called *word* elsewhere, else the command spelled most alike."""
    from difflib import get_close_matches

    from bethink.adapting import right_names

    names = [each.name for group in GROUPS.values() for each in group]
    return right_names(word, names) or get_close_matches(word, BY_NAME, 1)


class _Formatter(RawDescriptionHelpFormatter):
    """The usual form of help, at most 100 columns wide."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **{"width": _help_columns(), **options})


def _help_columns() -> int:
    """Return the columns for help, without the import that argparse needs for the question."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (OSError, ValueError):
        columns = 80
    return min(100, max(40, columns)) - 2


class _Version(Action):
    """Print the version, looked up only now."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        from bethink import __version__

        print(f"bethink {__version__}")
        parser.exit()


def _add_command(commands: Any, command: Command) -> None:
    added = commands.add_parser(
        command.name,
        description=f"{command.help[:1].upper()}{command.help[1:]}.",
        epilog=f"example: {command.example}",
        aliases=command.synonyms,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    _add(added, command.arguments)
    taken = {flag for each in command.arguments for flag in each.flags}
    _add(added, [each for each in COMMON if not taken & set(each.flags)], again=True)
    added.set_defaults(command=command)


def _add(parser: ArgumentParser, arguments: Sequence[Argument], *, again: bool = False) -> None:
    """Add *arguments*; those given *again* leave a value from before the command's name alone."""
    for each in arguments:
        options = {**each.options, "default": SUPPRESS} if again else each.options
        parser.add_argument(*each.flags, **options)


def _overview() -> list[str]:
    """Return a line for each command, group by group."""
    lines = []
    for name, group in GROUPS.items():
        lines += [f"{name}:", *(f"  {each.name:13} {each.help}" for each in group)]
    return lines
