"""The MCP server at ``/mcp``, over the same store."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ..mcp.http import answer
from ..mcp.server import MemoryServer, Options
from ..surface.pages import LOCAL, host_name
from .caller import Caller, Client
from .problems import Problem
from .replies import Json
from .settings import Settings


def add(app: FastAPI, settings: Settings) -> None:
    """Add ``/mcp`` to *app*."""
    outside = APIRouter(tags=["server"])
    origins = {host_name(each.partition("//")[2]) for each in settings.origins}
    hosts = LOCAL | settings.hosts | origins

    @outside.api_route("/mcp", methods=["DELETE", "GET", "POST"], include_in_schema=False)
    async def mcp(caller: Client, request: Request) -> Response:
        """Answer a message of the Model Context Protocol."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await request.body()
        reply = await run_in_threadpool(
            answer, _server(app, caller).protocol, request.method, headers, body, hosts
        )
        if reply.body is None:
            return Response(status_code=reply.status, headers=dict(reply.headers))
        return Json(reply.body, reply.status, dict(reply.headers))

    app.include_router(outside)


def _server(app: FastAPI, caller: Caller) -> MemoryServer:
    names = caller.token.namespaces
    if len(names) > 1:
        raise Problem(403, "bound", "MCP needs a token bound to one namespace, or to none")
    return _made(app, names[0] if names else None, caller.read_only)


@lru_cache(maxsize=256)
def _made(app: FastAPI, namespace: str | None, read_only: bool) -> MemoryServer:
    store = app.state.store
    options = Options(
        Path(store.location), namespace=namespace, everything=True, read_only=read_only
    )
    return MemoryServer(options, opened=lambda: store)
