"""Completion of the command line in bash, zsh and fish, made of the tables of the commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from .command import Argument, Command

_FILES: Final = ("PATH", "FILE")
"""Metavars of arguments that take a path."""


def script(shell: str, groups: Mapping[str, Sequence[Command]], common: Sequence[Argument]) -> str:
    """Return the completion script of *shell* for the commands of *groups*."""
    commands = [each for group in groups.values() for each in group]
    lines = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands, common)
    return "\n".join(lines) + "\n"


def _bash(commands: Sequence[Command], common: Sequence[Argument]) -> Iterator[str]:
    names = "|".join(name for each in commands for name in each.names)
    yield "_bethink() {"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '    local command="" words="" each'
    yield "    COMPREPLY=()"
    yield '    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f'        case "$each" in {names}) command="$each"; break ;; esac'
    yield "    done"
    yield '    case "$command:$before" in'
    for each in commands:
        for option in each.arguments:
            if _takes_value(option) and option.words:
                pairs = [f"{name}:{flag}" for name in each.names for flag in option.flags]
                found = "|".join(pairs)
                yield f'        {found}) words="{" ".join(option.words)}" ;;'
    options = [*common, *(option for each in commands for option in each.arguments)]
    plain = [each for each in options if _takes_value(each) and not each.words]
    values = [flag for each in plain for flag in each.flags]
    yield f"        *:{'|*:'.join(dict.fromkeys(values))}) return ;;"
    yield '        *) case "$command" in'
    shared = [flag for each in common for flag in each.flags]
    for each in commands:
        own = [word for part in each.arguments for word in _words(part)]
        words = " ".join(dict.fromkeys((*own, *shared, "--help")))
        yield f'            {"|".join(each.names)}) words="{words}" ;;'
    words = " ".join((*(each.name for each in commands), *shared, "--version", "--help"))
    yield f'            *) words="{words}" ;;'
    yield "        esac ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _bethink bethink"


def _zsh(commands: Sequence[Command], common: Sequence[Argument]) -> Iterator[str]:
    yield "#compdef bethink"
    yield "_bethink() {"
    yield "    local curcontext=$curcontext state line ret=1"
    yield "    local -a commands"
    yield "    commands=("
    for each in commands:
        yield f"        {quote(f'{each.name}:{each.help}')}"
    yield "    )"
    yield "    _arguments -C \\"
    for option in common:
        yield from (f"        {each} \\" for each in _zsh_specs(option))
    yield "        '1:command:->command' '*::argument:->rest' && ret=0"
    yield "    case $state in"
    yield "        command) _describe command commands && ret=0 ;;"
    yield "        rest) case $words[1] in"
    for each in commands:
        yield f"            {'|'.join(each.names)}) _arguments \\"
        for option in (*each.arguments, *common):
            yield from (f"                {spec} \\" for spec in _zsh_specs(option))
        yield "                && ret=0 ;;"
    yield "        esac ;;"
    yield "    esac"
    yield "    return ret"
    yield "}"
    yield '_bethink "$@"'


def _zsh_specs(argument: Argument) -> Iterator[str]:
    """Yield the specifications of *argument* for ``_arguments``."""
    help = argument.options.get("help", "").translate({ord("["): "(", ord("]"): ")", ord(":"): ","})
    metavar = argument.options.get("metavar") or argument.flags[0].lstrip("-")
    if argument.words:
        action = f"({' '.join(argument.words)})"
    else:
        action = "_files" if metavar in _FILES else ""
    if not argument.flags[0].startswith("-"):
        yield quote(f"*:{metavar}:{action}")
        return
    value = f":{metavar}:{action}" if _takes_value(argument) else ""
    for flag in argument.flags:
        yield quote(f"{flag}[{help}]{value}")


def _fish(commands: Sequence[Command], common: Sequence[Argument]) -> Iterator[str]:
    names = " ".join(name for each in commands for name in each.names)
    start = f"not __fish_seen_subcommand_from {names}"
    for each in commands:
        yield f"complete -c bethink -f -n {quote(start)} -a {each.name} -d {_told(each.help)}"
    for option in common:
        yield f"complete -c bethink {_fish_flags(option)}"
    for each in commands:
        here = quote(f"__fish_seen_subcommand_from {' '.join(each.names)}")
        for option in each.arguments:
            if option.flags[0].startswith("-"):
                yield f"complete -c bethink -n {here} {_fish_flags(option)}"
            elif option.words:
                yield f"complete -c bethink -f -n {here} -a {quote(' '.join(option.words))}"


def _fish_flags(argument: Argument) -> str:
    flags = [
        f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in argument.flags
    ]
    if _takes_value(argument):
        flags.append("-r" if argument.options.get("metavar") in _FILES else "-x")
    if argument.words:
        flags.append(f"-a {quote(' '.join(argument.words))}")
    return f"{' '.join(flags)} -d {_told(argument.options.get('help', ''))}"


def _told(help: str) -> str:
    """Return *help* quoted for fish, where a backslash ends the meaning of a quote."""
    return "'" + help.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _words(argument: Argument) -> Sequence[str]:
    """Return the words of *argument* that may stand by themselves: flags, or choices."""
    return argument.flags if argument.flags[0].startswith("-") else argument.words


def _takes_value(argument: Argument) -> bool:
    """Return whether *argument* is an option with a value."""
    action = argument.options.get("action", "store")
    return argument.flags[0].startswith("-") and action in ("store", "append")
