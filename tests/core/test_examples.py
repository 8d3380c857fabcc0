"""Every example runs as a reader would run it; an adapter's where its framework is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .installed import is_installed

EXAMPLES = Path(__file__).parents[2] / "examples"
CONVERSATION = EXAMPLES / "data" / "two_friends.jsonl"
NEEDS = {
    "langchain": "langchain_core",
    "crewai": "crewai.memory.types",
    "autogen": "autogen_core.memory",
}


def run(example: str, *arguments: object, folder: Path) -> str:
    """Run an example in *folder* and return what it prints; nothing may go to stderr."""
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def recall_of(output: str) -> float:
    (line,) = [line for line in output.splitlines() if line.startswith("all ")]
    return float(line.split()[2])


@pytest.mark.slow
def test_quickstart_finds_the_newer_fact(tmp_path: Path) -> None:
    output = run("quickstart.py", folder=tmp_path)
    assert "10:00" in output.splitlines()[0]
    assert "9:30" not in output


@pytest.mark.slow
def test_an_export_moves_in_once_and_becomes_notes(tmp_path: Path) -> None:
    first = run("move_in.py", folder=tmp_path).splitlines()
    assert first == [
        "6 imported, 0 known, 0 skipped",
        "Ann: We booked the night train for 14 June, two bicycles included.",
        "6 notes written to vault/",
    ]
    assert run("move_in.py", folder=tmp_path).startswith("0 imported, 6 known, 0 skipped")
    assert len(list((tmp_path / "vault" / "users" / "ann").glob("*.md"))) == 6


@pytest.mark.slow
def test_a_screen_keeps_secrets_and_orders_out(tmp_path: Path) -> None:
    assert run("screen_secrets.py", folder=tmp_path).splitlines() == [
        "refused: an order to the model",
        "The password is [redacted], and OPENAI_API_KEY=[redacted]",
        "Ann signs the invoices: [redacted], [redacted]",
    ]
    assert b"hunter2" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.slow
def test_a_conversation_is_remembered_and_asked_about(tmp_path: Path) -> None:
    output = run("long_conversation.py", CONVERSATION, folder=tmp_path)
    assert "remembered 66 turns" in output
    assert "changed fact" in output
    assert recall_of(output) >= 0.7
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_database_that_is_kept_is_filled_once(tmp_path: Path) -> None:
    kept = ["--database", tmp_path / "kept.db", "--limit", 3]
    first = run("long_conversation.py", CONVERSATION, *kept, folder=tmp_path)
    again = run("long_conversation.py", CONVERSATION, *kept, folder=tmp_path)
    assert "remembered 0 turns of 0 conversations" in again
    assert recall_of(again) == recall_of(first)


@pytest.mark.parametrize("adapter", NEEDS)
def test_a_conversation_goes_through_an_adapter(adapter: str, tmp_path: Path) -> None:
    if not is_installed(NEEDS[adapter]):
        pytest.skip(f"{NEEDS[adapter]} is not installed")
    output = run("long_conversation.py", CONVERSATION, "--via", adapter, folder=tmp_path)
    assert "remembered 66 turns" in output
    assert recall_of(output) >= 0.7


APPS = {
    "langgraph_memory.py": (
        "langgraph",
        "Friday: Where do I live? (known: ['I live in Oslo now.'])",
        "known on Tuesday: {'text': 'I live in Graz.'}",
        "records erased",
    ),
    "crewai_private.py": (
        "crewai.memory.unified_memory",
        "lawyer: The contract with Acme ends in May 2027.",
        "cook: Nobody told me.",
        "2 memories of the lawyer erased",
    ),
    "autogen_team.py": (
        "autogen_ext",
        "A good plan. Known: Ann travels by train only.",
        "6 memories erased",
    ),
    "support_bot.py": (
        "bethink",
        "Bot: Take the night train from Zurich; bicycles must be booked ahead.",
        "4 turns of Bob erased",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("app", APPS)
def test_an_app_of_fifty_lines_runs_twice(app: str, tmp_path: Path) -> None:
    module, *told = APPS[app]
    if not is_installed(module):
        pytest.skip(f"{module} is not installed")
    assert len((EXAMPLES / app).read_text("utf-8").splitlines()) <= 50
    for _ in range(2):
        command = [sys.executable, str(EXAMPLES / app)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert [each for each in told if each not in done.stdout] == []
