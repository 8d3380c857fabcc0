"""The lines of an export: records, entries and vectors as text.

A line is a JSON object with one name for the kind: the header, a "record", an "entry", a
"snapshot" or the "end", which holds a checksum of all lines before.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from dataclasses import fields as parts_of
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from ...errors import CorruptStoreError, NotABethinkFileError, SchemaTooNewError, ValidationError
from ...model import fields
from ...model.arrays import Vector
from ...model.records import RECORD_FIELDS, MemoryRecord, Snapshot, non_empty_fields
from ...storage import Entry

FORMAT: Final = "bethink export"
VERSION: Final = 1
LONGEST_LINE: Final = 64 << 20
"""So many bytes of a line are read, unless more are allowed: a text of full length takes 2 MiB."""

_REQUIRED_FIELDS: Final = tuple(
    part.name
    for part in parts_of(MemoryRecord)
    if part.default is MISSING and part.default_factory is MISSING
)


@dataclass(frozen=True, slots=True)
class Header:
    """The header of an export: the vectors' embedder, and the number of lines of each kind."""

    embedder: str
    records: int
    entries: int
    snapshots: int


def checked_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked fields of a record among *given*; unknown names are left out."""
    return {
        name: RECORD_FIELDS[name].check(name, value)
        for name, value in given.items()
        if name in RECORD_FIELDS
    }


def record_of(given: Mapping[str, Any]) -> MemoryRecord:
    """Return the record with the fields *given*; all required fields must be present."""
    if wrong := [name for name in given if name not in RECORD_FIELDS]:
        raise ValidationError(f"unknown field {wrong[0]!r}")
    if missing := [name for name in _REQUIRED_FIELDS if name not in given]:
        raise ValidationError(f"a record without {missing[0]!r}")
    return MemoryRecord(**checked_fields(given))


def record_line(record: MemoryRecord, vector: Vector | None) -> str:
    """Return the line of a record with the vector of the store's embedder."""
    line: dict[str, Any] = {"record": non_empty_fields(record)}
    return fields.to_json(line if vector is None else {**line, "vector": _encode_vector(vector)})


def entry_line(entry: Entry, vectors: Mapping[str, Vector]) -> str:
    """Return the line of a journal entry with *vectors*; the entry's number is the place."""
    told_of: dict[str, Any] = {"at": entry.at, "action": entry.action}
    if entry.id is not None:
        moved = None if entry.row is None else entry.row == entry.seq
        told_of |= {"id": entry.id, "namespace": entry.namespace, "moved": moved}
    line: dict[str, Any] = {"entry": {**told_of, "changes": entry.changes}}
    if vectors:
        line["vectors"] = {name: _encode_vector(vector) for name, vector in vectors.items()}
    return fields.to_json(line)


def snapshot_line(snapshot: Snapshot) -> str:
    """Return the line of a snapshot, which follows the last entry of the snapshot."""
    return fields.to_json({"snapshot": {"name": snapshot.name, "at": snapshot.at}})


def header_line(header: Header) -> str:
    """Return the first line."""
    counts = {name: getattr(header, name) for name in Header.__slots__}
    return fields.to_json({"format": FORMAT, "version": VERSION, **counts})


def is_export(path: Path) -> bool:
    """Return whether the file at *path* begins like an export."""
    start = fields.to_json({"format": FORMAT}).removesuffix("}").encode()
    with open(path, "rb") as file:
        return file.read(len(start)) == start


def decode_vector(value: object) -> Vector:
    """Return the vector written by ``record_line`` or ``entry_line``."""
    data = b64decode(fields.text("vector", value, LONGEST_LINE).encode(), validate=True)
    found = np.frombuffer(data, dtype="<f4")
    if not len(found) or not np.isfinite(found).all():
        raise ValidationError("a vector that is none")
    return found


def _encode_vector(vector: Vector) -> str:
    return b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


class Lines:
    """The lines of an export in *file*, read one by one.

    A line beyond *longest* bytes is refused. *name* is the file's name for errors, if any.
    """

    def __init__(self, file: IO[bytes], name: str, longest: int) -> None:
        self._file = file
        self._name = name
        self._longest = longest
        self._number = 0
        self._sum = hashlib.sha256()

    def rewind(self) -> None:
        """Start again behind the header."""
        self._file.seek(0)
        self._number, self._sum = 0, hashlib.sha256()
        self._next()

    def skip(self, count: int) -> None:
        """Pass over so many lines."""
        for _ in range(count):
            self._file.readline(self._longest)
        self._number += count

    def header(self) -> Header:
        """Read the first line; refuse a foreign file or a newer export."""
        try:
            line = self._next()
        except CorruptStoreError:
            line = {}
        if line.get("format") != FORMAT:
            raise NotABethinkFileError(self._name, "line 1 is not the header of a bethink export")
        with self.explained():
            version = fields.integer("version", line.get("version"), 1)
            if version > VERSION:
                raise SchemaTooNewError(version, VERSION, self._name)
            counts = [fields.integer(name, line[name], 0) for name in Header.__slots__[1:]]
            return Header(fields.label("embedder", line["embedder"]), *counts)

    def take(self, *names: str) -> tuple[str, dict[str, Any]]:
        """Return the next line, of a kind among *names*, with the kind."""
        line = self._next()
        found = next((name for name in names if isinstance(line.get(name), dict)), None)
        if found is None:
            raise self.damaged(f"is not what follows here: {' or '.join(names)}")
        return found, line

    def end(self) -> None:
        """Read the last line; refuse a wrong checksum."""
        digest = self._sum.hexdigest()
        _, line = self.take("end")
        if line["end"].get("sha256") != digest:
            raise self.damaged("does not vouch for what is before it: something was changed")
        if self._file.readline(2).strip():
            raise self.damaged("is not the last one")

    def damaged(self, reason: str) -> CorruptStoreError:
        """Return the error for the line read last."""
        return CorruptStoreError(self._name, f"line {self._number:,} {reason}")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors in the values of a line into an error with the line's number."""
        try:
            yield
        except KeyError as error:
            raise self.damaged(f"lacks {error}") from error
        except (CorruptStoreError, ValueError, TypeError, AttributeError, LookupError) as error:
            raise self.damaged(f"holds what cannot be: {error}") from error

    def _next(self) -> dict[str, Any]:
        self._number += 1
        text = self._file.readline(self._longest + 1)
        if len(text) > self._longest:
            raise self.damaged(f"is longer than {self._longest:,} bytes; allow more with max_line")
        if not text:
            raise self.damaged("is missing: the end is cut off")
        try:
            line = json.loads(text)
        except (ValueError, RecursionError) as error:
            cut = "" if text.endswith(b"\n") else ": the end is cut off"
            raise self.damaged(f"is not JSON{cut}") from error
        if not isinstance(line, dict):
            raise self.damaged("is not a JSON object")
        self._sum.update(text.removeprefix(BOM_UTF8).rstrip(b"\r\n") + b"\n")
        return line


def with_checksum(lines: Iterator[str]) -> Iterator[str]:
    """Yield *lines* with line ends, followed by the line with the checksum."""
    whole = hashlib.sha256()
    for line in lines:
        whole.update(f"{line}\n".encode())
        yield f"{line}\n"
    yield fields.to_json({"end": {"sha256": whole.hexdigest()}}) + "\n"
