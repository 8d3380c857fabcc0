"""Erasing: what was said is gone from everywhere, and only that something was said remains.

A tombstone stays, with the record's id, namespace and the times at which it was stored and erased,
and the journal keeps its entries without what they told, so that its chain still verifies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..engine import Engine
from ..filters import Filter
from ..journal import told
from ..namespaces import Scope
from ..records import MemoryRecord, State
from .lifecycle import check_criteria, chosen

_STATES: Final[tuple[State, ...]] = ("live", "superseded", "archived", "forgotten")


def erase(
    engine: Engine, ids: Iterable[str] | None, scope: Scope | None, where: Filter | None
) -> int:
    """Erase the records, in any state, that satisfy every given criterion; return how many.

    First all of them in one transaction, from which on no verb finds anything of them; then the
    storage is cleaned of the bytes.
    """
    check_criteria("erase", ids, scope, where)
    engine.settle(where)
    with engine.writing() as transaction:
        found = chosen(transaction.writer, ids, scope, where, _STATES)
        erased = [pair for pair in found if pair[1].state != "erased"]
        for row, record in erased:
            tombstone = _tombstone(record, transaction.now)
            transaction.erase(row, tombstone, told(tombstone))
    engine.index.rebuild(transaction.erased)
    engine.backend.scrub()
    return len(erased)


def _tombstone(record: MemoryRecord, now: float) -> MemoryRecord:
    return MemoryRecord(
        id=record.id,
        namespace=record.namespace,
        content="",
        created_at=record.created_at,
        occurred_at=record.created_at,
        updated_at=now,
        state="erased",
    )
