"""What the output of a command tells of how it went, when no exit code does."""

from __future__ import annotations

import pytest

from bethink_adapters.transcripts.results import went_wrong


def among_others(output: str) -> tuple[str, ...]:
    return output, f"start\n{output}", f"{output}\nend"


@pytest.mark.parametrize(
    "output",
    [
        "npm ERR! missing script: x",
        "npm error code ELIFECYCLE",
        "git@x: Permission denied (publickey).",
        "Permission denied",
        "curl: (7) Failed to connect to localhost port 80: Connection refused",
        "Connection refused",
        "sh: 1: foo: not found",
        "bash: line 3: foo: not found",
        "./x.sh: 3: foo: not found",
        "Segmentation fault",
        "Segmentation fault (core dumped)",
        "bash: line 1: 12345 Segmentation fault      (core dumped) ./a",
        "started\nKilled\n",
        "BUILD FAILED in 3s",
        "[ERROR] BUILD FAILURE",
        "panic: runtime error",
        "thread 'main' panicked at src/main.rs:1",
        "ModuleNotFoundError: No module named 'x'",
        "java.lang.NullPointerException: x",
        'Exception in thread "main" x',
        "psql: error: no route",
        "a.c:3:5: error: expected ';'",
        "E: Unable to locate package x",
        "  Error: no such thing",
        "  Traceback (most recent call last):",
        "error: could not compile",
        "fatal: not a git repository",
        "error TS2304: Cannot find x",
        "make[1]: *** [db] Error 1",
        "error: 0 is no port",
    ],
)
def test_without_a_code_a_command_fails_that_says_so(output: str) -> None:
    for told in among_others(output):
        assert went_wrong(told)


@pytest.mark.parametrize(
    "output",
    [
        "error: 0 issues",
        "errors: 0",
        "Error: none",
        "error: 0, warnings: 3",
        "  error: null",
        "lint: error: 0",
        "Error rate: 0.00%",
        "Error: 0.0213",
        "MeanSquaredError: 0.02",
        "mean_squared_error: 0.02",
        '  "error": null,',
        "    0 Error(s)",
        "Fix a segmentation fault in x",
        "Killed mutants: 3",
        "Killed 3 mutants",
        "Handle permission denied errors",
        "not found: nothing",
        "x not found, fetching",
        "    Error handling: say which",
        "    ValueError: if x is negative",
        "BUILD SUCCESSFUL in 3s",
        "npm WARN deprecated x",
        "Panic button: off",
    ],
)
def test_what_a_success_may_say_is_no_failure(output: str) -> None:
    for told in among_others(output):
        assert not went_wrong(told)


@pytest.mark.parametrize(
    "piece", ["\n", " ", "a.", "A", "sh: a: ", "error: 0, ", "x: error ", "\n error: "]
)
def test_a_long_output_is_read_in_passing(piece: str) -> None:
    assert not went_wrong(piece * 30_000)
