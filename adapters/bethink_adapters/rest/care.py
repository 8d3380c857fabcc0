"""The operations on the file, such as stats, verify and repair; and on the server's health."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from bethink import BethinkError, Integrity, Repair, Stats

from . import results
from .caller import Client
from .metrics import Metrics
from .replies import Json
from .routing import Route, router, told, told_as_text
from .types import Named, Switch

routes = router("care")
outside = APIRouter(tags=["server"], route_class=Route)


@routes.get("/stats", responses=told(Stats))
def stats(caller: Client) -> Response:
    """Count memories by state, namespace and category; without the path of the file."""
    return Json(caller.whole().stats().to_dict() | {"location": ""})


@routes.get("/summary", responses=told(results.Summary))
def summary(caller: Client, namespace: Named = None, subtree: Switch = False) -> Response:
    """Count the visible memories by state, namespace, category, outcome and day of creation."""
    found = caller.store.stats(namespace=caller.scope(namespace, subtree)).to_dict()
    facts = {name: found.pop(name) for name in results.FileFacts.model_fields}
    return Json(found | {"file": None if caller.token.namespaces else facts})


@routes.get("/namespaces", responses=told(results.Counts))
def namespaces(caller: Client) -> Response:
    """List the visible namespaces with the numbers of live memories."""
    return Json({"namespaces": caller.store.namespaces(caller.seen)})


@routes.get("/token", responses=told(results.Rights))
def token(caller: Client) -> Response:
    """Tell what the token of the request allows."""
    return Json({"namespaces": caller.token.namespaces, "read_only": caller.read_only})


@routes.post("/verify", responses=told(Integrity))
def verify(caller: Client) -> Response:
    """Check the file and the history."""
    return Json(caller.whole().verify().to_dict())


@routes.post("/repair", responses=told(Repair))
def repair(caller: Client) -> Response:
    """Mend what can be mended in the file."""
    return Json(caller.whole().repair().to_dict())


@outside.get("/health/live", responses=told(results.Health))
def live() -> Response:
    """Tell that the server answers."""
    return Json({"status": "live"})


@outside.get("/health/ready", responses=told(results.Health))
def ready(request: Request) -> Response:
    """Tell whether the file can be read."""
    try:
        request.app.state.store.log(limit=1, skip_damaged=True)
    except BethinkError:
        return Json({"status": "unready"}, 503, {"Retry-After": "1"})
    return Json({"status": "ready"})


@outside.get("/metrics", response_class=PlainTextResponse, responses=told_as_text("text/plain"))
def metrics(request: Request, caller: Client) -> Response:
    """Count requests and memories, in the text format of Prometheus."""
    counts: Metrics = request.app.state.metrics
    return PlainTextResponse(counts.text(caller.whole()))
