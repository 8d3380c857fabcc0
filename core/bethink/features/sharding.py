"""Shards: one memory in several stores, each with some of the namespaces, on one server or many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..errors import StorageError, StoreClosedError
from ..memory.engine import Transaction
from ..memory.memories import Closable
from ..model import fields
from ..model.forks import fork_lock
from ..model.namespaces import Subtree, check_namespace
from ..model.progress import Progress, telling
from ..storage import let_move, shard_servers

if TYPE_CHECKING:
    from ..store import MemoryStore

_MAX_SHARDS: Final = 1_000


class Sharding(Closable):
    """The shards of ``Shards``; ``_store_class`` opens a shard."""

    _store_class: ClassVar[type[MemoryStore]]

    def __init__(
        self,
        servers: Mapping[str, str],
        *,
        schema: str = "bethink",
        count: int | None = None,
        steps: int | None = None,
        **options: Any,
    ) -> None:
        if count is not None and fields.integer("count", count, 1) > _MAX_SHARDS:
            fields.fail(f"count must be at most {_MAX_SHARDS}")
        if steps is not None:
            fields.integer("steps", steps, 1)
        self._servers = shard_servers(servers, schema)
        self._options = options
        self._count, self._steps = self._servers.start(count, steps)
        self._stores: dict[int, MemoryStore] = {}
        self._is_closed = False

    def store_for(self, namespace: str | Subtree) -> MemoryStore:
        """Return the store of the shard that holds *namespace*; close the shards, not the store.

        A subtree of fewer than ``steps`` steps lies in several shards and raises
        ``ValidationError``.
        """
        if not isinstance(namespace, Subtree):
            return self._store(self.number_of(namespace))
        if namespace.path.count("/") + 1 < self._steps:
            fields.fail(f"{namespace} lies in several shards; a loop visits every shard")
        return self._store(self.number_of(namespace.path))

    def number_of(self, namespace: str) -> int:
        """Return the number of the shard that holds *namespace*.

        The number is the BLAKE2b hash of the first ``steps`` steps, modulo the count of the shards.
        """
        place = "/".join(check_namespace(namespace).split("/")[: self._steps])
        digest = blake2b(place.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self._count

    def __len__(self) -> int:
        """Count the shards."""
        return self._count

    def __iter__(self) -> Iterator[MemoryStore]:
        """Yield the store of each shard."""
        return map(self._store, range(self._count))

    def places(self) -> list[str]:
        """Return the name of the server of each shard."""
        return self._servers.places([self._schema_of(number) for number in range(self._count)])

    def known_places(self) -> tuple[list[str | None], dict[str, str]]:
        """Return ``places``, with None for a shard that a server without an answer may have.

        The second value holds the reasons why servers gave no answer, by the servers' names.
        """
        schemas = [self._schema_of(number) for number in range(self._count)]
        return self._servers.known_places(schemas)

    def move(self, number: int, server: str, *, progress: Progress = None) -> bool:
        """Move the shard *number* to *server* while the shard is in use; return False if there.

        The role has to own the shard's tables. Writers wait while the last changes are copied; each
        store goes on at the new place. Behind a read that lasts longer than some seconds, such as
        an export, ``move`` raises ``StoreBusyError``. After any error, call ``move`` again.
        *progress*, see ``reembed``, tells of the copied rows.
        """
        if fields.integer("number", number, 0) >= self._count:
            fields.fail(f"number must be less than {self._count}, the count of the shards")
        with telling(progress) as tell:
            return self._servers.move(self._schema_of(number), server, tell)

    def close(self) -> None:
        """Close all stores; a second call does nothing."""
        with fork_lock:
            self._is_closed = True
            for store in self._stores.values():
                store.close()

    def _schema_of(self, number: int) -> str:
        return self._servers.schema_of(number, self._count)

    def _store(self, number: int) -> MemoryStore:
        if number not in self._stores or self._is_closed:
            with fork_lock:
                if self._is_closed:
                    raise StoreClosedError
                if number not in self._stores:
                    self._stores[number] = self._open(number)
        return self._stores[number]

    def _open(self, number: int) -> MemoryStore:
        find = partial(self._servers.find, self._schema_of(number))
        url = find()
        while True:
            try:
                store = self._store_class(url, **self._options)
                break
            except StorageError:  # perhaps for want of the shard, which has just moved
                former, url = url, find()
                if url == former:
                    raise
        engine = store._engine
        let_move(engine.backend, find)
        engine.strict_guards = (partial(self._refuse_others, number),)
        return store

    def _refuse_others(self, number: int, transaction: Transaction) -> None:
        """Refuse a transaction of the shard *number* that writes a namespace of a different one."""
        for namespace in sorted(transaction.namespaces | transaction.erased):
            if self.number_of(namespace) != number:
                fields.fail(
                    f"{namespace!r} is not in shard {number}; "
                    f"shards.store_for({namespace!r}) returns its store"
                )
