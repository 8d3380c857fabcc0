"""The view Tasks: lists of real files, links with memories, and outcomes that count once."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryRecord, MemoryStore
from bethink_adapters import tasks
from bethink_adapters.rest.tokens import new_token, write_tokens

from ..rest.process import Served, served
from .conftest import SCRIPT, write_tasks

NAMESPACE = "projects/ferry"
BELL = {"id": "bd-1", "title": "Hang the bell", "status": "in_progress"}
CLOSED = {"status": "closed", "closed_at": "2999-01-01T00:00:00Z"}


def visit(page: Any, rest: str = "") -> None:
    page.goto(f"/tasks{rest}")
    page.locator("tasks-view .head p, tasks-view .empty").first.wait_for()


def linked(project: Path, server: Served) -> MemoryRecord:
    """Write an open task, link the task with a new memory, close the task; return the memory."""
    write_tasks(project, BELL)
    with MemoryStore(server.path) as store:
        memory = store.store("Two bolts hold the bell.", namespace=NAMESPACE)
        [task] = tasks.read_all(project).tasks
        tasks.link(store, task, [memory.id], namespace=NAMESPACE)
    write_tasks(project, BELL | CLOSED)
    return memory


def outcome(server: Served, memory: MemoryRecord) -> float:
    with MemoryStore(server.path) as store:
        return store[memory.id].outcome


def test_tasks_shows_source_status_blocker_and_age_of_the_file(page: Any, project: Path) -> None:
    dependency = {"depends_on_id": "bd-1", "type": "blocks"}
    paint = {"id": "bd-2", "title": "Paint", "dependencies": [dependency]}
    write_tasks(project, BELL, paint, {"id": "bd-3", "title": "Tar", **CLOSED})
    two_hours_ago = time.time() - 7_300
    os.utime(project / ".beads/issues.jsonl", (two_hours_ago, two_hours_ago))
    folder = project.parent / "home/.claude/tasks/list"
    folder.mkdir(parents=True)
    for id, blockers in (("1", []), ("2", ["1"])):
        told = {"id": id, "subject": f"Print {id}", "status": "pending", "blockedBy": blockers}
        (folder / f"{id}.json").write_text(json.dumps(told))
    visit(page)
    heads = page.locator("tasks-view section h2").all_inner_texts()
    assert heads[0].startswith("Beads")
    assert "changed 2 hours ago; newer with bd export" in heads[0]
    assert heads[1] == "Claude Code tasksfile changed just now"
    facts = [text.split("\n") for text in page.locator(".rows .facts").all_inner_texts()]
    assert [" ".join(each) for each in facts] == [
        "bd-1 in progress",
        "bd-2 open after Hang the bell",
        "list/1 pending",
        "list/2 pending after Print 1",
    ]
    page.get_by_label("Show").select_option("1")
    page.locator(".rows .text", has_text="Tar").wait_for()
    assert page.url.endswith("/tasks?closed=1")
    head = page.locator(".head p").inner_text()
    assert head.startswith(f"4 open · 1 closed · links in {NAMESPACE} ")


def test_tasks_links_and_unlinks_by_keyboard(page: Any, server: Served, project: Path) -> None:
    page.locator("main").press("g")
    page.keyboard.press("s")
    page.locator("tasks-view .rows").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("task-links input").wait_for()
    page.keyboard.press("l")
    page.keyboard.type("when do deployments happen")
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("^Link: Deployments")).focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("^Unlink: Deployments")).wait_for()
    row = page.locator("tasks-view > section > .rows > li").first
    row.filter(has_text="1 memory").wait_for()
    with MemoryStore(server.path) as store:
        record = tasks.find(store, tasks.read_all(project).tasks[0], NAMESPACE)
        assert record is not None
        [memory] = tasks.linked(store, record)
        assert memory.content == "Deployments happen on Tuesdays."
        page.get_by_role("button", name=re.compile("^Unlink: Deployments")).press("Enter")
        page.get_by_role("button", name=re.compile("^Link: Deployments")).wait_for()
        assert tasks.linked(store, record) == []
        page.get_by_role("button", name="Undo").last.press("Enter")
        page.get_by_role("button", name=re.compile("^Unlink: Deployments")).wait_for()
        assert [each.id for each in tasks.linked(store, record)] == [memory.id]
    page.locator("main").press("Escape")
    page.locator("task-links").wait_for(state="detached")
    assert page.url.endswith("/tasks")


def test_tasks_scores_a_closed_task_once(page: Any, server: Served, project: Path) -> None:
    memory = linked(project, server)
    visit(page)
    page.keyboard.press("s")
    row = page.locator("task-outcomes .rows li")
    row.wait_for()
    assert row.inner_text().split("\n")[:2] == ["worked", memory.content]
    assert outcome(server, memory) == 0
    page.get_by_role("button", name="Record 1 outcome").click()
    page.locator(".toast", has_text="1 outcome recorded").wait_for()
    earned = outcome(server, memory)
    assert earned > 0
    page.get_by_role("button", name="Preview again").click()
    page.locator("task-outcomes .empty", has_text="Nothing to record").wait_for()
    assert outcome(server, memory) == earned


def test_tasks_takes_outcomes_back(page: Any, server: Served, project: Path) -> None:
    memory = linked(project, server)
    visit(page, "?sync=1")
    page.get_by_role("button", name="Record 1 outcome").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Record 1 outcome").wait_for()
    assert outcome(server, memory) == 0


def test_tasks_counts_failures_only_when_asked(page: Any, server: Served, project: Path) -> None:
    memory = linked(project, server)
    write_tasks(project, BELL | CLOSED | {"close_reason": "reverted, the bolts broke"})
    visit(page, "?sync=1")
    page.locator("task-outcomes .empty").wait_for()
    page.get_by_label("count against the memories").check()
    page.get_by_role("button", name="Record 1 outcome").click()
    page.locator("task-outcomes .bad", has_text="failed").wait_for()
    page.get_by_role("button", name="Preview again").wait_for()
    assert outcome(server, memory) < 0


def test_tasks_keeps_a_script_as_text(page: Any) -> None:
    visit(page, "?task=beads:bd-2")
    page.locator("task-links .rows").wait_for()
    assert page.locator("tasks-view .text", has_text=SCRIPT).count() == 2  # a task and a memory
    assert page.locator("tasks-view script, tasks-view img").count() == 0
    assert page.title() == "Tasks · bethink"


def test_tasks_without_a_task_shows_a_command(page: Any, project: Path) -> None:
    write_tasks(project)
    visit(page)
    assert page.locator("tasks-view .empty code").inner_text().startswith("bd create")
    write_tasks(project, BELL | CLOSED)
    visit(page)
    assert page.locator("tasks-view .empty code").inner_text() == "bethink tasks --done"


@pytest.mark.usefixtures("project")
def test_tasks_asks_for_a_token_for_the_whole_file(browser: Any, tmp_path: Path) -> None:
    write_tokens(tmp_path / "tokens.json", [new_token(["users"])])
    with served(tmp_path) as server:
        context = browser.new_context(base_url=server.address)
        page = context.new_page()
        page.goto(f"/tasks#token={server.token}")
        page.locator("tasks-view .empty", has_text="bethink serve --new-token").wait_for()
        context.close()
