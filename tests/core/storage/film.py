"""A film of the calls by which a process changes the files below a folder.

SQLite's calls are seen by a VFS around SQLite's own, in the very library that ``sqlite3`` uses.
Python's calls are seen by wrappers of functions of ``os``. The index of a log (-shm) is memory that
SQLite makes anew after a power cut, and is left out.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from typing import Any, NamedTuple, TypeAlias

import pytest


class Create(NamedTuple):
    path: str
    is_folder: bool = False


class Write(NamedTuple):
    path: str
    offset: int
    data: bytes


class Truncate(NamedTuple):
    path: str
    size: int


class Sync(NamedTuple):
    """The bytes of the file, or the names in the folder, are safe from now on."""

    path: str


class Delete(NamedTuple):
    path: str


class Rename(NamedTuple):
    path: str
    target: str


class Acknowledge(NamedTuple):
    """The step with this number, from 1, has returned."""

    step: int


Event: TypeAlias = Create | Write | Truncate | Sync | Delete | Rename | Acknowledge
"""Paths are those below the filmed folder, which is the empty path."""

_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_Delete = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_SetSystemCall = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p)
_GetSystemCall = CFUNCTYPE(c_void_p, c_void_p, c_char_p)
_OpenFolder = CFUNCTYPE(c_int, c_char_p, c_void_p)
_Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
_Sync = CFUNCTYPE(c_int, c_void_p, c_int)


class _VFS(ctypes.Structure):
    """sqlite3_vfs: the operating system as SQLite sees the system."""

    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", _Open),
        ("delete", _Delete),
        ("unchanged", c_void_p * 11),
        ("set_system_call", _SetSystemCall),
        ("get_system_call", _GetSystemCall),
        ("next_system_call", c_void_p),
    )


class _Methods(ctypes.Structure):
    """sqlite3_io_methods: what SQLite does with an open file."""

    _fields_ = (
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", _Write),
        ("truncate", _Truncate),
        ("sync", _Sync),
        ("unchanged", c_void_p * 13),
    )


def _library() -> Any:
    """Return SQLite's C functions, None where the functions are out of reach."""
    try:
        module = importlib.import_module("_sqlite3")
        library = ctypes.CDLL(getattr(module, "__file__", None))
        library.sqlite3_vfs_find.restype = POINTER(_VFS)
        library.sqlite3_vfs_register.argtypes = (POINTER(_VFS), c_int)
    except (OSError, AttributeError):
        return None
    return library


films = pytest.mark.skipif(
    not hasattr(os, "fork") or _library() is None,
    reason="needs os.fork, and a libsqlite3 whose functions can be called from outside",
)


class Film:
    """The events below *folder* from now on; the process cannot stop filming.

    Without *shared_memory* SQLite has no write-ahead log, as in folders of some file systems.
    """

    def __init__(self, folder: str | os.PathLike[str], *, shared_memory: bool = True) -> None:
        self.events: list[Event] = []
        self._shared_memory = shared_memory
        self._folder = os.path.realpath(folder)
        self._kept: list[object] = []  # what SQLite points to
        self._film_sqlite(_library())
        self._film_python()

    def acknowledge(self, step: int) -> None:
        """Note that the step with this number has returned."""
        self.events.append(Acknowledge(step))

    def _add(self, event: Callable[..., Event], path: Any, *rest: Any) -> None:
        """Add the *event* of a file or folder at *path*, unless the place is elsewhere."""
        if (name := self._name(path)) is not None:
            self.events.append(event(name, *rest))

    def _name(self, path: Any) -> str | None:
        """Return the path below the folder; None for a path elsewhere."""
        folder, name = os.path.split(os.path.abspath(os.fsdecode(path)))
        below = os.path.relpath(os.path.join(os.path.realpath(folder), name), self._folder)
        if below == os.pardir or below.startswith(os.pardir + os.sep):
            return None
        return "" if below == os.curdir else below

    def _film_sqlite(self, library: Any) -> None:
        real = library.sqlite3_vfs_find(None).contents
        place = ctypes.addressof(real)
        methods: dict[int, _Methods] = {}  # by the address of the real methods
        paths: dict[int, bytes] = {}  # by the address of the open file

        def open_file(_: int, path: int | None, file: int, flags: int, out: int) -> int:
            told = ctypes.string_at(path) if path else b""
            is_new = not os.path.exists(told)
            code: int = real.open(place, path, file, flags, out)
            if code == 0 and path and self._name(told) is not None:
                if is_new:
                    self._add(Create, told)
                paths[file] = told
                pointer = ctypes.cast(file, POINTER(c_void_p))
                if pointer[0] not in methods:
                    methods[pointer[0]] = self._filmed(_Methods.from_address(pointer[0]), paths)
                pointer[0] = ctypes.addressof(methods[pointer[0]])
            return code

        def delete(_: int, path: int, sync_folder: int) -> int:
            told = ctypes.string_at(path)
            if os.path.exists(told):
                self._add(Delete, told)  # before, for the sync of the folder comes during the call
            code: int = real.delete(place, path, sync_folder)
            return code

        open_real_folder = _OpenFolder(real.get_system_call(place, b"openDirectory"))

        def open_folder(path: bytes, out: int) -> int:
            """Open the folder of *path*, which SQLite does in order to sync the folder."""
            code: int = open_real_folder(path, out)
            if code == 0:
                self._add(Sync, os.path.dirname(path))
            return code

        vfs, opened = _VFS.from_buffer_copy(real), _OpenFolder(open_folder)
        real.set_system_call(place, b"openDirectory", ctypes.cast(opened, c_void_p))
        vfs.name, vfs.open, vfs.delete = b"film", _Open(open_file), _Delete(delete)
        assert library.sqlite3_vfs_register(ctypes.byref(vfs), 1) == 0
        self._kept += [vfs, opened]

    def _filmed(self, real: _Methods, paths: dict[int, bytes]) -> _Methods:
        """Return methods that do what the *real* methods do to the files with *paths*."""

        def write(file: int, data: int, size: int, offset: int) -> int:
            code: int = real.write(file, data, size, offset)
            self._add(Write, paths[file], offset, ctypes.string_at(data, size))
            return code

        def truncate(file: int, size: int) -> int:
            code: int = real.truncate(file, size)
            self._add(Truncate, paths[file], size)
            return code

        def sync(file: int, flags: int) -> int:
            code: int = real.sync(file, flags)
            if code == 0:
                self._add(Sync, paths[file])
            return code

        filmed = _Methods.from_buffer_copy(real)
        if not self._shared_memory:
            filmed.version = 1
        filmed.write, filmed.truncate, filmed.sync = _Write(write), _Truncate(truncate), _Sync(sync)
        return filmed

    def _film_python(self) -> None:
        """Film the names of files that Python writes, and the bytes whenever a file is synced."""
        paths: dict[int, Any] = {}  # by descriptor
        real_open, real_fsync, real_replace = os.open, os.fsync, os.replace
        real_unlink, real_mkdir, real_pwrite = os.unlink, os.mkdir, os.pwrite

        def open_file(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            is_new = not os.path.exists(path)
            descriptor = real_open(path, flags, *rest, **options)
            paths[descriptor] = path
            if is_new:
                self._add(Create, path)
            elif flags & os.O_TRUNC:
                self._add(Truncate, path, 0)
            return descriptor

        def fsync(file: Any) -> None:
            path = paths[file if isinstance(file, int) else file.fileno()]
            real_fsync(file)
            if not os.path.isdir(path):
                with open(path, "rb") as written:
                    self._add(Write, path, 0, written.read())
            self._add(Sync, path)

        def pwrite(file: int, data: bytes, offset: int) -> int:
            written = real_pwrite(file, data, offset)
            self._add(Write, paths[file], offset, data)
            return written

        def replace(path: Any, target: Any) -> None:
            real_replace(path, target)
            self._add(Rename, path, self._name(target))

        def unlink(path: Any, *rest: Any, **options: Any) -> None:
            real_unlink(path, *rest, **options)
            self._add(Delete, path)

        def mkdir(path: Any, *rest: Any, **options: Any) -> None:
            real_mkdir(path, *rest, **options)
            self._add(Create, path, True)

        for wrapper in (fsync, pwrite, replace, unlink, mkdir):
            setattr(os, wrapper.__name__, wrapper)
        setattr(os, "open", open_file)  # noqa: B010 - mypy refuses an assignment
