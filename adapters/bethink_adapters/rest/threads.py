"""The operations on threads: logs of messages, as ``MessageLog`` keeps logs."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Path, Query
from starlette.responses import Response

from bethink import MessageLog

from ..surface.location import own_namespace
from . import results
from .caller import Caller, Client
from .memories import Key, seeded_id
from .models import AppendBody
from .problems import state_conflicts
from .replies import Json, dicts
from .routing import router, told
from .types import Namespace

routes = router("threads")
DEFAULT: Final = "messages"
"""The namespace of threads."""
_Name = Annotated[str, Path(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
_Namespace = Annotated[Namespace | None, Query(description='"messages" if not given')]


@routes.get("/threads", responses=told(results.Threads))
def list_threads(caller: Client, namespace: _Namespace = None) -> Response:
    """List the threads that have messages."""
    return Json({"items": MessageLog.sessions(caller.store, namespace=_place(caller, namespace))})


@routes.get("/threads/{thread:path}", responses=told(results.Memories))
def read_thread(
    caller: Client,
    thread: _Name,
    last: Annotated[int | None, Query(ge=0, le=10_000)] = None,
    namespace: _Namespace = None,
) -> Response:
    """Read the last messages of a thread, or all, the oldest first."""
    return Json({"items": dicts(_log(caller, thread, namespace).messages(last))})


@routes.post("/threads/{thread:path}", status_code=201, responses=told(results.Memories, 201))
def append_to_thread(
    caller: Client,
    thread: _Name,
    body: AppendBody,
    namespace: _Namespace = None,
    key: Key = None,
) -> Response:
    """Append messages to a thread, all or none."""
    log = _log(caller, thread, namespace)
    items: list[dict[str, Any]] = [each.model_dump(exclude_unset=True) for each in body.messages]
    for number, item in enumerate(items):
        item.setdefault("content", "")
        if key is not None:
            item["id"] = seeded_id(caller, f"{thread}\n{key}", number)
    if key is not None:
        stored = caller.store.get_many([item["id"] for item in items])
        if all(each is not None and each.namespace == log.namespace for each in stored):
            return Json({"items": dicts(filter(None, stored))}, 201)
    with state_conflicts():
        return Json({"items": dicts(log.append(items))}, 201)


@routes.delete("/threads/{thread:path}", responses=told(results.Count))
def clear_thread(caller: Client, thread: _Name, namespace: _Namespace = None) -> Response:
    """Forget all messages of a thread."""
    return Json({"count": _log(caller, thread, namespace).clear()})


def _place(caller: Caller, namespace: str | None) -> str:
    if namespace is None and caller.token.namespaces:
        return f"{caller.token.namespaces[0]}/{DEFAULT}"
    return caller.place(namespace or own_namespace(DEFAULT, caller.store.location))


def _log(caller: Caller, thread: str, namespace: str | None) -> MessageLog:
    return MessageLog(caller.store, thread, namespace=_place(caller, namespace))
