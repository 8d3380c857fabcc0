"""The store behind an object of LangGraph, given by the caller or opened by the object."""

from __future__ import annotations

from typing import Self

from bethink import MemoryStore
from bethink.adapting import finish_in_thread

from ..shared.opening import StoreOrPath, open_store


class Opened:
    """An object with a store: a context manager that closes only a store opened by the object."""

    store: MemoryStore

    def _open(self, store: StoreOrPath) -> None:
        self._owns = not isinstance(store, MemoryStore)
        self.store = open_store(store, shared=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store.location!r})"

    def setup(self) -> None:
        """Do nothing: the file is ready. LangGraph's own classes need the call."""

    def close(self) -> None:
        """Close the store if opened by the object."""
        if self._owns:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await finish_in_thread(self.close)
