"""Beads: the tasks of `bd export`, or of the file that Beads exported last.

Beads keeps a database of its own; the file of JSON lines beside may be old. Nothing is written.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .task import CLOSED, Listing, Task, seconds_of

_EXPORTS: Final = ("issues.jsonl", "beads.jsonl")
_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.2
_CONFLICT: Final = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
_MAX_BYTES: Final = 64 * 1024 * 1024
_BLOCKING: Final = frozenset(("blocks", "parent-child", "conditional-blocks", "waits-for"))
_GONE: Final = "tombstone"


def find_beads(folder: Path, environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder of Beads: BEADS_DIR, or ``.beads`` in *folder* or above.

    A file ``redirect`` in ``.beads`` names the folder to use in place, from the parent folder.
    """
    env = os.environ if environment is None else environment
    if named := env.get("BEADS_DIR"):
        return Path(named) if Path(named).is_dir() else None
    for each in (folder, *folder.parents):
        beads = each / ".beads"
        if beads.is_dir():
            redirect = beads / "redirect"
            target = each / redirect.read_text("utf-8").strip() if redirect.is_file() else beads
            return target if target.is_dir() else beads
    return None


def read_beads(
    folder: Path, environment: Mapping[str, str] | None = None, *, program: str = "bd"
) -> Listing:
    """Return the tasks of the project at *folder*; without Beads there are none."""
    beads = find_beads(folder.absolute(), environment)
    if beads is None:
        return Listing()
    if (command := shutil.which(program)) is not None:
        try:
            done = subprocess.run(
                [command, "export"],
                cwd=beads.parent,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
            return read_lines(done.stdout.decode("utf-8", "replace"), f"{command} export")
        except (OSError, subprocess.SubprocessError) as error:
            failed = [f"{command} export: {error}"]
    else:
        failed = []
    for name in _EXPORTS:
        file = beads / name
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= _MAX_BYTES:
            text = file.read_text("utf-8", "replace")
            if text and not text.endswith("\n"):  # perhaps half written
                time.sleep(_PAUSE_SECONDS)
                text = file.read_text("utf-8", "replace")
            listing = read_lines(text, str(file))
            listing.read[file] = file.stat().st_mtime
            listing.skipped += failed
            return listing
    return Listing(skipped=[*failed, f"{beads}: no {_EXPORTS[0]}; run `bd export`"])


def read_lines(text: str, path: str) -> Listing:
    """Return the tasks in lines of JSON; of two lines with one id the last counts.

    Between the marks of a merge conflict, the lines of both sides are read. A byte order mark
    before the text is passed over.
    """
    listing, found = Listing(), dict[str, dict[str, Any]]()
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        if line.startswith(_CONFLICT):
            listing.skipped.append(f"{path}, line {number}: a mark of a merge conflict")
            continue
        try:
            issue = json.loads(line)
        except (ValueError, RecursionError):
            listing.skipped.append(f"{path}, line {number}: no JSON")
            continue
        kind = issue.get("_type", "issue") if isinstance(issue, dict) else "?"
        if kind != "issue" or not isinstance(issue.get("id"), str):
            listing.skipped.append(f"{path}, line {number}: {kind} is no task")
            continue
        found[issue["id"]] = issue
    open_ids = {id for id, each in found.items() if _status(each) not in (*CLOSED, _GONE)}
    listing.tasks = [
        _task(each, open_ids, path) for each in found.values() if _status(each) != _GONE
    ]
    return listing


def _task(issue: Mapping[str, Any], open_ids: set[str], path: str) -> Task:
    blockers = [
        each["depends_on_id"]
        for each in issue.get("dependencies") or ()
        if isinstance(each, dict)
        and each.get("type", "blocks") in _BLOCKING
        and each.get("depends_on_id") in open_ids
    ]
    return Task(
        "beads",
        issue["id"],
        str(issue.get("title") or issue["id"]),
        _status(issue),
        seconds_of(issue.get("updated_at")),
        seconds_of(issue.get("closed_at")),
        str(issue.get("close_reason") or ""),
        tuple(blockers),
        str(issue.get("closed_by_session") or ""),
        path,
    )


def _status(issue: Mapping[str, Any]) -> str:
    return str(issue.get("status") or "open")
