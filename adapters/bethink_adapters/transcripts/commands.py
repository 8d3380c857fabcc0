"""Commands: the commands that a memory advises, and whether the agent ran a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final, TypeAlias

from bethink import MemoryRecord

Steps: TypeAlias = list[tuple[str, ...]]
"""The commands of a line in order of running, as words."""

_QUOTED: Final = re.compile(
    r"```[^\n`]*\n(.*?)```|`([^`\n]+)`|^[ \t]*\$ ([^\n]+)$", re.DOTALL | re.MULTILINE
)
_PROMPT: Final = re.compile(r"^[ \t]*\$ ", re.MULTILINE)
_CLAUSE: Final = re.compile(r"[.,;:!?\n()]")
_PROHIBITED: Final = re.compile(
    r"\b(?:never|not|no|avoid|instead of|rather than|without|dont|cannot)\b|n['\u2019]t\b", re.I
)
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")
_IN_FRONT: Final = ("sudo", "time", "command", "exec")
_NEXT: Final = frozenset(("&&", "||", ";", "&", "(", ")"))


def advised(record: MemoryRecord) -> list[Steps]:
    """Return the commands that a memory quotes without a warning.

    A memory of the category "command" without quotes is a command.
    """
    content, found = record.content, list[str]()
    quoted = list(_QUOTED.finditer(content))
    warned, place = False, 0
    for match in quoted:
        *earlier, clause = _CLAUSE.split(content[place : match.start()])
        warned = bool(_PROHIBITED.search(clause)) or (warned and not earlier)
        place = match.end()
        if not warned:
            found += [group for group in match.groups() if group]
    if record.category == "command" and not quoted:
        found = [content]
    return [steps for command in found if (steps := _steps(command))]


def ran(advice: list[Steps], command: str) -> bool:
    """Return whether *command* ran an advised command, alone or with further commands."""
    steps = _steps(command)
    return any(
        steps[start : start + len(each)] == each
        for each in advice
        for start in range(len(steps) - len(each) + 1)
    )


def _steps(command: str) -> Steps:
    """Return the steps of a shell line; ``cd`` and filters of the output are no steps."""
    steps = (_bare(words) for words in _split(command))
    return [words for words in steps if words and words[0] != "cd"]


def _split(command: str) -> Iterator[list[str]]:
    lines = _PROMPT.sub("", command.replace("\\\n", " ")).strip().replace("\n", " ; ")
    lexer = shlex.shlex(lines, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:  # quotes that do not close
        tokens = command.split()
    words: list[str] = []
    skipped = False
    for token in tokens:
        if token in _NEXT:
            yield words
            words, skipped = [], False
        elif token in ("|", "|&"):
            skipped = True
        elif not skipped:
            words.append(token)
    yield words


def _bare(words: list[str]) -> tuple[str, ...]:
    """Return *words* without the words in front of a command and redirections of output."""
    for place, word in enumerate(words):
        if word[0:1] in ("<", ">") or word == "&>":
            numbered = place and words[place - 1] in ("0", "1", "2")
            words = words[: place - bool(numbered)]
            break
    while words and (_ASSIGNED.match(words[0]) or words[0] in _IN_FRONT):
        words = words[1:]
    return tuple(words)
