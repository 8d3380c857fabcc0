"""Routes that document problems, and read JSON bodies within limits."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final
from urllib.parse import unquote

from fastapi import APIRouter, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response

from bethink.adapting import unknown_name

from .problems import MEDIA_TYPE, Problem
from .settings import MAX_DEPTH

JSON_LINES: Final = "application/jsonl"
PROBLEM: Final = {
    "description": "Problem",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemModel"}}},
}
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"$ref": "#/components/responses/Problem"}
    for status in (400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 429, 500, 502, 503)
}
"""The problems that any operation may answer with."""


class _Request(Request):
    """A request whose JSON has no NaN and is not nested too deeply."""

    async def json(self) -> Any:
        """Return the body as JSON."""
        body = await self.body()
        try:
            found = json.loads(body, parse_constant=_refuse_constant)
        except RecursionError:
            raise _too_deep() from None
        except UnicodeDecodeError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None
        if not _depth_within(found, MAX_DEPTH):
            raise _too_deep()
        return found


class Route(APIRoute):
    """A route with decoded ids, bodies within limits, no unknown and no repeated parameter."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Return the handler of requests."""
        handle = super().get_route_handler()
        known = _parameters(self.dependant)

        async def handler(request: Request) -> Response:
            _check_parameters(request, known)
            if self.body_field is not None:
                _check_content_type(request)
            named = {name: unquote(value) for name, value in request.path_params.items()}
            return await handle(_Request({**request.scope, "path_params": named}, request.receive))

        return handler


def router(tag: str, route_class: type[Route] = Route) -> APIRouter:
    """Return a router of operations under ``/v1``."""
    return APIRouter(prefix="/v1", tags=[tag], route_class=route_class)


def told(model: Any, status: int = 200) -> dict[int | str, Any]:
    """Return the documentation of a successful response."""
    return {status: {"model": model, "description": "Done"}}


def told_as_text(media_type: str) -> dict[int | str, Any]:
    """Return the documentation of a successful response of text."""
    return {200: {"content": {media_type: {"schema": {"type": "string"}}}}}


def _depth_within(value: Any, limit: int) -> bool:
    """Return whether the JSON *value* has at most *limit* levels."""
    level: list[Any] = [value]
    for _ in range(limit):
        nested: list[Any] = []
        for each in level:
            if isinstance(each, dict | list):
                inner: Iterable[Any] = each.values() if isinstance(each, dict) else each
                nested += [one for one in inner if isinstance(one, dict | list)]
        if not nested:
            return True
        level = nested
    return False


def _parameters(dependant: Dependant) -> set[str]:
    """Return the names of the parameters in the address, also of nested dependencies."""
    nested = (_parameters(each) for each in dependant.dependencies)
    return {each.alias for each in dependant.query_params}.union(*nested)


def _check_parameters(request: Request, known: set[str]) -> None:
    """Refuse an address with a parameter that is not *known*, or comes twice."""
    names = [name for name, _ in request.query_params.multi_items()]
    for name in names:
        if name not in known:
            raise Problem(422, "validation", str(unknown_name("parameter", name, sorted(known))))
        if names.count(name) > 1:
            raise Problem(422, "validation", f"query.{name}: given more than once")


def _check_content_type(request: Request) -> None:
    """Refuse a body that the header does not call JSON."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = request.headers.get("content-length", "0") != "0" or (
        "transfer-encoding" in request.headers
    )
    if has_body and given != "application/json" and not given.endswith("+json"):
        raise Problem(
            415,
            "content-type",
            f"the body needs the header Content-Type: application/json, not {given or 'none'}",
        )


def _refuse_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no JSON", name, 0)


def _too_deep() -> Problem:
    return Problem(422, "depth", f"the body has more than {MAX_DEPTH} levels")
