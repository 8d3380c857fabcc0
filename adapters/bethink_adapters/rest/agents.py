"""The MCP server at ``/mcp``, over the same store."""

from __future__ import annotations

from functools import lru_cache

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ..mcp.http import answer
from ..mcp.server import MemoryServer, Options
from ..surface.pages import LOCAL, host_name
from .caller import Client
from .replies import Json
from .settings import Settings


def add(app: FastAPI, settings: Settings) -> None:
    """Add ``/mcp`` to *app*."""
    origins = {host_name(each.partition("//")[2]) for each in settings.origins}
    hosts = LOCAL | settings.hosts | origins

    @app.api_route("/mcp", methods=["DELETE", "GET", "POST"], include_in_schema=False)
    async def mcp(caller: Client, request: Request) -> Response:
        """Answer a message of the Model Context Protocol."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await request.body()
        server = _server(app, caller.token.namespaces, caller.read_only)
        reply = await run_in_threadpool(
            answer, server.protocol, request.method, headers, body, hosts
        )
        if reply.body is None:
            return Response(status_code=reply.status, headers=dict(reply.headers))
        return Json(reply.body, reply.status, dict(reply.headers))


@lru_cache(maxsize=256)
def _server(app: FastAPI, namespaces: tuple[str, ...], read_only: bool) -> MemoryServer:
    store = app.state.store
    options = Options(store.location, namespaces, everything=True, read_only=read_only)
    return MemoryServer(options, opened=lambda: store)
