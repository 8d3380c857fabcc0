"""AtomicMemory: the verbs of a keyed memory, on one atomic change of one key.

``remember``, ``increment`` and ``compare_and_set`` read and write in one change. The function given
to ``update`` runs before the change: a slow function, a use of the store or a fork inside a
transaction would keep every writer waiting, or deadlock. The result is written if the value has not
changed meanwhile; else the function is called again with the newer value.
"""

from __future__ import annotations

import copy
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ...errors import StoreBusyError, ValidationError
from ...model import fields
from ...model.fields import plain
from ...model.filters import RELATIONS
from .interface import Memory, MemoryItem

MAX_UPDATE_SECONDS: Final = 30.0
"""After so many seconds of changes by others, ``update`` gives up."""

MISSING: Final = object()
"""The value of a key that does not exist."""

UNCHANGED: Final = object()
"""A change of a value returns ``UNCHANGED`` to change nothing."""

_equal: Final = RELATIONS["$eq"]


class _Updating(threading.local):
    """The keys whose update functions are running in this thread."""

    keys: frozenset[tuple[Hashable, str]] = frozenset()


_updating: Final = _Updating()


class AtomicMemory(Memory):
    """JSON values by key; every change is atomic. A subclass knows where the values are."""

    @abstractmethod
    def forget(self, key: str) -> bool:
        """Forget *key*; return whether the key existed."""

    @abstractmethod
    def clear(self) -> int:
        """Forget every key; return the number of keys."""

    @abstractmethod
    def items(self) -> list[MemoryItem]:
        """Return keys and values in order of insertion, as a dict does."""

    @abstractmethod
    def count(self) -> int:
        """Count the keys."""

    @abstractmethod
    def _read(self, key: str) -> Any:
        """Return the value under *key*, ``MISSING`` without a value."""

    @abstractmethod
    def _change(self, key: str, change: Callable[[Any], Any], *, newest: bool = True) -> bool:
        """Write the result of *change*, called with the value under *key* or with ``MISSING``.

        No change by others comes in between. *newest* makes *key* the newest. Return False if
        *change* returned ``UNCHANGED``. *change* only computes, and may be called again.
        """

    @abstractmethod
    def _place(self) -> tuple[Hashable, str | None]:
        """Return a name of the memory in the process, and the path for errors, if any."""

    def remember(self, key: str, value: Any) -> None:
        """Remember *value*, any JSON, under *key*, in place of any value before.

        *key* becomes the newest.
        """
        new = plain("value", value)
        self._change(self._checked(key), lambda _: new)

    def recall(self, key: str, default: Any = None) -> Any:
        """Return the value under *key*, else *default*; the key does not become newer."""
        found = self._read(fields.label("key", key))
        return default if found is MISSING else found

    def update(self, key: str, fn: Callable[[Any], Any], default: Any = None) -> Any:
        """Remember the result of *fn* on the value under *key*, or on *default*; return the result.

        No change in between is lost: *fn* is called again with the newer value, and should only
        compute. An error in *fn* changes nothing. A result of None, as of a function that forgets
        to return, raises ``ValidationError``, and so does changing *key* inside *fn*. Constant
        changes by others for 30 s raise ``StoreBusyError``.
        """
        fields.function("fn", fn)
        found = self._read(fields.label("key", key))
        deadline = time.monotonic() + MAX_UPDATE_SECONDS
        while True:
            before = fields.plain("default", default) if found is MISSING else found
            with self._refusing_changes(key):
                result = fn(copy.deepcopy(before))
            if result is None:
                raise ValidationError("the update returned None; return the new value")
            new = plain("value", result)
            done, found = self._replace(key, found, new)
            if done:
                return copy.deepcopy(new)
            if time.monotonic() > deadline:
                raise StoreBusyError(self._place()[1], f"key {key!r} never stands still")

    def increment(self, key: str, by: float = 1) -> Any:
        """Add *by* to the number under *key*, 0 for a missing key; return the sum.

        A value that is not a number raises ``ValidationError``.
        """
        step, summed = _number("by", plain("by", by)), None

        def add(found: Any) -> Any:
            nonlocal summed
            before = 0 if found is MISSING else _number(f"the value of {key!r}", found)
            try:
                summed = plain("value", before + step)
            except OverflowError:
                raise ValidationError("the sum is too large for a float") from None
            return summed

        self._change(self._checked(key), add, newest=False)
        return summed

    def compare_and_set(self, key: str, expected: Any, new: Any) -> bool:
        """Remember *new* under *key* if ``recall(key)`` would return *expected*; return whether.

        None expects a missing key. Values are compared as JSON: ``True`` is not ``1``.
        """
        old, value = plain("expected", expected), plain("new", new)

        def exchange(found: Any) -> Any:
            return value if _equal(None if found is MISSING else found, old) else UNCHANGED

        return self._change(self._checked(key), exchange)

    def keys(self) -> list[str]:
        """Return the keys in order of insertion, as a dict does."""
        return [item.key for item in self.items()]

    def _replace(self, key: str, before: Any, new: Any) -> tuple[bool, Any]:
        """Remember *new* if the value is still *before*; return whether, and the value found."""
        present = before

        def exchange(found: Any) -> Any:
            nonlocal present
            present = found
            if before is MISSING or found is MISSING:
                return new if before is found else UNCHANGED
            return new if _equal(before, found) else UNCHANGED

        return self._change(self._checked(key), exchange), present

    def _checked(self, key: str) -> str:
        """Return *key* if the thread may change the key now."""
        name = fields.label("key", key)
        if (self._place()[0], name) in _updating.keys:
            raise ValidationError(
                f"the function that updates {name!r} must return the new value, not write it"
            )
        return name

    def _check_all(self) -> None:
        """Refuse to change every key while the thread updates a key of the memory."""
        for _, key in _updating.keys:
            self._checked(key)

    @contextmanager
    def _refusing_changes(self, key: str) -> Iterator[None]:
        """Refuse changes of *key* by the update function: each would make the update start anew."""
        outer, _updating.keys = _updating.keys, _updating.keys | {(self._place()[0], key)}
        try:
            yield
        finally:
            _updating.keys = outer


def _number(name: str, value: Any) -> int | float:
    value = fields.unboxed(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValidationError(f"{name} must be a number, not {type(value).__name__}")
    return value
