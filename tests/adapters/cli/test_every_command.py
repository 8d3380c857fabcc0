"""Each command: text, JSON, lines of JSON, not found, wrong usage, no file."""

import json
from pathlib import Path

import pytest

from bethink_adapters.cli.parser import BY_NAME, GROUPS

from .conftest import Run, ids

OLD, STANDUP, PIER_3, PIER_4, ANN = ids()

# Of each command: a call, and a part of the text.
CALLS = {
    "store": (["store", "Bob likes ham"], "stored "),
    "update": (["update", STANDUP, "--content", "Standup is at 11:00"], f"updated {STANDUP[-8:]}"),
    "forget": (["forget", STANDUP], "forgot 1"),
    "restore": (["restore", OLD], "restored 0"),
    "archive": (["archive", PIER_3, PIER_4], "archived 2"),
    "unarchive": (["unarchive", PIER_3], "unarchived 0"),
    "erase": (["erase", PIER_3, "--yes"], "erased 1"),
    "tidy": (["tidy"], "forgot 0"),
    "recall": (["recall", "when is standup?"], "Standup is at 10:00"),
    "context": (["context", "standup"], "Standup is at 10:00"),
    "why": (["why", ANN, "standup"], "other namespace"),
    "get": (["get", STANDUP], "Standup is at 10:00"),
    "list": (["list"], "Standup is at 10:00"),
    "related": (["related", PIER_3], "contradicts"),
    "conflicts": (["conflicts"], "The ferry leaves from pier 4"),
    "stats": (["stats"], "superseded"),
    "namespaces": (["namespaces"], "users/ann"),
    "outcome": (["outcome", "worked", STANDUP], "outcome +0.20"),
    "reinforce": (["reinforce", STANDUP], "importance 0.60"),
    "relate": (["relate", STANDUP, "part_of", PIER_3], "linked"),
    "resolve": (["resolve", PIER_3, PIER_4], "resolved 1"),
    "consolidate": (["consolidate", "--yes"], "nothing to merge"),
    "log": (["log"], "snapshot"),
    "snapshot": (["snapshot"], "before-move"),
    "diff": (["diff", "#1"], "The ferry leaves from pier 3"),
    "audit": (["audit", "standup"], "Standup is at 9:00"),
    "undo": (["undo", "4"], "is forgotten"),
    "export": (["export", "out.jsonl"], "wrote 7 to out.jsonl"),
    "import": (["import", "in.jsonl"], "added"),
    "merge": (["merge", "second.db"], "added"),
    "archive-to": (["archive-to", "old.db", "-n", "users/ann", "--yes"], "moved"),
    "verify": (["verify"], "no problems"),
    "repair": (["repair"], "no problems"),
    "backup": (["backup", "copy.db"], "copied to copy.db"),
    "compact": (["compact", "--before", "#4", "--yes"], "history begins after entry"),
    "install": (["install", "cursor", "--dry-run"], '"mcpServers"'),
    "uninstall": (["uninstall", "cursor"], "nothing to change"),
    "doctor": (["doctor"], "4 memories"),
    "tasks": (["tasks", "sync"], "nothing to record"),
    "completion": (["completion", "bash"], "bethink"),
}
# Commands that speak a form of their own, or need a server.
WITHOUT_A_FILE = {"mcp", "serve", "hook", "migrate", "shards", "vector-index"}
WITHOUT_A_STORE = {"install", "uninstall", "doctor", "completion"}
FREE = {"context", "stats", "install", "doctor", "completion"}  # show texts and paths whole
# Calls that find nothing.
MISSING = [
    ["update", "ffffffff", "--content", "x"],
    ["forget", "ffffffff"],
    ["forget", "f" * 32],
    ["forget", "--category", "none"],
    ["restore", STANDUP],
    ["archive", "ffffffff"],
    ["unarchive", STANDUP],
    ["erase", "ffffffff", "--yes"],
    ["why", "ffffffff", "standup"],
    ["get", "ffffffff"],
    ["get", "f" * 32],
    ["get", "--key", "none"],
    ["related", "f" * 32],
    ["outcome", "worked", "f" * 32],
    ["reinforce", "ffffffff"],
    ["relate", PIER_3, "contradicts", PIER_4],
    ["relate", PIER_4, "contradicts", PIER_3, "--remove"],
    ["resolve", PIER_3, "ffffffff"],
    ["log", "ffffffff"],
    ["diff", "friday"],
    ["audit", "none"],
    ["undo", "999"],
    ["import", "missing.jsonl"],
    ["merge", "missing.db"],
    ["archive-to", "old.db", "-n", "users/nobody", "--yes"],
    ["tasks", "show", "bd-2"],
    ["install"],
]
WRONG = [
    ["-n", "notes"],
    ["recal", "x"],
    ["store"],
    ["store", ""],
    ["store", "x", "--importance", "much"],
    ["store", "x", "--importance", "7"],
    ["store", "x", "--value", "{"],
    ["store", "x", "--occurred-at", "someday"],
    ["store", "x", "--file", "y"],
    ["update", STANDUP],
    ["forget"],
    ["forget", STANDUP, "--category", "travel"],
    ["forget", "--category", "travel"],  # wants --yes
    ["erase", STANDUP],
    ["get"],
    ["get", STANDUP, "--key", "standup"],
    ["get", "a5"],
    ["recall"],
    ["recall", "x", "--mode", "best"],
    ["recall", "x", "-n", "a//b"],
    ["list", "--where", "[]"],
    ["list", "--where", '{"colour": "red"}'],
    ["list", "--order", "colour"],
    ["tidy", "--unused", "90d"],
    ["archive-to", "old.db"],
    ["archive-to", "old.db", "-n", "users/ann"],  # wants --yes
    ["migrate"],
    ["vector-index"],  # of a file
    ["shards"],
    ["shards", "--server", "a"],
    ["shards", "create", "--server", "a=postgresql://host/db"],
    ["shards", "move", "1", "--server", "a=postgresql://host/db"],
    ["shards", "list", "1", "a", "--server", "a=postgresql://host/db"],
    ["backup"],
    ["backup", "."],  # is there already
    ["compact"],
    ["compact", "--before", "#4", "--keep", "90d"],
    ["compact", "--keep", "soon"],
    ["outcome", "good", STANDUP],
    ["export", "-", "--format", "md"],
    ["import", "-", "--from", "chatgpt"],
    ["install", "emacs"],
    ["tasks", "show"],
    ["completion", "csh"],
    ["hook", "emacs"],
]


pytestmark = pytest.mark.usefixtures("file")


def test_every_command_is_called_here() -> None:
    assert {
        each.name for group in GROUPS.values() for each in group
    } == CALLS.keys() | WITHOUT_A_FILE


@pytest.mark.parametrize("name", CALLS)
def test_a_command_answers_in_text(name: str, run: Run) -> None:
    words, part = CALLS[name]
    done = run(*words)
    assert part in done.out
    assert done.err == ""
    assert done.code == (1 if part.endswith(" 0") and name != "tidy" else 0)
    if name not in FREE:
        assert all(len(line) <= 80 for line in done.out.splitlines())


@pytest.mark.parametrize("name", CALLS)
def test_a_command_answers_in_json_and_in_lines_of_json(name: str, run: Run) -> None:
    words, _ = CALLS[name]
    assert isinstance(run("--json", *words).data, dict | list)
    for line in run(*words, "--jsonl").out.splitlines():
        json.loads(line)


@pytest.mark.parametrize("words", MISSING, ids=" ".join)
def test_what_is_not_found_is_told_with_1(words: list[str], run: Run) -> None:
    done = run(*words)
    assert done.code == 1
    assert done.err.startswith("bethink: ") or done.out.strip()
    told = run("--json", *words)
    assert told.code == 1
    assert json.loads(told.err)["error"]["message"] if told.err else told.out


def test_without_words_the_help_is_shown(run: Run) -> None:
    assert run() == run("--help")
    assert run().code == 0


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_usage_is_told_with_2(words: list[str], run: Run, file: Path) -> None:
    before = file.read_bytes()
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("bethink: ")
    assert "Traceback" not in done.err
    assert json.loads(run(*words, "--json").err)["error"]["exit_code"] == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "name", [each for each in sorted(CALLS.keys() - WITHOUT_A_STORE) if not BY_NAME[each].writes]
)
def test_a_command_that_reads_makes_no_file(name: str, run: Run, tmp_path: Path) -> None:
    missing = tmp_path / "none" / "memory.db"
    done = run("--db", str(missing), *CALLS[name][0])
    assert (done.code, done.out) == (1, "")
    assert f"no memory at {missing}; `bethink store TEXT` makes a memory there" in done.err
    assert not missing.parent.exists()


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_command_and_synonym_has_help(name: str, run: Run) -> None:
    done = run(name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: bethink {BY_NAME[name].name}")
    assert all(len(line) <= 80 for line in done.out.splitlines())


def test_a_wrong_entry_is_answered_with_the_form_of_an_entry(run: Run) -> None:
    told = "an entry is a number such as 12 or #12, not 'x'"
    assert told in run("undo", "x").err
