"""The tasks and todos of Claude Code: small files in the user's folder. Nothing is written."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ..surface.location import home_folder
from .task import Listing, Task

_MAX_BYTES: Final = 1024 * 1024
_TODOS: Final = re.compile(r"(.+)-agent-(.+)\.json")


def claude_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return Claude Code's folder: CLAUDE_CONFIG_DIR, or ``~/.claude``."""
    env = os.environ if environment is None else environment
    return Path(env.get("CLAUDE_CONFIG_DIR") or home_folder(env) / ".claude")


def read_claude_tasks(root: Path, project: Path | None = None) -> Listing:
    """Return the tasks below *root*, of the sessions of *project* or of all sessions.

    A list that no session names is shared by projects, and is read always.
    """
    listing = Listing()
    for folder in sorted((root / "tasks").glob("*/")):
        if folder.is_symlink() or not _belongs(root, folder.name, project):
            continue
        found = {file: value for file, value in _files(folder, listing) if isinstance(value, dict)}
        open_ids = {
            str(each.get("id")) for each in found.values() if each.get("status") != "completed"
        }
        for file, value in found.items():
            changed = listing.read[file]
            status = str(value.get("status") or "pending")
            blockers = value.get("blockedBy") or ()
            listing.tasks.append(
                Task(
                    "claude-tasks",
                    f"{folder.name}/{value.get('id', file.stem)}",
                    str(value.get("subject") or value.get("description") or file.stem),
                    status,
                    changed,
                    changed if status == "completed" else None,
                    blocked_by=tuple(
                        f"{folder.name}/{each}" for each in blockers if str(each) in open_ids
                    ),
                    session=folder.name,
                    path=str(file),
                )
            )
    return listing


def read_claude_todos(root: Path, project: Path | None = None) -> Listing:
    """Return the todos below *root*; a todo is known by session and text, wherever in the list."""
    listing = Listing()
    for file, value in _files(root / "todos", listing):
        named = _TODOS.fullmatch(file.name)
        session = named[1] if named else file.stem
        if not isinstance(value, list) or not _belongs(root, session, project):
            continue
        changed, seen = listing.read[file], set[str]()
        for each in value:
            text = (
                " ".join(str(each.get("content") or "").split()) if isinstance(each, dict) else ""
            )
            if not text:
                listing.skipped.append(f"{file}: a todo without content")
                continue
            status = str(each.get("status") or "pending")
            if text in seen:  # a second item of the text is the first item
                continue
            seen.add(text)
            digest = hashlib.sha256(f"{session}\0{text}".encode()).hexdigest()[:16]
            listing.tasks.append(
                Task(
                    "claude-todos",
                    f"{session}/{digest}",
                    text,
                    status,
                    changed,
                    changed if status == "completed" else None,
                    session=session,
                    path=str(file),
                )
            )
    return listing


def _files(folder: Path, listing: Listing) -> Iterator[tuple[Path, Any]]:
    """Yield the JSON files of *folder* with their values; note times and faults in *listing*."""
    for file in sorted(folder.glob("*.json")):
        if file.is_symlink() or not file.is_file():
            continue
        try:
            if file.stat().st_size > _MAX_BYTES:
                raise ValueError("too large")
            value = json.loads(file.read_text("utf-8"))
            listing.read[file] = file.stat().st_mtime
        except (OSError, ValueError, RecursionError) as error:
            listing.skipped.append(f"{file}: {error}")
            continue
        yield file, value


def _belongs(root: Path, session: str, project: Path | None) -> bool:
    """Return whether *session* ran in *project*; a session without a transcript may have."""
    if project is None:
        return True
    name = re.sub(r"[^A-Za-z0-9]", "-", str(project.absolute()))
    if (root / "projects" / name / f"{session}.jsonl").exists():
        return True
    return not any((root / "projects").glob(f"*/{session}.jsonl"))
