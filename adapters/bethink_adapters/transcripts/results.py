"""Results: the verdict of a command's output.

Test runs are read from the summaries of pytest, unittest, Jest, Vitest, Mocha, Cargo and Go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_INT: Final = r"\d{1,9}"  # what is longer counts nothing
_COUNT: Final = re.compile(rf"\b({_INT}) (\w+)")
_FAILURES: Final = frozenset(("failed", "error", "errors", "failing"))
_PASSES: Final = frozenset(("passed", "passing", "xpassed"))

_PYTEST: Final = re.compile(
    rf"^(?:=+ )?((?:{_INT} (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)"
    r"(?:, )?)+) in [\d.]+ ?s",
    re.MULTILINE,
)
_UNITTEST: Final = re.compile(
    rf"^Ran ({_INT}) tests? in [\d.]+s\s+(?:OK|FAILED)(?: \(([^)\n]*)\))?", re.MULTILINE
)
_LISTED: Final = re.compile(rf"(?:^|, )(\w[\w ]*)=({_INT})\b")
_JEST: Final = re.compile(rf"^[ \t]*Tests:?\s+((?:{_INT} \w+(?: \| |, )?)+)", re.MULTILINE)
_MOCHA: Final = re.compile(
    rf"^[ \t]*({_INT} passing) \([^)\n]*\)\s*({_INT} failing)?", re.MULTILINE
)
_CARGO: Final = re.compile(
    rf"^test result: (?:ok|FAILED)\. ((?:{_INT} (?:passed|failed|ignored)(?:; )?)+)",
    re.MULTILINE,
)
_GO: Final = re.compile(r"^(ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\)|\[)", re.MULTILINE)

_EXITED: Final = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: code| status)?|return ?code)[:= ]+(\d+)\b", re.I
)
_NOTHING: Final = (  # so that "error: 0 issues" and "Error: 0.0213" are no errors
    r"(?![ \t]*(?:(?:0|\d+\.\d+(?:e[-+]?\d+)?)%?|no|none|null|nil|false)"
    r"(?:[ \t]*(?:$|[.,;)](?!\d))|[ \t]+(?:errors?|failures?|issues?|problems?|warnings?)\b))"
)
_KILLED: Final = r"(?:segmentation fault|bus error|aborted|killed)"
_TROUBLE: Final = re.compile(
    "|".join(
        (
            rf"^(?:fatal|error)\b[^:\n]*:{_NOTHING}",
            rf"^[ \t]+error:{_NOTHING}[ \t]*\S",
            rf"^\S+(?: \S+)?: (?:fatal )?error(?: [a-z]+\d+)?:{_NOTHING}",  # psql: error: no route
            r"^(?:Uncaught )?(?-i:(?:\w+\.)*[A-Z]\w*(?:Error|Exception)):(?![ \t]*[-\d.]+$)",
            r'^Exception in thread "',
            r"^[ \t+|]*(?:Exception Group )?Traceback \(most recent call last\)",
            r"^panic: |^thread '[^'\n]*' (?:\(\d+\) )?panicked at",
            r"\b(?:command not found|no such file or directory|no tests ran)\b",
            r"^\S*sh: .+: not found$",
            r"(?:^|[:\]] )(?:permission denied|connection refused)(?:$|[.:]| \()",
            rf"^\S*sh: (?:line \d+: +\d+ )?{_KILLED}\b|^{_KILLED}(?: \(core dumped\))?[ \t]*$",
            r"^g?make(?:\[\d+\])?: \*\*\*|^[ \t*]*(?:\[ERROR\] )?(?-i:BUILD FAIL(?:ED|URE))\b",
            r"^npm (?:ERR!|error )|^(?-i:E): \S",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class TestRun:
    """The numbers of tests ``passed`` and ``failed``; ``said`` is the summary, up to ``end``."""

    __test__ = False  # pytest is not to collect it

    passed: int
    failed: int
    said: str
    end: int


Counts: TypeAlias = tuple[int, int]


def plain(text: str) -> str:
    """Return *text* without the escape codes of terminals."""
    return _ESCAPES.sub("", text).replace("\r\n", "\n")


def last_test_run(output: str) -> TestRun | None:
    """Return the last test run with a summary and a verdict in *output*, or None."""
    found = [
        TestRun(*counts, " ".join(match.group().split()).strip("= "), match.end())
        for pattern, read in _SUMMARIES
        for match in pattern.finditer(output)
        if any(counts := read(match))
    ]
    if not found:
        return None
    last = max(found, key=lambda run: run.end)
    if _is_one_of_several(last):
        others = [run for run in found if _is_one_of_several(run)]
        failed = next((run for run in others if run.failed), last)
        passes, failures = (sum(getattr(run, n) for run in others) for n in ("passed", "failed"))
        return TestRun(passes, failures, failed.said, last.end)
    return last


def went_wrong(output: str) -> bool:
    """Return whether *output* tells of a failure of the command."""
    codes = _EXITED.findall(output)
    return bool(codes[-1].strip("0")) if codes else _TROUBLE.search(output) is not None


def _is_one_of_several(run: TestRun) -> bool:
    """Return whether *run* sums up a single package of several packages tested at once."""
    return run.said.startswith(("test result:", "ok ", "FAIL "))


def _counted(match: re.Match[str]) -> Counts:
    counts = [(int(number), word) for number, word in _COUNT.findall(match.group())]
    return (
        sum(number for number, word in counts if word in _PASSES),
        sum(number for number, word in counts if word in _FAILURES),
    )


def _of_unittest(match: re.Match[str]) -> Counts:
    told = {name: int(number) for name, number in _LISTED.findall(match[2] or "")}
    failed = sum(told.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    return max(int(match[1]) - failed - told.get("skipped", 0), 0), failed


def _of_go(match: re.Match[str]) -> Counts:
    return (1, 0) if match[1] == "ok" else (0, 1)


_SUMMARIES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Counts]], ...]] = (
    (_PYTEST, _counted),
    (_UNITTEST, _of_unittest),
    (_JEST, _counted),
    (_MOCHA, _counted),
    (_CARGO, _counted),
    (_GO, _of_go),
)
