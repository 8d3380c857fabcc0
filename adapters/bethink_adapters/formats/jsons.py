"""JSON files of any length, value by value: a long array, or values in a row.

Memory holds a single value, of at most ``LONGEST`` characters. Broken values are reported and
passed by, as far as the beginning of the next value can be seen.
"""

from __future__ import annotations

import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, Final, TextIO, TypeAlias

from bethink import StorageError

from .base import Skipped

LONGEST: Final = 1 << 26
_BROKEN: Final = (EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)
_CHUNK: Final = 1 << 16
_NEAR: Final = 16
"""Characters before the end of the read text where an error may only mean: read more."""

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[\s,]*")
_MARKS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)

Value: TypeAlias = tuple[str, Any]
"""Where a value was found, and the value."""


def values(path: str | os.PathLike[str], member: str = "") -> Iterator[Value | Skipped]:
    """Yield the values in the file at *path*: a list's items, or values in a row.

    In a folder or a ZIP archive, read the files with names that match the pattern *member*. Bytes
    that are no UTF-8 become lone surrogates, refused by every store. A broken member is skipped; an
    unreadable file raises ``StorageError``.
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe or device may never end
            raise StorageError(os.fspath(path), "this is no regular file")
        if member and stat.S_ISDIR(mode):
            yield from _unpacked(path, re.compile(member))
        elif member and zipfile.is_zipfile(path):
            yield from _archived(path, re.compile(rf"(?:.*/)?(?:{member})"))
        else:
            with open(path, "rb") as file:
                yield from _values(file, "")
    except StorageError:
        raise
    except FileNotFoundError as error:
        raise StorageError(os.fspath(path), "there is no such file") from error
    except (OSError, *_BROKEN) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(os.fspath(path), reason) from error


def _archived(path: str | os.PathLike[str], member: re.Pattern[str]) -> Iterator[Value | Skipped]:
    with ExitStack() as stack:
        archive = stack.enter_context(zipfile.ZipFile(path))
        names = sorted(filter(member.fullmatch, archive.namelist()))
        if not names:
            raise StorageError(os.fspath(path), "there is no such export in this archive")
        for name in names:
            try:
                yield from _values(stack.enter_context(archive.open(name)), f"{name}, ")
            except _BROKEN as error:
                yield Skipped(name, f"not to be read: {error}")


def _unpacked(path: str | os.PathLike[str], member: re.Pattern[str]) -> Iterator[Value | Skipped]:
    root = Path(path)
    files = {
        file.relative_to(root).as_posix(): file
        for file in (*root.glob("*.json"), *root.glob("*/*.json"))
    }
    names = sorted(name for name in files if member.fullmatch(name) and files[name].is_file())
    if not names:
        raise StorageError(os.fspath(path), "there is no such export in this folder")
    for name in names:
        try:
            with files[name].open("rb") as file:
                yield from _values(file, f"{name}, ")
        except OSError as error:
            yield Skipped(name, f"not to be read: {error}")


def _values(file: IO[bytes], where: str) -> Iterator[Value | Skipped]:
    with TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as decoded:
        text = _Text(decoded)
        if text.peek() == "[":
            text.at += 1
            yield from _items(text, where)
        else:
            yield from _sequence(text, where)


def _items(text: _Text, where: str) -> Iterator[Value | Skipped]:
    """Yield the items of the list that *text* is in."""
    number = 1
    while (first := text.peek()) != "]":
        place = f"{where}item {number}"
        if not first:
            yield Skipped(place, "the file ends before its list does")
            return
        try:
            yield place, text.value()
        except ValueError as error:
            yield Skipped(place, str(error))
            if not text.pass_by():
                yield Skipped(place, "where it ends cannot be seen: what follows was not read")
                return
        number += 1


def _sequence(text: _Text, where: str) -> Iterator[Value | Skipped]:
    """Yield values in a row, on separate lines or not."""
    while text.peek():
        place = f"{where}line {text.line()}"
        try:
            yield place, text.value()
        except ValueError as error:
            yield Skipped(place, str(error))
            text.pass_line()


class _Text:
    """A window on a text, from *at* on, as long as the next value."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._window = ""
        self._lines = 1
        self._ended = False
        self.at = 0

    def peek(self) -> str:
        """Return the next character that is neither space nor comma, "" at the end."""
        while True:
            match = _SPACE.match(self._window, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self._window) or not self._more():
                return self._window[self.at : self.at + 1]

    def line(self) -> int:
        """Return the number of the line that is reached."""
        return self._lines + self._window.count("\n", 0, self.at)

    def value(self) -> Any:
        """Return the next value and go past the value; ``ValueError`` tells the mistake."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._window, self.at)
            except json.JSONDecodeError as error:
                if self._may_go_on(error) and self._more():
                    continue
                raise ValueError(self._wrong(error)) from None
            except RecursionError:
                raise ValueError("not JSON that can be read: nested too deeply") from None
            if end == len(self._window) and self._more():
                continue  # a number may go on
            self.at = end
            return value

    def pass_by(self) -> bool:
        """Go past a broken value by the brackets; return whether the end was found."""
        depth = 0
        while True:
            for mark in _MARKS.finditer(self._window, self.at):
                if mark.end() == len(self._window) and mark[0][0] == '"':
                    break  # a string may go on
                depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark[0], 0)
                if depth < 0 and mark[0] == "]":
                    self.at = mark.start()
                    return True
                self.at = mark.end()
                if depth <= 0:
                    return True
            else:
                self.at = len(self._window)
            if not self._more():
                return False

    def pass_line(self) -> None:
        """Go to the next line."""
        while (end := self._window.find("\n", self.at)) < 0:
            self.at = len(self._window)
            if not self._more():
                return
        self.at = end + 1

    def _wrong(self, error: json.JSONDecodeError) -> str:
        if self._ended or not self._may_go_on(error):
            return f"not JSON: {error.msg}"
        return f"longer than {LONGEST:,} characters"

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos >= len(self._window) - _NEAR

    def _more(self) -> bool:
        """Read on, as much again as is held already; tell whether there was more, and room."""
        held = len(self._window) - self.at
        if self._ended or held >= LONGEST:
            return False
        more = self._file.read(max(held, _CHUNK))
        self._ended = not more
        self._lines += self._window.count("\n", 0, self.at)
        self._window, self.at = self._window[self.at :] + more, 0
        return bool(more)
