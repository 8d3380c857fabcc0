"""Outcomes: what recalled memories earn by helping or failing, and how they lose it again.

Every judgement is one journal entry: its action is the verdict, its changes are what the record has
since. Outcomes alone archive, and bring back what they archived: an archived record below
``LOWEST_LIVE`` is one of theirs, for one archived by hand never falls so low.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from ..errors import CorruptStoreError, NotFoundError, RateLimitError
from ..memory.engine import Engine, Transaction
from ..memory.memories import Memories
from ..model import fields
from ..model.filters import All, Compare
from ..model.namespaces import EVERYWHERE
from ..model.port import Writer
from ..model.records import LOWEST_LIVE, MemoryRecord, State
from .files import is_chunked

Verdict: TypeAlias = Literal["worked", "failed", "partial"]

VERDICTS: Final[tuple[Verdict, ...]] = ("worked", "failed", "partial")
VERDICT_STEPS: Final[Mapping[Verdict, float]] = {"worked": 0.2, "failed": -0.3, "partial": 0.05}
MARK_STEP: Final = 0.1
MARK_LIMIT: Final = 0.5
"""Marks move an outcome no further from 0 than this: by themselves they never archive."""
MAX_FAILURES_PER_HOUR: Final = 3
HOUR: Final = 3_600.0
DAY: Final = 24 * HOUR
DRIFT_AFTER_SECONDS: Final = 30 * DAY

_FAILURES_FACT: Final = "outcomes:failed"
_LAST_DRIFT_FACT: Final = "outcomes:swept"
_ALL_FIELD_ACTIONS: Final = ("store", "erase")  # these tell every field
_OUTCOME_DECIMALS: Final = (
    9  # so that sums of tenths are what they are on paper: -0.5 is not below -0.5
)
_JUDGED_STATES: Final[tuple[State, ...]] = ("live", "superseded", "archived")
_DRIFTING_STATES: Final[tuple[State, ...]] = ("live", "archived")


@dataclass(frozen=True, slots=True)
class OutcomeEntry:
    """One change of a record's outcome, to ``outcome``: journal entry ``seq``.

    ``action`` is a verdict ("worked", "failed", "partial"), a mark ("useful", "useless"), "drift",
    or another verb that changed it, such as "undo".
    """

    seq: int
    at: float
    action: str
    outcome: float
    session: str | None = None


def record_outcome(engine: Engine, id: str, verdict: Verdict, session: str | None) -> MemoryRecord:
    """Add what the verdict is worth to a record's outcome; return the record."""
    with engine.writing() as transaction:
        _drift_due(engine, transaction, [id])
        row, before = _find_judged(transaction, id)
        if verdict == "failed":
            _count_failure(transaction, session)
        outcome = _round_outcome(before.outcome + VERDICT_STEPS[verdict])
        more_changes = {} if session is None else {"session": session}
        after = _set_outcome(transaction, row, before, outcome, verdict, more_changes)
    return engine.current(after)


def mark(engine: Engine, ids: Iterable[str], *, useful: bool) -> list[MemoryRecord]:
    """Move the outcome of each record by ``MARK_STEP``, up or down; return the records."""
    wanted, action = list(dict.fromkeys(ids)), "useful" if useful else "useless"
    with engine.writing() as transaction:
        _drift_due(engine, transaction, wanted)
        found = [_find_judged(transaction, id) for id in wanted]
        marked = [
            _set_outcome(
                transaction, row, before, _marked_outcome(before.outcome, useful), action, {}
            )
            for row, before in found
        ]
    return engine.all_current(marked)


def drift(engine: Engine) -> int:
    """Reset outcomes of records unused for ``DRIFT_AFTER_SECONDS`` to 0; return the count."""
    with engine.writing() as transaction:
        return _drift_all(engine, transaction)


def history(engine: Engine, id: str) -> list[OutcomeEntry]:
    """Return every change of a record's outcome, oldest first."""
    engine.check_open()
    if id not in engine.backend.get([id]):
        raise NotFoundError("record", id)
    return [
        OutcomeEntry(
            entry.seq,
            entry.at,
            entry.action,
            entry.changes["outcome"],
            entry.changes.get("session"),
        )
        for entry in reversed(engine.backend.log(None, id, None, 0))
        if "outcome" in entry.changes and entry.action not in _ALL_FIELD_ACTIONS
    ]


def _find_judged(transaction: Transaction, id: str) -> tuple[int, MemoryRecord]:
    """Return a record that ``get`` returns, too, with its row."""
    row, record = transaction.writer.find([id]).get(id, (0, None))
    if record is None or record.state not in _JUDGED_STATES or record.expired(transaction.now):
        raise NotFoundError("record", id)
    return row, record


def _round_outcome(outcome: float) -> float:
    return round(min(max(outcome, -1.0), 1.0), _OUTCOME_DECIMALS) + 0.0  # never -0.0


def _marked_outcome(outcome: float, useful: bool) -> float:
    if useful:
        return max(outcome, _round_outcome(min(outcome + MARK_STEP, MARK_LIMIT)))
    return min(outcome, _round_outcome(max(outcome - MARK_STEP, -MARK_LIMIT)))


def _set_outcome(
    transaction: Transaction,
    row: int,
    before: MemoryRecord,
    outcome: float,
    action: str,
    more_changes: Mapping[str, Any],
) -> MemoryRecord:
    """Give a record an outcome and the state that goes with it."""
    by_hand = before.state == "archived" and before.outcome >= LOWEST_LIVE
    if by_hand or (outcome < LOWEST_LIVE and is_chunked(transaction, before)):
        outcome = max(outcome, LOWEST_LIVE)  # a text with a hole in it would be another
    state = _state_for(transaction, before, outcome)
    after = replace(before, outcome=outcome, state=state, updated_at=transaction.now)
    changes = {
        "outcome": outcome,
        **({} if state == before.state else {"state": state}),
        **more_changes,
    }
    transaction.change(row, before, after, {}, action, changes)
    return after


def _state_for(transaction: Transaction, before: MemoryRecord, outcome: float) -> State:
    if before.state == "live" and outcome < LOWEST_LIVE:
        return "archived"
    if before.state == "archived" and before.outcome < LOWEST_LIVE <= outcome:
        held = before.key is not None and transaction.writer.by_key(before.namespace, before.key)
        return before.state if held or before.expired(transaction.now) else "live"
    return before.state


def _count_failure(transaction: Transaction, session: str | None) -> None:
    """Count a failure of *session*; refuse one too many within the hour.

    Sessions are told apart by digests: their names are only in entries that can be erased. A clock
    that steps back far does not lock a session out.
    """
    now, writer = transaction.now, transaction.writer
    failures: dict[str, list[float]] = {
        name: recent
        for name, times in _read_json_fact(writer, _FAILURES_FACT, {}).items()
        if (recent := [at for at in times if abs(now - at) < HOUR])
    }
    name = hashlib.sha256(session.encode()).hexdigest()[:32] if session is not None else ""
    own = failures.setdefault(name, [])
    if len(own) >= MAX_FAILURES_PER_HOUR:
        which = "outside any session" if session is None else f"of session {session!r}"
        raise RateLimitError(
            f"failures {which}", MAX_FAILURES_PER_HOUR, HOUR, min(own) + HOUR - now
        )
    own.append(now)
    writer.set(_FAILURES_FACT, json.dumps(failures))


def _read_json_fact(writer: Writer, name: str, default: Any) -> Any:
    """Return the JSON value of a fact, which is of the type of *default*, its value until then."""
    noted = writer.fact(name)
    try:
        value = default if noted is None else json.loads(noted)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, type(default)):
        raise CorruptStoreError(None, f"the fact {name!r} is damaged")
    return value


def _drift_due(engine: Engine, transaction: Transaction, ids: list[str]) -> None:
    """Let the records with *ids* drift, and once a day all others with them."""
    swept: float = _read_json_fact(transaction.writer, _LAST_DRIFT_FACT, -math.inf)
    if abs(transaction.now - swept) >= DAY:
        _drift_all(engine, transaction)
    else:
        _drift(engine, transaction, transaction.writer.find(ids).values())


def _drift_all(engine: Engine, transaction: Transaction) -> int:
    transaction.writer.set(_LAST_DRIFT_FACT, repr(transaction.now))
    earned = Compare(("outcome",), "$ne", 0.0)
    resting = Compare(("updated_at",), "$lte", transaction.now - DRIFT_AFTER_SECONDS)
    found = transaction.writer.matching(EVERYWHERE, All((earned, resting)), _DRIFTING_STATES)
    return _drift(engine, transaction, found)


def _drift(
    engine: Engine, transaction: Transaction, found: Iterable[tuple[int, MemoryRecord]]
) -> int:
    """Neutralise those of the records that are unused; an access not yet written is a use, too."""
    pending, since = engine.index.touches.unwritten(), transaction.now - DRIFT_AFTER_SECONDS
    unused = [
        (row, record)
        for row, record in found
        if record.state in _DRIFTING_STATES
        and record.outcome
        and max(record.updated_at, record.last_accessed_at or 0, pending.get(record.id, (0, 0))[1])
        <= since
    ]
    for row, record in unused:
        _set_outcome(transaction, row, record, 0.0, "drift", {})
    return len(unused)


class OutcomeVerbs(Memories):
    """The verbs on outcomes: ``record_outcome``, the marks, ``outcomes`` and ``drift``."""

    def record_outcome(self, id: str, outcome: Verdict, session: str | None = None) -> MemoryRecord:
        """Say that following a memory "worked" (+0.2), "failed" (-0.3) or was "partial" (+0.05).

        That moves its ``outcome``, within [-1, 1]; below -0.5 it is archived until it is back at
        -0.5. The fourth failure that a *session* reports within an hour raises ``RateLimitError``,
        from whichever process; all that name no session share one. An *id* that ``get`` does not
        return raises ``NotFoundError``.
        """
        verdict = fields.one_of("outcome", outcome, VERDICTS)
        named = None if session is None else fields.label("session", session)
        return record_outcome(self._engine, fields.identifier("id", id), verdict, named)

    def mark_useful(self, ids: str | Iterable[str]) -> list[MemoryRecord]:
        """Say that memories were of use: +0.1 to the outcome of each, to 0.5 at most."""
        return mark(self._engine, fields.ids(ids), useful=True)

    def mark_useless(self, ids: str | Iterable[str]) -> list[MemoryRecord]:
        """Say that memories were of no use: -0.1 to the outcome of each, to -0.5 at least.

        So marks alone never archive, and there is no limit to them.
        """
        return mark(self._engine, fields.ids(ids), useful=False)

    def outcomes(self, id: str) -> list[OutcomeEntry]:
        """Return how a record's outcome came about, oldest first, whatever its state.

        An unknown *id* raises ``NotFoundError``; of an erased record nothing is left to tell.
        """
        return history(self._engine, fields.identifier("id", id))

    def drift(self) -> int:
        """Bring outcomes of memories unused for 30 days back to 0; return how many that were.

        Unused is what was neither recalled nor judged nor changed. What a low outcome had archived
        is live again. Recording outcomes and marking does this, too, once a day; recall never does.
        """
        return drift(self._engine)
