"""The operations on many memories: a dry run counts, and gives the token that confirms."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any, Final

from starlette.responses import Response

from ..surface.verbs import copied
from . import results
from .caller import STATES, Caller, Client
from .filters import plain
from .models import RemoveBody, TidyBody
from .problems import Problem
from .replies import Json
from .routing import router, told

routes = router("bulk")
_SECRET: Final = secrets.token_bytes(32)
_FORGETTABLE: Final = ("live", "superseded", "archived", "expired")


@routes.post("/forget", responses=told(results.Removal))
def forget(caller: Client, body: RemoveBody) -> Response:
    """Forget all memories that pass; ``restore`` brings memories back."""
    return _remove(caller, body, "forget", _FORGETTABLE)


@routes.post("/erase", responses=told(results.Removal))
def erase(caller: Client, body: RemoveBody) -> Response:
    """Erase all memories that pass, with every trace of the texts; there is no way back."""
    return _remove(caller, body, "erase", STATES)


@routes.post("/tidy", responses=told(results.Tidied))
def tidy(caller: Client, body: TidyBody) -> Response:
    """Forget expired and unused memories, and let the outcomes of unused memories drift to 0."""
    store = caller.whole()
    options: dict[str, Any] = {"retention": body.retention, "floor": body.floor}
    if body.retention is not None or body.floor is not None:
        options["namespace"] = caller.everything
    with copied(store) as trial:
        expired, drifted = trial.expire(**options), trial.drift()
    token = _confirmation("tidy", [repr(options), str(expired)])
    if not body.dry_run:
        _check(body.confirm, token)
        expired, drifted = store.expire(**options), store.drift()
    return Json(
        {
            "expired": expired,
            "drifted": drifted,
            "dry_run": body.dry_run,
            "confirm": token if body.dry_run else None,
        }
    )


def _remove(caller: Caller, body: RemoveBody, verb: str, states: tuple[Any, ...]) -> Response:
    scope, where = caller.scope(body.namespace, body.subtree), plain(body.where)
    if body.ids is not None:
        only = {"id": {"$in": caller.known(body.ids)}}
        where = only if where is None else {"$and": [only, where]}
    found = [
        record.id
        for state in states
        for record in caller.store.all(namespace=scope, where=where, state=state)
    ]
    found = sorted(dict.fromkeys(found))
    token = _confirmation(verb, found)
    count = len(found)
    if not body.dry_run:
        _check(body.confirm, token)
        count = getattr(caller.store, verb)(found) if found else 0
    confirm = token if body.dry_run else None
    return Json({"count": count, "dry_run": body.dry_run, "confirm": confirm})


def _confirmation(verb: str, parts: list[str]) -> str:
    """Return the token for *verb* on exactly *parts*; a restart of the server makes new tokens."""
    digest = hashlib.sha256("\n".join([verb, *parts]).encode()).digest()
    return hmac.new(_SECRET, digest, "sha256").hexdigest()[:32]


def _check(given: str | None, token: str) -> None:
    if given is None or not hmac.compare_digest(given.encode(), token.encode()):
        raise Problem(
            409, "confirm", "confirm with the token of a dry run; memories may have changed since"
        )
