"""Every error bethink raises on purpose, in one tree.

Each class is also the built-in error that a caller would expect. An error writes the message from
values, keeps the values as attributes, and survives pickling, for process pools.

    BethinkError
    ├── ValidationError (ValueError)            an argument is wrong; nothing was written
    │   ├── ArgumentError (TypeError)           a call does not fit the verb's signature
    │   ├── DimensionError                      a vector has the wrong length
    │   ├── PathTakenError                      a file or folder has the path already
    │   ├── IsAFolderError                      a file is wanted, and the path is a folder's
    │   ├── HoleError                           a file has lost a part of the text
    │   ├── OccurrenceError                     a text to replace does not occur exactly once
    │   ├── LineRangeError                      a file has fewer lines
    │   ├── CompactedError                      a moment lies before the compacted history's end
    │   ├── SourceError                         a handle of one source changes another source
    │   └── ScreenedError                       the store's screen refused a memory
    ├── NotFoundError (KeyError)                no record has the id
    ├── EmbedderMismatchError (ValueError)      the file has vectors of a different embedder
    ├── IntegrityKeyError (ValueError)          a key is missing, wrong, or not for the file
    ├── EmbedderError (RuntimeError)            an embedding service failed
    ├── SimilarMemoryError (ValueError)         nearly the same memory is stored already
    ├── RateLimitError (RuntimeError)           too many of one kind of call
    ├── StoreClosedError (RuntimeError)         the store was closed
    ├── StorageError (OSError)                  the file cannot be used
    │   ├── NotAnchoredError                    a write is in the file, not in the anchor
    │   ├── NotABethinkFileError                a different program made the file
    │   ├── CorruptStoreError                   the file is damaged
    │   │   └── TamperedError                   somebody without the key changed the file
    │   ├── SchemaTooNewError                   a newer bethink made the file
    │   └── StoreBusyError (TimeoutError)       another process holds the write lock
    └── MissingExtraError (ImportError)         an optional package is not installed
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model.records import MemoryRecord


class BethinkError(Exception):
    """The root of all errors, for a single ``except``.

    *message* is the text of ``str()``; *values* are the constructor's arguments, kept for pickling.
    """

    def __init__(self, message: str, *values: object) -> None:
        super().__init__(message)
        self._values = values or (message,)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values, self.__dict__


class ValidationError(BethinkError, ValueError):
    """Refuse a wrong argument before anything is written.

    ``item`` is the place of the wrong item among several, from 0 on, else None.
    """

    item: int | None = None


class ArgumentError(ValidationError, TypeError):
    """Refuse an argument too many, a missing argument, or an argument of an unknown name."""


class DimensionError(ValidationError):
    """Refuse a vector of the wrong length; *name* names the vector if there are several."""

    def __init__(self, expected: int, found: int, name: str | None = None) -> None:
        which = f"vector {name!r}" if name else "vector"
        message = f"{which} has {found} dimensions, expected {expected}"
        super().__init__(message, expected, found, name)
        self.expected = expected
        self.found = found
        self.name = name


class PathTakenError(ValidationError):
    """Refuse a path in use by a *kind* ("file" or "folder")."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(f"there is a {kind} at {path!r} already", path, kind)
        self.path = path
        self.kind = kind


class IsAFolderError(ValidationError):
    """Refuse to treat the folder *path* as a file."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is a folder, not a file", path)
        self.path = path


class HoleError(ValidationError):
    """Refuse to read the rest at *path* as a file: the text at byte *at* is gone."""

    def __init__(self, path: str, at: int) -> None:
        message = (
            f"the file {path!r} lacks what stood at byte {at:,}: it was erased, or has expired; "
            "delete the file to write it anew"
        )
        super().__init__(message, path, at)
        self.path = path
        self.at = at


class OccurrenceError(ValidationError):
    """Refuse to replace *old* in the file *path*: *old* begins on all of *lines*, or nowhere."""

    def __init__(self, path: str, old: str, lines: tuple[int, ...] = ()) -> None:
        shown = repr(old if len(old) <= 80 else f"{old[:79]}…")
        where = ", ".join(map(str, lines[:20])) + (", …" if len(lines) > 20 else "")
        often = f"occurs {len(lines)} times (lines {where})" if lines else "does not occur"
        message = f"{shown} {often} in {path!r}; it must occur exactly once"
        super().__init__(message, path, old, lines)
        self.path = path
        self.old = old
        self.lines = lines


class LineRangeError(ValidationError):
    """Refuse *line*, which is outside *first* to *last*."""

    def __init__(self, line: int, first: int, last: int) -> None:
        shown = line if line.bit_length() <= 64 else f"number of {line.bit_length()} bits"
        super().__init__(f"line {shown} is not within [{first}, {last}]", line, first, last)
        self.line = line
        self.first = first
        self.last = last


class CompactedError(ValidationError):
    """Refuse a moment right after entry *seq*: ``compact`` cut the history after entry *cut*.

    *at* is the time of the cut in Unix seconds.
    """

    def __init__(self, seq: int, cut: int, at: float) -> None:
        message = (
            f"entry {seq} lies before entry {cut}, made at {at}: compact() cut the history there, "
            f"and moments from entry {cut} on remain"
        )
        super().__init__(message, seq, cut, at)
        self.seq = seq
        self.cut = cut
        self.at = at


class SourceError(ValidationError):
    """Refuse a change of a record of the source *found* by a handle for the source *own*.

    *id* None stands for a change of the whole store, or for a handle for the source *found*.
    """

    def __init__(self, id: str | None, found: str | None, own: str) -> None:
        if id is not None:
            what = f"record {id!r} has the source {found!r}; a handle for {own!r} cannot change it"
        elif found is None:
            what = f"a handle for {own!r} cannot change the records of all sources"
        else:
            what = f"a handle for {found!r} makes no handle for {own!r}"
        super().__init__(what, id, found, own)
        self.id = id
        self.found = found
        self.own = own


class ScreenedError(ValidationError):
    """Refuse a memory that the store's screen does not let pass; *content* is the text."""

    def __init__(self, content: str) -> None:
        shown = content if len(content) <= 80 else f"{content[:79]}…"
        super().__init__(f"the screen refused {shown!r}", content)
        self.content = content


class NotFoundError(BethinkError, KeyError):
    """Report that no *what* (such as ``"record"``) has the *id*, and a *remedy* if there is any."""

    __str__ = Exception.__str__  # a KeyError would quote the message

    def __init__(self, what: str, id: str, remedy: str = "") -> None:
        advice = f"; {remedy}" if remedy else ""
        super().__init__(f"{what} {id!r} was not found{advice}", what, id, remedy)
        self.what = what
        self.id = id


class EmbedderMismatchError(BethinkError, ValueError):
    """Refuse to compare vectors of two embedders; both are given by name."""

    def __init__(self, stored: str, given: str) -> None:
        message = (
            f"the vectors of the store are of embedder {stored!r}, not of {given!r}, and their "
            f"vectors cannot be compared; open it with {stored!r}. To change the embedder, call "
            f"reembed on the store opened with {stored!r}; or fill a new file opened with "
            f"{given!r} by merge_from (or import_ of an export), which embed again"
        )
        super().__init__(message, stored, given)
        self.stored = stored
        self.given = given


class IntegrityKeyError(BethinkError, ValueError):
    """Refuse to open the file at *path* with the given integrity key, or without a key."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}", path, reason)
        self.path = path
        self.reason = reason


class EmbedderError(BethinkError, RuntimeError):
    """Say why the embedder called *name* gave no vectors."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"embedder {name!r} failed: {reason}", name, reason)
        self.name = name
        self.reason = reason


class SimilarMemoryError(BethinkError, ValueError):
    """Refuse a memory that nearly repeats *record*; *similarity* is in [0, 1].

    *items* are the places of two items of one write that nearly say the same: *record*, of the
    first item, was not stored, and ``id`` is None.
    """

    def __init__(
        self, record: MemoryRecord, similarity: float, items: tuple[int, int] | None = None
    ) -> None:
        say = f"record {record.id!r} says"
        if items is not None:
            say = f"nothing is stored: items {items[0]} and {items[1]} say"
        super().__init__(
            f"{say} nearly the same: {record.content[:80]!r} (similarity {similarity:.3f})",
            record,
            similarity,
            items,
        )
        self.id = record.id if items is None else None
        self.record = record
        self.similarity = similarity
        self.items = items


class RateLimitError(BethinkError, RuntimeError):
    """Refuse a call past *limit* calls of *what* in *period* seconds."""

    def __init__(
        self, what: str, limit: int, period: float, retry_after: float | None = None
    ) -> None:
        message = f"more than {limit} {what} in {period:g} s"
        if retry_after is not None:
            message += f"; try again in {math.ceil(retry_after)} s"
        super().__init__(message, what, limit, period, retry_after)
        self.what = what
        self.limit = limit
        self.period = period
        self.retry_after = retry_after


class StoreClosedError(BethinkError, RuntimeError):
    """Refuse every call on a store that was closed."""

    def __init__(
        self, message: str = "the store is closed; open it again with MemoryStore(location)"
    ) -> None:
        super().__init__(message)


class StorageError(BethinkError, OSError):
    """Say why the file at *path* cannot be read or written.

    *is_unreachable* tells that a database gave no answer, so that a later call may succeed.
    """

    def __init__(self, path: str | None, reason: str, *, is_unreachable: bool = False) -> None:
        super().__init__(f"{path}: {reason}" if path else reason, path, reason)
        self.path = path
        self.reason = reason
        self.is_unreachable = is_unreachable


class NotAnchoredError(StorageError):
    """Report a write that is in the store, but not in the anchor; the next write does both."""


class NotABethinkFileError(StorageError):
    """Refuse a file made by a different program; the file is left untouched."""

    def __init__(
        self, path: str | None, reason: str = "not a bethink file; it was left untouched"
    ) -> None:
        super().__init__(path, reason)


DAMAGE_REMEDY = "repair() makes indexes and vectors again, a backup has the rest"


class CorruptStoreError(StorageError):
    """Report a damaged file."""

    def __init__(
        self, path: str | None, reason: str = f"the file is damaged; {DAMAGE_REMEDY}"
    ) -> None:
        super().__init__(path, reason)


class TamperedError(CorruptStoreError):
    """Report data that was not written with the store's integrity key."""


class SchemaTooNewError(StorageError):
    """Refuse a file of a newer bethink: schema *found* is above the highest *supported* one."""

    def __init__(self, found: int, supported: int, path: str | None = None) -> None:
        reason = (
            f"written by a newer bethink (schema {found}, this one knows up to {supported}); "
            "upgrade with: pip install --upgrade bethink"
        )
        super().__init__(path, reason)
        self._values = (found, supported, path)
        self.found = found
        self.supported = supported


class StoreBusyError(StorageError, TimeoutError):
    """Give up waiting for another process that holds the file's write lock."""

    def __init__(
        self, path: str | None, reason: str = "another process kept the write lock for too long"
    ) -> None:
        super().__init__(path, reason)


class MissingExtraError(BethinkError, ImportError):
    """Name the pip line for *requirement*, a package of bethink's *extra*, such as "x>=1.0".

    *found* is the installed version, if any, and *reason* tells why the version will not do.
    """

    def __init__(
        self, requirement: str, extra: str, found: str | None = None, reason: str = ""
    ) -> None:
        package = requirement.partition(">")[0]
        state = "is not installed" if found is None else f"is needed, {found} is installed{reason}"
        message = (
            f"{requirement} {state}: in a checkout of bethink pip install '.[{extra}]', "
            f"or pip install {requirement!r}"
        )
        super().__init__(message, requirement, extra, found, reason)
        self.name = package
        self.package = package
        self.requirement = requirement
        self.extra = extra
        self.found = found
