"""Errors as ``application/problem+json`` (RFC 9457): one table of statuses for every error."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match

from bethink import (
    BethinkError,
    CorruptStoreError,
    EmbedderError,
    EmbedderMismatchError,
    IntegrityKeyError,
    NotABethinkFileError,
    NotFoundError,
    RateLimitError,
    SchemaTooNewError,
    SimilarMemoryError,
    StorageError,
    StoreBusyError,
    StoreClosedError,
    TamperedError,
    ValidationError,
)
from bethink.adapting import unknown_name

from .replies import Json
from .settings import METHODS
from .types import PATTERNS_TOLD

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_SECONDS: Final = 1
_ERRORS: Final[Sequence[tuple[type[BethinkError], int, str]]] = (
    (NotFoundError, 404, "not-found"),
    (SimilarMemoryError, 409, "similar-memory"),
    (EmbedderMismatchError, 409, "embedder-mismatch"),
    (IntegrityKeyError, 409, "integrity-key"),
    (RateLimitError, 429, "rate-limit"),
    (ValidationError, 422, "validation"),
    (EmbedderError, 502, "embedder"),
    (StoreBusyError, 503, "store-busy"),
    (StoreClosedError, 503, "store-closed"),
    (TamperedError, 500, "tampered"),
    (NotABethinkFileError, 422, "not-a-bethink-file"),
    (CorruptStoreError, 500, "corrupt-store"),
    (SchemaTooNewError, 500, "schema-too-new"),
    (StorageError, 500, "storage"),
    (BethinkError, 500, "error"),
)
"""Error → status and type; the first that fits counts."""
_TITLES: Final[Mapping[int, str]] = {
    400: "Bad request",
    401: "A token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    412: "Changed since",
    413: "Body too large",
    415: "Unsupported media type",
    422: "Not valid",
    429: "Too many requests",
    500: "Server error",
    502: "Embedder failed",
    503: "Try again",
}


_NO_PATH: Final = "no operation has this path; /openapi.json lists the operations"


class ProblemModel(BaseModel):
    """A problem of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[dict[str, Any]] = []
    id: str | None = None


class Problem(HTTPException):
    """A refused request: *status*, the *kind* that ends the type, one sentence, all *errors*."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        errors: Sequence[Mapping[str, Any]] = (),
        **headers: str,
    ) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        super().__init__(status, detail, named)
        self.kind = kind
        self.errors = errors


def answer(
    path: str,
    status: int,
    kind: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Return a problem as a response."""
    body = {
        "type": f"urn:bethink:problem:{kind}",
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "instance": path,
        **more,
    }
    return Json(body, status, dict(headers or {}), MEDIA_TYPE)


def stopping(path: str) -> Response:
    """Return the answer to a request that a stop of the server breaks off."""
    return answer(
        path,
        503,
        "stopping",
        "the server stops before the end of the work; a write may be done all the same",
        {"Retry-After": str(_RETRY_SECONDS)},
    )


@contextmanager
def state_conflicts() -> Iterator[None]:
    """Turn the refusal of a well-formed change by the store's state into a 409."""
    try:
        yield
    except ValidationError as error:
        raise Problem(409, "state", str(error)) from error


def install(app: FastAPI) -> None:
    """Let *app* answer every error with a problem."""
    for kind, handler in {
        Problem: _problem,
        BethinkError: _of_the_store,
        RequestValidationError: _invalid,
        HTTPException: _of_http,
        ClientDisconnect: _left,
        Exception: _unexpected,
    }.items():
        app.add_exception_handler(kind, handler)  # type: ignore[arg-type]


def _problem(request: Request, error: Problem) -> Response:
    more = {"errors": error.errors} if error.errors else {}
    return answer(
        request.url.path, error.status_code, error.kind, error.detail, error.headers, **more
    )


def _of_the_store(request: Request, error: BethinkError) -> Response:
    status, kind = next((code, name) for each, code, name in _ERRORS if isinstance(error, each))
    if isinstance(error, StorageError) and error.is_unreachable:
        status, kind = 503, "store-unreachable"
    headers = {}
    if isinstance(error, RateLimitError):
        headers["Retry-After"] = str(math.ceil(error.retry_after or _RETRY_SECONDS))
    elif status == 503:
        headers["Retry-After"] = str(_RETRY_SECONDS)
    about = error.id if isinstance(error, SimilarMemoryError | NotFoundError) else None
    more = {} if about is None else {"id": about}
    # A path of this computer is no client's business.
    detail = error.reason if isinstance(error, StorageError) else str(error)
    return answer(request.url.path, status, kind, detail, headers, **more)


def _invalid(request: Request, error: RequestValidationError) -> Response:
    field = getattr(request.scope.get("route"), "body_field", None)
    known = getattr(field and field.field_info.annotation, "model_fields", {})
    errors = [
        {"where": list(each["loc"]), "what": said(each, known), "kind": each["type"]}
        for each in sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    ]  # first an unknown field, for which a missing field was perhaps meant
    first = errors[0]
    where = ".".join(str(each) for each in first["where"])
    return answer(
        request.url.path, 422, "validation", f"{where}: {first['what']}", errors=errors[:20]
    )


def said(error: Mapping[str, Any], known: Collection[str] = ()) -> str:
    """Return the sentence of one of pydantic's errors; a body has the fields *known*."""
    if error["type"] == "json_invalid":
        return f"no JSON: {error['ctx']['error']}"
    if error["type"] == "extra_forbidden":
        name = str(error["loc"][-1])
        inner = len(error["loc"]) > 2 or not known
        return f"unknown field {name!r}" if inner else str(unknown_name("field", name, known))
    told = PATTERNS_TOLD.get(error.get("ctx", {}).get("pattern"))
    return told or str(error["msg"]).removeprefix("Value error, ")


def _of_http(request: Request, error: HTTPException) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
    kind = _TITLES.get(error.status_code, "error").lower().replace(" ", "-")
    detail = _NO_PATH if error.status_code == 404 else str(error.detail)
    return answer(request.url.path, error.status_code, kind, detail, headers)


def _left(request: Request, error: ClientDisconnect) -> Response:
    return answer(request.url.path, 400, "left", "the client left before the end of the body")


def _unexpected(request: Request, error: Exception) -> Response:
    return answer(request.url.path, 500, "error", "an unexpected error; the server's log has it")


def _methods(request: Request) -> list[str]:
    """Return the methods of all routes of the path, where each route knows only its own."""
    routes = request.app.router.routes
    return [
        scope["method"]
        for scope in ({**request.scope, "method": method} for method in METHODS)
        if any(route.matches(scope)[0] is Match.FULL for route in routes)
    ]
