"""Virtual text files in a store, viewed and edited by path.

A file is a record with the path as key and the text as content, so ``recall`` finds the file. An
edit changes the record, a rename changes the key, and deleting forgets the record; the journal
keeps every version. Written and appended text is cut into chunks of some lines, each a separate
record: a file has any length, an append costs as much as the added text, and ``recall`` finds the
very lines. A folder exists as long as a file lies below.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from ...calls import suggesting
from ...errors import (
    IsAFolderError,
    LineRangeError,
    NotFoundError,
    OccurrenceError,
    PathTakenError,
    ValidationError,
)
from ...memory.memories import check_store
from ...model import fields
from ...model.namespaces import check_namespace
from ...model.records import MemoryRecord, When
from ...model.values import Value
from .chunked_text import ChunkedTexts, rechunk
from .chunks import IN_FILES as IN_FILES
from .chunks import MAX_PATH_CHARACTERS as MAX_PATH_CHARACTERS
from .chunks import chunk_text
from .chunks import is_chunked as is_chunked
from .chunks import path_of as path_of
from .chunks import records_by_key as records_by_key
from .chunks import refuse_gaps as refuse_gaps
from .chunks import start_byte as start_byte
from .paths import ROOT as ROOT
from .paths import above
from .paths import normalise_path as normalise_path

if TYPE_CHECKING:
    from ...store import MemoryStore


CONTEXT_LINES: Final = 2
"""The number of unchanged lines shown before and after an edit."""

_NUMBER_WIDTH: Final = 6  # characters


@dataclass(frozen=True, slots=True)
class FileEntry(Value):
    """A file or folder with the size in bytes of UTF-8; a folder's size is the sum of all files."""

    path: str
    size: int
    is_folder: bool = False


@suggesting
class Files:
    """The files in the *namespace* of a *store*; the constructor reads and writes nothing.

    Every change is atomic and durable, among threads and processes too: no edit is lost. Every path
    is normalised first: "plan.md" is "/plan.md". A bad path raises ``ValidationError``, a missing
    file or folder ``NotFoundError``. A text for ``create`` and the edits has at most 524,288
    characters.

    A verb of the store that would remove a chunk from the middle of a file, or change a chunk's
    length, raises ``ValidationError``; only ``erase`` is allowed. A file without an erased chunk
    raises ``HoleError`` on reading, and can be deleted.

    A changed or deleted file can be read ``as_of`` an earlier moment, and written again. ``undo``
    of any journal entry of a change takes the whole change back, in every chunk and every file.
    ``store.audit(path, namespace=files.namespace)`` returns the versions of a file, and of a file
    in several chunks the versions of the first chunk.
    """

    def __init__(self, store: MemoryStore, namespace: str = "files") -> None:
        self.store = check_store(store)
        self.namespace = check_namespace(namespace)
        self._texts = ChunkedTexts(store._engine, self.namespace)

    def as_of(self, when: When) -> Files:
        """Return the files of a moment, as in ``MemoryStore.as_of``, for reading only."""
        past = Files(self.store, self.namespace)
        past._texts = ChunkedTexts(self.store._engine_at(when), self.namespace)
        return past

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return "".join(map(chunk_text, self._chunks(normalise_path(path))))

    def read_range(self, path: str, start: int, end: int | None = None) -> str:
        """Return the text from byte *start* to before byte *end* (None: the end of the file).

        Bytes count in UTF-8; a range may reach beyond the end. A range that begins or ends inside a
        character raises ``UnicodeDecodeError``.
        """
        first = fields.integer("start", start, 0)
        last = None if end is None else fields.integer("end", end, 0)
        data = b""
        for chunk in self._chunks(normalise_path(path), first, last):
            begin = start_byte(chunk)
            until = None if last is None else last - begin
            data += chunk_text(chunk).encode()[max(0, first - begin) : until]
        return data.decode()

    def view(self, path: str, lines: tuple[int, int | None] | None = None) -> str:
        """Return the text of a file with line numbers; *lines* as in ``numbered``."""
        return numbered(self.read(path), lines)

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists; the root always exists."""
        name = normalise_path(path)
        return name == ROOT or self._texts.exists_or_remains(name) or self._texts.is_folder(name)

    def list(self, path: str = ROOT, *, depth: int | None = 1) -> tuple[FileEntry, ...]:
        """Return the files and folders in a folder, sorted, down to *depth* levels (None: all).

        A folder stands before the files inside.
        """
        folder = normalise_path(path)
        levels = None if depth is None else fields.integer("depth", depth, 1)
        sizes = self._texts.sizes(folder)
        if not sizes and folder != ROOT:
            raise NotFoundError("folder", folder)
        return _list_entries(folder.removesuffix("/"), sizes, levels)

    def create(self, path: str, text: str) -> MemoryRecord:
        """Make a new file, and the folders above; return the record.

        *text* may be empty. A *path* where a file or folder exists, or below a file, raises
        ``PathTakenError``.
        """
        name = _file_name(path)
        content = fields.text("text", text, fields.MAX_CONTENT)

        def change(known: Sequence[str]) -> Sequence[str]:
            if known:
                raise PathTakenError(name, "file")
            return [content]

        return self._texts.rewrite(name, change)

    def write(self, path: str, text: str) -> MemoryRecord:
        """Replace the text of a file by *text*, of any length; make a missing file and folders.

        Return the first record. Only records from the first difference on are written.
        """
        whole = fields.text("text", text, sys.maxsize)
        return self._texts.rewrite(_file_name(path), lambda known: rechunk(known, whole))

    def append(self, path: str, text: str) -> int:
        """Add *text*, of any length, to the end of a file; return the byte where *text* begins.

        A missing file is made, with the folders. The cost grows with *text*, not with the file.
        """
        name, added = _file_name(path), fields.text("text", text, sys.maxsize)
        return self._texts.append(name, added)

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace *old*, which must occur exactly once; return the numbered lines around *new*.

        Otherwise ``OccurrenceError`` lists the lines where *old* begins.
        """
        name = _file_name(path)
        if not fields.text("old", old, fields.MAX_CONTENT):
            raise ValidationError("old must not be empty")
        fields.text("new", new, fields.MAX_CONTENT)

        def replace_once(text: str) -> tuple[str, int, int]:
            starts = _find_occurrences(text, old)
            breaks = (text.count("\n", *span) for span in pairwise([0, *starts]))
            lines = tuple(1 + count for count in accumulate(breaks))
            if len(starts) != 1:
                raise OccurrenceError(name, old, lines)
            replaced = text[: starts[0]] + new + text[starts[0] + len(old) :]
            return replaced, lines[0], lines[0] + new.count("\n")

        return self._edit(name, replace_once)

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert *text* as whole lines after *line* (0: before the first line).

        Return the numbered lines around *text*. Every line of the file then ends with a newline. A
        *line* beyond the end raises ``LineRangeError``.
        """
        name = _file_name(path)
        line = _check_int("line", line)
        added = fields.text("text", text, fields.MAX_CONTENT).removesuffix("\n")

        def insert_lines(before: str) -> tuple[str, int, int]:
            lines = before.removesuffix("\n").split("\n") if before else []
            if not 0 <= line <= len(lines):
                raise LineRangeError(line, 0, len(lines))
            lines[line:line] = [added]
            return "\n".join([*lines, ""]), line + 1, line + 1 + added.count("\n")

        return self._edit(name, insert_lines)

    def delete(self, path: str) -> int:
        """Forget a file, or a folder with all files below; return the number of files."""
        name = _checked_path(path)
        if deleted := self._texts.forget(name):
            return deleted
        raise NotFoundError("file or folder", name)

    def rename(self, old: str, new: str) -> int:
        """Move a file, or a folder with all files below; return the number of files.

        The records keep ids. *new* must be free, as in ``create``.
        """
        source, target = _checked_path(old), _checked_path(new)
        if target.startswith(f"{source}/"):
            raise ValidationError(f"{source!r} cannot be moved into itself, to {target!r}")
        if moved := self._texts.rename(source, target):
            return moved
        raise NotFoundError("file or folder", source)

    def _chunks(self, name: str, start: int = 0, end: int | None = None) -> Sequence[MemoryRecord]:
        found = self._texts.read(name, start, end)
        if not found:
            raise self._missing(name)
        return found

    def _missing(self, name: str) -> Exception:
        """Return the error for a missing file called *name*."""
        if name == ROOT or self._texts.is_folder(name):
            return IsAFolderError(name)
        return NotFoundError("file", name)

    def _edit(self, name: str, edit: Callable[[str], tuple[str, int, int]]) -> str:
        """Apply *edit*, which returns the new text and the first and last changed line.

        Return the numbered lines around the change.
        """
        around = ""

        def change(known: Sequence[str]) -> Sequence[str]:
            nonlocal around
            if not known:
                raise self._missing(name)
            text, first, last = edit("".join(known))
            around = numbered(text, (max(1, first - CONTEXT_LINES), last + CONTEXT_LINES))
            return [text] if len(known) == 1 else rechunk(known, text)

        self._texts.rewrite(name, change)
        return around


def numbered(text: str, lines: tuple[int, int | None] | None = None) -> str:
    r"""Return *text* with a number before each line: six characters wide, then a tab.

    *lines*, the first and the last line, choose a part; a last line of None or -1 is the end, and
    a last line beyond the end is allowed. Only ``\n`` ends a line; a ``\n`` at the end of the text
    gives an empty last line. A first line beyond the end raises ``LineRangeError``.
    """
    every = text.split("\n")
    first, last = _line_range(lines, len(every))
    chosen = enumerate(every[first - 1 : last], first)
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in chosen)


def _line_range(lines: tuple[int, int | None] | None, count: int) -> tuple[int, int]:
    """Return *lines*, checked, as the first and the last of *count* lines."""
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
    value = fields.unboxed(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(f"{name} must be an int, not {type(value).__name__}")
    return value


def _file_name(path: str) -> str:
    """Return *path* normalised; refuse the path of a folder."""
    name = _checked_path(path)
    if path.endswith("/"):
        raise ValidationError(f"path {path!r} names a folder: it ends with '/'")
    return name


def _checked_path(path: str) -> str:
    """Return *path* normalised; refuse the root."""
    name = normalise_path(path)
    if name == ROOT:
        raise ValidationError("the root folder can be neither a file nor moved or deleted")
    return name


def _find_occurrences(text: str, old: str) -> list[int]:
    """Return the starts of *old* in *text*; overlaps count only beside a single occurrence."""
    starts = [found.start() for found in re.finditer(re.escape(old), text)]
    if len(starts) == 1 and (overlap := text.find(old, starts[0] + 1)) >= 0:
        starts.append(overlap)
    return starts


def _list_entries(folder: str, sizes: dict[str, int], levels: int | None) -> tuple[FileEntry, ...]:
    """Return the files of *sizes*, and the folders between *folder* and the files, sorted."""
    depth = folder.count("/")
    folders: dict[str, int] = {}
    for path, size in sizes.items():
        for each in above(path)[depth:]:
            folders[each] = folders.get(each, 0) + size
    found = [FileEntry(path, size) for path, size in sizes.items()]
    found += [FileEntry(path, size, is_folder=True) for path, size in folders.items()]
    near = [each for each in found if levels is None or each.path.count("/") <= depth + levels]
    return tuple(sorted(near, key=lambda each: (each.path.split("/"), each.is_folder)))
