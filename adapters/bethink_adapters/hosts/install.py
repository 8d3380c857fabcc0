"""Install bethink in a host, and uninstall: one change of a file at a time, each shown first."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from . import settings
from .jsonc import JsonError
from .settings import Edit, Program
from .table import HOSTS, Host, place
from .toml import TomlError

BACKUP: Final = ".bethink-backup"
"""The end of the name of the copy that the first change of a file leaves beside the file."""


class SettingsError(Exception):
    """A settings file that cannot be changed; nothing was written. *snippet* is for hand work."""

    def __init__(self, path: Path, reason: str, snippet: str = "") -> None:
        super().__init__(f"{path}: {reason}; the file was left as it is")
        self.path = path
        self.snippet = snippet


@dataclass(frozen=True)
class Change:
    """The change of the file *path* from *before* to *after*, as bytes; None: there is no file.

    *kept*: a copy of *before* is to stay beside the file.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    kept: bool = False

    def __bool__(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        old, new = ((each or b"").decode("utf-8", "replace") for each in (self.before, self.after))
        lines = difflib.unified_diff(
            old.splitlines(keepends=True),
            new.splitlines(keepends=True),
            str(self.path),
            str(self.path),
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def apply(self) -> None:
        """Write the file: a link stays a link, and the copy goes once the file is as before."""
        self._write()
        if self.after in (None, _read(_backup(self.path))):
            _backup(self.path).unlink(missing_ok=True)

    def _write(self) -> None:
        target = Path(os.path.realpath(self.path))
        if self.after is None:
            target.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _backup(self.path)
        if self.kept and not backup.exists():
            shutil.copy2(target, backup)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(self.after)
                os.fsync(file.fileno())
            if self.before is not None:
                shutil.copymode(target, name)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@dataclass(frozen=True)
class Place:
    """Where to install: the user's settings, or those of the *project*."""

    environment: Mapping[str, str]
    project: Path | None = None

    def server(self, host: Host) -> Path | None:
        """Return the file of *host*'s servers, None if the host has no settings of projects."""
        return self._file(host.user, host.project)

    def hooks(self, host: Host) -> Path | None:
        """Return the file of *host*'s hooks, None without hooks."""
        return self._file(host.hooks.user, host.hooks.project) if host.hooks else None

    def found(self) -> list[Host]:
        """Return the hosts that are on this machine."""
        return [host for host in HOSTS.values() if place(host.folder, self.environment).is_dir()]

    def _file(self, user: str, project: str | None) -> Path | None:
        if self.project is None:
            return place(user, self.environment)
        return None if project is None else self.project / project


def install(
    host: Host, program: Program, where: Place, *, server: bool = True, hooks: bool = True
) -> Iterator[Change]:
    """Yield the changes that install *program* in *host*; an empty change is true to the file.

    Raise ``SettingsError`` if a file cannot be read as settings.
    """
    dropping = _drops(host, where)
    for path, edits in _edits(host, program, where, server=server, hooks=hooks).items():
        change = _change(path, edits, settings.snippet(host, program))
        first = (
            change.before is not None and _edited(change.before, dropping[path]) == change.before
        )
        yield replace(change, kept=first)


def uninstall(host: Host, program: Program, where: Place) -> Iterator[Change]:
    """Yield the changes that take bethink out of *host*.

    A file that only the installation has changed gets the bytes of before.
    """
    added = _edits(host, program, where, server=True, hooks=True)
    for path, edits in _drops(host, where).items():
        change = _change(path, edits)
        if change.before is None or not change:
            continue
        original = _read(_backup(path))
        if _edited(original, added.get(path, [])) == change.before:
            yield Change(path, change.before, original)
        elif original is None and settings.is_empty(change.after or b""):
            yield Change(path, change.before, None)
        else:
            yield change


def _edits(
    host: Host, program: Program, where: Place, *, server: bool, hooks: bool
) -> dict[Path, list[Edit]]:
    edits: dict[Path, list[Edit]] = {}
    if server and (file := where.server(host)) is not None:
        edits.setdefault(file, []).append(settings.add_server(host, program))
    if hooks and host.hooks is not None and (file := where.hooks(host)) is not None:
        edits.setdefault(file, []).append(settings.add_hooks(host, host.hooks, program))
    return edits


def _drops(host: Host, where: Place) -> dict[Path, list[Edit]]:
    edits: dict[Path, list[Edit]] = {}
    if (file := where.server(host)) is not None:
        edits.setdefault(file, []).append(settings.drop_server(host))
    if host.hooks is not None and (file := where.hooks(host)) is not None:
        edits.setdefault(file, []).append(settings.drop_hooks(host, host.hooks))
    return edits


def _change(path: Path, edits: list[Edit], snippet: str = "") -> Change:
    try:
        before = _read(path)
        change = Change(path, before, _edited(before, edits))
    except (JsonError, TomlError, UnicodeDecodeError) as error:
        raise SettingsError(path, str(error), snippet) from None
    except OSError as error:
        raise SettingsError(path, error.strerror or str(error), snippet) from None
    if change and before is not None and not path.stat().st_mode & 0o222:
        raise SettingsError(path, "is read-only", snippet)
    return change


def _edited(before: bytes | None, edits: list[Edit]) -> bytes | None:
    text = (before or b"").decode("utf-8")
    for edit in edits:
        text = edit(text)
    return text.encode("utf-8") if text or before is not None else None


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)
