"""The operations that search: recall, pack, similar, why, context, conflicts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.responses import Response

from bethink import MemoryRecord, Packed, WhyNot
from bethink.adapting import find_near_duplicates

from ..shared.defaults import DEFAULT_BUDGET_TOKENS
from . import results, types
from .caller import Caller, Client, moment
from .filters import plain
from .models import PackBody, RecallBody, Searching, SimilarBody, WhyBody
from .replies import Json, dicts
from .routing import router, told
from .settings import MAX_ENTRIES
from .sharing import SharedRoute
from .types import At, Id, Named, Switch

routes = router("searching")
shared = router("searching", SharedRoute)


@routes.post("/recall", responses=told(results.Hits))
def recall(caller: Client, body: RecallBody) -> Response:
    """Search memories by meaning and words, best first, with every part of the scores."""
    hits = caller.store.recall(body.query, touch=_touch(caller, body), **_options(caller, body))
    return Json({"items": dicts(hits)})


@routes.post("/pack", responses=told(Packed))
def pack(caller: Client, body: PackBody) -> Response:
    """Pack the best memories into a text of at most *budget_tokens*, for a prompt."""
    packed = caller.store.pack(
        body.query,
        budget_tokens=body.budget_tokens,
        touch=_touch(caller, body),
        **_options(caller, body),
    )
    return Json(packed.to_dict())


@routes.post("/similar", responses=told(results.SimilarMemories))
def similar(caller: Client, body: SimilarBody) -> Response:
    """Return the memories that *on_similar* of a write takes for the same, most similar first."""
    return _similar(
        caller,
        body.content,
        namespace=caller.scope(body.namespace, body.subtree),
        where=plain(body.where),
        similarity=body.similarity,
    )


@routes.get("/memories/{id}/similar", responses=told(results.SimilarMemories))
def similar_memories(
    caller: Client,
    id: Id,
    namespace: Named = None,
    subtree: Switch = False,
    similarity: Annotated[types.Unit, Query()] = 0.92,
) -> Response:
    """Return the near-duplicates of a memory, the most similar first."""
    scope = caller.scope(namespace, subtree)
    return _similar(caller, caller.one(id), namespace=scope, similarity=similarity)


def _similar(caller: Caller, new: str | MemoryRecord, **options: Any) -> Response:
    found = find_near_duplicates(caller.store, new, **options)
    return Json(
        {"items": [{"memory": each.to_dict(), "similarity": cosine} for each, cosine in found]}
    )


@routes.post("/memories/{id}/why", responses=told(WhyNot))
def why(caller: Client, id: Id, body: WhyBody) -> Response:
    """Tell what keeps a memory out of the answer to a search."""
    caller.known([id])
    return Json(caller.store.why_not(id, body.query, **_options(caller, body)).to_dict())


@routes.get("/context", responses=told(Packed))
def context(
    caller: Client,
    query: Annotated[types.Query, Query(max_length=2_000)] = "",
    namespace: Named = None,
    subtree: Switch = False,
    budget_tokens: Annotated[int, Query(ge=0, le=1_000_000)] = DEFAULT_BUDGET_TOKENS,
    as_of: At = None,
) -> Response:
    """Pack memories for a prompt; without a query the newest and most important."""
    packed = caller.store.pack(
        query,
        budget_tokens=budget_tokens,
        namespace=caller.scope(namespace, subtree),
        as_of=moment(caller.store, as_of),
        touch=False,
    )
    return Json(packed.to_dict())


@shared.get("/conflicts", responses=told(results.Conflicts))
def conflicts(
    caller: Client,
    query: Annotated[types.Query | None, Query(max_length=2_000)] = None,
    namespace: Named = None,
    subtree: Switch = False,
    min_tier: Literal["likely", "possible"] = "possible",
    limit: Annotated[int, Query(ge=1, le=MAX_ENTRIES)] = 50,
    as_of: At = None,
) -> Response:
    """List pairs of memories that can hardly both hold."""
    found = caller.store.conflicts(
        query,
        namespace=caller.scope(namespace, subtree),
        min_tier=min_tier,
        limit=limit,
        as_of=moment(caller.store, as_of),
    )
    return Json({"items": dicts(found)})


def _options(caller: Caller, body: Searching) -> dict[str, Any]:
    return {
        "k": body.k,
        "namespace": caller.scope(body.namespace, body.subtree),
        "mode": body.mode,
        "where": plain(body.where),
        "min_score": body.min_score,
        "min_similarity": body.min_similarity,
        "min_share": body.min_share,
        "trusted": body.trusted,
        "as_of": moment(caller.store, body.as_of),
    }


def _touch(caller: Caller, body: RecallBody) -> bool:
    """Return whether hits count as accessed: a reader changes nothing."""
    return body.touch and body.as_of is None and not caller.read_only
