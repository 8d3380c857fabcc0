"""AsyncMemoryStore, AsyncPast, AsyncKeyedMemory and AsyncFiles: the same verbs, awaitable.

Each runs in a worker thread, so no verb blocks the event loop; only opening a store does, for a
moment. Who cancels a verb that writes waits until it is through, so that nothing overtakes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from functools import update_wrapper, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from .features.files import Files
from .features.links import LinkReader
from .features.transfer import Merged
from .features.working import KeyedMemory
from .memory.history import When
from .memory.memories import View
from .store import MemoryStore, Past

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
R = TypeVar("R")


def awaitable(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return *verb* as a coroutine method of the same signature."""
    return _twin(verb, in_thread)


def lasting(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return *verb*, which writes, as a coroutine method; see ``settled``."""
    return _twin(verb, settled)


def _twin(
    verb: Callable[Concatenate[Any, P], R], run: Callable[..., Coroutine[Any, Any, R]]
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    @wraps(verb)
    async def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await run(verb, self, *args, **kwargs)

    return twin


async def in_thread(verb: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run *verb* in a worker thread; who cancels it does not wait for it."""
    from asyncio import to_thread

    return await to_thread(verb, *args, **kwargs)


async def settled(verb: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run *verb* in a worker thread; who cancels it waits until it is through.

    So what comes after a cancelled write finds it done or not done, and never overtakes it.
    """
    import asyncio

    task = asyncio.ensure_future(asyncio.to_thread(verb, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        task.exception()  # or else asyncio warns that nobody asked for it
        raise cancelled
    return task.result()


def _reads(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return *verb* of what is behind a face as a coroutine method of the face."""
    return awaitable(_behind(verb))


def _writes(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return *verb*, which writes, as a coroutine method of the face."""
    return lasting(_behind(verb))


def _behind(verb: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    @wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return verb(self.sync, *args, **kwargs)

    return call


class _AsyncView:
    get = _reads(View.get)
    all = _reads(View.all)
    count = _reads(View.count)
    namespaces = _reads(View.namespaces)
    related = _reads(LinkReader.related)


class AsyncMemoryStore(_AsyncView):
    """A ``MemoryStore`` whose verbs are awaitable; ``sync`` is the store itself.

    It is bound to no event loop: one store serves any number of loops.
    """

    def __init__(self, location: str | os.PathLike[str] = ":memory:", **options: Any) -> None:
        self.sync = MemoryStore(location, **options)

    @classmethod
    def wrap(cls, store: MemoryStore) -> Self:
        """Return an awaitable face of an open *store*."""
        wrapped = cls.__new__(cls)
        wrapped.sync = store
        return wrapped

    store = _writes(MemoryStore.store)
    store_many = _writes(MemoryStore.store_many)
    update = _writes(MemoryStore.update)
    forget = _writes(MemoryStore.forget)
    restore = _writes(MemoryStore.restore)
    erase = _writes(MemoryStore.erase)
    expire = _writes(MemoryStore.expire)
    archive = _writes(MemoryStore.archive)
    unarchive = _writes(MemoryStore.unarchive)
    reinforce = _writes(MemoryStore.reinforce)
    record_outcome = _writes(MemoryStore.record_outcome)
    mark_useful = _writes(MemoryStore.mark_useful)
    mark_useless = _writes(MemoryStore.mark_useless)
    outcomes = _reads(MemoryStore.outcomes)
    drift = _writes(MemoryStore.drift)
    conflicts = _reads(MemoryStore.conflicts)
    resolve = _writes(MemoryStore.resolve)
    consolidate = _writes(MemoryStore.consolidate)
    relate = _writes(MemoryStore.relate)
    unrelate = _writes(MemoryStore.unrelate)
    recall = _reads(MemoryStore.recall)
    why_not = _reads(MemoryStore.why_not)
    pack = _reads(MemoryStore.pack)
    touch = _writes(MemoryStore.touch)
    vectors = _reads(MemoryStore.vectors)
    dimension = _reads(MemoryStore.dimension)
    log = _reads(MemoryStore.log)
    snapshot = _writes(MemoryStore.snapshot)
    snapshots = _reads(MemoryStore.snapshots)
    diff = _reads(MemoryStore.diff)
    audit = _reads(MemoryStore.audit)
    undo = _writes(MemoryStore.undo)
    export = _writes(MemoryStore.export)
    import_ = _writes(MemoryStore.import_)
    verify = _reads(MemoryStore.verify)
    repair = _writes(MemoryStore.repair)
    close = _writes(MemoryStore.close)

    async def as_of(self, when: When) -> AsyncPast:
        """Return what the store held at a moment, to be awaited."""
        return AsyncPast(await in_thread(self.sync.as_of, when))

    update_wrapper(as_of, MemoryStore.as_of)

    async def merge_from(
        self, other: AsyncMemoryStore | MemoryStore | str | os.PathLike[str]
    ) -> Merged:
        """Bring in what another store holds, which may be awaitable, too."""
        source = other.sync if isinstance(other, AsyncMemoryStore) else other
        return await settled(self.sync.merge_from, source)

    update_wrapper(merge_from, MemoryStore.merge_from)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _synchronous(store: AsyncMemoryStore | MemoryStore) -> MemoryStore:
    return store.sync if isinstance(store, AsyncMemoryStore) else store


class AsyncPast(_AsyncView):
    """A ``Past`` whose verbs are awaitable; ``sync`` is the past itself."""

    def __init__(self, past: Past) -> None:
        self.sync = past
        self.seq = past.seq
        self.at = past.at


class AsyncKeyedMemory:
    """A ``KeyedMemory`` whose verbs are awaitable; ``sync`` is the memory itself.

    The function given to ``update`` is an ordinary one and runs in a worker thread.
    """

    def __init__(
        self, store: AsyncMemoryStore | MemoryStore, *, namespace: str = "working"
    ) -> None:
        self.sync = KeyedMemory(_synchronous(store), namespace=namespace)

    remember = _writes(KeyedMemory.remember)
    recall = _reads(KeyedMemory.recall)
    recent = _reads(KeyedMemory.recent)
    update = _writes(KeyedMemory.update)
    increment = _writes(KeyedMemory.increment)
    compare_and_set = _writes(KeyedMemory.compare_and_set)
    forget = _writes(KeyedMemory.forget)
    clear = _writes(KeyedMemory.clear)
    keys = _reads(KeyedMemory.keys)
    items = _reads(KeyedMemory.items)
    count = _reads(KeyedMemory.count)


class AsyncFiles:
    """``Files`` whose verbs are awaitable; ``sync`` are the files themselves."""

    def __init__(self, store: AsyncMemoryStore | MemoryStore, namespace: str = "files") -> None:
        self.sync = Files(_synchronous(store), namespace)
        self.namespace = self.sync.namespace

    async def as_of(self, when: When) -> AsyncFiles:
        """Return the files as they were at a moment, to be awaited."""
        past = AsyncFiles.__new__(AsyncFiles)
        past.namespace = self.namespace
        past.sync = await in_thread(self.sync.as_of, when)
        return past

    update_wrapper(as_of, Files.as_of)

    read = _reads(Files.read)
    read_range = _reads(Files.read_range)
    view = _reads(Files.view)
    exists = _reads(Files.exists)
    list = _reads(Files.list)
    create = _writes(Files.create)
    write = _writes(Files.write)
    append = _writes(Files.append)
    str_replace = _writes(Files.str_replace)
    insert = _writes(Files.insert)
    delete = _writes(Files.delete)
    rename = _writes(Files.rename)
