"""What a namespace holds, counted by the store: the latest records, and tallies by tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..memory.memories import check_store
from ..model.fields import integer
from ..model.namespaces import Scope, check_scope
from ..model.port import Tally
from ..model.records import MemoryRecord

if TYPE_CHECKING:
    from ..store import MemoryStore


def latest(
    store: MemoryStore, *, namespace: Scope, limit: int, offset: int = 0
) -> list[MemoryRecord]:
    """Return at most *limit* live records after *offset*, the latest to occur first.

    Of records that occurred at the same time, the last inserted comes first. ``all`` sorts by
    insertion instead. Only the returned records are read whole.
    """
    engine, scope = check_store(store)._engine, check_scope(namespace)
    most, start = integer("limit", limit, 0), integer("offset", offset, 0)
    engine.check_open()
    return engine.all_current(engine.backend.latest(scope, most, start, engine.clock()))


def tallies(store: MemoryStore, *, namespace: Scope) -> list[Tally]:
    """Return the count and the times of the live records, for each namespace and set of tags."""
    engine, scope = check_store(store)._engine, check_scope(namespace)
    engine.check_open()
    return engine.backend.tallies(scope, engine.clock())
