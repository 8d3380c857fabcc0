"""Connections to read: what becomes of a connection after its use."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from bethink import HashEmbedder, MemoryStore
from bethink.storage.postgres import PostgresBackend, connection, connections
from bethink.storage.postgres.connections import Connections

from ...inside import engine_of
from .server import fresh_location


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(fresh_location(), embedder=HashEmbedder(16)) as opened_store:
        opened_store.store("one", id="r1")
        yield opened_store


def server_of(store: MemoryStore) -> Connections:
    backend = engine_of(store).backend
    assert isinstance(backend, PostgresBackend)
    return backend._connections


def test_a_read_that_was_interrupted_before_the_answer_keeps_no_later_read_from_one(
    store: MemoryStore,
) -> None:
    with suppress(KeyboardInterrupt), server_of(store).reading() as connection:
        connection.raw.pgconn.send_query(b"SELECT 1")
        raise KeyboardInterrupt
    assert store.get("r1") is not None


def test_a_read_that_ends_after_close_leaves_no_connection_open(store: MemoryStore) -> None:
    with server_of(store).reading() as connection:
        store.close()
    assert connection.raw.closed


def test_a_read_of_many_rows_may_compute_for_long(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.3)
    with MemoryStore(store.location, embedder=HashEmbedder(16)) as other:
        store.store_many(["a note"] * 1_100)
        with server_of(other).read_transaction() as connection:
            assert len(connection.execute("SELECT id FROM records").fetchall()) == 1_101
            time.sleep(0.6)
            assert connection.execute("SELECT count(*) FROM records").fetchone() == (1_101,)


def test_an_export_may_pause_for_longer_than_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            if not self.tell():
                time.sleep(0.5)
            return super().write(text)

    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(connection, "_PATIENCE", connection._PATIENCE.replace("300s", "100ms"))
    with MemoryStore(fresh_location(), embedder=HashEmbedder(16)) as store:
        store.store_many([f"note {number}" for number in range(1_100)])
        assert store.export(Slow()) == 1_100
