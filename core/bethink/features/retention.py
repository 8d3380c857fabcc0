"""Retention: forget expired and unused memories, archive, and roll old memories up."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import ValidationError
from ..memory.engine import Transaction
from ..memory.ranking import DAY
from ..memory.writing import bring_back, retire, select_records
from ..model import fields
from ..model.filters import Filter, matches, parse
from ..model.namespaces import EVERYWHERE, Scope, check_scope
from ..model.records import MemoryRecord, State
from ..storage import FullBackend
from .duplicates import DuplicateVerbs
from .files import IN_FILES

if TYPE_CHECKING:
    from .duplicates import Consolidated

_logger = logging.getLogger(__name__)

_MAX_DAYS: Final = 1e6
_LONGEST_SPAN: Final = 3650 * DAY
_SUPERSEDED: Final[tuple[State, ...]] = ("superseded",)
_RECALLED: Final = {"$not": {"$or": [{"content": "", "key": {"$exists": True}}, IN_FILES]}}
_BATCH_RECORDS: Final = 1000  # forgotten in one transaction


def check_expiries(transaction: Transaction) -> None:
    """Refuse an expiry such as 3600, a span in place of a time; warn of new texts that expired."""
    hidden = 0
    for row in transaction.live.values():
        record = row.record
        if record.expires_at is not None:
            check_expiry(record.expires_at, transaction.now)
            is_new = record.updated_at == record.created_at
            hidden += is_new and bool(record.content) and record.expired(transaction.now)
    if hidden:
        _logger.warning(
            "%d stored memories had expired before: no recall finds an expired memory", hidden
        )


def check_expiry(end: float, now: float) -> None:
    """Refuse the span *end* in place of a time; a clock of a test may tell small times, too."""
    if abs(end) < _LONGEST_SPAN < now / 2:
        raise ValidationError(
            f"expires_at must be a time, not a span of {end:g} seconds; add the present time, "
            "as in time.time() + 3600"
        )


class _Limits(NamedTuple):
    """The limits of ``expire``: *days* without use, the *least* activation, the *rate* a day."""

    days: float | None
    least: float | None
    rate: float

    def are_passed(self, record: MemoryRecord, now: float) -> bool:
        """Return whether *record* is live, and expired or unused by the time *now*."""
        if record.state != "live":
            return False
        if record.expired(now):
            return True
        unused = self.days is not None and _last_use(record) <= now - self.days * DAY
        faded = self.least is not None and self._activation(record, now) < self.least
        return (unused or faded) and matches(_recalled(), record)

    def candidates(self, backend: FullBackend, scope: Scope, now: float) -> list[str]:
        """Return the ids of records of *scope* that pass a limit by the time *now*."""
        wheres = [parse({"expires_at": {"$lte": now}})]
        if self.days is not None:
            wheres.append(parse({"$and": [_unused_since(now - self.days * DAY), _RECALLED]}))
        found = [id for where in wheres for _, id in backend.values(scope, where, path=("id",))]
        if self.least is not None:
            for each in backend.select(scope, _recalled()):
                if self._activation(each.record, now) < self.least:
                    found.append(each.record.id)
        return list(dict.fromkeys(found))

    def _activation(self, record: MemoryRecord, now: float) -> float:
        """Return importance · e^(-*rate* · days without use)."""
        days = max(0.0, now - _last_use(record)) / DAY
        return record.importance * math.exp(-self.rate * days)


class RetentionVerbs(DuplicateVerbs):
    """The verbs ``expire``, ``archive``, ``unarchive`` and ``roll_up``."""

    def expire(
        self,
        *,
        retention: float | None = None,
        floor: float | None = None,
        rate: float = 0.05,
        namespace: Scope | None = None,
    ) -> int:
        """Forget expired records, and unused records on request; return the number of records.

        Expired records are hidden already. Forgetting removes the records from the statistics of
        words, and from ``recall`` with an earlier ``now``.

        *retention* also forgets the live records that nobody stored, changed or recalled for so
        many days. *floor* in [0, 1] also forgets the live records with a lower activation:
        importance · e^(-*rate* · days without use), *rate* per day (the forgetting curve of
        Ebbinghaus 1885). Both need a *namespace*; without a namespace, records expire everywhere.
        Both pass over values without a text and over the texts of ``Files``: programs read these
        by key, and no recall counts the reading.

        A thousand records are forgotten in a transaction, so that other writers wait for a moment
        only. A call that fails or is stopped half way can be repeated.
        """
        forgets_unused = retention is not None or floor is not None
        if forgets_unused and namespace is None:
            fields.fail("retention and floor need a namespace; EVERYWHERE is the whole store")
        days = None if retention is None else fields.number("retention", retention, 0.0, _MAX_DAYS)
        least = None if floor is None else fields.number("floor", floor, 0.0, 1.0)
        decay = fields.number("rate", rate, 0.0, 1e9)
        scope = EVERYWHERE if namespace is None else check_scope(namespace)
        limits, engine = _Limits(days, least, decay), self._engine
        if forgets_unused:
            engine.flush()
        ids, count = limits.candidates(engine.backend, scope, engine.clock()), 0
        for start in range(0, len(ids), _BATCH_RECORDS):
            with engine.writing(closing=forgets_unused, guarded=False) as transaction:
                found = transaction.writer.find(ids[start : start + _BATCH_RECORDS]).values()
                due = [each for each in found if limits.are_passed(each.record, transaction.now)]
                retire(transaction, due, "expire")
            count += len(due)
        return count

    def archive(self, ids: str | Iterable[str]) -> int:
        """Hide live records from ``recall`` and ``all`` without forgetting them.

        Return the number of records that were live; an unknown id raises ``NotFoundError``.
        """
        wanted = fields.ids(ids)
        with self._engine.writing() as transaction:
            found = select_records(transaction.writer, wanted)
            shown = [pair for pair in found if not pair[1].expired(transaction.now)]
            return retire(transaction, shown, "archive", "archived")

    def unarchive(self, ids: str | Iterable[str]) -> int:
        """Bring archived records back, as ``restore`` does for forgotten; return the number."""
        return bring_back(self._engine, fields.ids(ids), "archived", "unarchive")

    def roll_up(self, *, older_than: float, namespace: Scope = "default") -> list[Consolidated]:
        """Merge old near-duplicates, forget old superseded records; return the merged groups.

        Old is a record that nobody stored, changed or recalled for *older_than* days. The merging
        is that of ``consolidate``. A merged record is superseded now: ``undo`` reverts the merge
        until a later call forgets the record. Forgotten versions stay in the journal, for
        ``audit``, ``log``, ``as_of`` and ``restore``.
        """
        days = fields.number("older_than", older_than, 0.0, _MAX_DAYS)
        scope, engine = check_scope(namespace), self._engine
        engine.flush()
        old = _unused_since(engine.clock() - days * DAY)
        with engine.writing() as transaction:
            retire(transaction, transaction.writer.outlines(scope, parse(old), _SUPERSEDED))
        return self.consolidate(namespace=scope, where=old)


def _unused_since(time: float) -> dict[str, Any]:
    """Return the filter of the records neither stored, changed nor accessed after *time*."""
    unread = {"last_accessed_at": {"$exists": False}}
    return {"updated_at": {"$lte": time}, "$or": [{"last_accessed_at": {"$lte": time}}, unread]}


def _last_use(record: MemoryRecord) -> float:
    """Return the time of the last change or access."""
    return max(record.updated_at, record.last_accessed_at or record.updated_at)


@cache
def _recalled() -> Filter | None:
    """Return the filter of the records that are read by recall, not by key."""
    return parse(_RECALLED)
