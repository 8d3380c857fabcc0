"""Tasks are read from every form of Beads and Claude Code, and nothing is written."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bethink_adapters.tasks import beads, read_all, read_beads, read_claude_tasks, read_claude_todos

# A line as `bd export` wrote in 2025 (numbers as ids of comments), and one of 2026 with a type.
OLD = {
    "id": "ferry-1",
    "title": "Fix the ferry",
    "status": "closed",
    "priority": 0,
    "issue_type": "bug",
    "created_at": "2025-11-20T09:00:00Z",
    "updated_at": "2025-11-21T10:00:00.123456789+01:00",
    "closed_at": "2025-11-21T10:00:00.123456789+01:00",
    "comments": [{"id": 1, "author": "ann", "text": "done"}],
}
NEW = {
    "_type": "issue",
    "id": "bd-a1b2.1",
    "title": "Paint the pier",
    "description": "Two coats",
    "priority": 2,
    "labels": ["pier"],
    "updated_at": "2026-06-01T08:00:00.5Z",
    "dependencies": [
        {"issue_id": "bd-a1b2.1", "depends_on_id": "bd-a1b2", "type": "parent-child"},
        {"issue_id": "bd-a1b2.1", "depends_on_id": "ferry-1", "type": "blocks"},
        {"issue_id": "bd-a1b2.1", "depends_on_id": "bd-c3", "type": "related"},
    ],
    "closed_by_session": "",
    "metadata": {"any": ["thing"]},
}
EPIC = {"_type": "issue", "id": "bd-a1b2", "title": "The pier", "status": "in_review"}
OTHER = [
    {"_type": "memory", "key": "k", "value": "v"},
    {"_type": "issue", "id": "bd-gone", "title": "gone", "status": "tombstone"},
]


@pytest.fixture(autouse=True)
def no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No `bd` is on the path unless a test puts one there."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("BEADS_DIR", raising=False)
    monkeypatch.setattr(beads, "_PAUSE_SECONDS", 0.0)


def put(folder: Path, *issues: Any, name: str = "issues.jsonl", end: str = "\n") -> Path:
    """Write *issues*, texts or values, as a file of Beads in *folder*."""
    file = folder / ".beads" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [each if isinstance(each, str) else json.dumps(each) for each in issues]
    file.write_text("\n".join(lines) + end, encoding="utf-8")
    return file


def test_lines_of_every_version_are_tasks(tmp_path: Path) -> None:
    file = put(tmp_path, OLD, NEW, EPIC, *OTHER)
    listing = read_beads(tmp_path / "a" / "b")
    old, new, epic = listing.tasks
    assert (old.id, old.title, old.closed) == ("ferry-1", "Fix the ferry", True)
    assert old.closed_at == pytest.approx(1_763_715_600.123456)
    assert (new.status, new.closed, new.blocked_by) == ("open", False, ("bd-a1b2",))
    assert (epic.status, epic.closed) == ("in_review", False)
    assert listing.skipped == [f"{file}, line 4: memory is no task"]
    assert listing.read == {file: file.stat().st_mtime}


def test_marks_of_a_conflict_and_broken_lines_are_named(tmp_path: Path) -> None:
    later = {**OLD, "title": "Fix the old ferry"}
    file = put(tmp_path, "<<<<<<< HEAD", OLD, "=======", later, ">>>>>>> main", "{broken", "[]", "")
    listing = read_beads(tmp_path)
    assert [each.title for each in listing.tasks] == ["Fix the old ferry"]
    assert listing.skipped == [
        f"{file}, line 1: a mark of a merge conflict",
        f"{file}, line 3: a mark of a merge conflict",
        f"{file}, line 5: a mark of a merge conflict",
        f"{file}, line 6: no JSON",
        f"{file}, line 7: ? is no task",
    ]


def test_a_half_written_last_line_is_read_again_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(tmp_path, OLD, '{"id": "bd-2", "ti', end="")
    assert [each.id for each in read_beads(tmp_path).tasks] == ["ferry-1"]
    monkeypatch.setattr("time.sleep", lambda _: put(tmp_path, OLD, {"id": "bd-2"}) and None)
    assert [each.id for each in read_beads(tmp_path).tasks] == ["ferry-1", "bd-2"]
    assert file.exists()


def test_a_text_with_unusual_line_ends_stays_whole(tmp_path: Path) -> None:
    title = "one\u2028two\x85three"
    put(tmp_path, json.dumps({"id": "bd-1", "title": title}, ensure_ascii=False))
    assert [each.title for each in read_beads(tmp_path).tasks] == [title]


def test_a_byte_order_mark_hides_no_task(tmp_path: Path) -> None:
    put(tmp_path, f"\ufeff{json.dumps(EPIC)}", NEW)
    listing = read_beads(tmp_path)
    assert [each.id for each in listing.tasks] == [EPIC["id"], NEW["id"]]
    assert not listing.skipped


def test_beads_is_found_above_by_the_environment_or_by_a_redirect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "main", EPIC, name="beads.jsonl")
    tree = tmp_path / "tree"
    (tree / ".beads").mkdir(parents=True)
    assert "run `bd export`" in read_beads(tree).skipped[0]
    (tree / ".beads" / "redirect").write_text("../main/.beads\n")
    assert [each.id for each in read_beads(tree / "src").tasks] == ["bd-a1b2"]
    assert read_beads(tmp_path / "none").tasks == []
    monkeypatch.setenv("BEADS_DIR", str(tmp_path / "main" / ".beads"))
    assert [each.id for each in read_beads(tmp_path / "none").tasks] == ["bd-a1b2"]


@pytest.mark.skipif(os.name == "nt", reason="the program is a script of a shell")
def test_the_program_is_asked_first_and_the_file_if_the_program_fails(tmp_path: Path) -> None:
    put(tmp_path, EPIC)
    program = tmp_path / "bin" / "bd"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n[ $1 = export ] && echo '{json.dumps(OLD)}'\n")
    program.chmod(0o755)
    listing = read_beads(tmp_path)
    assert [each.id for each in listing.tasks] == ["ferry-1"]
    assert listing.read == {}
    program.write_text("#!/bin/sh\nexit 3\n")
    listing = read_beads(tmp_path)
    assert [each.id for each in listing.tasks] == ["bd-a1b2"]
    assert "exit status 3" in listing.skipped[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Claude Code's folder, with a list of tasks and a list of todos."""
    root = tmp_path / "home" / ".claude"
    tasks: list[dict[str, Any]] = [
        {"id": "1", "subject": "Fix the ferry", "status": "completed", "blocks": ["2"]},
        {"id": "2", "subject": "Paint", "status": "in_progress", "blockedBy": ["1", "3"]},
        {"id": "3", "subject": "Buy paint", "status": "pending", "metadata": {"a": 1}},
    ]
    folder = root / "tasks" / "s1"
    folder.mkdir(parents=True)
    for each in tasks:
        (folder / f"{each['id']}.json").write_text(json.dumps(each, indent=2))
    (folder / ".lock").touch()
    (folder / ".highwatermark").write_text("3")
    (root / "todos").mkdir()
    return root


def todo(root: Path, *items: Any) -> None:
    (root / "todos" / "s1-agent-s1.json").write_text(json.dumps(items))


def test_tasks_of_claude_code_are_files(root: Path) -> None:
    listing = read_claude_tasks(root)
    assert [(each.id, each.status, each.blocked_by) for each in listing.tasks] == [
        ("s1/1", "completed", ()),
        ("s1/2", "in_progress", ("s1/3",)),
        ("s1/3", "pending", ()),
    ]
    done = listing.tasks[0]
    assert (done.closed, done.session) == (True, "s1")
    assert done.closed_at == (root / "tasks" / "s1" / "1.json").stat().st_mtime


def test_broken_large_and_linked_files_are_passed_over(root: Path, tmp_path: Path) -> None:
    folder = root / "tasks" / "s1"
    (folder / "4.json").write_text("{half")
    (folder / "5.json").write_text(f'"{"x" * 1_100_000}"')
    (tmp_path / "secret.json").write_text('{"id": "6", "subject": "secret"}')
    (folder / "6.json").symlink_to(tmp_path / "secret.json")
    listing = read_claude_tasks(root)
    assert len(listing.tasks) == 3
    assert [each.split(": ")[0][-6:] for each in listing.skipped] == ["4.json", "5.json"]


def test_a_todo_is_known_by_its_text_wherever_it_stands(root: Path) -> None:
    one = {"content": "Fix the ferry", "status": "pending", "activeForm": "Fixing"}
    two = {"content": "Paint  the pier", "status": "completed", "id": "7", "priority": "high"}
    todo(root, one, two)
    first = {each.id: each.status for each in read_claude_todos(root).tasks}
    todo(root, {**two, "content": "Paint the pier"}, one, one)
    assert {each.id: each.status for each in read_claude_todos(root).tasks} == first
    todo(root, {**one, "content": "Fix the old ferry"}, {"status": "pending"})
    listing = read_claude_todos(root)
    assert not first.keys() & {each.id for each in listing.tasks}
    assert "a todo without content" in listing.skipped[0]


def test_only_sessions_of_the_project_count(root: Path, tmp_path: Path) -> None:
    def lists(name: str) -> int:
        environment = {"HOME": str(tmp_path / "home")}
        return len(read_all(tmp_path / name, environment).tasks)

    assert lists("harbour") == 3  # no transcript tells the project
    transcripts = root / "projects" / str(tmp_path / "harbour").replace("/", "-").replace("_", "-")
    transcripts.mkdir(parents=True)
    (transcripts / "s1.jsonl").touch()
    assert (lists("harbour"), lists("kitchen")) == (3, 0)
    moved = {"CLAUDE_CONFIG_DIR": str(root), "HOME": "/nowhere"}
    assert len(read_all(tmp_path / "harbour", moved).tasks) == 3


def test_reading_writes_nothing(root: Path, tmp_path: Path) -> None:
    put(tmp_path, OLD, NEW)
    todo(root, {"content": "x", "status": "pending"})
    before = {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*")}
    assert read_all(tmp_path, {"HOME": str(tmp_path / "home")}).tasks
    assert {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*")} == before
