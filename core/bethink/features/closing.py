"""Closing of a store that nobody closes."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar
from weakref import finalize

from ..errors import StorageError
from ..memory.engine import Engine
from ..memory.memories import Memories

_Store = TypeVar("_Store", bound=Memories)


class _Hold:
    """What a store and its handles share, as long as any is in use."""


def close_when_unused(store: _Store) -> _Store:
    """Return *store*, to be closed once the store and all handles are out of use.

    So no count of accesses is lost.
    """
    hold = _Hold()
    vars(store)["_hold"] = hold  # copied to handles
    finalize(hold, _close, store._engine)
    return store


def _close(engine: Engine) -> None:
    with suppress(StorageError):  # such as a file that is gone
        engine.close()
