"""The async twins: AsyncMemoryStore, AsyncPast, AsyncFiles, AsyncKeyedMemory, AsyncVectorMemory.

Each verb runs in a worker thread, so no verb blocks the event loop; only opening a store does,
for a moment. Cancelling a write waits until the write is through, so that nothing overtakes it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import update_wrapper, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

from .calls import suggesting
from .embedders import Embedder
from .features.files import Files
from .features.past import Past
from .features.transfer import Archived, Merged
from .features.working import KeyedMemory, VectorMemory
from .memory.memories import check_store
from .model.fields import fail
from .model.namespaces import EVERYWHERE
from .model.records import MemoryRecord, When
from .store import MemoryStore

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
R = TypeVar("R")
Verb: TypeAlias = Callable[Concatenate[Any, P], R]
AsyncVerb: TypeAlias = Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]


def make_async(verb: Verb[P, R]) -> AsyncVerb[P, R]:
    """Return *verb* as a coroutine method of the same signature."""
    return _twin(verb, run_in_thread)


def make_async_write(verb: Verb[P, R]) -> AsyncVerb[P, R]:
    """Return *verb*, a write, as a coroutine method; see ``finish_in_thread``."""
    return _twin(verb, finish_in_thread)


def _twin(verb: Verb[P, R], run: Callable[..., Coroutine[Any, Any, R]]) -> AsyncVerb[P, R]:
    @wraps(verb)
    async def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await run(verb, self, *args, **kwargs)

    return twin


async def run_in_thread(verb: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run *verb* in a worker thread; a cancelled caller does not wait."""
    from asyncio import to_thread

    return await to_thread(verb, *args, **kwargs)


async def finish_in_thread(verb: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run *verb* in a worker thread; a cancelled caller waits for the end.

    So code after a cancelled write finds the write done or not done, and never overtakes the write.
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


def _call_on_sync(verb: Verb[P, R]) -> Verb[P, R]:
    @wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return verb(self.sync, *args, **kwargs)

    return call


def _async_read(verb: Verb[P, R]) -> AsyncVerb[P, R]:
    """Return *verb* of the synchronous object as a coroutine method."""
    return make_async(_call_on_sync(verb))


def _async_write(verb: Verb[P, R]) -> AsyncVerb[P, R]:
    """Return *verb*, a write, as a coroutine method."""
    return make_async_write(_call_on_sync(verb))


class _AsyncView:
    get = _async_read(MemoryStore.get)
    get_many = _async_read(MemoryStore.get_many)
    all = _async_read(MemoryStore.all)
    count = _async_read(MemoryStore.count)
    namespaces = _async_read(MemoryStore.namespaces)
    related = _async_read(MemoryStore.related)

    async def __aiter__(self) -> AsyncIterator[MemoryRecord]:
        """Yield the live records of all namespaces at the start of the loop, oldest first."""
        for record in await self.all(namespace=EVERYWHERE):
            yield record


@suggesting
class AsyncMemoryStore(_AsyncView):
    """A ``MemoryStore`` with awaitable verbs; ``sync`` is the store.

    The object is bound to no event loop: one store serves any number of loops.
    """

    def __init__(self, location: str | os.PathLike[str] = ":memory:", **options: Any) -> None:
        if isinstance(location, MemoryStore):
            fail("location must be a path, not a MemoryStore; AsyncMemoryStore.wrap takes a store")
        self.sync = MemoryStore(location, **options)

    update_wrapper(__init__, MemoryStore.__init__)

    @classmethod
    def wrap(cls, store: MemoryStore) -> Self:
        """Return an awaitable face of an open *store*."""
        wrapped = cls.__new__(cls)
        wrapped.sync = check_store(store)
        return wrapped

    @property
    def location(self) -> str:
        """The path, or the address of the database without a password."""
        return self.sync.location

    @property
    def embedder(self) -> Embedder:
        """The embedder of the store."""
        return self.sync.embedder

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self.sync.closed

    def for_source(self, source: str, **options: Any) -> AsyncMemoryStore:
        """Return a handle of the store for what comes from *source*."""
        return AsyncMemoryStore.wrap(self.sync.for_source(source, **options))

    update_wrapper(for_source, MemoryStore.for_source)

    store = _async_write(MemoryStore.store)
    store_many = _async_write(MemoryStore.store_many)
    update = _async_write(MemoryStore.update)
    forget = _async_write(MemoryStore.forget)
    restore = _async_write(MemoryStore.restore)
    erase = _async_write(MemoryStore.erase)
    expire = _async_write(MemoryStore.expire)
    archive = _async_write(MemoryStore.archive)
    unarchive = _async_write(MemoryStore.unarchive)
    reinforce = _async_write(MemoryStore.reinforce)
    record_outcome = _async_write(MemoryStore.record_outcome)
    mark_useful = _async_write(MemoryStore.mark_useful)
    mark_useless = _async_write(MemoryStore.mark_useless)
    outcomes = _async_read(MemoryStore.outcomes)
    drift = _async_write(MemoryStore.drift)
    stats = _async_read(MemoryStore.stats)
    conflicts = _async_read(MemoryStore.conflicts)
    resolve = _async_write(MemoryStore.resolve)
    consolidate = _async_write(MemoryStore.consolidate)
    roll_up = _async_write(MemoryStore.roll_up)
    compact = _async_write(MemoryStore.compact)
    relate = _async_write(MemoryStore.relate)
    unrelate = _async_write(MemoryStore.unrelate)
    recall = _async_read(MemoryStore.recall)
    why_not = _async_read(MemoryStore.why_not)
    pack = _async_read(MemoryStore.pack)
    build_vector_index = _async_write(MemoryStore.build_vector_index)
    drop_vector_index = _async_write(MemoryStore.drop_vector_index)
    touch = _async_write(MemoryStore.touch)
    vectors = _async_read(MemoryStore.vectors)
    dimension = _async_read(MemoryStore.dimension)
    log = _async_read(MemoryStore.log)
    entry = _async_read(MemoryStore.entry)
    snapshot = _async_write(MemoryStore.snapshot)
    snapshots = _async_read(MemoryStore.snapshots)
    diff = _async_read(MemoryStore.diff)
    audit = _async_read(MemoryStore.audit)
    undo = _async_write(MemoryStore.undo)
    export = _async_write(MemoryStore.export)
    import_ = _async_write(MemoryStore.import_)
    verify = _async_read(MemoryStore.verify)
    repair = _async_write(MemoryStore.repair)
    backup = _async_write(MemoryStore.backup)
    reembed = _async_write(MemoryStore.reembed)
    close = _async_write(MemoryStore.close)

    async def as_of(self, when: When) -> AsyncPast:
        """Return the records of the store at a moment, to be awaited."""
        return AsyncPast(await run_in_thread(self.sync.as_of, when))

    update_wrapper(as_of, MemoryStore.as_of)

    async def merge_from(
        self,
        other: AsyncMemoryStore | MemoryStore | str | os.PathLike[str],
        **options: Any,
    ) -> Merged:
        """Merge the memories of a second store, which may be awaitable, too."""
        return await finish_in_thread(self.sync.merge_from, _synchronous(other), **options)

    async def archive_to(
        self,
        other: AsyncMemoryStore | MemoryStore | str | os.PathLike[str],
        **options: Any,
    ) -> Archived:
        """Move memories with all history to a second store, which may be awaitable, too."""
        return await finish_in_thread(self.sync.archive_to, _synchronous(other), **options)

    update_wrapper(archive_to, MemoryStore.archive_to)
    update_wrapper(merge_from, MemoryStore.merge_from)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _synchronous(store: AsyncMemoryStore | R) -> MemoryStore | R:
    return store.sync if isinstance(store, AsyncMemoryStore) else store


@suggesting
class AsyncPast(_AsyncView):
    """A ``Past`` with awaitable verbs; ``sync`` is the past."""

    _remedy = Past._remedy

    def __init__(self, past: Past) -> None:
        self.sync = past
        self.seq = past.seq
        self.at = past.at


@suggesting
class AsyncKeyedMemory:
    """A ``KeyedMemory`` with awaitable verbs; ``sync`` is the memory.

    The function given to ``update`` is a plain function and runs in a worker thread.
    """

    _kind: ClassVar[type[KeyedMemory]] = KeyedMemory

    def __init__(
        self, store: AsyncMemoryStore | MemoryStore, *, namespace: str = "working"
    ) -> None:
        self.sync = self._kind(_synchronous(store), namespace=namespace)

    remember = _async_write(KeyedMemory.remember)
    recall = _async_read(KeyedMemory.recall)
    recent = _async_read(KeyedMemory.recent)
    update = _async_write(KeyedMemory.update)
    increment = _async_write(KeyedMemory.increment)
    compare_and_set = _async_write(KeyedMemory.compare_and_set)
    forget = _async_write(KeyedMemory.forget)
    clear = _async_write(KeyedMemory.clear)
    keys = _async_read(KeyedMemory.keys)
    items = _async_read(KeyedMemory.items)
    count = _async_read(KeyedMemory.count)


class AsyncVectorMemory(AsyncKeyedMemory):
    """A ``VectorMemory`` with awaitable verbs; ``sync`` is the memory."""

    sync: VectorMemory
    _kind = VectorMemory

    remember_vector = _async_write(VectorMemory.remember_vector)
    search = _async_read(VectorMemory.search)


@suggesting
class AsyncFiles:
    """``Files`` with awaitable verbs; ``sync`` are the files."""

    def __init__(self, store: AsyncMemoryStore | MemoryStore, namespace: str = "files") -> None:
        self.sync = Files(_synchronous(store), namespace)
        self.namespace = self.sync.namespace

    async def as_of(self, when: When) -> AsyncFiles:
        """Return the files at a moment, to be awaited."""
        past = AsyncFiles.__new__(AsyncFiles)
        past.namespace = self.namespace
        past.sync = await run_in_thread(self.sync.as_of, when)
        return past

    update_wrapper(as_of, Files.as_of)

    read = _async_read(Files.read)
    read_range = _async_read(Files.read_range)
    view = _async_read(Files.view)
    exists = _async_read(Files.exists)
    list = _async_read(Files.list)
    create = _async_write(Files.create)
    write = _async_write(Files.write)
    append = _async_write(Files.append)
    str_replace = _async_write(Files.str_replace)
    insert = _async_write(Files.insert)
    delete = _async_write(Files.delete)
    rename = _async_write(Files.rename)
