"""Repeated requests: a write with the Idempotency-Key of an earlier write gets the same answer."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import answer
from .settings import UPLOADS

KEPT_SECONDS: Final = 24 * 3600.0
"""How long an answer is kept."""
MAX_ANSWERS: Final = 1_000
"""The most answers kept; the oldest goes first."""
_WRITES: Final = ("DELETE", "PATCH", "POST", "PUT")


@dataclass
class _Answer:
    """The answer to the request with the body *digest*; without messages, work in progress."""

    digest: bytes
    at: float
    messages: list[Message] = field(default_factory=list)


class Repeats:
    """Keeps the answers to writes that have an Idempotency-Key.

    Memories and messages are safe across restarts, too: the key makes the ids.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._answers: OrderedDict[tuple[str, str, str], _Answer] = OrderedDict()
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, from memory if the request is a repetition."""
        key = Headers(scope=scope).get("idempotency-key") if scope["type"] == "http" else None
        is_kept = scope.get("method") in _WRITES and scope["path"] not in UPLOADS
        if key is None or not is_kept or "caller" not in scope:  # an open path has no caller
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        address = f"{scope['method']} {scope['path']}?{scope['query_string'].decode('latin-1')}"
        name = (scope["caller"].token.text, address, key)
        digest = hashlib.sha256(body).digest()
        known = self._claim(name, digest)
        if known is not None:
            await _repeat(known, digest, scope, receive, send)
            return
        await self._work(name, digest, body, scope, receive, send)

    def _claim(self, name: tuple[str, str, str], digest: bytes) -> _Answer | None:
        """Return the answer kept for *name*, or note that work on *name* begins."""
        now = time.monotonic()
        with self._lock:
            known = self._answers.get(name)
            if known is not None and now - known.at < KEPT_SECONDS:
                return known
            self._answers[name] = _Answer(digest, now)
            self._answers.move_to_end(name)
            while len(self._answers) > MAX_ANSWERS:
                self._answers.popitem(last=False)
            return None

    async def _work(
        self,
        name: tuple[str, str, str],
        digest: bytes,
        body: bytes,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        messages: list[Message] = []
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def keep(message: Message) -> None:
            messages.append(message)
            await send(message)

        done = False
        try:
            await self._app(scope, replay, keep)
            done = bool(messages) and messages[0]["status"] < 400
        finally:
            with self._lock:
                if done:
                    self._answers[name] = _Answer(digest, time.monotonic(), messages)
                else:
                    self._answers.pop(name, None)


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


async def _repeat(
    known: _Answer, digest: bytes, scope: Scope, receive: Receive, send: Send
) -> None:
    if known.digest == digest and known.messages:
        for message in known.messages:
            await send(message)
        return
    status, what, wait = 409, "had a different body", {}
    if known.digest == digest:
        status, what, wait = 503, "is still being answered", {"Retry-After": "1"}
    detail = f"a request with the Idempotency-Key {what}"
    reply = answer(scope["path"], status, "idempotency", detail, wait)
    await reply(scope, receive, send)
