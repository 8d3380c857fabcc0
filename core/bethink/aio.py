"""AsyncMemoryStore, AsyncPast, AsyncKeyedMemory and AsyncFiles: the same verbs, awaitable.

Each runs in a worker thread, so no event loop is ever blocked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from functools import update_wrapper, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from .files import Files
from .history import Past, When
from .store import MemoryStore
from .verbs.joining import Merged
from .view import View
from .working import KeyedMemory

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class _Face(Protocol[S_co]):
    @property
    def sync(self) -> S_co: ...


async def _in_thread(call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    from asyncio import to_thread  # whoever awaits has it; to import it takes long

    return await to_thread(call, *args, **kwargs)


def _awaitable(
    verb: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[_Face[S], P], Coroutine[Any, Any, R]]:
    """Return *verb* as a coroutine method of the same signature."""

    @wraps(verb)
    async def run(self: _Face[S], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _in_thread(verb, self.sync, *args, **kwargs)

    return run


class _AsyncView:
    get = _awaitable(View.get)
    all = _awaitable(View.all)
    count = _awaitable(View.count)
    namespaces = _awaitable(View.namespaces)
    related = _awaitable(View.related)


class AsyncMemoryStore(_AsyncView):
    """A ``MemoryStore`` whose verbs are awaitable; ``sync`` is the store itself.

    It is bound to no event loop: one store serves any number of loops. A cancelled verb still
    finishes in its thread, so the store stays consistent.
    """

    def __init__(self, location: str | os.PathLike[str] = ":memory:", **options: Any) -> None:
        self.sync = MemoryStore(location, **options)

    @classmethod
    def wrap(cls, store: MemoryStore) -> Self:
        """Return an awaitable face of an open *store*."""
        wrapped = cls.__new__(cls)
        wrapped.sync = store
        return wrapped

    store = _awaitable(MemoryStore.store)
    store_many = _awaitable(MemoryStore.store_many)
    update = _awaitable(MemoryStore.update)
    forget = _awaitable(MemoryStore.forget)
    restore = _awaitable(MemoryStore.restore)
    erase = _awaitable(MemoryStore.erase)
    expire = _awaitable(MemoryStore.expire)
    archive = _awaitable(MemoryStore.archive)
    unarchive = _awaitable(MemoryStore.unarchive)
    reinforce = _awaitable(MemoryStore.reinforce)
    record_outcome = _awaitable(MemoryStore.record_outcome)
    mark_useful = _awaitable(MemoryStore.mark_useful)
    mark_useless = _awaitable(MemoryStore.mark_useless)
    outcomes = _awaitable(MemoryStore.outcomes)
    drift = _awaitable(MemoryStore.drift)
    conflicts = _awaitable(MemoryStore.conflicts)
    resolve = _awaitable(MemoryStore.resolve)
    consolidate = _awaitable(MemoryStore.consolidate)
    relate = _awaitable(MemoryStore.relate)
    unrelate = _awaitable(MemoryStore.unrelate)
    recall = _awaitable(MemoryStore.recall)
    why_not = _awaitable(MemoryStore.why_not)
    pack = _awaitable(MemoryStore.pack)
    touch = _awaitable(MemoryStore.touch)
    vectors = _awaitable(MemoryStore.vectors)
    dimension = _awaitable(MemoryStore.dimension)
    log = _awaitable(MemoryStore.log)
    snapshot = _awaitable(MemoryStore.snapshot)
    snapshots = _awaitable(MemoryStore.snapshots)
    diff = _awaitable(MemoryStore.diff)
    audit = _awaitable(MemoryStore.audit)
    undo = _awaitable(MemoryStore.undo)
    export = _awaitable(MemoryStore.export)
    import_ = _awaitable(MemoryStore.import_)
    verify = _awaitable(MemoryStore.verify)
    repair = _awaitable(MemoryStore.repair)
    close = _awaitable(MemoryStore.close)

    async def as_of(self, when: When) -> AsyncPast:
        """Return what the store held at a moment, to be awaited."""
        return AsyncPast(await _in_thread(self.sync.as_of, when))

    update_wrapper(as_of, MemoryStore.as_of)

    async def merge_from(
        self, other: AsyncMemoryStore | MemoryStore | str | os.PathLike[str]
    ) -> Merged:
        """Bring in what another store holds, which may be awaitable, too."""
        source = other.sync if isinstance(other, AsyncMemoryStore) else other
        return await _in_thread(self.sync.merge_from, source)

    update_wrapper(merge_from, MemoryStore.merge_from)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    remember = _awaitable(KeyedMemory.remember)
    recall = _awaitable(KeyedMemory.recall)
    recent = _awaitable(KeyedMemory.recent)
    update = _awaitable(KeyedMemory.update)
    increment = _awaitable(KeyedMemory.increment)
    compare_and_set = _awaitable(KeyedMemory.compare_and_set)
    forget = _awaitable(KeyedMemory.forget)
    clear = _awaitable(KeyedMemory.clear)
    keys = _awaitable(KeyedMemory.keys)
    items = _awaitable(KeyedMemory.items)
    count = _awaitable(KeyedMemory.count)


class AsyncFiles:
    """``Files`` whose verbs are awaitable; ``sync`` are the files themselves."""

    def __init__(self, store: AsyncMemoryStore | MemoryStore, namespace: str = "files") -> None:
        self.sync = Files(_synchronous(store), namespace)
        self.namespace = self.sync.namespace

    async def as_of(self, when: When) -> AsyncFiles:
        """Return the files as they were at a moment, to be awaited."""
        past = AsyncFiles(self.sync.store, self.namespace)
        past.sync = await _in_thread(self.sync.as_of, when)
        return past

    update_wrapper(as_of, Files.as_of)

    read = _awaitable(Files.read)
    read_range = _awaitable(Files.read_range)
    view = _awaitable(Files.view)
    exists = _awaitable(Files.exists)
    list = _awaitable(Files.list)
    create = _awaitable(Files.create)
    write = _awaitable(Files.write)
    append = _awaitable(Files.append)
    str_replace = _awaitable(Files.str_replace)
    insert = _awaitable(Files.insert)
    delete = _awaitable(Files.delete)
    rename = _awaitable(Files.rename)
