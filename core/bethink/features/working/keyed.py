"""Working memories in a store, shared by threads, tasks and processes.

A key is one record without text. ``KeyedMemory`` writes a new value into the record and into the
journal, so a counter stays one record, and the log has the history. ``VectorMemory`` makes a new
record for each value, since a vector belongs to one value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from ...calls import suggesting
from ...memory import writing
from ...memory.memories import check_store
from ...memory.ranking import WeightedSum
from ...model import fields
from ...model.arrays import Vector
from ...model.filters import parse, unexpired
from ...model.namespaces import check_namespace
from ...model.port import Page
from ...model.records import MemoryRecord, with_fields
from .atomic import MISSING, UNCHANGED, AtomicMemory
from .interface import MemoryItem, ScoredRecord
from .resident import Numbers, nearest, unit_vector

if TYPE_CHECKING:
    from ...store import MemoryStore

_HAS_KEY: Final = {"key": {"$exists": True}}
_COSINE: Final = WeightedSum(1.0, 0.0, 0.0, 0.0)


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
        where = unexpired(parse(_HAS_KEY), engine.clock())
        page = Page(most, descending=True, by="row")
        newest = engine.backend.select(self.namespace, where, page)
        return tuple(_item_of(record) for _, record in reversed(newest))

    def forget(self, key: str) -> bool:
        """Forget *key*; return whether the key existed."""
        name = self._checked(key)
        return bool(self.store.forget(namespace=self.namespace, where={"key": name}))

    def clear(self) -> int:
        """Forget every key; return the number of keys."""
        self._check_all()
        return self.store.forget(namespace=self.namespace, where=_HAS_KEY)

    def items(self) -> list[MemoryItem]:
        """Return keys and values in order of insertion, as a dict does."""
        return list(map(_item_of, self.store.all(namespace=self.namespace, where=_HAS_KEY)))

    def count(self) -> int:
        """Count the keys."""
        return self.store.count(namespace=self.namespace, where=_HAS_KEY)

    def _read(self, key: str) -> Any:
        return _value_of(self.store.get(namespace=self.namespace, key=key))

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
        with engine.writing([(place, key)]) as transaction:
            now = transaction.now
            row, held = transaction.writer.by_key(place, key) or (0, None)
            before = writing.unexpired(held, now)
            value = change(_value_of(before))
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


@suggesting
class VectorMemory(KeyedMemory):
    """A ``KeyedMemory`` with values found by the caller's vectors, as in ``LongTermMemory``.

    All vectors of a *namespace* have the same length, and are kept in single precision. Every
    change supersedes the value before, together with the vector, and makes the key the newest; a
    counter that changes often belongs into a ``KeyedMemory`` in another namespace.
    """

    _in_place: ClassVar = False

    def remember_vector(self, key: str, value: Any, vector: Numbers) -> None:
        """Remember *value*, any JSON, under *key*, to be found by *vector*.

        Every other change of the key removes the vector, which belonged to the value before. A
        vector with a number that is not finite raises ``ValidationError``, a vector of a wrong
        length ``DimensionError``.
        """
        new, single = fields.plain("value", value), unit_vector(key, vector).astype(np.float32)
        self._change(self._checked(key), lambda _: new, vectors={self.namespace: single})

    def search(self, vector: Numbers, top_k: int = 5) -> tuple[ScoredRecord, ...]:
        """Return the *top_k* items with the largest cosines with *vector*, best first.

        The search is exact for the vectors in single precision; with a vector of zeros the cosine
        is 0. Ties go to the earliest value. Items without a vector are not found.
        """
        query = unit_vector("query", vector).astype(np.float32)
        most = fields.integer("top_k", top_k, 0)
        found = self.store.recall(
            None,
            k=most,
            namespace=self.namespace,
            where=_HAS_KEY,
            vector=(self.namespace, query),
            ranking=_COSINE,
            touch=False,
        )
        if len(found) < most:  # recall leaves out cosines up to 0
            return self._search_all(query, most)
        return tuple(ScoredRecord(_item_of(hit.memory), hit.score) for hit in found)

    def _search_all(self, query: Vector, most: int) -> tuple[ScoredRecord, ...]:
        """Compare *query* with every vector."""
        found = self.store.all(namespace=self.namespace, where=_HAS_KEY)
        records = {each.id: each for each in found}
        vectors = self.store.vectors(records, self.namespace)
        items = [_item_of(record) for id, record in records.items() if id in vectors]
        directions = [unit_vector(id, vectors[id]) for id in records if id in vectors]
        return nearest(items, np.array(directions), unit_vector("query", query), most)


def _value_of(record: MemoryRecord | None) -> Any:
    """Return the value of *record*, ``MISSING`` for None.

    A record stored with a text has the text as the value.
    """
    if record is None:
        return MISSING
    return record.content if record.value is None and record.content else record.value


def _item_of(record: MemoryRecord) -> MemoryItem:
    """Return the key and the value of *record*."""
    return MemoryItem(str(record.key), _value_of(record))
