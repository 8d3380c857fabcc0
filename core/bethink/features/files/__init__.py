"""The files face: virtual text files in a store, to be viewed and edited by path.

A file is a record: its key is the path, its content the text, so ``recall`` finds it. An edit
changes that record, a rename its key, and deleting forgets it; the journal keeps every version.
What is written or appended is cut into pieces of some lines, each a record of its own: so a file
may be of any length, an append costs what it adds, and ``recall`` finds the very lines.
Folders are where files are: they come with the first file below them and go with the last.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...errors import (
    IsAFolderError,
    LineRangeError,
    NotFoundError,
    OccurrenceError,
    PathTakenError,
    ValidationError,
)
from ...memory.history import When
from ...memory.memories import check_store
from ...model import fields
from ...model.namespaces import check_namespace
from ...model.records import MemoryRecord
from . import chunked_text, chunks
from .chunks import is_chunked, path_of, records_by_key, refuse_gaps, start_byte
from .paths import ROOT, above, normalise_path

if TYPE_CHECKING:
    from ...store import MemoryStore

__all__ = [
    "ROOT",
    "FileEntry",
    "Files",
    "is_chunked",
    "normalise_path",
    "numbered",
    "path_of",
    "records_by_key",
    "refuse_gaps",
    "start_byte",
]

CONTEXT_LINES: Final = 2
"""How many lines before and after a change an edit shows."""

_NUMBER_WIDTH: Final = 6


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or folder and its size in bytes of UTF-8; a folder has the size of all below it."""

    path: str
    size: int
    is_folder: bool = False


class Files:
    """The files in the *namespace* of a *store*; making one reads and writes nothing.

    Every change is atomic and durable, between threads and processes too: nobody's edit is lost. A
    path is normalised first (see ``paths``); a bad one raises ``ValidationError``, one where
    nothing is ``NotFoundError``. A text that is given to ``create`` and the edits has at most
    ``fields.MAX_CONTENT`` characters.

    A verb of the store that would take a piece out of the midst of a file, or change its length, is
    refused with ``ValidationError``; erasing one is not. A file that lacks a piece since raises
    ``HoleError`` instead of being read as another, and can be deleted.

    What was changed or deleted can be read ``as_of`` a moment before, and written again.
    ``store.audit(path, namespace=files.namespace)`` tells when a file said what; of one in pieces
    that is the first piece (see ``verbs.runs`` for the keys of the others).
    """

    def __init__(self, store: MemoryStore, namespace: str = "files") -> None:
        self.store = check_store(store)
        self.namespace = check_namespace(namespace)
        self._engine = store._engine

    def as_of(self, when: When) -> Files:
        """Return the files as they were at a moment, as in ``MemoryStore.as_of``, to be read."""
        past = Files(self.store, self.namespace)
        past._engine = self.store._engine_at(when)
        return past

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return "".join(map(chunks.chunk_text, self._parts(normalise_path(path))))

    def read_range(self, path: str, start: int, end: int | None = None) -> str:
        """Return what stands from byte *start* to before byte *end* (None: the end of the file).

        Bytes are those of UTF-8; what is beyond the end is left out. A range that begins or ends
        within a character raises ``UnicodeDecodeError``.
        """
        first = fields.integer("start", start, 0)
        last = None if end is None else fields.integer("end", end, 0)
        data = b""
        for part in self._parts(normalise_path(path), first, last):
            begin = chunks.start_byte(part)
            until = None if last is None else last - begin
            data += chunks.chunk_text(part).encode()[max(0, first - begin) : until]
        return data.decode()

    def view(self, path: str, lines: tuple[int, int | None] | None = None) -> str:
        """Return the text of a file with line numbers; *lines* are as in ``numbered``."""
        return numbered(self.read(path), lines)

    def exists(self, path: str) -> bool:
        """Tell whether a file or folder is there; the root always is."""
        name = normalise_path(path)
        if name == ROOT or chunked_text.exists_or_remains(self._engine, self.namespace, name):
            return True
        return self._is_folder(name)

    def list(self, path: str = ROOT, *, depth: int | None = 1) -> tuple[FileEntry, ...]:
        """Return what is in a folder, sorted, down to *depth* levels (None: all).

        A folder stands before what is in it.
        """
        folder = normalise_path(path)
        levels = None if depth is None else fields.integer("depth", depth, 1)
        sizes = chunked_text.sizes(self._engine, self.namespace, folder)
        if not sizes and folder != ROOT:
            raise NotFoundError("folder", folder)
        return _list_entries(folder.removesuffix("/"), sizes, levels)

    def create(self, path: str, text: str) -> MemoryRecord:
        """Make a new file, and the folders it is in; return its record.

        *text* may be empty. Where a file or folder is already, or a file in the place of one of the
        folders, it raises ``PathTakenError``.
        """
        name = _file_name(path)
        content = fields.text("text", text, fields.MAX_CONTENT)

        def change(known: Sequence[str]) -> Sequence[str]:
            if known:
                raise PathTakenError(name, "file")
            return [content]

        return self._rewrite(name, change)

    def write(self, path: str, text: str) -> MemoryRecord:
        """Have a file say *text*, of any length; make it, and its folders, if it is not there.

        Return its first record. Only records from the first change on are written: text that the
        file begins with stays.
        """
        whole = fields.text("text", text, sys.maxsize)
        return self._rewrite(_file_name(path), lambda known: chunked_text.rechunk(known, whole))

    def append(self, path: str, text: str) -> int:
        """Add *text*, of any length, to the end of a file; return the byte where it begins.

        The file, and its folders, are made if they are not there. It costs what is added, however
        long the file is.
        """
        name, added = _file_name(path), fields.text("text", text, sys.maxsize)
        return chunked_text.append(self._engine, self.namespace, name, added)

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace *old*, which must occur exactly once; return the numbered lines around it.

        Otherwise ``OccurrenceError`` tells on which lines *old* begins.
        """
        name = _file_name(path)
        if not fields.text("old", old, fields.MAX_CONTENT):
            raise ValidationError("old must not be empty")
        fields.text("new", new, fields.MAX_CONTENT)

        def replaced(text: str) -> tuple[str, int, int]:
            places = _find_occurrences(text, old)
            if len(places) != 1:
                raise OccurrenceError(name, old, _line_numbers(text, places))
            start = places[0]
            made = text[:start] + new + text[start + len(old) :]
            first = text.count("\n", 0, start) + 1
            return made, first, first + new.count("\n")

        return self._edit(name, replaced)

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert *text* as whole lines after *line* (0: before the first); return those around it.

        Every line of the file then ends with a newline. A line the file does not have raises
        ``LineRangeError``.
        """
        name = _file_name(path)
        _check_int("line", line)
        added = fields.text("text", text, fields.MAX_CONTENT).removesuffix("\n")

        def inserted(before: str) -> tuple[str, int, int]:
            lines = before.removesuffix("\n").split("\n") if before else []
            if not 0 <= line <= len(lines):
                raise LineRangeError(line, 0, len(lines))
            made = "".join(f"{each}\n" for each in [*lines[:line], added, *lines[line:]])
            return made, line + 1, line + 1 + added.count("\n")

        return self._edit(name, inserted)

    def delete(self, path: str) -> int:
        """Forget a file, or a folder with all below it; return how many files those were."""
        name = _checked_path(path)
        if deleted := chunked_text.forget(self._engine, self.namespace, name):
            return deleted
        raise NotFoundError("file or folder", name)

    def rename(self, old: str, new: str) -> int:
        """Move a file, or a folder with all below it; return how many files those were.

        The records stay, with their ids. *new* must be free, as in ``create``.
        """
        source, target = _checked_path(old), _checked_path(new)
        if target.startswith(f"{source}/"):
            raise ValidationError(f"{source!r} cannot be moved into itself, to {target!r}")
        if moved := chunked_text.rename(self._engine, self.namespace, source, target):
            return moved
        raise NotFoundError("file or folder", source)

    def _parts(self, name: str, start: int = 0, end: int | None = None) -> Sequence[MemoryRecord]:
        found = chunked_text.read(self._engine, self.namespace, name, start, end)
        if not found:
            raise self._missing(name)
        return found

    def _missing(self, name: str) -> Exception:
        """Return the error that says why there is no file called *name*."""
        if name == ROOT or self._is_folder(name):
            return IsAFolderError(name)
        return NotFoundError("file", name)

    def _edit(self, name: str, made: Callable[[str], tuple[str, int, int]]) -> str:
        """Give a file the text *made* of it; return the lines around those it says it changed."""
        shown = ""

        def change(known: Sequence[str]) -> Sequence[str]:
            nonlocal shown
            if not known:
                raise self._missing(name)
            text, first, last = made("".join(known))
            shown = numbered(text, (max(1, first - CONTEXT_LINES), last + CONTEXT_LINES))
            return [text] if len(known) == 1 else chunked_text.rechunk(known, text)

        self._rewrite(name, change)
        return shown

    def _rewrite(self, name: str, change: Callable[[Sequence[str]], Sequence[str]]) -> MemoryRecord:
        return chunked_text.rewrite(self._engine, self.namespace, name, change)

    def _is_folder(self, name: str) -> bool:
        return chunked_text.is_folder(self._engine, self.namespace, name)


def numbered(text: str, lines: tuple[int, int | None] | None = None) -> str:
    r"""Return *text* with the number of each line before it: six wide, then a tab.

    *lines*, first and last, choose a part; None or -1 is the end, and what is beyond it is left
    out. Only ``\n`` ends a line, and one at the end of the text shows as an empty last line. A
    first line that is not there raises ``LineRangeError``.
    """
    every = text.split("\n")
    first, last = _line_range(lines, len(every))
    chosen = every[first - 1 : last]
    return "\n".join(
        f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(chosen, first)
    )


def _line_range(lines: tuple[int, int | None] | None, count: int) -> tuple[int, int]:
    """Return the first and last line that *lines* choose of *count*."""
    if lines is None:
        return 1, count
    if not isinstance(lines, tuple | list) or len(lines) != 2:
        raise ValidationError("lines must be a pair: the first and the last line")
    first = _check_int("the first line", lines[0])
    last = count if lines[1] in (None, -1) else _check_int("the last line", lines[1])
    if not 1 <= first <= count:
        raise LineRangeError(first, 1, count)
    if last < first:
        raise LineRangeError(last, first, count)
    return first, min(last, count)


def _check_int(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(f"{name} must be an int, not {type(value).__name__}")
    return value


def _file_name(path: str) -> str:
    """Return *path* normalised if it can name a file."""
    name = _checked_path(path)
    if path.endswith("/"):
        raise ValidationError(f"path {path!r} names a folder: it ends with '/'")
    return name


def _checked_path(path: str) -> str:
    """Return *path* normalised if it is not the root."""
    name = normalise_path(path)
    if name == ROOT:
        raise ValidationError("the root folder can be neither a file nor moved or deleted")
    return name


def _find_occurrences(text: str, old: str) -> list[int]:
    """Return where *old* begins in *text*, without overlaps unless a second place is one."""
    places, start = [], text.find(old)
    while start >= 0:
        places.append(start)
        start = text.find(old, start + len(old))
    if len(places) == 1 and (other := text.find(old, places[0] + 1)) >= 0:
        places.append(other)
    return places


def _line_numbers(text: str, places: list[int]) -> tuple[int, ...]:
    lines, line, seen = [], 1, 0
    for place in places:
        line, seen = line + text.count("\n", seen, place), place
        lines.append(line)
    return tuple(lines)


def _list_entries(folder: str, sizes: dict[str, int], levels: int | None) -> tuple[FileEntry, ...]:
    """Return the files of *sizes* and the folders they are in, as seen from *folder*."""
    depth = folder.count("/")
    folders: dict[str, int] = {}
    for path, size in sizes.items():
        for each in above(path)[depth:]:
            folders[each] = folders.get(each, 0) + size
    found = [FileEntry(path, size) for path, size in sizes.items()]
    found += [FileEntry(path, size, is_folder=True) for path, size in folders.items()]
    near = [each for each in found if levels is None or each.path.count("/") <= depth + levels]
    return tuple(sorted(near, key=lambda each: (each.path.split("/"), each.is_folder)))
