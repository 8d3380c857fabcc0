"""Counts and times of records by namespace and tags, made by the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..memory.memories import check_store
from ..model.namespaces import Scope, check_scope
from ..model.port import Tally

if TYPE_CHECKING:
    from ..store import MemoryStore


def tallies(store: MemoryStore, *, namespace: Scope) -> list[Tally]:
    """Return the count and the times of the live records, for each namespace and set of tags."""
    engine, scope = check_store(store)._engine, check_scope(namespace)
    engine.check_open()
    return engine.backend.tallies(scope, engine.clock())
