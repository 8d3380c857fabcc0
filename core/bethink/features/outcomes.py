"""Outcomes: what recalled memories earn by helping or failing, and lose again by rest.

Every judgement is one journal entry: the action is the verdict, the changes are the new fields.
Outcomes alone archive and unarchive: a record archived by an outcome has an outcome below
``LOWEST_LIVE``, and a record archived by hand never falls so low.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ..errors import CorruptStoreError, NotFoundError, RateLimitError
from ..memory.engine import Engine, Transaction
from ..memory.memories import Memories
from ..memory.ranking import DAY
from ..memory.writing import find_live
from ..model import fields
from ..model.filters import All, Compare
from ..model.namespaces import EVERYWHERE
from ..model.port import LogQuery, Stored, Writer
from ..model.records import LOWEST_LIVE, MemoryRecord, State, with_fields
from ..model.values import Value
from .files import is_chunked

Verdict: TypeAlias = Literal["worked", "failed", "partial"]

VERDICT_STEPS: Final[Mapping[Verdict, float]] = {"worked": 0.2, "failed": -0.3, "partial": 0.05}
VERDICTS: Final[tuple[Verdict, ...]] = tuple(VERDICT_STEPS)
MARK_STEP: Final = 0.1
MARK_LIMIT: Final = 0.5
"""Marks move an outcome no further from 0: marks alone never archive."""
MAX_FAILURES_PER_HOUR: Final = 3
HOUR: Final = 3_600.0
DRIFT_AFTER_SECONDS: Final = 30 * DAY

_FAILURES_SETTING: Final = "outcomes:failed"
_LAST_DRIFT_SETTING: Final = "outcomes:swept"
_LAST_IMPORT_SETTING: Final = "outcomes:imported"
_ALL_FIELD_ACTIONS: Final = ("store", "base", "erase")  # whose changes hold every field
_OUTCOME_DECIMALS: Final = 9  # sums of tenths are as on paper: -0.5 is not below -0.5
_JUDGED_STATES: Final[tuple[State, ...]] = ("live", "superseded", "archived")
_DRIFTING_STATES: Final[tuple[State, ...]] = ("live", "archived")


@dataclass(frozen=True, slots=True)
class OutcomeEntry(Value):
    """One change of a record's outcome, to ``outcome`` in [-1, 1], by journal entry ``seq``.

    ``action`` is a verdict ("worked", "failed", "partial"), a mark ("useful", "useless"), "drift",
    or a verb that changed the outcome besides, such as "undo".
    """

    seq: int
    at: float
    action: str
    outcome: float
    session: str | None = None


class OutcomeVerbs(Memories):
    """The verbs ``reinforce``, ``record_outcome``, the marks, ``outcomes`` and ``drift``."""

    def record_outcome(self, id: str, outcome: Verdict, session: str | None = None) -> MemoryRecord:
        """Note that following a memory "worked" (+0.2), "failed" (-0.3) or was "partial" (+0.05).

        The verdict moves the memory's ``outcome``, within [-1, 1]. A memory below -0.5 is archived
        until the outcome is back at -0.5. The fourth failure within an hour from one *session*, in
        any process, raises ``RateLimitError``; callers without a session share one count. An *id*
        that ``get`` does not return raises ``NotFoundError``.
        """
        verdict = fields.one_of("outcome", outcome, VERDICTS)
        named = None if session is None else fields.label("session", session)
        name = fields.identifier("id", id)
        with self._engine.writing() as transaction:
            _drift_due(self._engine, transaction, [name])
            row, before = _find_judged(transaction, name)
            if verdict == "failed":
                _count_failure(transaction, named)
            moved = _round_outcome(before.outcome + VERDICT_STEPS[verdict])
            details = {} if named is None else {"session": named}
            after = _set_outcome(transaction, row, before, moved, verdict, details)
        return self._engine.current(after)

    def reinforce(self, id: str, amount: float = 0.1) -> MemoryRecord:
        """Raise a live record's importance by *amount* in [0, 1], up to 1, and count an access.

        An *id* that is unknown, expired or not live raises ``NotFoundError``.
        """
        raised, name = fields.number("amount", amount, 0.0, 1.0), fields.identifier("id", id)
        with self._engine.writing() as transaction:
            row, before = find_live(transaction, name)
            now = transaction.now
            changes: dict[str, Any] = {
                "importance": min(before.importance + raised, 1.0),
                "access_count": before.access_count + 1,
                "last_accessed_at": max(now, before.last_accessed_at or now),
            }
            after = with_fields(before, **changes, updated_at=now)
            transaction.change(row, before, after, {}, "reinforce", changes)
        return self._engine.current(after)

    def mark_useful(self, ids: str | Iterable[str]) -> list[MemoryRecord]:
        """Mark memories as useful: +0.1 to each outcome, up to 0.5; return the records."""
        return self._mark(ids, "useful", MARK_STEP)

    def mark_useless(self, ids: str | Iterable[str]) -> list[MemoryRecord]:
        """Mark memories as useless: -0.1 to each outcome, down to -0.5; return the records.

        Marks alone never archive, and the number of marks has no limit.
        """
        return self._mark(ids, "useless", -MARK_STEP)

    def outcomes(self, id: str) -> list[OutcomeEntry]:
        """Return every change of a record's outcome, oldest first, in any state of the record.

        An unknown *id* raises ``NotFoundError``; an erased record has no changes left.
        """
        name, backend = fields.identifier("id", id), self._engine.backend
        if name not in backend.find([name]):
            raise NotFoundError("record", name)
        return [
            OutcomeEntry(
                entry.seq,
                entry.at,
                entry.action,
                entry.changes["outcome"],
                entry.changes.get("session"),
            )
            for entry in reversed(backend.log(LogQuery(id=name)))
            if "outcome" in entry.changes and entry.action not in _ALL_FIELD_ACTIONS
        ]

    def drift(self) -> int:
        """Reset outcomes of memories unused for 30 days to 0; return the number of memories.

        A use is a recall, a judgement or a change; an import from remembrane or Memory Layer counts
        as a use of all memories. A memory archived by a low outcome is live again. Recording
        outcomes and marking also reset, once a day; recall never resets.
        """
        with self._engine.writing() as transaction:
            return _drift_all(self._engine, transaction)

    def _mark(self, ids: str | Iterable[str], action: str, step: float) -> list[MemoryRecord]:
        """Move the outcome of each record by *step*, but no further from 0 than the limit."""
        wanted = list(dict.fromkeys(fields.ids(ids)))
        further, limit = (max, min) if step > 0 else (min, max)
        marked = []
        with self._engine.writing() as transaction:
            _drift_due(self._engine, transaction, wanted)
            for row, before in [_find_judged(transaction, id) for id in wanted]:
                moved = limit(before.outcome + step, math.copysign(MARK_LIMIT, step))
                outcome = further(before.outcome, _round_outcome(moved))
                marked.append(_set_outcome(transaction, row, before, outcome, action, {}))
        return self._engine.all_current(marked)


def note_import(transaction: Transaction) -> None:
    """Let outcomes rest for 30 days: imported memories are new here, however old their times."""
    transaction.writer.set_setting(_LAST_IMPORT_SETTING, repr(transaction.now))


def _find_judged(transaction: Transaction, id: str) -> tuple[int, MemoryRecord]:
    """Return the record *id*, if ``get`` returns the record, too, with the row."""
    row, record = transaction.writer.find([id]).get(id, (0, None))
    if record is None or record.state not in _JUDGED_STATES or record.expired(transaction.now):
        raise NotFoundError("record", id)
    return row, record


def _round_outcome(outcome: float) -> float:
    return round(min(max(outcome, -1.0), 1.0), _OUTCOME_DECIMALS) + 0.0  # never -0.0


def _set_outcome(
    transaction: Transaction,
    row: int,
    before: MemoryRecord,
    outcome: float,
    action: str,
    details: Mapping[str, Any],
) -> MemoryRecord:
    """Give a record an outcome, and the state that belongs to the outcome.

    *details* are more changes for the journal.
    """
    by_hand = before.state == "archived" and before.outcome >= LOWEST_LIVE
    if by_hand or (outcome < LOWEST_LIVE and is_chunked(transaction, before)):
        outcome = max(outcome, LOWEST_LIVE)  # to archive a chunk would leave a gap in the text
    state = before.state
    if state == "live" and outcome < LOWEST_LIVE:
        state = "archived"
    elif state == "archived" and before.outcome < LOWEST_LIVE <= outcome:
        writer, key = transaction.writer, before.key
        taken = key is not None and writer.by_key(before.namespace, key)
        if not taken and not before.expired(transaction.now):
            state = "live"
    after = with_fields(before, outcome=outcome, state=state, updated_at=transaction.now)
    moved = {} if state == before.state else {"state": state}
    changes = {"outcome": outcome, **moved, **details}
    transaction.change(row, before, after, {}, action, changes)
    return after


def _count_failure(transaction: Transaction, session: str | None) -> None:
    """Count a failure of *session*; refuse a failure beyond the limit within the hour.

    Digests stand for sessions: the names are only in entries that can be erased. A clock that
    steps back far does not lock a session out.
    """
    now, writer = transaction.now, transaction.writer
    failures: dict[str, list[float]] = {
        name: recent
        for name, times in _read_json_setting(writer, _FAILURES_SETTING, {}).items()
        if (recent := [at for at in times if abs(now - at) < HOUR])
    }
    name = hashlib.sha256(session.encode()).hexdigest()[:32] if session is not None else ""
    own = failures.setdefault(name, [])
    if len(own) >= MAX_FAILURES_PER_HOUR:
        whose = "outside any session" if session is None else f"of session {session!r}"
        wait = min(own) + HOUR - now
        raise RateLimitError(f"failures {whose}", MAX_FAILURES_PER_HOUR, HOUR, wait)
    own.append(now)
    writer.set_setting(_FAILURES_SETTING, json.dumps(failures))


def _read_json_setting(writer: Writer, name: str, default: Any) -> Any:
    """Return the JSON value of a setting, of *default*'s type; *default* for a missing setting."""
    stored = writer.setting(name)
    try:
        value = default if stored is None else json.loads(stored)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, type(default)):
        raise CorruptStoreError(None, f"the fact {name!r} is damaged")
    return value


def _drift_due(engine: Engine, transaction: Transaction, ids: list[str]) -> None:
    """Let the records with *ids* drift, and once a day all records."""
    last: float = _read_json_setting(transaction.writer, _LAST_DRIFT_SETTING, -math.inf)
    if abs(transaction.now - last) >= DAY:
        _drift_all(engine, transaction)
    else:
        _drift(engine, transaction, transaction.writer.find(ids).values())


def _drift_all(engine: Engine, transaction: Transaction) -> int:
    transaction.writer.set_setting(_LAST_DRIFT_SETTING, repr(transaction.now))
    earned = Compare(("outcome",), "$ne", 0.0)
    resting = Compare(("updated_at",), "$lte", transaction.now - DRIFT_AFTER_SECONDS)
    found = transaction.writer.select(EVERYWHERE, All((earned, resting)), states=_DRIFTING_STATES)
    return _drift(engine, transaction, found)


def _drift(engine: Engine, transaction: Transaction, found: Iterable[Stored]) -> int:
    """Reset the outcomes of unused records; an access not yet written is a use, too."""
    imported: float = _read_json_setting(transaction.writer, _LAST_IMPORT_SETTING, -math.inf)
    if abs(transaction.now - imported) < DRIFT_AFTER_SECONDS:
        return 0
    pending, since = engine.index.touches.unwritten(), transaction.now - DRIFT_AFTER_SECONDS
    count = 0
    for row, record in found:
        accessed = record.last_accessed_at or 0, pending.get(record.id, (0, 0))[1]
        unused = max(record.updated_at, *accessed) <= since
        if unused and record.outcome and record.state in _DRIFTING_STATES:
            _set_outcome(transaction, row, record, 0.0, "drift", {})
            count += 1
    return count
