"""What a server may see of a store: everything, or one namespace with everything below."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from bethink import EVERYWHERE, LogEntry, MemoryRecord, MemoryStore, NotFoundError, Subtree
from bethink.adapting import Scope, covers

_DEFAULT: Final = "default"


class View:
    """The *store* as one server sees the records; a *fixed* namespace hides everything outside.

    ``seen`` is the scope of the records that can be seen.
    """

    def __init__(self, store: MemoryStore, fixed: str | None = None) -> None:
        self.store = store
        self.fixed = fixed
        self.seen: Scope = EVERYWHERE if fixed is None else Subtree(fixed)

    def place(self, namespace: str | None) -> str:
        """Return the namespace to write to."""
        return self.fixed or namespace or _DEFAULT

    def scope(self, namespace: str | None) -> Subtree:
        """Return the scope to search: a namespace with everything below."""
        return Subtree(self.place(namespace))

    def find(self, ids: Iterable[str]) -> tuple[list[MemoryRecord], list[str]]:
        """Return the visible records with *ids*, and the ids without such a record."""
        records, missing = list[MemoryRecord](), list[str]()
        wanted = list(dict.fromkeys(ids))
        for each, record in zip(wanted, self.store.get_many(wanted), strict=True):
            if record is None or not covers(self.seen, record.namespace):
                missing.append(each)
            else:
                records.append(record)
        return records, missing

    def one(self, id: str) -> MemoryRecord:
        """Return the visible record with *id*, or raise ``NotFoundError``."""
        records, _ = self.find([id])
        if not records:
            raise NotFoundError("memory", id)
        return records[0]

    def in_state(self, state: Literal["archived", "forgotten"], ids: Iterable[str]) -> list[str]:
        """Return those of *ids* that belong to visible records in *state*."""
        wanted = list(ids)
        found = self.store.all(namespace=self.seen, where={"id": {"$in": wanted}}, state=state)
        return [each.id for each in found]

    def entry(self, number: int) -> LogEntry:
        """Return the visible journal entry *number*, or raise ``NotFoundError``.

        In a fixed namespace the entry of a move is hidden: undone, the move would show the former
        text of another namespace.
        """
        found = self.store.log(limit=None, since=number - 1, namespace=self.seen)[-1:]
        moved = found and found[0].action != "store" and "namespace" in found[0].changes
        if not found or found[0].seq != number or (moved and self.fixed is not None):
            raise NotFoundError("journal entry", str(number))
        return found[0]
