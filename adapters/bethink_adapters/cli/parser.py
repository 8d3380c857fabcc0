"""The parser of the command line, made of the tables of all groups."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from . import care, connect, judge, move, past, recall, remember
from .arguments import EVERYWHERE
from .command import Argument, Command, argument

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

COMMON: Final = (
    argument("--db", metavar="PATH", help="the memory file; else BETHINK_DB, else the project's"),
    argument("-n", "--namespace", metavar="NAME", help="else BETHINK_NAMESPACE, else default"),
    EVERYWHERE,
    argument("--json", dest="form", action="store_const", const="json", help="answer in JSON"),
    argument(
        "--jsonl", dest="form", action="store_const", const="jsonl", help="a JSON value a line"
    ),
    argument("--no-pager", dest="pager", action="store_false", help="never use a pager"),
)
"""The arguments of every command; all may stand before or after the command's name."""


def make_parser() -> ArgumentParser:
    """Return the parser of every command."""
    parser = ArgumentParser(
        prog="bethink",
        usage="bethink COMMAND [ARGUMENTS]",
        description="One-file memory for AI agents.\n\n" + "\n".join(_overview()),
        epilog="`bethink COMMAND --help` tells the arguments of a command.",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    _add(parser, COMMON)
    commands = parser.add_subparsers(
        prog="bethink", metavar="COMMAND", help=SUPPRESS, required=True
    )
    for command in (each for group in GROUPS.values() for each in group):
        _add_command(commands, command)
    return parser


class _Version(Action):
    """Print the version, looked up only now."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        from ..surface.version import version

        parser.exit(0, f"bethink {version()}\n")


def _add_command(commands: Any, command: Command) -> None:
    added = commands.add_parser(
        command.name,
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        aliases=command.synonyms,
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
