"""The application: routes, errors, the guard, and the description of the operations."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Receive, Scope, Send

from bethink import MemoryStore, __version__

from . import (
    agents,
    bulk,
    care,
    desk,
    events,
    history,
    judging,
    layout,
    lines,
    memories,
    problems,
    searching,
    threads,
    transfer,
)
from .guard import Guard
from .metrics import Metrics
from .pages import Pages
from .repeats import Repeats
from .routing import PROBLEM, PROBLEMS
from .settings import METHODS, Settings

_MODULES = (
    memories,
    searching,
    judging,
    bulk,
    history,
    events,
    threads,
    transfer,
    desk,
    care,
    layout,
    lines,
)

_ABOUT = "One memory for AI agents, over HTTP. Every operation but those of /health needs a token."


class App(FastAPI):
    """The application: paths are read as sent, and the operations have our own description."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; ``Route`` decodes the ids and keys, where %2F is no separator."""
        if scope["type"] == "http":
            path = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
            if not path.startswith("/"):  # a whole URL, or an asterisk
                path = "/" + path.partition("://")[2].partition("/")[2]
            method = scope["method"].replace("HEAD", "GET")  # uvicorn leaves the body out
            scope = {**scope, "path": path, "method": method}
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI 3.1 description: a bearer token for all but the open paths."""
        if self.openapi_schema is None:
            found = get_openapi(
                title="bethink", version=__version__, description=_ABOUT, routes=self.routes
            )
            self.openapi_schema = _completed(found)
        return self.openapi_schema


def create_app(store: MemoryStore, settings: Settings) -> FastAPI:
    """Return the ASGI application over the open *store*; the caller closes the store.

    Every handler runs on a thread of the pool: a store may be used from many threads.
    """
    metrics = Metrics()
    middleware = [Middleware(Guard, store=store, settings=settings, metrics=metrics)]
    if settings.pages:
        middleware.append(Middleware(Pages))
    if settings.origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=sorted(settings.origins),
                allow_methods=METHODS,
                allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match",
                               "If-None-Match", "Last-Event-ID"],
                expose_headers=["ETag", "Link", "Location", "Retry-After"],
            )
        )  # fmt: skip
    middleware.append(Middleware(Repeats))
    app = App(
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        middleware=middleware,
        responses=PROBLEMS,
        redirect_slashes=False,
        generate_unique_id_function=_name,
    )
    app.state.store, app.state.metrics = store, metrics
    app.state.streams, app.state.works = events.Streams(settings), {}
    problems.install(app)
    for module in _MODULES:
        app.include_router(module.routes)
    app.include_router(searching.shared)
    app.include_router(care.outside)
    agents.add(app, settings)
    return app


def _name(route: APIRoute) -> str:
    """Return the name of an operation, for programs that make clients."""
    return route.name.removesuffix("_")


def _completed(found: dict[str, Any]) -> dict[str, Any]:
    """Add the token, the problems and the filter in addresses to the description."""
    parts = found.setdefault("components", {})
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    parts["responses"] = {"Problem": PROBLEM}
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    for schema in parts["schemas"].values():
        if schema.get("additionalProperties") is not False:  # else the body of a request
            schema["required"] = list(schema["properties"])  # an answer leaves no field out
    parts["schemas"]["ProblemModel"] = problems.ProblemModel.model_json_schema()
    found["security"] = [{"token": []}]
    for path, operations in found["paths"].items():
        for operation in operations.values():
            if path.startswith("/health/"):
                operation["security"] = []
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "where":
                    parameter["content"] = {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Where"}}
                    }
                    del parameter["schema"]
                else:
                    parameter["schema"] = _without_null(parameter["schema"])
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return *schema* without null, which an address or a header cannot say."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **{name: schema[name] for name in schema if name != "anyOf"}}
    return schema


__all__ = ["create_app"]
