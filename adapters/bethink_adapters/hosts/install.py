"""Install bethink in a host, and uninstall: one change of a file at a time, each shown first."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..surface.location import home_folder
from . import settings
from .jsonc import JsonError
from .settings import HooksPart, Program, ServerPart
from .table import HOSTS, Host, place
from .toml import TomlError

BACKUP: Final = ".bethink-backup"
"""The end of the name of the copy that the first change of a file leaves beside the file."""

_Part = ServerPart | HooksPart


class SettingsError(Exception):
    """A settings file that cannot be changed; nothing was written. *snippet* is for hand work."""

    def __init__(self, path: Path, reason: str, snippet: str = "") -> None:
        super().__init__(f"{path}: {reason}; the file was left as it is")
        self.path = path
        self.snippet = snippet


@dataclass(frozen=True)
class Change:
    """The change of the file *path* from *before* to *after*, as bytes; None: there is no file.

    *kept*: a copy of *before* is to stay beside the file; False: no copy is; None: the copy of an
    earlier change. Folders below *top* go with the file, if empty.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    kept: bool | None = None
    top: Path | None = None

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
        """Write or remove the file, and the copy; a link stays a link."""
        target = Path(os.path.realpath(self.path))
        if self.kept:
            shutil.copy2(target, _backup(self.path))
        if self.after is None:
            target.unlink()
        else:
            self._write(target, self.after)
        if self.kept is False:
            _backup(self.path).unlink(missing_ok=True)
        if self.after is None:
            self._remove_folders()

    def _remove_folders(self) -> None:
        for folder in self.path.parents:
            if self.top not in folder.parents:
                return
            try:
                folder.rmdir()
            except OSError:  # has content, or is a link
                return

    def _write(self, target: Path, content: bytes) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(content)
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
        return self._file(f"~/{host.hooks.path}", host.hooks.path) if host.hooks else None

    def found(self) -> list[Host]:
        """Return the hosts that are on this machine."""
        return [host for host in HOSTS.values() if place(host.folder, self.environment).is_dir()]

    def top(self, file: Path, host: Host) -> Path:
        """Return the folder above *file* that is no part of *host*: the project, the home."""
        tops = [home_folder(self.environment), place("$config", self.environment)]
        tops = [self.project] if self.project else tops
        moved = place(host.folder, self.environment).parent
        return next((each for each in tops if each in file.parents), moved)

    def _file(self, user: str, project: str | None) -> Path | None:
        if self.project is None:
            return place(user, self.environment)
        return None if project is None else self.project / project


def install(host: Host, program: Program, where: Place, *, hooks: bool = True) -> Iterator[Change]:
    """Yield the changes that install *program* in *host*; an empty change is true to the file.

    Raise ``SettingsError`` if a file cannot be read as settings.
    """
    snippet = settings.snippet(host, program)
    for path, parts in _parts(host, where).items():
        chosen = [each for each in parts if hooks or isinstance(each, ServerPart)]
        if not chosen:
            continue
        with _told(path, snippet):
            before, copy = _read(path), _read(_backup(path))
            text = after = _text(before)
            for part in chosen:
                after = part.put(after, program)
            installed = _installed(parts, text, copy)
            if after != text:
                _refuse_read_only(path, snippet)
        yield Change(path, before, after.encode(), None if installed else before is not None)


def uninstall(host: Host, where: Place) -> Iterator[Change]:
    """Yield the changes that take bethink out of *host*, and bring back what the copies hold.

    Raise ``SettingsError`` if a file cannot be read as settings.
    """
    for path, parts in _parts(host, where).items():
        with _told(path):
            before, copy = _read(path), _read(_backup(path))
            text = after = _text(before)
            for part in _installed(parts, text, copy):
                after = part.restore(after, _text(copy))
            if after != text:
                _refuse_read_only(path)
        if after != text:
            gone = not after and copy is None
            top = where.top(path, host)
            yield Change(path, before, None if gone else after.encode(), False, top)


def is_installed(host: Host, where: Place) -> bool:
    """Return whether the settings of *host* name bethink, by ``install`` or by hand.

    Raise ``SettingsError`` if a file cannot be read as settings.
    """
    for path, parts in _parts(host, where).items():
        with _told(path):
            text = _text(_read(path))
            if any(part.holds(text) for part in parts):
                return True
    return False


def _parts(host: Host, where: Place) -> dict[Path, list[_Part]]:
    """Return what bethink has in each file of *host*."""
    parts: dict[Path, list[_Part]] = {}
    if (file := where.server(host)) is not None:
        parts.setdefault(file, []).append(ServerPart(host))
    if host.hooks is not None and (file := where.hooks(host)) is not None:
        parts.setdefault(file, []).append(HooksPart(host, host.hooks))
    return parts


def _installed(parts: Iterable[_Part], text: str, copy: bytes | None) -> list[_Part]:
    """Return the *parts* of *text* that are bethink's own, not written by hand.

    Beside a *copy* of the first state, every part is.
    """
    return [each for each in parts if each.made(text) or (copy is not None and each.holds(text))]


@contextmanager
def _told(path: Path, snippet: str = "") -> Iterator[None]:
    """Raise ``SettingsError`` for a fault of the file *path*."""
    try:
        yield
    except (JsonError, TomlError, UnicodeDecodeError) as error:
        raise SettingsError(path, str(error), snippet) from None
    except OSError as error:
        raise SettingsError(path, error.strerror or str(error), snippet) from None


def _refuse_read_only(path: Path, snippet: str = "") -> None:
    if path.exists() and not path.stat().st_mode & 0o222:
        raise SettingsError(path, "is read-only", snippet)
    # A new file takes the place of the old one, so the folder counts, too.
    folder = next(each for each in Path(os.path.realpath(path)).parents if each.exists())
    if not os.access(folder, os.W_OK):
        raise SettingsError(path, f"{folder} cannot be written", snippet)


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)
