"""The operations on the past: history, facts, log, undo, snapshots, diff."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from bethink import Diff, MemoryRecord, NotFoundError, Snapshot

from . import replies, results
from .caller import Client, moment
from .models import SnapshotBody, UndoBody
from .problems import Problem, state_conflicts
from .replies import Json, dicts
from .routing import router, told
from .settings import MAX_ENTRIES
from .types import At, Id, Label, Moment, Named, Switch

routes = router("history")


@routes.get("/memories/{id}/history", responses=told(results.Entries))
def history(
    caller: Client, id: Id, limit: Annotated[int, Query(ge=1, le=MAX_ENTRIES)] = 100
) -> Response:
    """List the journal entries of a memory, the newest first."""
    caller.known([id])
    scope = caller.seen if caller.names else None
    found = caller.store.log(limit=limit, id=id, namespace=scope, skip_damaged=True)
    return Json({"items": dicts(found)})


@routes.get("/memories/{id}/vectors", responses=told(results.Vector))
def vectors(caller: Client, id: Id, name: Annotated[Label, Query()]) -> Response:
    """Read a named vector of a memory."""
    found = caller.store.vectors([caller.one(id).id], name)
    if id not in found:
        raise NotFoundError("vector", name)
    return Json({"vector": found[id].tolist()})


@routes.get("/facts/{key:path}", responses=told(results.Versions))
def fact(caller: Client, key: Label, namespace: Named = None, as_of: At = None) -> Response:
    """List every version of a fact, the oldest first."""
    found = caller.store.audit(
        key, namespace=caller.place(namespace), as_of=moment(caller.store, as_of)
    )
    if not found:
        raise NotFoundError("fact", key)
    return Json({"items": dicts(found)})


@routes.get("/log", responses=told(results.Entries))
def log(
    caller: Client,
    since: Annotated[int, Query(ge=0, le=2**53)] = 0,
    until: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_ENTRIES)] = 100,
    namespace: Named = None,
    subtree: Switch = False,
) -> Response:
    """List journal entries after entry *since*, up to entry *until*, the newest first."""
    whole = namespace is None and not caller.token.namespaces
    scope = None if whole else caller.scope(namespace, subtree)
    found = caller.store.log(
        limit=limit, since=since, until=until, namespace=scope, skip_damaged=True
    )
    return Json({"items": dicts(found)})


@routes.post("/undo", responses=told(MemoryRecord))
def undo(caller: Client, body: UndoBody) -> Response:
    """Undo a journal entry by a new entry."""
    entry = caller.entry(body.seq)
    with state_conflicts():
        return replies.memory(caller.store.undo(entry.seq))


@routes.get("/snapshots", responses=told(results.Snapshots))
def list_snapshots(caller: Client) -> Response:
    """List the named moments, the oldest first."""
    return Json({"items": dicts(caller.store.snapshots())})


@routes.post("/snapshots", status_code=201, responses=told(Snapshot, 201))
def take_snapshot(caller: Client, body: SnapshotBody) -> Response:
    """Give the present a name."""
    with state_conflicts():
        return Json(caller.whole().snapshot(body.name).to_dict(), 201)


@routes.get("/diff", responses=told(Diff))
def diff(
    caller: Client,
    since: Annotated[Moment, Query()],
    until: At = None,
    namespace: Named = None,
    subtree: Switch = False,
) -> Response:
    """Tell what changed between two moments."""
    first = moment(caller.store, since)
    if first is None:
        raise Problem(422, "validation", "query.since is needed")
    found = caller.store.diff(
        first, moment(caller.store, until), namespace=caller.scope(namespace, subtree)
    )
    return Json(found.to_dict())
