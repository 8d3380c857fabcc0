"""Where the memory file is: told, or by the environment, or of the project, or of the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

DB_VARIABLE: Final = "BETHINK_DB"
NAMESPACE_VARIABLE: Final = "BETHINK_NAMESPACE"
PROJECT_FILE: Final = (".bethink", "memory.db")


def find_file(
    given: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Path:
    """Return the absolute path of the memory file, which need not exist.

    The first that is there counts: *given*; ``BETHINK_DB``; ``.bethink/memory.db`` in *folder* (the
    working directory) if the file exists; ``memory.db`` in the user's data folder.
    """
    from pathlib import Path

    env = os.environ if environment is None else environment
    named = given or env.get(DB_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    project = (folder or Path.cwd()).joinpath(*PROJECT_FILE)
    return project.absolute() if project.is_file() else user_folder(env) / "memory.db"


def user_folder(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """Return the folder for bethink's files of this user, which need not exist."""
    from pathlib import Path

    env = os.environ if environment is None else environment
    home = home_folder(env)
    if platform == "darwin":
        return home / "Library" / "Application Support" / "bethink"
    if platform == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / "bethink"
    return Path(env.get("XDG_DATA_HOME") or home / ".local" / "share") / "bethink"


def home_folder(environment: Mapping[str, str]) -> Path:
    """Return the user's home."""
    from pathlib import Path

    return Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())


def find_namespace(
    given: str | None = None, environment: Mapping[str, str] | None = None
) -> str | None:
    """Return *given*, or ``BETHINK_NAMESPACE``, or None."""
    env = os.environ if environment is None else environment
    return given or env.get(NAMESPACE_VARIABLE) or None


def project_namespace(folder: Path) -> str:
    """Return the namespace of the project that holds *folder*: of the nearest git root."""
    from bethink import segment

    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return f"projects/{segment(root.name)}"


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Return a warning for each variable named as if for bethink, which bethink does not read."""
    env = os.environ if environment is None else environment
    known = (DB_VARIABLE, NAMESPACE_VARIABLE)
    return [
        f"the environment variable {name} has no meaning; known: {', '.join(known)}"
        for name in sorted(env)
        if name.startswith("BETHINK_") and name not in known
    ]
