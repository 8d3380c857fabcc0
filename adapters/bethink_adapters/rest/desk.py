"""The operations on the user's computer: tasks of Beads and Claude Code, and agent hosts.

Every operation needs a token for the whole file: tasks and hosts belong to the user.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from bethink import MemoryStore, NotFoundError

from .. import tasks
from ..hosts import Host, Place, SettingsError, is_installed
from ..surface.location import project_namespace
from . import results
from .caller import Client
from .models import SyncBody, TaskLinksBody
from .problems import state_conflicts
from .replies import Json, dicts
from .routing import router, told
from .types import Id, Namespace, Switch

routes = router("desk")
_Place = Annotated[Namespace | None, Query(description="of the links; else the project's")]


@routes.get("/tasks", responses=told(results.Tasks))
def list_tasks(caller: Client, closed: Switch = False, namespace: _Place = None) -> Response:
    """List the open tasks of the server's working directory, or all with *closed*."""
    store, listing = caller.whole(), tasks.read_all(Path.cwd())
    place = _place(store, namespace)
    files = [{"name": path.name, "changed_at": at} for path, at in listing.read.items()]
    shown = [each for each in listing.tasks if closed or not each.closed]
    return Json(
        {
            "items": [_facts(store, each, listing, place) for each in shown],
            "namespace": place,
            "files": files,
            "skipped": listing.skipped,
        }
    )


@routes.get("/tasks/{source}/{id:path}/memories", responses=told(results.Memories))
def list_task_memories(
    caller: Client, source: tasks.Source, id: Id, namespace: _Place = None
) -> Response:
    """List the memories that are linked with a task."""
    store, task = caller.whole(), _one(source, id)
    record = tasks.find(store, task, _place(store, namespace))
    return Json({"items": dicts(tasks.linked(store, record)) if record else []})


@routes.put("/tasks/{source}/{id:path}/memories", responses=told(results.Count))
def link_task(
    caller: Client, source: tasks.Source, id: Id, body: TaskLinksBody, namespace: _Place = None
) -> Response:
    """Link memories with a task; closing the task later counts for the memories."""
    store, task = caller.whole(), _one(source, id)
    ids = [caller.one(each).id for each in body.ids]
    with state_conflicts():
        _, count = tasks.link(store, task, ids, namespace=_place(store, namespace))
    return Json({"count": count})


@routes.delete("/tasks/{source}/{id:path}/memories", responses=told(results.Changed))
def unlink_task(
    caller: Client,
    source: tasks.Source,
    id: Id,
    memory: Annotated[Id, Query()],
    namespace: _Place = None,
) -> Response:
    """Remove the link of a task with a memory; recorded outcomes stay."""
    store, task = caller.whole(), _one(source, id)
    [known] = caller.known([memory])
    return Json({"changed": tasks.unlink(store, task, known, namespace=_place(store, namespace))})


@routes.get("/tasks/{source}/{id:path}", responses=told(results.TaskFacts))
def get_task(caller: Client, source: tasks.Source, id: Id, namespace: _Place = None) -> Response:
    """Read a task."""
    store, listing = caller.whole(), tasks.read_all(Path.cwd())
    return Json(_facts(store, _one(source, id, listing), listing, _place(store, namespace)))


@routes.post("/tasks/sync", responses=told(results.Synced))
def sync_tasks(caller: Client, body: SyncBody) -> Response:
    """Record outcomes for the memories of tasks closed since; a dry run only tells."""
    store = caller.whole()
    found = tasks.sync(
        store,
        tasks.read_all(Path.cwd()),
        namespace=_place(store, body.namespace),
        dry_run=body.dry_run,
        allow_failed=body.allow_failed,
    )
    return Json({"items": [asdict(each) for each in found], "dry_run": body.dry_run})


@routes.get("/hosts", responses=told(results.Hosts))
def list_hosts(caller: Client) -> Response:
    """List the agent hosts of this user, and whether bethink is installed there."""
    caller.whole()
    where = Place(os.environ)
    return Json({"items": [_host(host, where) for host in where.found()]})


def _host(host: Host, where: Place) -> dict[str, Any]:
    try:
        installed, detail = is_installed(host, where), ""
    except SettingsError as error:
        installed, detail = False, str(error)
    return {"name": host.name, "title": host.title, "installed": installed, "detail": detail}


def _place(store: MemoryStore, namespace: str | None) -> str:
    return namespace or project_namespace(Path.cwd(), store.location)


def _one(source: tasks.Source, id: str, listing: tasks.Listing | None = None) -> tasks.Task:
    for each in (listing or tasks.read_all(Path.cwd())).tasks:
        if (each.source, each.id) == (source, id):
            return each
    raise NotFoundError("task", id)


def _facts(
    store: MemoryStore, task: tasks.Task, listing: tasks.Listing, namespace: str
) -> dict[str, Any]:
    """Return the fields of *task* but the path, which is no client's business, and the links."""
    facts = {name: value for name, value in asdict(task).items() if name != "path"}
    record = tasks.find(store, task, namespace)
    return {
        **facts,
        "closed": task.closed,
        "file_changed_at": listing.read.get(Path(task.path)),
        "record": record.id if record else None,
        "memories": len(tasks.linked(store, record)) if record else 0,
    }
