"""A store that nobody closes: closed once nobody holds the store."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar
from weakref import finalize

from ..errors import StorageError
from ..memory.engine import Engine
from ..memory.memories import Memories

_Store = TypeVar("_Store", bound=Memories)


def closing_itself(store: _Store) -> _Store:
    """Return *store*, to be closed once nobody holds the store: no count of accesses is lost."""
    finalize(store, _close, store._engine)
    return store


def _close(engine: Engine) -> None:
    with suppress(StorageError):  # such as a file that is gone
        engine.close()
