"""Import: an export's journal replayed in an empty store, or the records merged into a store.

The whole file is read before anything is written, to find damage, and again while writing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Final, Protocol, TypeAlias

from ...errors import StorageError, ValidationError
from ...memory.engine import Engine
from ...model import fields
from ...model.progress import Tell
from ...storage import open_backend
from . import merge
from .history import HistoryReplay
from .lines import Lines
from .merge import Merged


class Reads(Protocol):
    """A file open for reading, of text or of bytes."""

    def read(self, size: int, /) -> str | bytes:
        """Return at most so much of the file, nothing at the end."""


Source: TypeAlias = str | os.PathLike[str] | Reads

_READ_SIZE: Final = 1 << 20


def load(engine: Engine, source: Source, longest: int, tell: Tell | None = None) -> Merged:
    """Import an export completely or not at all.

    An empty store gets the whole history, any other store the records, by merging.
    """
    engine.check_open()
    with _opened(source) as (file, name), TemporaryFile() as vector_file:
        replay = HistoryReplay(Lines(file, name, longest), engine, vector_file, tell)
        with engine.writing(guarded=False) as transaction:
            alone = not (transaction.base or engine.backend.journal_reader.snapshots())
            if alone:
                transaction.erased |= replay.run(transaction.writer)
        if not alone:
            return _merged(engine, replay)
        engine.index.rebuild(transaction.erased)
        engine.backend.scrub()
        return Merged(added=replay.header.records)


def _merged(engine: Engine, replay: HistoryReplay) -> Merged:
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
