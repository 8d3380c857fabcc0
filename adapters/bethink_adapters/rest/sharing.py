"""Expensive questions: equal requests at the same time share one answer."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from .caller import Caller
from .memories import last_entry
from .routing import Route


class _Work:
    """The work on an answer, which knows the journal up to the entry *known* at least."""

    def __init__(self, caller: Caller, answer: Callable[[], Awaitable[Response]]) -> None:
        self.known = math.inf  # no less than what anyone has seen yet
        self.answer = asyncio.create_task(self._run(caller, answer))

    async def _run(self, caller: Caller, answer: Callable[[], Awaitable[Response]]) -> Response:
        self.known = await run_in_threadpool(last_entry, caller)
        return await answer()


class SharedRoute(Route):
    """A route that reads; a request joins the work on an equal request of the same token.

    After a write meanwhile a request waits for the end of the work, since the work may not know the
    write. So no question is in work twice, however often the page of the question is loaded again.
    """

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Return the handler of requests."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            caller: Caller = request.scope["caller"]
            works: dict[tuple[str, str], _Work] = request.app.state.works
            question = caller.token.text, str(request.url)
            if question in works:
                asked = await run_in_threadpool(last_entry, caller)
                while question in works and works[question].known < asked:
                    await asyncio.wait([works[question].answer])
            if question not in works:
                works[question] = _Work(caller, lambda: handle(request))
                works[question].answer.add_done_callback(lambda _: works.pop(question))
            return await asyncio.shield(works[question].answer)

        return handler
