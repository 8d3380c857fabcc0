"""A request with the key of a request in work waits; the answer comes afterwards."""

from __future__ import annotations

import asyncio

import httpx2 as httpx
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from bethink import MemoryStore
from bethink_adapters.rest.caller import Caller
from bethink_adapters.rest.repeats import Repeats

from .serving import ALL, HOST


def test_a_request_in_work_is_asked_for_again_later() -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        began.set()
        await go_on.wait()
        await PlainTextResponse("done")(scope, receive, send)

    async def talk(store: MemoryStore) -> None:
        repeats = Repeats(slow)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await repeats({**scope, "caller": Caller(store, ALL, False)}, receive, send)

        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=HOST) as http:
            headers = {"Idempotency-Key": "k"}
            first = asyncio.create_task(http.put("/", headers=headers))
            await began.wait()
            early = await http.put("/", headers=headers)
            assert (early.status_code, early.headers["retry-after"]) == (503, "1")
            go_on.set()
            assert (await first).text == "done"
            assert (await http.put("/", headers=headers)).text == "done"

    with MemoryStore() as store:
        asyncio.run(talk(store))
