"""Changes as server-sent events: the journal is the log, so a stream resumes exactly."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from fastapi import Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from bethink import LogEntry, StorageError

from . import results
from .caller import Caller, Client
from .memories import last_entry
from .problems import Problem
from .routing import router
from .settings import Settings
from .types import Flag

routes = router("history")
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": results.Event.model_json_schema(),
        },
    },
    "required": ["id", "event", "data"],
}
_STREAM: Final = {"text/event-stream": {"itemSchema": _EVENT}}


@dataclass
class Streams:
    """The open streams of a server; *stopping* ends all."""

    settings: Settings
    open: int = 0
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


@routes.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": _STREAM}},
)
async def events(
    caller: Client,
    request: Request,
    since: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    last_event_id: Annotated[
        str | None, Header(alias="Last-Event-ID", pattern=r"^[0-9]{1,15}$")
    ] = None,
    follow: Annotated[Flag, Query(description="false: end after the last entry")] = True,
) -> Response:
    """Stream the journal's entries after *since*, or from now on, as events without texts."""
    streams: Streams = request.app.state.streams
    if streams.open >= streams.settings.max_streams:
        raise Problem(503, "streams", "too many streams are open", Retry_After="5")
    newest = await run_in_threadpool(last_entry, caller)  # an error is told before the stream
    start = since if last_event_id is None else int(last_event_id)
    start = newest if start is None else start
    return StreamingResponse(
        _stream(caller, streams, start, follow),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},  # nginx would hold events back
    )


async def _stream(caller: Caller, streams: Streams, seq: int, follow: bool) -> AsyncIterator[str]:
    """Yield the events after entry *seq*, and comments that keep the connection."""
    streams.open += 1
    spoken = time.monotonic()
    try:
        yield ": events\n\n"
        while not streams.stopping.is_set():
            for entry in await run_in_threadpool(_after, caller, seq, follow):
                seq = entry.seq
                if caller.sees(entry.namespace):
                    yield _event(entry)
                    spoken = time.monotonic()
            if not follow:
                return
            if time.monotonic() - spoken > streams.settings.heartbeat_seconds:
                yield ": still here\n\n"
                spoken = time.monotonic()
            with suppress(TimeoutError):
                await asyncio.wait_for(streams.stopping.wait(), streams.settings.poll_seconds)
    finally:
        streams.open -= 1


def _after(caller: Caller, seq: int, follow: bool) -> list[LogEntry]:
    """Return the entries after *seq*, the oldest first; who follows waits for a silent database."""
    try:
        return caller.store.log(limit=None, since=seq, skip_damaged=True)[::-1]
    except StorageError as error:
        if follow and error.is_unreachable:
            return []
        raise


def _event(entry: LogEntry) -> str:
    data = {name: getattr(entry, name) for name in results.Event.model_fields}
    return f"id: {entry.seq}\nevent: {entry.action}\ndata: {json.dumps(data)}\n\n"
