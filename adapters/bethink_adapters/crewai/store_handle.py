"""The store behind a crew's storage: a caller's store, or a path that the storage opens."""

from __future__ import annotations

import os
import threading

from bethink import MemoryStore

from ..shared.opening import StoreOrPath, open_store


class StoreHandle:
    """A caller's *store*, never closed by the handle, or a path, opened at once.

    crewAI saves even after closing the memory, so a closed handle opens the path again.
    """

    def __init__(self, store: StoreOrPath) -> None:
        self._store: MemoryStore | None = open_store(store, shared=False)
        self._location = os.fspath(store) if isinstance(store, str | os.PathLike) else None
        self._lock = threading.Lock()

    def __call__(self) -> MemoryStore:
        """Return the open store."""
        with self._lock:
            if self._store is None:
                assert self._location is not None
                self._store = open_store(self._location, shared=False)
            return self._store

    def close(self) -> None:
        """Close a path's store; a store in memory stays open, for closing loses the data."""
        with self._lock:
            if self._location in (None, ":memory:") or self._store is None:
                return
            self._store.close()
            self._store = None
