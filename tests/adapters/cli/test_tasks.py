"""The command `tasks` links tasks with memories, and scores closed tasks once."""

import json
import os
import time
from pathlib import Path

import pytest

from bethink import MemoryStore

from .conftest import Run, ids

STANDUP = ids()[1]
pytestmark = pytest.mark.usefixtures("file")


def put(folder: Path, **fields: str) -> Path:
    file = folder / ".beads" / "issues.jsonl"
    issues = [
        {"id": "bd-1", "title": "Fix the pier", **fields},
        {"id": "bd-2", "title": "Paint the pier " * 9, "dependencies": [{"depends_on_id": "bd-1"}]},
    ]
    file.write_text("\n".join(map(json.dumps, issues)) + "\n")
    return file


def test_tasks_are_listed_in_80_columns_with_their_blockers(run: Run, folder: Path) -> None:
    put(folder)
    lines = run("tasks").out.splitlines()
    assert lines[0].split() == ["beads", "bd-1", "open", "Fix", "the", "pier"]
    assert all(len(line) <= 80 for line in lines)
    assert run("tasks", "--json").data["tasks"][1]["blocked_by"] == ["bd-1"]
    put(folder, status="closed")
    assert len(run("tasks", "--json").data["tasks"]) == 1
    assert len(run("tasks", "list", "--done", "--json").data["tasks"]) == 2


def test_an_old_file_is_told_with_its_age(run: Run, folder: Path) -> None:
    file = put(folder)
    os.utime(file, (time.time() - 7_300, time.time() - 7_300))
    assert f"{file} is 2 h old" in run("tasks").out


def test_a_linked_task_scores_once_when_closed(run: Run, folder: Path, file: Path) -> None:
    put(folder)
    assert run("tasks", "link", "bd-1", STANDUP[-8:]).out == "linked 1 with bd-1\n"
    assert "Standup is at 10:00" in run("tasks", "show", "bd-1").out
    assert "Standup is at 10:00" in run("tasks", "context", "bd-1").out
    put(folder, status="closed", closed_at="2099-01-01T00:00:00Z")
    before = file.read_bytes()
    assert run("tasks", "sync", "--dry-run").out.startswith("worked")
    assert file.read_bytes() == before
    assert run("tasks", "sync", "--json").data[0]["verdict"] == "worked"
    assert run("tasks", "sync").out == "nothing to record\n"
    with MemoryStore(file) as store:
        assert store[STANDUP].outcome == pytest.approx(0.2)


def test_a_link_is_removed_by_unlink(run: Run, folder: Path) -> None:
    put(folder)
    run("tasks", "link", "bd-1", STANDUP[-8:])
    assert run("tasks", "unlink", "bd-1", STANDUP[-8:]).out == "unlinked 1 from bd-1\n"
    assert run("tasks", "show", "bd-1", "--json").data["memories"] == []
    assert run("tasks", "unlink", "bd-1", STANDUP[-8:]).code == 1


@pytest.mark.parametrize("words", [["show", "bd-9"], ["show"], ["link", "bd-1"], ["context", "9"]])
def test_an_unknown_task_is_told(words: list[str], run: Run, folder: Path) -> None:
    put(folder)
    done = run("tasks", *words)
    assert done.code in (1, 2)
    assert done.err.startswith("bethink: ")
