"""View: the records of a store to be read, as they are or as they once were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from . import fields
from .engine import Engine
from .filters import parse
from .namespaces import EVERYWHERE, Scope, check_namespace, check_scope
from .records import Listed, MemoryRecord
from .verbs import links, reading
from .verbs.links import Direction, Relation

Where = Mapping[str, Any] | None


class View:
    """What can be read of the records behind *engine* without looking for anything."""

    _engine: Engine

    def get(
        self, id: str | None = None, *, namespace: str = "default", key: str | None = None
    ) -> MemoryRecord | None:
        """Return the record with *id*, or the live one that holds *key*; None if there is none.

        A superseded or archived record is returned by its id, a forgotten or expired one is not.
        """
        if (id is None) == (key is None):
            fields.fail("get needs an id or a key, and not both")
        if key is not None:
            return reading.by_key(
                self._engine, check_namespace(namespace), fields.label("key", key)
            )
        return reading.by_id(self._engine, fields.identifier("id", id))

    def all(
        self,
        *,
        namespace: Scope = "default",
        where: Where = None,
        limit: int | None = None,
        offset: int = 0,
        order: Literal["oldest", "newest"] = "oldest",
        state: Listed = "live",
    ) -> list[MemoryRecord]:
        """Return the live records of *namespace* that pass *where*, in order of insertion.

        What has expired is not among them, here as in all that reads. With another *state* return
        those that are "superseded", "archived", "forgotten" or "expired" instead.
        """
        fields.one_of("order", order, ("oldest", "newest"))
        fields.one_of("state", state, get_args(Listed))
        return reading.listed(
            self._engine,
            check_scope(namespace),
            parse(where),
            fields.limit("limit", limit),
            fields.integer("offset", offset, 0),
            newest_first=order == "newest",
            state=state,
        )

    def related(
        self, id: str, *, kind: str | None = None, direction: Direction = "both"
    ) -> list[Relation]:
        """Return what live record is linked with the live one with *id*, oldest link first.

        Only links of *kind*, if one is given; *direction* "out" are the links from the record, "in"
        those to it. A record that is no longer live has none until it is back; an unknown *id*
        raises ``NotFoundError``.
        """
        fields.one_of("direction", direction, links.DIRECTIONS)
        wanted = None if kind is None else links.checked_kind(kind)
        return links.related(self._engine, fields.identifier("id", id), wanted, direction)

    def count(self, *, namespace: Scope = "default", where: Where = None) -> int:
        """Count the live records of *namespace* that pass *where*."""
        return reading.count(self._engine, check_scope(namespace), parse(where))

    def namespaces(self, within: Scope = EVERYWHERE) -> dict[str, int]:
        """Return the namespaces that have live records and how many, sorted by name."""
        return reading.namespaces(self._engine, check_scope(within))
