"""Where the memory is: told, or by the environment, or of the project, or of the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from pathlib import Path

    from bethink import MemoryStore

DB_VARIABLE: Final = "BETHINK_DB"
NAMESPACE_VARIABLE: Final = "BETHINK_NAMESPACE"
_IN_MEMORY: Final = ":memory:"
PROJECT_FILE: Final = (".bethink", "memory.db")


class Location:
    """The place of a memory: the path of a file, or the URL of a database."""

    def __init__(self, given: str | os.PathLike[str]) -> None:
        self._given = os.fspath(given)
        self._path: str | None = None
        if "://" not in self._given or self._given.startswith("sqlite:///"):
            self._path = self._given.removeprefix("sqlite:///")

    def __fspath__(self) -> str:
        return self._given

    def __str__(self) -> str:
        """Return path or URL for people to read, without a password."""
        if self._path is not None:
            return self._given
        from bethink.adapting import without_password

        return without_password(self._given)

    def exists(self) -> bool:
        """Return whether there is a store: a file, or tables in a database."""
        if self._path is not None:  # nothing is loaded for a look at a file
            return self._path == _IN_MEMORY or os.path.exists(self._path)
        from bethink.adapting import database_exists

        return database_exists(self._given)

    def open(self) -> MemoryStore:
        """Open the store, in a new file and folder where there is no file.

        A file with vectors of an embedder that is not bethink's own opens, too, and embeds no text.
        """
        from functools import partial
        from pathlib import Path

        from bethink import CallableEmbedder, EmbedderMismatchError, MemoryStore

        if self._path is not None:
            Path(self._path).parent.mkdir(parents=True, exist_ok=True)
        try:
            return MemoryStore(self._given)
        except EmbedderMismatchError as error:
            refuse = partial(_refuse, error.stored)
            return MemoryStore(self._given, embedder=CallableEmbedder(refuse, name=error.stored))


def _refuse(name: str, texts: Sequence[str]) -> NoReturn:
    """Embed no text: only the program that made the file has the embedder called *name*."""
    from bethink import EmbedderError

    reason = "only the program that made the file has the embedder; a search in keyword mode works"
    raise EmbedderError(name, reason)


def find_location(given: str | None = None) -> Location:
    """Return the location of the memory; a file has an absolute path and need not exist.

    The first that is there counts: *given*; ``BETHINK_DB``; ``.bethink/memory.db`` in the working
    directory if the file exists; ``memory.db`` in the user's data folder.
    """
    from pathlib import Path

    if named := given or os.environ.get(DB_VARIABLE):
        return to_location(named, absolute=True)
    project = Path.cwd().joinpath(*PROJECT_FILE)
    return Location(project if project.is_file() else user_folder() / "memory.db")


def to_location(named: str, *, absolute: bool = False) -> Location:
    """Return the location *named* by a user: a URL, ":memory:", or a path with "~" for home."""
    from pathlib import Path

    if "://" in named or named == _IN_MEMORY:
        return Location(named)
    path = Path(named).expanduser()
    return Location(path.absolute() if absolute else path)


def user_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder for bethink's files of this user, which need not exist."""
    from pathlib import Path

    env = os.environ if environment is None else environment
    home = home_folder(env)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "bethink"
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / "bethink"
    return Path(env.get("XDG_DATA_HOME") or home / ".local" / "share") / "bethink"


def home_folder(environment: Mapping[str, str]) -> Path:
    """Return the user's home."""
    from pathlib import Path

    return Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())


def home_namespace(location: str | os.PathLike[str]) -> str:
    """Return the namespace where none is named: the tenant of a database's URL, or "default"."""
    return tenant_at(location) or "default"


def own_namespace(name: str, location: str | os.PathLike[str]) -> str:
    """Return the namespace *name* of the store at *location*: below the tenant, if any."""
    tenant = tenant_at(location)
    return f"{tenant}/{name}" if tenant else name


def tenant_at(location: str | os.PathLike[str]) -> str | None:
    """Return the tenant in the URL of a database."""
    if "://" not in os.fspath(location):  # nothing is loaded for a look at a path
        return None
    from bethink.adapting import tenant_of

    return tenant_of(location)


def project_namespace(folder: Path, location: str | os.PathLike[str]) -> str:
    """Return the namespace of the project that holds *folder*: of the nearest git root.

    The namespace lies below the tenant of the store at *location*, if any.
    """
    from bethink import segment

    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return own_namespace(f"projects/{segment(root.name)}", location)


def unknown_variables() -> list[str]:
    """Return a warning for each variable named as if for bethink, which bethink does not read."""
    known = (DB_VARIABLE, NAMESPACE_VARIABLE)
    return [
        f"the environment variable {name} has no meaning; known: {', '.join(known)}"
        for name in sorted(os.environ)
        if name.startswith("BETHINK_") and name not in known
    ]
