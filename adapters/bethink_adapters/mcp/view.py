"""What the tools see of a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from bethink import MemoryRecord
from bethink.adapting import Scope

from ..surface.visible import Visible


class View(Visible):
    """The store as the tools of one server see the records."""

    def within(self, namespace: str | None) -> Scope:
        """Return the scope to search: *namespace* with all below; None: all names, or the home."""
        if namespace is None and not self.names:
            namespace = self.place(None)
        return self.scope(namespace, subtree=True)

    def find(self, ids: Iterable[str]) -> tuple[list[MemoryRecord], list[str]]:
        """Return the visible records with *ids*, and the ids without such a record."""
        records, missing = list[MemoryRecord](), list[str]()
        wanted = list(dict.fromkeys(ids))
        for each, record in zip(wanted, self.store.get_many(wanted), strict=True):
            if record is None or not self.sees(record.namespace):
                missing.append(each)
            else:
                records.append(record)
        return records, missing

    def in_state(self, state: Literal["archived", "forgotten"], ids: Iterable[str]) -> list[str]:
        """Return those of *ids* that belong to visible records in *state*."""
        wanted = list(ids)
        found = self.store.all(namespace=self.seen, where={"id": {"$in": wanted}}, state=state)
        return [each.id for each in found]
