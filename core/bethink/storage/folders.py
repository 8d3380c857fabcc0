"""Names of files and folders that survive a power cut.

A synced file keeps the bytes, and may still lose the name: the name is safe once the folder is
synced, and the folder's own name once the folder above is.
"""

from __future__ import annotations

import os
from pathlib import Path

Location = str | os.PathLike[str]


def make_folder(path: Location) -> None:
    """Make the folder at *path*, and the missing folders above."""
    folder = Path(path)
    missing = [each for each in (folder, *folder.parents) if not os.path.exists(each)]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync_folder(made.parent)


def replace_file(part: Location, target: Location) -> None:
    """Give the synced file at *part* the name *target*, of a file in the same folder."""
    os.replace(part, target)
    sync_folder(os.path.dirname(target) or os.curdir)


def sync_folder(path: Location) -> None:
    """Have the names in the folder at *path*, new, changed or gone, survive a power cut.

    A folder without permission to read cannot be synced; SQLite goes on then, too.
    """
    try:
        sync(path)
    except PermissionError:
        return


def sync(path: Location) -> None:
    """Have the data of the file or folder at *path* survive a power cut."""
    if os.name == "nt":  # pragma: no cover - Windows, where a folder cannot be synced
        return
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
