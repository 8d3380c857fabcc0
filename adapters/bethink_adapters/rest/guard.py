"""The guard before every route: hosts, pages, tokens, and the size of bodies."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bethink import MemoryStore

from ..surface.pages import LOCAL, allowed
from . import problems, tokens
from .caller import Caller
from .metrics import Metrics
from .pages import is_page
from .settings import UPLOADS, Settings

_OPEN: Final = frozenset(("/health/live", "/health/ready", "/openapi.json"))
"""Paths that tell nothing of the memory, and so need no token."""
_READING: Final = re.compile("/v1/(get|recall|pack|similar|verify|memories/[^/]+/why)|/mcp")
"""Paths whose POST changes nothing; of ``/mcp`` the tools are checked one by one."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Lets only requests of known hosts, pages and clients through to *app*."""

    def __init__(
        self, app: ASGIApp, store: MemoryStore, settings: Settings, metrics: Metrics
    ) -> None:
        self._app = app
        self._store = store
        self._settings = settings
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        started = False

        async def send_marked(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                self._metrics.count(scope["method"], message["status"])
            await send(message)

        path = scope["path"]
        try:
            headers = Headers(scope=scope)
            self._check_page(scope, headers)
            open_ = path in _OPEN or is_page(scope)
            if not open_ and scope["method"] != "OPTIONS":
                scope["caller"] = self._caller(scope, headers)
            limit = self._settings.max_upload if path in UPLOADS else self._settings.max_body
            receive = _Limited(receive, headers, limit)
        except problems.Problem as error:
            reply = problems.answer(
                path, error.status_code, error.kind, error.detail, error.headers
            )
            await reply(scope, receive, send_marked)
            return
        try:
            await self._app(scope, receive, send_marked)
        except asyncio.CancelledError:
            if not scope["app"].state.streams.stopping.is_set():
                raise
            if not started:
                await problems.stopping(path)(scope, receive, send_marked)

    def _check_page(self, scope: Scope, headers: Headers) -> None:
        """Refuse foreign hosts, read from the raw header, and pages of foreign origins."""
        hosts = headers.getlist("host")
        known = LOCAL | self._settings.hosts
        if len(hosts) != 1 or not allowed({"host": hosts[0]}, known):
            name = hosts[0] if len(hosts) == 1 else "none"
            raise problems.Problem(
                403,
                "host",
                f"the server does not know the host {name!r} of the request; "
                "`bethink serve --allow-host NAME` makes a name known",
            )
        origin = headers.get("origin")
        own = f"{scope.get('scheme', 'http')}://{hosts[0]}"
        if origin is not None and origin != own and origin not in self._settings.origins:
            raise problems.Problem(
                403,
                "origin",
                f"a page of {origin!r} may not ask here, where pages of {own!r} may; "
                "`bethink serve --allow-origin URL` allows a page's origin",
            )

    def _caller(self, scope: Scope, headers: Headers) -> Caller:
        token = tokens.find(self._settings.tokens, headers.get("authorization"))
        if token is None:
            detail = "send Authorization: Bearer TOKEN"
            if headers.get("authorization", "").lower().startswith("bearer "):
                detail = "the server does not know the token; a new token needs a restart"
            raise problems.Problem(401, "token", detail, WWW_Authenticate="Bearer")
        reading = scope["method"] in ("GET", "HEAD") or _READING.fullmatch(scope["path"])
        read_only = token.read_only or self._settings.read_only
        if read_only and not reading:
            raise problems.Problem(403, "read-only", "the token or the server is read-only")
        return Caller(self._store, token, read_only)


class _Limited:
    """A body of at most *limit* bytes."""

    def __init__(self, receive: Receive, headers: Headers, limit: int) -> None:
        self._receive = receive
        self._left = limit
        self._limit = limit
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18:
            raise problems.Problem(400, "length", "Content-Length is no number")
        if int(length) > limit:
            raise self._refusal()

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise self._refusal()
        return message

    def _refusal(self) -> problems.Problem:
        return problems.Problem(413, "size", f"the body is longer than {self._limit:,} bytes")
