"""tasks: the tasks of Beads and Claude Code beside the memories that helped with them.

    listing = read_all(Path.cwd())
    link(store, listing.tasks[0], [memory.id], namespace="projects/ferry")
    sync(store, read_all(Path.cwd()), namespace="projects/ferry")   # closed tasks: "worked", once

The files of the task lists are read, never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .beads import read_beads
from .claude import claude_folder, read_claude_tasks, read_claude_todos
from .linking import Verdicts, context, find, link, linked, sync, unlink
from .task import SOURCES, Listing, Source, Task

__all__ = [
    "SOURCES",
    "Listing",
    "Source",
    "Task",
    "Verdicts",
    "context",
    "find",
    "link",
    "linked",
    "read_all",
    "read_beads",
    "read_claude_tasks",
    "read_claude_todos",
    "sync",
    "unlink",
]


def read_all(folder: Path, environment: Mapping[str, str] | None = None) -> Listing:
    """Return the tasks of the project at *folder*, of every source."""
    root = claude_folder(environment)
    return (
        read_beads(folder, environment)
        + read_claude_tasks(root, folder)
        + read_claude_todos(root, folder)
    )
