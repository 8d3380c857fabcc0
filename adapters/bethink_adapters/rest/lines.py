"""The lists once more as lines of JSON: the address of the list with the ending ``.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import islice
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from . import desk, history, searching
from .caller import Client
from .memories import Asked
from .routing import JSON_LINES, router, told_as_text

_PART: Final = 64  # lines
_TOLD: Final = told_as_text(JSON_LINES)
routes = router("lines")


@routes.get("/memories.jsonl", response_class=StreamingResponse, responses=_TOLD)
def memories_as_lines(caller: Client, listing: Asked) -> Response:
    """Stream all memories that ``/memories`` lists on pages."""
    view = caller.store if listing.when is None else caller.store.as_of(listing.when)
    return _stream(each.to_dict() for each in view.all(**listing.arguments))


def _add(path: str, list_items: Callable[..., Any]) -> None:
    """Offer the items of the list at *path*, which *list_items* answers, as lines."""

    @wraps(list_items)  # with the arguments of the list
    def answer(*args: Any, **named: Any) -> Response:
        return _stream(json.loads(list_items(*args, **named).body)["items"])

    answer.__doc__ = f"Stream the items of ``{path}``."
    name = f"{path[1:]}_as_lines"
    routes.get(f"{path}.jsonl", name=name, response_class=StreamingResponse, responses=_TOLD)(
        answer
    )


def _stream(items: Iterable[Any]) -> StreamingResponse:
    lines = (json.dumps(each, allow_nan=False, separators=(",", ":")) + "\n" for each in items)
    # The server goes to another thread for each part of an answer.
    parts = iter(lambda: "".join(islice(lines, _PART)), "")
    return StreamingResponse(parts, media_type=JSON_LINES)


_add("/conflicts", searching.conflicts)
_add("/log", history.log)
_add("/tasks", desk.list_tasks)
