"""Expensive questions: asked once by many, and broken off by a stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2 as httpx
import pytest
from fastapi import FastAPI

from bethink import Conflict, LogEntry, MemoryStore
from bethink_adapters.rest.app import create_app
from bethink_adapters.rest.settings import Settings
from bethink_adapters.rest.tokens import Token

from .serving import ALL, HOST, READER


class Slow(MemoryStore):
    """A store whose search for conflicts begins when told."""

    def __init__(self) -> None:
        super().__init__()
        self.looked, self.begun = threading.Semaphore(0), threading.Semaphore(0)
        self.may_go_on = threading.Semaphore(0)

    def conflicts(self, *args: Any, **options: Any) -> list[Conflict]:
        self.begun.release()
        assert self.may_go_on.acquire(timeout=30)
        return super().conflicts(*args, **options)

    def log(self, *args: Any, **options: Any) -> list[LogEntry]:
        try:
            return super().log(*args, **options)
        finally:
            self.looked.release()

    async def begin(self) -> None:
        """Wait for the next search."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=30)

    async def hear(self, http: httpx.AsyncClient, count: int) -> None:
        """Wait until *count* requests have looked at the journal, and one more is answered."""
        for _ in range(count):
            assert await asyncio.to_thread(self.looked.acquire, timeout=30)
        await http.get("/v1/namespaces")

    def is_asked_again(self) -> bool:
        return self.begun.acquire(blocking=False)


@pytest.fixture
def slow() -> Iterator[Slow]:
    with Slow() as made:
        made.store_many(["Bob lives in Oslo.", "Bob lives in Bergen."])
        yield made


@pytest.fixture
def app(slow: Slow) -> FastAPI:
    return create_app(slow, Settings([ALL, READER]))


@asynccontextmanager
async def client(app: FastAPI, token: Token = ALL) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app)
    headers = {"Authorization": f"Bearer {token.text}"}
    async with httpx.AsyncClient(transport=transport, base_url=HOST, headers=headers) as made:
        yield made


async def pairs(http: httpx.AsyncClient, query: str = "") -> int:
    reply = await http.get(f"/v1/conflicts{query}")
    assert reply.status_code == 200
    return len(reply.json()["items"])


def test_equal_questions_at_the_same_time_are_asked_once(slow: Slow, app: FastAPI) -> None:
    async def run() -> None:
        async with client(app) as http:
            askers = [asyncio.create_task(pairs(http)) for _ in range(5)]
            await slow.begin()
            await slow.hear(http, 5)
            slow.may_go_on.release()
            assert await asyncio.gather(*askers) == [1] * 5
            assert not slow.is_asked_again()

    asyncio.run(run())


def test_a_question_after_a_write_knows_the_write(slow: Slow, app: FastAPI) -> None:
    async def run() -> None:
        async with client(app) as http:
            first = asyncio.create_task(pairs(http))
            await slow.begin()
            slow.store("Bob lives in Turin.")
            later = [asyncio.create_task(pairs(http)) for _ in range(3)]
            await slow.hear(http, 4)
            slow.may_go_on.release(2)
            assert await asyncio.gather(*later) == [3] * 3
            await first
            await slow.begin()
            assert not slow.is_asked_again()

    asyncio.run(run())


def test_different_questions_and_tokens_do_not_wait_for_each_other(
    slow: Slow, app: FastAPI
) -> None:
    async def run() -> None:
        async with client(app) as http, client(app, READER) as reader:
            askers = [
                asyncio.create_task(each)
                for each in (pairs(http), pairs(http, "?limit=3"), pairs(reader))
            ]
            for _ in askers:
                await slow.begin()
            slow.may_go_on.release(3)
            assert await asyncio.gather(*askers) == [1] * 3

    asyncio.run(run())


def test_an_error_reaches_all_who_asked(slow: Slow, app: FastAPI) -> None:
    async def run() -> None:
        async with client(app) as http:
            askers = [asyncio.create_task(http.get("/v1/conflicts")) for _ in range(3)]
            await slow.begin()
            await slow.hear(http, 3)
            slow.close()
            slow.may_go_on.release()
            assert [each.status_code for each in await asyncio.gather(*askers)] == [503] * 3

    asyncio.run(run())


def test_a_stop_breaks_a_request_off_with_503(slow: Slow, app: FastAPI) -> None:
    async def run() -> None:
        async with client(app) as http:
            asker = asyncio.create_task(http.get("/v1/conflicts"))
            await slow.begin()
            app.state.streams.stopping.set()
            asker.cancel()  # as uvicorn does
            reply = await asker
            slow.may_go_on.release()
            assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
            assert reply.json()["type"] == "urn:bethink:problem:stopping"

    asyncio.run(run())
