"""How often a verb waits for the server."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from bethink import HashEmbedder, KeyedMemory, MemoryStore
from bethink.storage import open_backend
from bethink.storage.postgres.connection import PostgresConnection

from .proxy import Proxy


def opened(location: str) -> MemoryStore:
    return MemoryStore(location, embedder=HashEmbedder(16))


def test_an_index_is_loaded_in_two_round_trips(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = list[PostgresConnection]()

    def counted(self: PostgresConnection) -> None:
        sent.extend([self] * bool(self._waiting))
        real(self)

    with opened(location) as store:
        store.store_many([f"note {number} of the harbour" for number in range(300)])
        store.recall("harbour")  # saves the index
    backend, real = open_backend(location), PostgresConnection.send
    # The server begins to answer a long batch before the end, which a proxy takes for two trips.
    monkeypatch.setattr(PostgresConnection, "send", counted)
    data = backend.load("default")
    assert len(sent) == 2
    assert [segment.count for segment in data.segments] == [300]
    backend.close()


@pytest.mark.parametrize("damage", ["data = substr(data, 2)", "first = first + 1", "format = 0"])
def test_rows_are_read_in_place_of_a_damaged_index(location: str, damage: str) -> None:
    with opened(location) as store:
        store.store_many([f"note {number} of the harbour" for number in range(300)])
        store.recall("harbour")  # saves the index
        store.forget(store.store("a note").id)
        url, _, schema = location.partition("?schema=")
        with psycopg.connect(url) as connection:
            connection.execute(f"UPDATE {schema}.segments SET {damage}")
        with opened(location) as other:
            assert len(other.recall("harbour", k=400)) == 300


def test_a_verb_takes_few_round_trips(location: str) -> None:
    proxy = Proxy(location)

    def trips(call: Callable[[], object]) -> int:
        before = proxy.round_trips
        call()
        return proxy.round_trips - before

    keyed = [{"content": f"note {number}", "key": f"{number}"} for number in range(20)]
    with opened(proxy.location) as store:
        store.store("The meeting is on Monday", id="1")
        store.recall("meeting", touch=False)
        for wanted, call in (
            (2, lambda: store.store("The meeting is in room 4", id="2")),
            (2, lambda: store.store("Blue", key="theme")),
            (2, lambda: store.store_many(keyed)),
            (2, lambda: store.store_many(keyed)),
            (2, lambda: KeyedMemory(store).increment("asked")),
            (3, lambda: KeyedMemory(store).remember("asked", 7)),
            (1, lambda: store.get("1")),
            (3, lambda: store.recall("meeting", touch=False)),
            (1, lambda: store.recall("meeting", touch=False)),
        ):
            assert trips(call) == wanted
        with opened(location) as other:
            other.store("The meeting is over", namespace="b")
        assert trips(lambda: store.recall("meeting")) == 3
        # Rows just loaded, and accesses in other namespaces, are not asked for.
        assert trips(lambda: store.recall("meeting", namespace="b")) == 2
        assert trips(store.count) == 2
    proxy.listener.close()


def test_a_merge_and_a_check_ask_few_questions_for_many_memories(location: str) -> None:
    proxy, trips = Proxy(location), []
    with opened(proxy.location) as store, opened(":memory:") as other:
        other.store_many({"content": f"note {number}", "key": f"{number}"} for number in range(60))
        for _ in range(2):
            before = proxy.round_trips
            store.merge_from(other)
            trips.append(proxy.round_trips - before)
        assert store.count() == 60
        assert max(trips) < 60
        before = proxy.round_trips
        assert store.verify().ok
        assert proxy.round_trips - before < 2 * 60
    proxy.listener.close()
