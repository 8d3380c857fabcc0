"""AsyncMemoryStore: the same verbs, awaitable.

Each runs in a worker thread, so no event loop is ever blocked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from .store import MemoryStore

P = ParamSpec("P")
R = TypeVar("R")


def _awaitable(
    verb: Callable[Concatenate[MemoryStore, P], R],
) -> Callable[Concatenate[AsyncMemoryStore, P], Coroutine[Any, Any, R]]:
    """Return *verb* as a coroutine method of the same signature."""

    @wraps(verb)
    async def run(self: AsyncMemoryStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(verb, self.sync, *args, **kwargs)

    return run


class AsyncMemoryStore:
    """A ``MemoryStore`` whose verbs are awaitable; ``sync`` is the store itself.

    It is bound to no event loop: one store serves any number of loops. A cancelled verb still
    finishes in its thread, so the store stays consistent.
    """

    def __init__(self, location: str = ":memory:", **options: Any) -> None:
        self.sync = MemoryStore(location, **options)

    @classmethod
    def wrap(cls, store: MemoryStore) -> Self:
        """Return an awaitable face of an open *store*."""
        wrapped = cls.__new__(cls)
        wrapped.sync = store
        return wrapped

    store = _awaitable(MemoryStore.store)
    store_many = _awaitable(MemoryStore.store_many)
    get = _awaitable(MemoryStore.get)
    all = _awaitable(MemoryStore.all)
    update = _awaitable(MemoryStore.update)
    forget = _awaitable(MemoryStore.forget)
    restore = _awaitable(MemoryStore.restore)
    count = _awaitable(MemoryStore.count)
    namespaces = _awaitable(MemoryStore.namespaces)
    recall = _awaitable(MemoryStore.recall)
    touch = _awaitable(MemoryStore.touch)
    vectors = _awaitable(MemoryStore.vectors)
    log = _awaitable(MemoryStore.log)
    close = _awaitable(MemoryStore.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
