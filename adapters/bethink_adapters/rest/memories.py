"""The operations on memories: list, store, read, change, forget, and bring back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Query
from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response

from bethink import MemoryRecord, MemoryStore, NotFoundError, Past
from bethink.adapting import Listed, Order, forget_if, update_if

from . import replies, results
from .caller import Caller, Client, moment
from .filters import Where, plain
from .models import BatchBody, GetBody, ReinforceBody, StoreBody, UpdateBody
from .problems import Problem, said, state_conflicts
from .replies import Cursor, Json, dicts, etag, has_tag, names_tag
from .routing import router, told
from .settings import MAX_PAGE
from .types import At, Filter, Id, Named, Switch

routes = router("memories")
_WHERE = TypeAdapter(Where)
IfMatch = Annotated[str | None, Header(max_length=500, pattern=r"^[\x20-\x7e]*$")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, pattern=r"^[!-~]+$")]


@dataclass(frozen=True)
class Listing:
    """Which memories a client lists, and a *digest* of the question."""

    arguments: dict[str, Any]
    when: Any
    digest: str


def _asked(
    caller: Client,
    namespace: Named = None,
    subtree: Switch = False,
    where: Filter = None,
    state: Listed = "live",
    order: Order = "newest",
    as_of: At = None,
) -> Listing:
    arguments = {
        "namespace": caller.scope(namespace, subtree),
        "where": plain(_filter(where)),
        "state": state,
        "order": order,
    }
    text = repr((namespace, subtree, where, state, order, as_of, caller.token.namespaces))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Listing(arguments, moment(caller.store, as_of), digest)


Asked = Annotated[Listing, Depends(_asked)]
"""The arguments of a listing, as an argument of a route."""


@routes.get("/memories", responses=told(results.Page))
def list_memories(
    caller: Client,
    listing: Asked,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**53, description="not with a cursor")] = 0,
) -> Response:
    """List memories; the pages of a listing show the moment of the first page."""
    page = {"limit": limit + 1, "offset": offset, **listing.arguments}
    if cursor is not None:
        place = _place(cursor, listing.digest)
        page["offset"] = place.offset
        live = page["state"] == "live"  # else the past lists none
        found = _as_of(caller, place, page) if live else caller.store.all(**page)
    else:
        place, found = _first_page(caller, listing, page)
    following = None
    if len(found) > limit:
        following = replies.encode_cursor(place._replace(offset=place.offset + limit))
    body = {"items": dicts(found[:limit]), "next": following, "seq": place.seq}
    headers = {} if following is None else {"Link": f'<?cursor={following}>; rel="next"'}
    return Json(body, headers=headers)


@routes.get("/count", responses=told(results.Count))
def count_memories(
    caller: Client,
    namespace: Named = None,
    subtree: Switch = False,
    where: Filter = None,
    as_of: At = None,
) -> Response:
    """Count live memories."""
    scope = caller.scope(namespace, subtree)
    count = _view(caller, as_of).count(namespace=scope, where=plain(_filter(where)))
    return Json({"count": count})


@routes.post("/get", responses=told(results.Found))
def get_memories(caller: Client, body: GetBody) -> Response:
    """Read memories by ids, each in the place of the id; null for an id that is absent."""
    found = _view(caller, body.as_of).get_many(body.ids)
    seen = [each if each is not None and caller.sees(each.namespace) else None for each in found]
    return Json({"items": [None if each is None else each.to_dict() for each in seen]})


@routes.post("/memories", status_code=201, responses=told(MemoryRecord, 201))
def store_memory(caller: Client, body: StoreBody, key: Key = None) -> Response:
    """Store a memory; a repeated Idempotency-Key returns the memory stored before."""
    given = body.given() | {"namespace": caller.place(body.namespace)}
    if body.supersedes is not None:
        caller.one(body.supersedes)
    if key is not None and body.id is None:
        given["id"] = seeded_id(caller, key, 0)
        stored = caller.store.get(given["id"])
        if stored is not None and caller.sees(stored.namespace):
            return replies.memory(_same(stored, body.content), 201)
    with state_conflicts():
        return replies.memory(caller.store.store(**given), 201)


@routes.post("/memories/batch", status_code=201, responses=told(results.Memories, 201))
def store_batch(caller: Client, body: BatchBody, key: Key = None) -> Response:
    """Store memories and forget others, all or none."""
    items = [item.given() | {"namespace": caller.place(item.namespace)} for item in body.items]
    for id in body.forget:
        caller.one(id)
    for item in body.items:
        if item.supersedes is not None:
            caller.one(item.supersedes)
    if key is not None:
        for number, each in enumerate(items):
            each["id"] = each.get("id") or seeded_id(caller, key, number)
        stored = caller.store.get_many([item["id"] for item in items])
        if all(each is not None and caller.sees(each.namespace) for each in stored):
            pairs = zip(stored, body.items, strict=True)
            return Json(
                {"items": dicts(_same(each, item.content) for each, item in pairs if each)}, 201
            )
    with state_conflicts():
        found = caller.store.store_many(items, forget=body.forget, on_similar=body.on_similar)
    return Json({"items": dicts(found)}, 201)


@routes.get("/memories/{id}", responses=told(MemoryRecord) | {304: {"description": "As before"}})
def get_memory(caller: Client, id: Id, as_of: At = None, if_none_match: IfMatch = None) -> Response:
    """Read a memory, also a superseded or archived memory."""
    record = _view(caller, as_of).get(id)
    if record is None or not caller.sees(record.namespace):
        raise NotFoundError("memory", id)
    if if_none_match is not None and has_tag(if_none_match, etag(record)):
        return Response(status_code=304, headers={"ETag": etag(record)})
    return replies.memory(record)


@routes.patch("/memories/{id}", responses=told(MemoryRecord))
def update_memory(caller: Client, id: Id, body: UpdateBody, if_match: IfMatch = None) -> Response:
    """Change fields of a live memory; with If-Match only the version with the tag."""
    caller.one(id)
    changes = body.given()
    if "namespace" in changes:
        caller.place(changes["namespace"])
    with state_conflicts():
        if if_match is None:
            return replies.memory(caller.store.update(id, **changes))
        changed = update_if(
            caller.store, lambda record: names_tag(if_match, etag(record)), id, changes
        )
    if changed is None:
        raise _changed_since(id)
    return replies.memory(changed)


@routes.delete("/memories/{id}", status_code=204)
def forget_memory(caller: Client, id: Id, if_match: IfMatch = None) -> Response:
    """Forget a memory; ``restore`` brings the memory back."""
    record = caller.one(id)
    if if_match is None:
        caller.store.forget(record.id)
    elif not forget_if(caller.store, lambda each: names_tag(if_match, etag(each)), id):
        raise _changed_since(id)
    return Response(status_code=204)


@routes.post("/memories/{id}/restore", responses=told(results.Count))
def restore_memory(caller: Client, id: Id) -> Response:
    """Bring a forgotten memory back."""
    with state_conflicts():
        return Json({"count": caller.store.restore(caller.known([id]))})


@routes.post("/memories/{id}/archive", responses=told(results.Count))
def archive_memory(caller: Client, id: Id) -> Response:
    """Hide a live memory from searches without forgetting the memory."""
    return Json({"count": caller.store.archive(caller.known([id]))})


@routes.post("/memories/{id}/unarchive", responses=told(results.Count))
def unarchive_memory(caller: Client, id: Id) -> Response:
    """Bring an archived memory back."""
    with state_conflicts():
        return Json({"count": caller.store.unarchive(caller.known([id]))})


@routes.post("/memories/{id}/reinforce", responses=told(MemoryRecord))
def reinforce_memory(caller: Client, id: Id, body: ReinforceBody) -> Response:
    """Raise the importance of a live memory."""
    return replies.memory(caller.store.reinforce(caller.one(id).id, body.amount))


def _view(caller: Caller, as_of: str | float | None) -> Past | MemoryStore:
    when = moment(caller.store, as_of)
    return caller.store if when is None else caller.store.as_of(when)


def _filter(where: str | None) -> Where | None:
    if where is None:
        return None
    try:
        return _WHERE.validate_json(where)
    except ValidationError as error:
        raise Problem(422, "validation", f"query.where: {said(error.errors()[0])}") from None


def _place(cursor: str, digest: str) -> Cursor:
    """Return the place of *cursor* in the listing *digest*."""
    found = replies.decode_cursor(cursor)
    if found is None or found.digest != digest:
        raise NotFoundError("cursor", cursor)
    return found


def _first_page(
    caller: Caller, listing: Listing, page: dict[str, Any]
) -> tuple[Cursor, list[MemoryRecord]]:
    """Return the place of the first page, and the page as of the last journal entry."""
    when, store, at = listing.when, caller.store, caller.store.clock()
    place = Cursor(last_entry(caller) if when is None else when, at, page["offset"], listing.digest)
    if when is not None:
        return place._replace(at=0), store.as_of(when).all(**page)
    found = store.all(**page)
    gone = {"expires_at": {"$gt": at}}  # before the page was read
    if last_entry(caller) == place.seq and not store.all(
        namespace=page["namespace"], where=gone, state="expired", limit=1
    ):
        return place, found
    return place, _as_of(caller, place, page)


def _as_of(caller: Caller, place: Cursor, page: dict[str, Any]) -> list[MemoryRecord]:
    """Return the *page* as it was at *place*."""
    unexpired = {"$not": {"expires_at": {"$lte": place.at}}}
    where = {"$and": [page["where"], unexpired]} if page["where"] else unexpired
    return caller.store.as_of(place.seq).all(**page | {"where": where})


def last_entry(caller: Caller) -> int:
    """Return the number of the last journal entry, 0 for an empty journal."""
    newest = caller.store.log(limit=1, skip_damaged=True)
    return newest[0].seq if newest else 0


def seeded_id(caller: Caller, key: str, number: int) -> str:
    """Return the id of memory *number* of the requests with the Idempotency-Key *key*.

    The ids of a request sort by *number*, as the ids of a batch without a key do.
    """
    seed = f"{caller.token.text}\n{key}"
    request, item = (
        hashlib.sha256(text.encode()).hexdigest() for text in (seed, f"{seed}\n{number}")
    )
    return f"{request[:12]}{number:04x}{item[:16]}"


def _same(record: MemoryRecord, content: str) -> MemoryRecord:
    if record.content != content:
        raise Problem(409, "idempotency", "the Idempotency-Key was used for a different memory")
    return record


def _changed_since(id: str) -> Problem:
    return Problem(412, "changed", f"memory {id!r} is not the version that If-Match names")
