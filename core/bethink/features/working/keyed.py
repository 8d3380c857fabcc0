"""KeyedMemory: a working memory in a store, shared by threads, tasks and processes.

A key is one record without text. A new value is written into the record and into the journal, so
a counter stays one record, and the log has the history.

``remember``, ``increment`` and ``compare_and_set`` read and write in one transaction. The function
given to ``update`` runs before the transaction: a slow function, a use of the store or a fork
inside the transaction would keep every writer waiting, or deadlock. The result is written if the
value has not changed meanwhile; else the function is called again with the newer value.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ...calls import suggesting
from ...errors import StoreBusyError, ValidationError
from ...memory import writing
from ...memory.memories import check_store
from ...memory.writing import UNCHANGED
from ...model import fields
from ...model.fields import plain
from ...model.filters import RELATIONS, parse, unexpired
from ...model.namespaces import check_namespace
from ...model.port import Page
from ...model.records import MemoryRecord
from .interface import Memory, MemoryItem

if TYPE_CHECKING:
    from ...store import MemoryStore

MAX_UPDATE_SECONDS: Final = 30.0
"""After so many seconds of changes by others, ``update`` gives up."""

HAS_KEY: Final = {"key": {"$exists": True}}
_equal: Final = RELATIONS["$eq"]


class _Updating(threading.local):
    """The keys whose update functions are running in this thread."""

    keys: frozenset[tuple[int, str, str]] = frozenset()


_updating: Final = _Updating()


@suggesting
class KeyedMemory(Memory):
    """JSON values by key in the *namespace* of a *store*; every change is atomic and durable.

    Each namespace is a separate memory. The constructor reads and writes nothing.
    """

    def __init__(self, store: MemoryStore, *, namespace: str = "working") -> None:
        self.store = check_store(store)
        self.namespace = check_namespace(namespace)
        self._engine = store._engine

    def remember(self, key: str, value: Any) -> None:
        """Remember *value*, any JSON, under *key*, in place of any value before.

        *key* becomes the newest.
        """
        new = plain("value", value)
        self._modify(key, lambda _: new)

    def recall(self, key: str, default: Any = None) -> Any:
        """Return the value under *key*, else *default*; the key does not become newer."""
        found = self._record(key)
        return default if found is None else _value(found)

    def recent(self, limit: int) -> tuple[MemoryItem, ...]:
        """Return the *limit* items remembered last, newest last.

        ``update`` and ``compare_and_set`` remember anew; ``increment`` counts in place.
        """
        most, engine = fields.integer("limit", limit, 0), self._engine
        where = unexpired(parse(HAS_KEY), engine.clock())
        page = Page(most, descending=True, by="row")
        newest = engine.backend.select(self.namespace, where, page)
        return tuple(map(item_of, reversed(newest)))

    def update(self, key: str, fn: Callable[[Any], Any], default: Any = None) -> Any:
        """Remember the result of *fn* on the value under *key*, or on *default*; return the result.

        No change in between is lost: *fn* is called again with the newer value, and should only
        compute. An error in *fn* changes nothing. A result of None, as of a function that forgets
        to return, raises ``ValidationError``, and so does changing *key* inside *fn*. Constant
        changes by others for 30 s raise ``StoreBusyError``.
        """
        fields.function("fn", fn)
        found, deadline = self._record(key), time.monotonic() + MAX_UPDATE_SECONDS
        while True:
            before = fields.plain("default", default) if found is None else _value(found)
            before = copy.deepcopy(before)
            with self._refusing_changes(key):
                result = fn(before)
            if result is None:
                raise ValidationError("the update returned None; return the new value")
            new = plain("value", result)
            done, found = self._replace(key, found, new)
            if done:
                return copy.deepcopy(new)
            if time.monotonic() > deadline:
                raise StoreBusyError(self.store.location, f"key {key!r} never stands still")

    def increment(self, key: str, by: float = 1) -> Any:
        """Add *by* to the number under *key*, 0 for a missing key; return the sum.

        A value that is not a number raises ``ValidationError``.
        """
        step = _number("by", plain("by", by))

        def add(found: MemoryRecord | None) -> Any:
            before = 0 if found is None else _number(f"the value of {key!r}", _value(found))
            try:
                return plain("value", before + step)
            except OverflowError:
                raise ValidationError("the sum is too large for a float") from None

        summed = self._modify(key, add, new_row=False)
        assert summed is not None
        return summed.value

    def compare_and_set(self, key: str, expected: Any, new: Any) -> bool:
        """Remember *new* under *key* if ``recall(key)`` would return *expected*; return whether.

        None expects a missing key. Values are compared as JSON: ``True`` is not ``1``.
        """
        old, value = plain("expected", expected), plain("new", new)

        def exchange(found: MemoryRecord | None) -> Any:
            return value if _equal(None if found is None else _value(found), old) else UNCHANGED

        return self._modify(key, exchange) is not None

    def forget(self, key: str) -> bool:
        """Forget *key*; return whether the key existed."""
        name = self._checked(key)
        return bool(self.store.forget(namespace=self.namespace, where={"key": name}))

    def clear(self) -> int:
        """Forget every key; return the number of keys."""
        for _, _, key in _updating.keys:
            self._checked(key)
        return self.store.forget(namespace=self.namespace, where=HAS_KEY)

    def keys(self) -> list[str]:
        """Return the keys in order of insertion, as a dict does."""
        return [item.key for item in self.items()]

    def items(self) -> list[MemoryItem]:
        """Return keys and values in order of insertion, as a dict does."""
        return list(map(item_of, self.store.all(namespace=self.namespace, where=HAS_KEY)))

    def count(self) -> int:
        """Count the keys."""
        return self.store.count(namespace=self.namespace, where=HAS_KEY)

    def _modify(
        self, key: str, change: Callable[[MemoryRecord | None], Any], *, new_row: bool = True
    ) -> MemoryRecord | None:
        name = self._checked(key)
        return writing.modify(self._engine, self.namespace, name, change, new_row=new_row)

    def _replace(
        self, key: str, before: MemoryRecord | None, new: Any
    ) -> tuple[bool, MemoryRecord | None]:
        """Remember *new* if the value is still *before*; return whether, and the record found."""
        present = before

        def exchange(found: MemoryRecord | None) -> Any:
            nonlocal present
            present = found
            if before is None or found is None:
                return new if before is found else UNCHANGED
            return new if _equal(_value(before), _value(found)) else UNCHANGED

        return self._modify(key, exchange) is not None, present

    def _record(self, key: str) -> MemoryRecord | None:
        return self.store.get(namespace=self.namespace, key=key)

    def _checked(self, key: str) -> str:
        """Return *key* if the thread may change the key now."""
        name = fields.label("key", key)
        if self._place(name) in _updating.keys:
            raise ValidationError(
                f"the function that updates {name!r} must return the new value, not write it"
            )
        return name

    @contextmanager
    def _refusing_changes(self, key: str) -> Iterator[None]:
        """Refuse changes of *key* by the update function: each would make the update start anew."""
        outer, _updating.keys = _updating.keys, _updating.keys | {self._place(key)}
        try:
            yield
        finally:
            _updating.keys = outer

    def _place(self, key: str) -> tuple[int, str, str]:
        return id(self._engine), self.namespace, key


def _value(record: MemoryRecord) -> Any:
    """Return the value of *record*; a record stored with a text has the text as the value."""
    return record.content if record.value is None and record.content else record.value


def item_of(record: MemoryRecord) -> MemoryItem:
    """Return the key and the value of *record*."""
    return MemoryItem(str(record.key), _value(record))


def _number(name: str, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValidationError(f"{name} must be a number, not {type(value).__name__}")
    return value
