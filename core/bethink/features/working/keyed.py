"""KeyedMemory: a working memory in a store, shared by threads, tasks and processes.

A key is one record without text. A new value is written into the record and into the journal, so
a counter stays one record, and the log has the history.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...calls import suggesting
from ...memory import writing
from ...memory.memories import check_store
from ...model import fields
from ...model.arrays import Vector
from ...model.filters import parse, unexpired
from ...model.namespaces import check_namespace
from ...model.port import Page
from ...model.records import MemoryRecord, with_fields
from .atomic import MISSING, UNCHANGED, AtomicMemory
from .interface import MemoryItem

if TYPE_CHECKING:
    from ...store import MemoryStore

HAS_KEY: Final = {"key": {"$exists": True}}


@suggesting
class KeyedMemory(AtomicMemory):
    """JSON values by key in the *namespace* of a *store*; every change is atomic and durable.

    Each namespace is a separate memory. The constructor reads and writes nothing.
    """

    _in_place: ClassVar = True
    """Whether a new value is written into the record, which keeps the id, or supersedes it."""

    def __init__(self, store: MemoryStore, *, namespace: str = "working") -> None:
        self.store = check_store(store)
        self.namespace = check_namespace(namespace)
        self._engine = store._engine

    def recent(self, limit: int) -> tuple[MemoryItem, ...]:
        """Return the *limit* items remembered last, newest last.

        ``update`` and ``compare_and_set`` remember anew; ``increment`` counts in place.
        """
        most, engine = fields.integer("limit", limit, 0), self._engine
        where = unexpired(parse(HAS_KEY), engine.clock())
        page = Page(most, descending=True, by="row")
        newest = engine.backend.select(self.namespace, where, page)
        return tuple(item_of(record) for _, record in reversed(newest))

    def forget(self, key: str) -> bool:
        """Forget *key*; return whether the key existed."""
        name = self._checked(key)
        return bool(self.store.forget(namespace=self.namespace, where={"key": name}))

    def clear(self) -> int:
        """Forget every key; return the number of keys."""
        self._check_all()
        return self.store.forget(namespace=self.namespace, where=HAS_KEY)

    def items(self) -> list[MemoryItem]:
        """Return keys and values in order of insertion, as a dict does."""
        return list(map(item_of, self.store.all(namespace=self.namespace, where=HAS_KEY)))

    def count(self) -> int:
        """Count the keys."""
        return self.store.count(namespace=self.namespace, where=HAS_KEY)

    def _read(self, key: str) -> Any:
        return value_of(self.store.get(namespace=self.namespace, key=key))

    def _change(
        self,
        key: str,
        change: Callable[[Any], Any],
        *,
        newest: bool = True,
        vectors: Mapping[str, Vector] | None = None,
    ) -> bool:
        """Write the result of *change*, with the only *vectors*.

        A record with a text is superseded, since the text would not fit the value.
        """
        engine, place = self._engine, self.namespace
        with engine.writing() as transaction:
            now = transaction.now
            row, held = transaction.writer.by_key(place, key) or (0, None)
            before = writing.unexpired(held, now)
            value = change(value_of(before))
            if value is UNCHANGED:
                return False
            if self._in_place and before is not None and not before.content:
                after = engine.admit(with_fields(before, value=value, updated_at=now))
                changes = {"value": value}
                transaction.change(row, before, after, {}, "update", changes, new_row=newest)
            else:
                id = engine.new_id()
                record = MemoryRecord(id, place, "", now, now, now, key=key, value=value)
                writing.add(transaction, engine.admit(record), vectors or {})
        return True

    def _place(self) -> tuple[Hashable, str | None]:
        return (id(self._engine), self.namespace), self.store.location


def value_of(record: MemoryRecord | None) -> Any:
    """Return the value of *record*, ``MISSING`` for None.

    A record stored with a text has the text as the value.
    """
    if record is None:
        return MISSING
    return record.content if record.value is None and record.content else record.value


def item_of(record: MemoryRecord) -> MemoryItem:
    """Return the key and the value of *record*."""
    return MemoryItem(str(record.key), value_of(record))
