"""What a namespace holds, told by the store: counts and times by tags, and values alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..memory.memories import check_store
from ..model import fields
from ..model.filters import Where, parse, unexpired
from ..model.namespaces import Scope, check_scope
from ..model.port import Page
from ..storage import Tally

if TYPE_CHECKING:
    from ..store import MemoryStore


def values(
    store: MemoryStore, *, namespace: Scope, where: Where = None, page: Page | None = None
) -> list[Any]:
    """Return the values of the live records that pass *where*, in order of insertion.

    No other column is read where the filter needs none, and the file has no integrity key.
    """
    engine, scope, passing = check_store(store)._engine, check_scope(namespace), parse(where)
    asked = page or Page()
    fields.limit("limit", asked.limit)
    fields.integer("offset", asked.offset, 0)
    engine.flush_for(passing)
    found = engine.backend.values(scope, unexpired(passing, engine.clock()), asked)
    return [value for _, value in found]


def tallies(store: MemoryStore, *, namespace: Scope) -> list[Tally]:
    """Return the count and the times of the live records, for each namespace and set of tags."""
    engine, scope = check_store(store)._engine, check_scope(namespace)
    engine.check_open()
    return engine.backend.tallies(scope, engine.clock())
