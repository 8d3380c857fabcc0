"""Anchors: where a store's last journal position is kept outside of the store.

A copy of the file from yesterday is genuine in every byte. Only who remembers something younger can
tell that it is old.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from ..errors import StorageError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


_MAX_LINE: Final = 4096  # characters; a line has less than 250


@runtime_checkable
class Anchor(Protocol):
    """A place for one line of text that whoever can change the store's file cannot change.

    It may be a file, a keyring, another machine. Both methods may be called from many threads.
    """

    def read(self) -> str | None:
        """Return the line, None if none was ever written."""

    def write(self, line: str) -> None:
        """Keep *line*, unless the one that is kept is greater; return when it is safe."""


class FileAnchor:
    """An anchor in the file at *path*; *durable* says whether it has to survive a power cut."""

    def __init__(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        self.path = Path(os.path.expanduser(path)).absolute()
        self._durable = durable

    def read(self) -> str | None:
        """Return the line, None if none was ever written."""
        if self.path.exists() and not self.path.is_file():
            raise StorageError(str(self.path), "is no file, so no anchor")
        try:
            with self.path.open(encoding="utf-8") as file:
                return file.read(_MAX_LINE).strip() or None
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StorageError(str(self.path), f"the anchor cannot be read: {error}") from error

    def write(self, line: str) -> None:
        """Keep *line*, unless the one that is kept is greater; return when it is safe."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._alone():
                if (self.read() or "") < line:
                    self._replace(line)
        except OSError as error:
            raise StorageError(str(self.path), f"the anchor cannot be written: {error}") from error

    def _replace(self, line: str) -> None:
        part = self.path.with_name(f"{self.path.name}.part")
        with open(part, "wb", buffering=0, opener=partial(os.open, mode=0o600)) as file:
            file.write(f"{line}\n".encode())
            if self._durable:
                os.fsync(file)
        os.replace(part, self.path)
        if self._durable:
            sync(self.path.parent)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes and threads from writing."""
        if fcntl is None:  # pragma: no cover - Windows
            yield
            return
        lock = os.open(f"{self.path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)  # a child forked meanwhile has it open, too
        finally:
            os.close(lock)


def sync(path: str | os.PathLike[str]) -> None:
    """Have the file or folder at *path* survive a power cut."""
    if fcntl is None:  # pragma: no cover - Windows, where a folder cannot be synced
        return
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
