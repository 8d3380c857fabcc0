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

from bethink import MemoryRecord, MemoryStore, NotFoundError

from .. import tasks
from ..hosts import Host, Place, Program, SettingsError, uninstall
from ..surface.location import project_namespace
from . import results
from .caller import Client
from .models import SyncBody, TaskLinksBody
from .problems import state_conflicts
from .replies import Json, dicts
from .routing import router, told
from .types import Flag, Id, Namespace

routes = router("desk")
_Place = Annotated[Namespace | None, Query(description="of the links; else the project's")]


@routes.get("/tasks", responses=told(results.Tasks))
def list_tasks(caller: Client, closed: Annotated[Flag, Query()] = False) -> Response:
    """List the open tasks of the server's working directory, or all with *closed*."""
    caller.whole()
    listing = tasks.read_all(Path.cwd())
    files = [{"name": path.name, "changed_at": at} for path, at in listing.read.items()]
    shown = [_facts(each) for each in listing.tasks if closed or not each.closed]
    return Json({"items": shown, "files": files, "skipped": listing.skipped})


@routes.get("/tasks/{source}/{id}", responses=told(results.TaskFacts))
def get_task(caller: Client, source: tasks.Source, id: Id) -> Response:
    """Read a task."""
    caller.whole()
    return Json(_facts(_one(source, id)))


@routes.get("/tasks/{source}/{id}/memories", responses=told(results.Memories))
def list_task_memories(
    caller: Client, source: tasks.Source, id: Id, namespace: _Place = None
) -> Response:
    """List the memories that are linked with a task."""
    return Json({"items": dicts(_linked(caller.whole(), _one(source, id), _place(namespace)))})


@routes.put("/tasks/{source}/{id}/memories", responses=told(results.Count))
def link_task(
    caller: Client, source: tasks.Source, id: Id, body: TaskLinksBody, namespace: _Place = None
) -> Response:
    """Link memories with a task; closing the task later counts for the memories."""
    store, task = caller.whole(), _one(source, id)
    ids = [caller.one(each).id for each in body.ids]
    with state_conflicts():
        _, count = tasks.link(store, task, ids, namespace=_place(namespace))
    return Json({"count": count})


@routes.post("/tasks/sync", responses=told(results.Synced))
def sync_tasks(caller: Client, body: SyncBody) -> Response:
    """Record outcomes for the memories of tasks closed since; a dry run only tells."""
    found = tasks.sync(
        caller.whole(),
        tasks.read_all(Path.cwd()),
        namespace=_place(body.namespace),
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
        installed, detail = any(uninstall(host, Program(["bethink"]), where)), ""
    except SettingsError as error:
        installed, detail = False, str(error)
    return {"name": host.name, "title": host.title, "installed": installed, "detail": detail}


def _place(namespace: str | None) -> str:
    return namespace or project_namespace(Path.cwd())


def _one(source: tasks.Source, id: str) -> tasks.Task:
    for each in tasks.read_all(Path.cwd()).tasks:
        if (each.source, each.id) == (source, id):
            return each
    raise NotFoundError("task", id)


def _linked(store: MemoryStore, task: tasks.Task, namespace: str) -> list[MemoryRecord]:
    record = tasks.find(store, task, namespace)
    return [] if record is None else tasks.linked(store, record)


def _facts(task: tasks.Task) -> dict[str, Any]:
    """Return the fields of *task* but the path, which is no client's business."""
    facts = {name: value for name, value in asdict(task).items() if name != "path"}
    return {**facts, "closed": task.closed}
