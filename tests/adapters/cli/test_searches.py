"""Searches of the command line: their arguments, and answers of an empty namespace."""

from pathlib import Path

import pytest

from .conftest import Run, ids

STANDUP = ids()[1]


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["namespaces"],
        ["get", "--key", "standup"],
        ["audit", "standup"],
        ["archive-to", "other.db", "--yes"],
        ["export", "other.jsonl"],
    ],
)
def test_the_namespaces_most_like_a_misspelt_one_are_named_first(
    run: Run, file: Path, words: list[str]
) -> None:
    done = run(*words, "-n", "usr/ann")
    assert "; memories are in users/ann (1), default (3)" in done.out + done.err


def test_a_search_its_block_and_its_reasons_take_the_same_arguments(run: Run, file: Path) -> None:
    for more, told in (
        (["--mode", "keyword"], "returned"),
        (["--mode", "keyword", "--min-similarity", "1"], "below min_similarity"),
        (["--min-score", "0.99"], "below min_score"),
    ):
        shown = told == "returned"
        assert ("10:00" in run("recall", "standup", *more).out) is shown
        assert ("10:00" in run("context", "standup", *more).out) is shown
        assert told in run("why", STANDUP, "standup", *more).out
