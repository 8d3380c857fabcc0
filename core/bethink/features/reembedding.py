"""A new embedder for the same file.

New vectors are staged beside the present vectors, batch by batch, so that the work goes on after a
crash. Recall uses the present vectors until one transaction puts the new vectors in their place.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from ..embedders import Embedder, check_embedder, check_rows, stated_dimension
from ..errors import StorageError
from ..memory.engine import Engine
from ..memory.memories import Memories
from ..model.arrays import Vector
from ..model.namespaces import EVERYWHERE
from ..model.progress import Progress, Tell, telling
from ..model.records import embedded_text
from .history import take_snapshot
from .sources import check_whole

_logger = logging.getLogger(__name__)

_BATCH_RECORDS: Final = 256


class ReembeddingVerbs(Memories):
    """The verb ``reembed``."""

    def reembed(self, embedder: Embedder, *, progress: Progress = None) -> int:
        """Make all vectors again with a new *embedder*; return the number of vectors.

        Recall answers with the present embedder until all vectors are made. Then one transaction
        changes the embedder of the file, and a snapshot names the moment before. Texts are embedded
        outside of locks, so threads and processes go on meanwhile. Work that broke off, even by a
        crash, goes on with the next call for an embedder of the same name. The embedder of the
        store changes nothing: the result is 0.

        Texts, fields, history and your own named vectors stay. Moments of the past (``as_of``)
        keep texts and fields, and are compared by the new embedder. Another store on the file, such
        as one of another process, raises ``EmbedderMismatchError`` from then on and must be opened
        again with the new embedder; so does a write of another thread that had just embedded a text
        with the former embedder. The file is rewritten, which frees the space of the former
        vectors; copies of upgrades are removed.

        *progress* is a function of the vectors done and the total, or True for a bar of ``tqdm``.
        An error of the function ends the work, and the batches so far stay for the next call.
        """
        new = check_embedder(embedder)
        check_whole(self._engine)
        if new.name == self.embedder.name:
            return 0
        with telling(progress) as tell:
            return _Reembedding(self._engine, new, tell).run()


class _Reembedding:
    """The work of one call."""

    def __init__(self, engine: Engine, embedder: Embedder, tell: Tell | None) -> None:
        self._engine = engine
        self._embedder = embedder
        self._tell = tell
        self._dimension = stated_dimension(embedder)

    def run(self) -> int:
        """Stage all vectors, then change the embedder; return the number of vectors."""
        start = time.monotonic()
        self._stage()
        while (count := self._switch()) is None:  # another thread or process wrote meanwhile
            self._stage()
        engine = self._engine
        engine.index.rebuild(engine.backend.namespaces(EVERYWHERE))
        try:
            engine.backend.scrub(shrink=True)
        except StorageError as error:
            # The vectors are the new ones all the same; the next opening frees the space.
            _logger.warning("the space of the former vectors is not yet freed: %s", error)
        _logger.info("reembedded %d records in %.3f s", count, time.monotonic() - start)
        return count

    def _stage(self) -> None:
        """Stage the missing vectors, a batch in a transaction."""
        made: dict[int, Vector] = {}
        last, done, total = 0, -1, 0
        while True:
            with self._engine.writing(guarded=False) as transaction:
                writer = transaction.writer
                writer.staging.add(self._embedder.name, self._dimension, made)
                waiting = writer.staging.missing(last, _BATCH_RECORDS)
                if done < 0:
                    done, total = writer.staging.count()
            done += len(made)
            if self._tell is not None:
                self._tell(done, max(total, done))
            if not waiting:
                return
            last = waiting[-1][0]
            texts = [embedded_text(each) if each.content else "" for _, each in waiting]
            vectors = check_rows(self._embedder.embed(texts), len(texts), self._dimension)
            made = dict(zip((row for row, _ in waiting), vectors, strict=True))

    def _switch(self) -> int | None:
        """Change the embedder in one transaction; None if a vector is missing."""
        engine, former = self._engine, self._engine.embedder
        with engine.index.lock:
            try:
                with engine.writing(guarded=False) as transaction:
                    writer = transaction.writer
                    writer.staging.add(self._embedder.name, self._dimension, {})
                    if writer.staging.missing(0, 1):
                        return None
                    writer.staging.adopt()
                    take_snapshot(
                        transaction, f"before {self._embedder.name}, entry {writer.head() + 1}"
                    )
                    _, count = writer.staging.count()
                    engine.adopt(self._embedder)
            except BaseException:
                if engine.backend.setting("embedder") != self._embedder.name:
                    engine.adopt(former)
                raise
            engine.index.clear()
            return count
