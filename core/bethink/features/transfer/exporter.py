"""Export: all records, or the passing records with their history, line by line."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from heapq import merge
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Final, Protocol, TypeAlias

from ...errors import StorageError, ValidationError
from ...memory.engine import Engine
from ...model import fields
from ...model.arrays import Vector
from ...model.filters import Filter, matches
from ...model.namespaces import EVERYWHERE, Scope
from ...model.port import EMBEDDED
from ...model.progress import Tell, counted
from ...storage import Entry, FullScan, make_folder, replace_file
from ..links import LINK_ACTIONS
from .lines import (
    Header,
    entry_line,
    header_line,
    is_export,
    record_line,
    snapshot_line,
    with_checksum,
)


class Writes(Protocol):
    """A file open for writing, of text (it has an ``encoding``) or of bytes."""

    def write(self, data: Any, /) -> object:
        """Write *data*."""


_MAX_LISTED_IDS: Final = 100_000  # more take longer to list than all entries to read
_UNKNOWN_EMBEDDER: Final = "unknown"
"""The embedder's name for vectors without a note of the embedder."""
Target: TypeAlias = str | os.PathLike[str] | Writes


def dump(
    engine: Engine, target: Target, scope: Scope, where: Filter | None, tell: Tell | None = None
) -> int:
    """Write the records in *scope* that pass *where*, in any state, with all history.

    Return the number of records.
    """
    engine.check_open()
    engine.flush()
    with engine.backend.journal_reader.full_scan() as everything:
        chosen = _Selection(everything, scope, where)
        header = Header(
            engine.backend.setting("embedder") or _UNKNOWN_EMBEDDER,
            chosen.count,
            chosen.length,
            len(everything.snapshots()),
        )
        total = 1 + header.records + header.entries + header.snapshots
        lines = chain((header_line(header),), chosen.records(), chosen.history())
        _write(engine, target, with_checksum(counted(lines, tell, total)))
    return chosen.count


class _Selection:
    """The part of *everything* about the records in *scope* that pass *where*.

    Entries of further records are left out, and the remaining entries are chained again.
    """

    def __init__(self, everything: FullScan, scope: Scope, where: Filter | None) -> None:
        self._everything = everything
        self._scope = scope
        self._ids: set[str] | None = None
        self._kept = array("q")
        self._cut = everything.cut()
        self._is_whole = self._cut is None and not everything.hides_entries()
        self.count, self.length = 0, everything.head()
        if scope is EVERYWHERE and where is None:
            self.count = sum(1 for _ in everything.records())
            if self._is_whole:
                return
        else:
            self._ids = {
                row.record.id for row in everything.records(scope) if matches(where, row.record)
            }
            self.count = len(self._ids)
        self._kept.extend(entry.seq for entry, _ in self._entries() if self._about(entry))
        self.length = len(self._kept)

    def records(self) -> Iterator[str]:
        """Yield the lines of the records, in order of insertion."""
        for row in self._everything.records(self._scope):
            if self._ids is None or row.record.id in self._ids:
                yield record_line(row.record, row.vectors.get(EMBEDDED))

    def history(self) -> Iterator[str]:
        """Return the lines of entries and snapshots, in order; a snapshot follows its entry."""
        entries = (
            (entry.seq, entry_line(kept, vectors))
            for entry, vectors in self._entries()
            if (kept := self._about(entry))
        )
        taken = sorted(self._everything.snapshots(), key=attrgetter("seq", "at", "name"))
        snapshots = ((each.seq, snapshot_line(each)) for each in taken)
        return (line for _, line in merge(entries, snapshots, key=itemgetter(0)))

    def _entries(self) -> Iterator[tuple[Entry, Mapping[str, Vector]]]:
        few = self._ids is not None and len(self._ids) <= _MAX_LISTED_IDS
        return self._everything.entries(self._ids if few else None)

    def _about(self, entry: Entry) -> Entry | None:
        """Return the part of *entry* about the chosen records."""
        changes = entry.changes
        if entry.action == "snapshot":
            return entry
        if entry.id is None and changes is not None:
            accesses: dict[str, Any] = changes["accesses"]
            if self._ids is not None:
                accesses = {id: told for id, told in accesses.items() if id in self._ids}
            return entry._replace(changes={"accesses": accesses}) if accesses else None
        if self._ids is None and self._is_whole:
            return entry
        if self._ids is not None:
            if entry.id not in self._ids:
                return None
            if entry.action in LINK_ACTIONS and (changes or {}).get("target") not in self._ids:
                return None  # the other end is left out, or erased
        if changes and "undoes" in changes:
            if self._cut is not None and changes["undoes"] <= self._cut.seq:
                left = {name: changes[name] for name in changes if name != "undoes"}
                return entry._replace(changes=left)
            undone = bisect_right(self._kept, changes["undoes"])
            return entry._replace(changes={**changes, "undoes": undone})
        return entry


def _write(engine: Engine, target: Target, lines: Iterable[str]) -> None:
    """Write *lines* to a file object or to a path: complete at once, for the owner only."""
    if isinstance(target, str | os.PathLike):
        _write_path(engine.backend.location, Path(fields.path("target", target)), lines)
        return
    if not hasattr(target, "write"):
        kind = type(target).__name__
        raise ValidationError(f"target must be a path or a file to write to, not {kind}")
    textual = hasattr(target, "encoding")
    for line in lines:
        target.write(line if textual else line.encode())


def _write_path(location: str, path: Path, lines: Iterable[str]) -> None:
    if os.path.isdir(path):
        raise ValidationError(f"{str(path)!r} is a folder, not a file")
    if os.path.exists(path) and not os.path.isfile(path):  # a device is not to be replaced
        raise ValidationError(f"{str(path)!r} is a pipe or a device, not a file")
    if os.path.exists(path) and os.path.exists(location) and os.path.samefile(path, location):
        raise ValidationError(f"{str(path)!r} is the store itself")
    try:
        if os.path.exists(path) and os.path.getsize(path) and not is_export(path):
            raise ValidationError(f"{str(path)!r} is a file of another kind, which stays as it is")
        make_folder(path.parent)
        descriptor, part = mkstemp(dir=path.parent, prefix=f".{path.name}.")  # of mode 0600
    except OSError as error:
        raise StorageError(str(path), error.strerror or str(error)) from error
    try:
        with open(descriptor, "wb") as file:
            file.writelines(line.encode() for line in lines)
            file.flush()
            os.fsync(file.fileno())
        replace_file(part, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError) and not isinstance(error, StorageError):
            raise StorageError(str(path), error.strerror or str(error)) from error
        raise
