"""The parts behind a store, for tests of the parts: the only place that knows where they are.

No public name leads here, since users have no use for the parts.
"""

from __future__ import annotations

from bethink import MemoryStore
from bethink.features.past.moments import Moments
from bethink.memory.engine import Engine
from bethink.storage.sqlite import SQLiteBackend
from bethink.storage.sqlite.connections import Connections


def engine_of(store: MemoryStore) -> Engine:
    return store._engine


def moments_of(store: MemoryStore) -> Moments:
    return store._moments


def connections_of(store: MemoryStore) -> Connections:
    backend = engine_of(store).backend
    assert isinstance(backend, SQLiteBackend)
    return backend._connections
