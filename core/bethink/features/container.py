"""A store as a container: ``len(store)``, loops, ``id in store``, ``store[id]``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import NotFoundError
from ..memory import reading
from ..memory.memories import View
from ..model import fields
from ..model.namespaces import EVERYWHERE
from ..model.records import MemoryRecord


class Container(View):
    """The records of a view by number, in a loop, and by id.

    The scope is the whole store: all namespaces, unlike ``all`` and ``count`` without a namespace.
    """

    def get_many(self, ids: Iterable[str]) -> list[MemoryRecord | None]:
        """Return what ``get`` returns for each of *ids*, in order; None without a match."""
        return reading.by_ids(self._engine, fields.ids(ids))

    def __len__(self) -> int:
        """Count the live records of all namespaces."""
        return self.count(namespace=EVERYWHERE)

    def __bool__(self) -> bool:
        """Return True, for an empty store, too: ``if store`` asks for a store, not for records."""
        return True

    def __iter__(self) -> Iterator[MemoryRecord]:
        """Yield the live records of all namespaces at the start of the loop, oldest first."""
        return iter(self.all(namespace=EVERYWHERE))

    def __contains__(self, wanted: object) -> bool:
        """Return whether ``get`` finds a record with the id *wanted*, or with a record's id."""
        id = wanted.id if isinstance(wanted, MemoryRecord) else wanted
        return isinstance(id, str) and self.get(id) is not None

    def __getitem__(self, id: str) -> MemoryRecord:
        """Return what ``get`` returns; no record raises ``NotFoundError``, which is a KeyError."""
        found = self.get(id)
        if found is None:
            raise NotFoundError("record", id)
        return found
