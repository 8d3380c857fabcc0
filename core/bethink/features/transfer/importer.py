"""Import: an export's journal replayed in an empty store, or the records merged into a store.

The whole file is read before anything is written, to find damage, and again while writing: every
journal entry is written again, with the original time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, Final, Protocol, TypeAlias

import numpy as np

from ...errors import StorageError, ValidationError
from ...memory.engine import Engine
from ...model import fields
from ...model.arrays import Vector
from ...model.namespaces import check_namespace
from ...model.port import EMBEDDED
from ...model.progress import Tell, counted
from ...model.records import RECORD_FIELDS, MemoryRecord
from ...storage import FullWriter as Writer
from ...storage import is_well_formed, open_backend
from . import merge
from .lines import Lines, checked_fields, decode_vector, record_of
from .merge import Merged


class Reads(Protocol):
    """A file open for reading, of text or of bytes."""

    def read(self, size: int, /) -> str | bytes:
        """Return at most so much of the file, nothing at the end."""


Source: TypeAlias = str | os.PathLike[str] | Reads

_BATCH_RECORDS: Final = 256
_READ_SIZE: Final = 1 << 20
_RecordAndVector = tuple[MemoryRecord, Vector | None]


def load(engine: Engine, source: Source, longest: int, tell: Tell | None = None) -> Merged:
    """Import an export completely or not at all.

    An empty store gets the whole history, any other store the records, by merging.
    """
    engine.check_open()
    with _opened(source) as (file, name), TemporaryFile() as vector_file:
        replay = _Replay(Lines(file, name, longest), engine, vector_file, tell)
        with engine.writing(guarded=False) as transaction:
            alone = not (transaction.base or engine.backend.journal_reader.snapshots())
            if alone:
                transaction.erased |= replay.run(transaction.writer)
        if not alone:
            return _merged(engine, replay)
        engine.index.rebuild(transaction.erased)
        engine.backend.scrub()
        return Merged(added=replay.header.records)


def _merged(engine: Engine, replay: _Replay) -> Merged:
    """Replay the export in a temporary store, and merge that store."""
    with TemporaryDirectory(prefix="bethink-") as folder:
        path = os.path.join(folder, "import.db")
        with closing(open_backend(path, "normal")) as backend:
            with backend.write() as writer:
                replay.run(writer)
            return merge.merge(engine, merge.ForeignStore.load(backend, engine.clock()))


@contextmanager
def _opened(source: Source) -> Iterator[tuple[IO[bytes], str]]:
    """Open *source* to be read twice; yield the file with the name, if any."""
    if isinstance(source, str | os.PathLike):
        path = Path(fields.path("source", source))
        # A pipe may never end. Unlike the methods of Path, no check of os.path raises.
        if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
            raise StorageError(str(path), "is a pipe or a device, not a file")
        try:
            file = path.open("rb")
        except OSError as error:
            raise StorageError(str(path), error.strerror or str(error)) from error
        with file:
            yield file, str(path)
    elif hasattr(source, "read"):
        with TemporaryFile() as copy:
            while piece := source.read(_READ_SIZE):
                copy.write(
                    piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece
                )
            copy.seek(0)
            yield copy, ""
    else:
        kind = type(source).__name__
        raise ValidationError(f"source must be a path or a file to read from, not {kind}")


class _Replay:
    """A checked export, ready to be written any number of times.

    The records' vectors are in *spool*, in order of insertion: the exported vectors if the embedder
    of *engine* made them, else new vectors, made before any transaction.
    """

    def __init__(
        self, lines: Lines, engine: Engine, vector_file: IO[bytes], tell: Tell | None = None
    ) -> None:
        self._tell = tell
        self._lines = lines
        self._engine = engine
        self._spool = vector_file
        self._dimension = engine.dimension()
        self.header = lines.header()
        self._told = self.header.entries + self.header.snapshots
        self._total = self.header.records + self._told
        self._known = self.header.embedder == engine.embedder.name
        self._check()

    def _check(self) -> None:
        """Read every line once, and keep the vectors."""
        waiting: list[_RecordAndVector] = []
        for _ in counted(range(self.header.records), self._tell, self._total):
            waiting.append(self._record())
            if len(waiting) == _BATCH_RECORDS:
                self._keep(waiting)
        self._keep(waiting)
        for _ in range(self._told):
            self._lines.take("entry", "snapshot")
        self._lines.end()

    def _record(self) -> _RecordAndVector:
        """Read the next line, a record with the vector."""
        _, line = self._lines.take("record")
        with self._lines.explained():
            vector = decode_vector(line["vector"]) if "vector" in line else None
            if vector is not None and self._known and len(vector) != self._dimension:
                raise ValidationError(f"{len(vector)} dimensions, not {self._dimension}")
            return record_of(line["record"]), vector

    def _keep(self, waiting: list[_RecordAndVector]) -> None:
        """Spool a vector for each record, NaN for a missing vector."""
        vectors = [vector for _, vector in waiting]
        if not self._known:
            texts = [record for record, vector in waiting if vector is not None]
            made = iter(self._engine.embed(texts))
            vectors = [None if vector is None else next(made) for vector in vectors]
        absent = np.full(self._dimension, np.nan, dtype="<f4")
        for vector in vectors:
            kept = absent if vector is None else np.asarray(vector, dtype="<f4")
            self._spool.write(kept.tobytes())
        waiting.clear()

    def run(self, writer: Writer) -> set[str]:
        """Write every entry; return the namespaces that records were ever in."""
        self._lines.rewind()
        self._lines.skip(self.header.records)
        self._spool.seek(0)
        found: set[str] = set()
        for _ in counted(range(self._told), self._tell, self._total, self.header.records):
            kind, line = self._lines.take("entry", "snapshot")
            with self._lines.explained():
                if kind == "snapshot":
                    name = fields.label("name", line[kind]["name"])
                    writer.snapshot(name, fields.timestamp("at", line[kind]["at"]))
                else:
                    found |= self._entry(writer, line[kind], line.get("vectors", {}))
        self._compare(writer)
        return found

    def _compare(self, writer: Writer) -> None:
        """Refuse records that differ from the replay of the history."""
        self._lines.rewind()
        for _ in range(self.header.records):
            told, _ = self._record()
            _, record = writer.find([told.id]).get(told.id, (0, None))
            if record != told:
                raise self._lines.damaged("tells another record than its history")

    def _entry(self, writer: Writer, told: Mapping[str, Any], named: Mapping[str, Any]) -> set[str]:
        """Write one entry again; return the namespace of the record."""
        at, action = fields.timestamp("at", told["at"]), fields.label("action", told["action"])
        changes: dict[str, Any] | None = told["changes"]
        if changes is not None and not is_well_formed(changes):
            raise ValidationError("what it tells makes no sense")
        if changes is None and "id" not in told:  # an entry that was lost
            writer.journal(action, at, None, None, None, None)
            return set()
        if action == "snapshot":
            name = fields.label("name", (changes or {})["name"])
            writer.journal(action, at, None, None, None, {"name": name})
            return set()
        if "id" not in told:
            _touch(writer, at, action, changes)
            return set()
        id = fields.identifier("id", told["id"])
        row, before = writer.find([id]).get(id, (None, None))
        after = _after(before, told, id, at)
        if told["moved"] is None:  # in a compacted history a link comes after a move of its source
            after = replace(after, namespace=check_namespace(told["namespace"]))
        if (after.id, after.namespace) != (id, told["namespace"]):
            raise ValidationError(f"what it tells is of {after.id!r}, and not of {id!r}")
        if told["moved"] is None:
            _link(writer, action, id, changes)
            writer.journal(action, at, after, None, None, changes)
            return set()
        vectors = {
            fields.identifier("name", name): decode_vector(text) for name, text in named.items()
        }
        if row is None:
            new = writer.insert(after, {**self._embedded(), **vectors}).row
        elif told["moved"]:
            new = writer.replace(row, after, vectors).row
        else:
            new = row
            (writer.erase if action == "erase" else writer.patch)(row, after)
        writer.journal(action, at, after, row, new, changes)
        return {after.namespace}

    def _embedded(self) -> dict[str, Vector]:
        """Return the next vector of the spool."""
        vector = np.frombuffer(self._spool.read(4 * self._dimension), dtype="<f4")
        if len(vector) < self._dimension:
            raise ValidationError("more records in the history than there are")
        return {} if np.isnan(vector[0]) else {EMBEDDED: vector}


def _touch(writer: Writer, at: float, action: str, changes: dict[str, Any] | None) -> None:
    accesses = {
        fields.identifier("id", id): (
            fields.integer("times", times, 1),
            fields.timestamp("last", last),
        )
        for id, (times, last) in (changes or {})["accesses"].items()
    }
    rows = writer.touch(accesses)
    writer.journal(action, at, None, None, None, {"rows": rows, "accesses": accesses})


def _link(writer: Writer, action: str, id: str, changes: dict[str, Any] | None) -> None:
    if changes is not None:  # else one of its ends has been erased
        kind, target = (fields.identifier(name, changes[name]) for name in ("kind", "target"))
        writer.link(id, kind, target, holds=action == "relate")


def _after(
    before: MemoryRecord | None, told: Mapping[str, Any], id: str, at: float
) -> MemoryRecord:
    """Return the record after the entry *told*; of an erased record a tombstone."""
    changes, namespace = told["changes"], told["namespace"]
    if before is None and told["action"] != "store":
        raise ValidationError(f"record {id!r} is changed before it is stored")
    if changes is None:
        known = {"id": id, "namespace": namespace, "content": "", "state": "erased"}
        return record_of({**known, "created_at": at, "occurred_at": at, "updated_at": at})
    if before is None:
        return record_of({name: value for name, value in changes.items() if name in RECORD_FIELDS})
    return replace(before, **{"updated_at": at, **checked_fields(changes)})
