"""The operations on many memories: a dry run counts, and gives the token that confirms."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Any, Final

from starlette.responses import Response

from bethink import MemoryRecord, MemoryStore
from bethink.adapting import update_all

from ..surface.verbs import copied
from . import results
from .caller import STATES, Caller, Client, moment
from .filters import plain
from .models import CompactBody, ManyBody, TagsBody, TidyBody
from .problems import Problem, state_conflicts
from .replies import Json
from .routing import router, told

routes = router("bulk")
_SECRET: Final = secrets.token_bytes(32)
_FORGETTABLE: Final = ("live", "superseded", "archived", "expired")
"""The states of memories that ids name; a filter alone takes live memories, as in Python."""


@routes.post("/forget", responses=told(results.Affected))
def forget(caller: Client, body: ManyBody) -> Response:
    """Forget all live memories that pass, or those of ids; ``restore`` brings memories back."""
    return _change(caller, body, "forget", ("live",) if body.ids is None else _FORGETTABLE)


@routes.post("/restore", responses=told(results.Affected))
def restore(caller: Client, body: ManyBody) -> Response:
    """Bring all forgotten memories that pass back."""
    return _change(caller, body, "restore", ("forgotten",))


@routes.post("/archive", responses=told(results.Affected))
def archive(caller: Client, body: ManyBody) -> Response:
    """Hide all live memories that pass from searches without forgetting memories."""
    return _change(caller, body, "archive", ("live",))


@routes.post("/unarchive", responses=told(results.Affected))
def unarchive(caller: Client, body: ManyBody) -> Response:
    """Bring all archived memories that pass back."""
    return _change(caller, body, "unarchive", ("archived",))


@routes.post("/erase", responses=told(results.Affected))
def erase(caller: Client, body: ManyBody) -> Response:
    """Erase all memories that pass, with every trace of the texts; there is no way back."""
    return _change(caller, body, "erase", STATES)


@routes.post("/tags", responses=told(results.Affected))
def tag(caller: Client, body: TagsBody) -> Response:
    """Add and remove tags of all live memories that pass, all or none."""
    found = {
        record.id: {"tags": tags}
        for record in _passing(caller, body, ("live",))
        if (tags := _tagged(record, body)) != list(record.tags)
    }
    parts = [*map(repr, sorted(found.items()))]
    with state_conflicts():
        return _confirmed(
            body,
            "tags",
            parts,
            {"count": len(found)},
            lambda: {"count": len(update_all(caller.store, found)) if found else 0},
        )


@routes.post("/tidy", responses=told(results.Tidied))
def tidy(caller: Client, body: TidyBody) -> Response:
    """Forget expired and unused memories, and let the outcomes of unused memories drift to 0."""
    store = caller.whole()
    options: dict[str, Any] = {"retention": body.retention, "floor": body.floor}
    if body.retention is not None or body.floor is not None:
        options["namespace"] = caller.seen

    def tidied(store: MemoryStore) -> dict[str, Any]:
        return {"expired": store.expire(**options), "drifted": store.drift()}

    with copied(store) as trial:
        counts = tidied(trial)
    parts = [repr(options), str(counts["expired"])]
    return _confirmed(body, "tidy", parts, counts, lambda: tidied(store))


@routes.post("/compact", responses=told(results.Compacted))
def compact(caller: Client, body: CompactBody) -> Response:
    """Remove the history before a moment from the file, for good."""
    store = caller.whole()
    options: dict[str, Any] = {"before": moment(store, body.before), "keep": body.keep}
    with copied(store) as trial:
        done = trial.compact(**options).to_dict()
    parts = [str(done["cut"]), str(done["entries"])]
    return _confirmed(body, "compact", parts, done, lambda: store.compact(**options).to_dict())


def _change(caller: Caller, body: ManyBody, verb: str, states: tuple[Any, ...]) -> Response:
    ids = sorted(record.id for record in _passing(caller, body, states))
    change = getattr(caller.store, verb)
    with state_conflicts():
        return _confirmed(
            body,
            verb,
            ids,
            {"count": len(ids)},
            lambda: {"count": change(ids) if ids else 0},
        )


def _passing(caller: Caller, body: ManyBody, states: tuple[Any, ...]) -> list[MemoryRecord]:
    scope, where = caller.scope(body.namespace, body.subtree), plain(body.where)
    if body.ids is not None:
        only = {"id": {"$in": caller.known(body.ids)}}
        where = only if where is None else {"$and": [only, where]}
    found = {
        record.id: record
        for state in states
        for record in caller.store.all(namespace=scope, where=where, state=state)
    }
    return list(found.values())


def _tagged(record: MemoryRecord, body: TagsBody) -> list[str]:
    """Return the tags of *record* after the change, the kept tags first."""
    kept = [each for each in record.tags if each not in body.remove]
    return list(dict.fromkeys((*kept, *body.add)))


def _confirmed(
    body: ManyBody | TidyBody | CompactBody,
    verb: str,
    parts: list[str],
    counts: dict[str, Any],
    change: Callable[[], dict[str, Any]],
) -> Response:
    """Answer a dry run with the *counts* and a token; else ``change``, and answer those counts.

    The token confirms *verb* on exactly *parts*; a restart of the server makes new tokens.
    """
    digest = hashlib.sha256("\n".join([verb, *parts]).encode()).digest()
    token = hmac.new(_SECRET, digest, "sha256").hexdigest()[:32]
    if body.dry_run:
        return Json(counts | {"dry_run": True, "confirm": token})
    if body.confirm is None or not hmac.compare_digest(body.confirm.encode(), token.encode()):
        raise Problem(
            409, "confirm", "confirm with the token of a dry run; memories may have changed since"
        )
    return Json(change() | {"dry_run": False, "confirm": None})
