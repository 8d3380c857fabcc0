"""Compacting: history before a moment goes, in steps that each leave a whole file."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Final

from ..errors import CompactedError, ValidationError
from ..memory.engine import Engine
from ..memory.ranking import DAY
from ..model import fields
from ..model.namespaces import EVERYWHERE
from ..model.port import Moment
from ..model.progress import Progress, Tell, telling
from ..model.records import When
from ..model.values import Value
from ..storage import FullBackend
from .past import PastVerbs
from .sources import check_whole

_logger = logging.getLogger(__name__)

STEP_ENTRIES = 10_000
"""The most journal entries of one transaction."""

_MAX_DAYS: Final = 1e6


@dataclass(frozen=True, slots=True)
class Compaction(Value):
    """The result of ``compact``.

    ``cut`` is the first moment that remains, a journal position, and ``at`` the time. ``entries``
    and ``records`` count what was removed; ``freed`` are bytes of the file.
    """

    cut: int
    at: float
    entries: int
    records: int
    freed: int


class CompactionVerbs(PastVerbs):
    """The verb ``compact``."""

    def compact(
        self,
        *,
        before: When | None = None,
        keep: float | None = None,
        progress: Progress = None,
    ) -> Compaction:
        """Remove the history before a moment from the file, for good; return the result.

        *before* is a moment as for ``as_of``; *keep* are days of history that stay. Give one.
        Records that were superseded or forgotten before the moment, and have not changed since,
        leave the file with all versions, unless a link holds. Of an erased record a digest of the
        id stays, of an erased turn the tombstone. Other records stay as they are. Earlier
        snapshots, texts, entries and accesses go.

        Moments from the cut on, ``audit``, ``diff`` and ``undo`` of later entries answer as before.
        An earlier moment raises ``CompactedError``. Each remaining record has one entry "base" in
        the journal, and an entry "compact" tells the cut, so that ``verify`` still proves the
        chain, also with an integrity key. The work goes in steps. After a crash the file is whole,
        cut at an earlier moment, and the next call continues. At the end a file with much free
        space is rewritten, while recalls go on. *progress*, see ``reembed``, counts journal
        entries; an error there ends the work.
        """
        engine = self._engine
        check_whole(engine)
        if (before is None) == (keep is None):
            raise ValidationError("give either before= or keep=")
        if keep is not None:
            days = fields.number("keep", keep, 0.0, _MAX_DAYS)
            before = engine.clock() - days * DAY
        engine.flush()
        with telling(progress) as tell:
            return _compact(engine, self._until(before), tell)

    def _until(self, before: When | None) -> int:
        """Return the last entry whose history goes, 0 if all goes already."""
        try:
            seq = self._moments.find(before).seq if before is not None else 0
        except CompactedError:
            return 0
        # A snapshot needs the entry of the moment, since accesses may be newer than the entry.
        named = {snapshot.seq for snapshot in self._engine.backend.journal_reader.snapshots()}
        while seq in named:
            seq -= 1
        return seq


def _compact(engine: Engine, until: int, tell: Tell | None) -> Compaction:
    """Move the cut to entry *until*, step by step, and return the result."""
    backend, namespaces, entries, records = engine.backend, set[str](), 0, 0
    start, size = time.monotonic(), _size(backend)
    first = _cut(backend).seq
    while (done := _cut(backend).seq) < until:
        with engine.writing(guarded=False) as transaction:
            end = min(done + STEP_ENTRIES, until)
            gone = transaction.writer.compact(end, transaction.now)
            transaction.erased |= gone.namespaces
        entries += gone.entries
        records += gone.records
        namespaces |= gone.namespaces
        if tell is not None:
            tell(_cut(backend).seq - first, until - first)
    if until > first:
        engine.index.rebuild(namespaces)
        backend.scrub(shrink=True)
    cut, freed = _cut(backend), size - _size(backend)
    _logger.info("cut %d journal entries in %.3f s", entries, time.monotonic() - start)
    return Compaction(cut.seq, cut.at, entries, records, max(0, freed))


def _cut(backend: FullBackend) -> Moment:
    return backend.journal_reader.cut() or Moment(0, 0.0)


def _size(backend: FullBackend) -> int:
    return backend.totals(EVERYWHERE, 0.0).bytes
