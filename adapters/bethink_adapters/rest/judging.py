"""The operations that judge: outcomes, relations, resolve, consolidate."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from bethink import MemoryRecord

from ..surface.verbs import copied, judge
from . import replies, results
from .caller import Caller, Client
from .filters import plain
from .models import ConsolidateBody, OutcomeBody, OutcomesBody, RelationBody, ResolveBody
from .problems import state_conflicts
from .replies import Json, dicts
from .routing import router, told
from .types import Id, Kind

routes = router("judging")


@routes.get("/memories/{id}/outcomes", responses=told(results.Outcomes))
def list_outcomes(caller: Client, id: Id) -> Response:
    """List how following a memory went, the oldest first."""
    caller.known([id])
    found = caller.store.outcomes(id)
    if caller.names:
        seen = {each.seq for each in caller.store.log(limit=None, id=id, namespace=caller.seen)}
        found = [each for each in found if each.seq in seen]
    return Json({"items": dicts(found)})


@routes.post("/memories/{id}/outcomes", responses=told(MemoryRecord))
def add_outcome(caller: Client, id: Id, body: OutcomeBody) -> Response:
    """Record how following a memory went."""
    return replies.memory(_judge(caller, [id], body)[0])


@routes.post("/outcomes", responses=told(results.Memories))
def add_outcomes(caller: Client, body: OutcomesBody) -> Response:
    """Record how following memories went."""
    return Json({"items": dicts(_judge(caller, body.ids, body))})


@routes.get("/memories/{id}/relations", responses=told(results.Relations))
def list_relations(caller: Client, id: Id) -> Response:
    """List the memories linked with a memory."""
    found = caller.store.related(caller.one(id).id)
    return Json({"items": dicts(each for each in found if caller.sees(each.memory.namespace))})


@routes.put("/memories/{id}/relations", responses=told(results.Changed))
def relate(caller: Client, id: Id, body: RelationBody) -> Response:
    """Link a memory to a second memory."""
    ends = caller.one(id).id, caller.one(body.target).id
    with state_conflicts():
        return Json({"changed": caller.store.relate(*ends, body.kind)})


@routes.delete("/memories/{id}/relations", responses=told(results.Changed))
def unrelate(
    caller: Client, id: Id, target: Annotated[Id, Query()], kind: Annotated[Kind, Query()]
) -> Response:
    """Remove a link."""
    ends = caller.one(id).id, caller.one(target).id
    with state_conflicts():
        return Json({"changed": caller.store.unrelate(*ends, kind)})


@routes.post("/resolve", responses=told(results.Count))
def resolve(caller: Client, body: ResolveBody) -> Response:
    """Settle a conflict: a memory supersedes others."""
    keep, drop = caller.one(body.keep).id, [caller.one(each).id for each in body.drop]
    with state_conflicts():
        return Json({"count": caller.store.resolve(keep, drop, body.reason)})


@routes.post("/consolidate", responses=told(results.Merges))
def consolidate(caller: Client, body: ConsolidateBody) -> Response:
    """Merge memories that nearly repeat each other; a dry run tells the groups."""
    options: dict[str, Any] = {
        "namespace": caller.scope(body.namespace, body.subtree),
        "where": plain(body.where),
    }
    if not body.dry_run:
        found = caller.store.consolidate(**options)
    else:
        with copied(caller.store) as trial:
            found = trial.consolidate(**options)
    return Json({"items": dicts(found), "dry_run": body.dry_run})


def _judge(caller: Caller, ids: list[str], body: OutcomeBody) -> list[MemoryRecord]:
    own = [caller.one(each).id for each in ids]
    with state_conflicts():
        return judge(caller.store, own, body.outcome, body.session)
