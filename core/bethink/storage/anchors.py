"""Anchors: places outside of the store for the last journal position.

A copy of the file from yesterday is genuine in every byte. Only a younger position reveals the age.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from ..errors import StorageError
from .folders import make_folder, sync_folder

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


_MAX_LINE: Final = 4096  # characters; a line has less than 250


@runtime_checkable
class Anchor(Protocol):
    """A place for a line of text, out of reach of attackers who can change the store's file.

    Examples are a file, a keyring, a second machine. Many threads may call the methods.
    """

    def read(self) -> str | None:
        """Return the line, None before the first write."""

    def write(self, line: str) -> None:
        """Store *line*, unless a greater line is stored; return once durable."""


class FileAnchor:
    """An anchor in the file at *path*; *durable* syncs every write against power cuts."""

    def __init__(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        self.path = Path(os.path.expanduser(path)).absolute()
        self._durable = durable

    def read(self) -> str | None:
        """Return the line, None before the first write."""
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise StorageError(str(self.path), "is no file, so no anchor")
        try:
            with self.path.open(encoding="utf-8") as file:
                return file.read(_MAX_LINE).strip() or None
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StorageError(str(self.path), f"the anchor cannot be read: {error}") from error

    def write(self, line: str) -> None:
        """Store *line*, unless a greater line is stored; return once durable."""
        try:
            make_folder(self.path.parent)
            with self._exclusive():
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
            sync_folder(self.path.parent)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Lock out all other writers."""
        if fcntl is None:  # pragma: no cover - Windows
            yield
            return
        lock = os.open(f"{self.path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)  # a forked child may hold the file open
        finally:
            os.close(lock)
