"""The storage backend of crewAI's unified memory."""

from __future__ import annotations

import asyncio
import copy
import os
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bethink import MemoryRecord, MemoryStore

from .embedder import Embed, RememberingEmbedder
from .opened import StoreHandle, crew_errors, dimension_error
from .scopes import View, children, clean
from .scoring import scored
from .translate import VECTOR, is_private, naive, seconds, to_crew, to_fields

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord as CrewRecord
    from crewai.memory.types import ScopeInfo


class CrewStorage:
    """Serve `Memory(storage=CrewStorage(store))`; a path instead of a store is opened when used.

    Scopes live below *namespace*. *embed* is what `embedder` wraps (default: the store's own).
    *path* is another spelling of *store*; *vector_dim* refuses embeddings of any other size.
    """

    def __init__(
        self,
        store: MemoryStore | str | os.PathLike[str] | None = None,
        *,
        namespace: str = "crew",
        embed: Embed | None = None,
        path: str | os.PathLike[str] | None = None,
        vector_dim: int | None = None,
    ) -> None:
        given = path if store is None else store
        if given is None:
            raise TypeError("CrewStorage needs a store or a path")
        self._store = StoreHandle(given)
        self._view = View(namespace)
        self._view.everything()
        self._dimension = vector_dim
        self._owns = True
        self.write_lock = threading.RLock()
        self.embedder = RememberingEmbedder(
            embed or (lambda texts: self._store().embedder.embed(texts))
        )

    def __repr__(self) -> str:
        return f"CrewStorage(namespace={self._view.namespace!r}, root={self._view.root!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> CrewStorage:
        return self

    def bound(self, root: str) -> CrewStorage:
        """Return a view of *root* and below that nothing can leave: one per user or tenant.

        crewAI itself lets a model choose the scopes to search. Here searches outside *root* fall
        back to it, records outside do not exist, and writes outside are a ``ValueError``.
        """
        view = copy.copy(self)
        view._view = self._view.bound(root)
        view._owns = False
        return view

    # -- writing

    @crew_errors()
    def save(self, records: list[CrewRecord]) -> None:
        """Store *records*, the new ones all or none; a known id is replaced."""
        self._put(records)

    @crew_errors()
    def update(self, record: CrewRecord) -> None:
        """Replace the record of the same id, or store it."""
        self._put([record])

    def _put(self, records: Iterable[CrewRecord]) -> None:
        latest = {record.id: record for record in records}
        with self.write_lock:
            known = self._own(latest)
            fresh = [self._fields(latest[id]) | {"id": id} for id in latest if id not in known]
            self._store().store_many(fresh)
            for stored in known.values():
                self._replace(stored, latest[stored.id])

    def _fields(self, record: CrewRecord) -> dict[str, Any]:
        fields = to_fields(record, self._view.namespace_of(record.scope))
        if record.embedding:
            self._check(record.embedding)
            fields["vectors"] = {VECTOR: record.embedding}
        return fields

    def _replace(self, stored: MemoryRecord, record: CrewRecord) -> None:
        fields = self._fields(record)
        # Consolidation rebuilds a record from its text alone; what it did not say stays as it was.
        if "source" not in record.model_fields_set:
            fields["source"] = stored.source
        if "private" not in record.model_fields_set:
            fields["value"]["private"] = is_private(stored)
        if not record.embedding and record.content != stored.content:
            fields["vectors"] = {}
        self._store().update(record.id, **fields)

    @crew_errors()
    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget the records that meet every criterion given, and return how many.

        An empty list of ids or categories names nothing; no criterion at all names everything.
        """
        part = self._view.part(scope_prefix)
        conditions = _metadata_is(metadata_filter)
        if record_ids is not None:
            conditions.append({"id": {"$in": list(record_ids)}})
        if categories is not None:
            conditions.append({"tags": {"$contains_any": list(categories)}})
        if older_than is not None:
            conditions.append({"occurred_at": {"$lt": seconds(older_than)}})
        return self._store().forget(namespace=part, where={"$and": conditions}) if part else 0

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget everything in the scope; once all is forgotten any embedder may follow."""
        self.delete(scope_prefix)

    @crew_errors()
    def touch_records(self, record_ids: list[str]) -> None:
        """Note that these records were used now."""
        self._store().touch(self._own(record_ids))

    def close(self) -> None:
        """Close the store if it was opened here; nothing is deleted."""
        if self._owns:
            self._store.close()

    # -- searching

    @crew_errors()
    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[CrewRecord, float]]:
        """Return the best *limit* records with their cosine in [0, 1], best first.

        When `embedder` made the query, its words count as well as its vector, and a record
        scores no less than those it outranks.
        """
        if limit < 1 or len(query_embedding) == 0:
            return []
        self._check(query_embedding)
        conditions = _metadata_is(metadata_filter)
        if categories:
            conditions.append({"tags": {"$contains_any": list(categories)}})
        hits = self._store().recall(
            self.embedder.text_of(query_embedding),
            k=limit,
            namespace=self._view.part(scope_prefix) or self._view.everything(),
            where={"$and": conditions},
            vector=(VECTOR, query_embedding),
            touch=False,
        )
        return scored(self._crew([hit.memory for hit in hits]), query_embedding, min_score)

    @crew_errors()
    def get_record(self, record_id: str) -> CrewRecord | None:
        """Return the record of this id, or None."""
        return next(iter(self._crew(self._own([record_id]).values())), None)

    @crew_errors()
    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[CrewRecord]:
        """Return the records of a scope and below, newest first."""
        if limit < 1 or offset < 0:
            return []
        newest = sorted(self._all(scope_prefix), key=lambda r: r.occurred_at, reverse=True)
        return self._crew(newest[offset : offset + limit])

    @crew_errors()
    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Describe a scope and all below it."""
        from crewai.memory.types import ScopeInfo

        records = self._all(scope)
        times = [record.occurred_at for record in records]
        return ScopeInfo(
            path=clean(scope),
            record_count=len(records),
            categories=sorted({tag for record in records for tag in record.tags}),
            oldest_record=naive(min(times)) if times else None,
            newest_record=naive(max(times)) if times else None,
            child_scopes=children(clean(scope), {self._scope(record) for record in records}),
        )

    @crew_errors()
    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the immediate children of *parent* that hold records, as full paths."""
        part = self._view.part(parent)
        held = self._store().namespaces(part) if part else {}
        return children(clean(parent), map(self._view.scope_of, held))

    @crew_errors()
    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return how many records of a scope and below carry each category."""
        return dict(Counter(tag for record in self._all(scope_prefix) for tag in record.tags))

    @crew_errors()
    def count(self, scope_prefix: str | None = None) -> int:
        """Count the records of a scope and below."""
        part = self._view.part(scope_prefix)
        return self._store().count(namespace=part) if part else 0

    # -- without blocking the event loop

    async def asave(self, records: list[CrewRecord]) -> None:
        """Do what `save` does."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[CrewRecord, float]]:
        """Do what `search` does."""
        return await asyncio.to_thread(
            self.search,
            query_embedding,
            scope_prefix,
            categories,
            metadata_filter,
            limit,
            min_score,
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Do what `delete` does."""
        return await asyncio.to_thread(
            self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter
        )

    # -- the view's records

    def _all(self, scope: str | None) -> list[MemoryRecord]:
        part = self._view.part(scope)
        return self._store().all(namespace=part, order="newest") if part else []

    def _own(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """Return those of *ids* that the view sees, by id."""
        found = self._store().all(
            namespace=self._view.everything(), where={"id": {"$in": list(ids)}}
        )
        return {record.id: record for record in found}

    def _crew(self, records: Collection[MemoryRecord]) -> list[CrewRecord]:
        vectors = self._store().vectors([record.id for record in records], VECTOR)
        return [to_crew(record, self._scope(record), vectors.get(record.id)) for record in records]

    def _scope(self, record: MemoryRecord) -> str:
        return self._view.scope_of(record.namespace)

    def _check(self, embedding: Sequence[float]) -> None:
        if self._dimension not in (None, len(embedding)):
            raise dimension_error(self._dimension, len(embedding))


def _metadata_is(wanted: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the conditions that the metadata has what is *wanted*; None stands for nothing."""
    return [
        {f"metadata.{key}": {"$exists": False} if value is None else {"$eq": value}}
        for key, value in (wanted or {}).items()
    ]
