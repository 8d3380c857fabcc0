"""The storage backend of crewAI's unified memory."""

from __future__ import annotations

import copy
import os
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryRecord, MemoryStore, Subtree, ValidationError, segment
from bethink.adapting import Tally, latest, make_async, make_async_write, tallies

from .embedder import Embed, RememberingEmbedder
from .finding import Finder, conditions_of
from .opened import StoreHandle, check_dimension, crew_errors
from .scopes import View, children, clean
from .scoring import scored
from .translate import VECTOR, is_private, naive, seconds, to_crew, to_fields

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord as CrewRecord
    from crewai.memory.types import ScopeInfo

BATCH: Final = 500  # ids asked for at once; a longer list is matched one by one


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
        self._foreign = embed is not None
        self.embedder = RememberingEmbedder(
            embed or (lambda texts: self._store().embedder.embed(texts))
        )

    def __repr__(self) -> str:
        return f"CrewStorage(namespace={self._view.namespace!r}, root={self.root!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> CrewStorage:
        return self

    @property
    def root(self) -> str:
        """The scope that this storage cannot leave; "/" unless it is bound."""
        return self._view.root

    @property
    def place(self) -> tuple[MemoryStore, Subtree]:
        """The store, opened if it was not, and the part of it that this storage sees."""
        return self._store(), self._view.everything()

    def bound(self, root: str, *ids: str) -> CrewStorage:
        """Return a view of *root* and below that nothing can leave: one per user or tenant.

        *ids* are further segments, quoted so that any text makes one: ``bound("/user", user_id)``.
        crewAI itself lets a model choose the scopes to search. Here searches outside the root fall
        back to it, records outside do not exist, and writes outside are a ``ValueError``. Give
        `Memory` the same place: ``Memory(storage=view, root_scope=view.root)``.
        """
        view = copy.copy(self)
        view._view = self._view.bound("/".join([root, *map(segment, ids)]))
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
            try:
                self._add(latest, known)
            except ValidationError:
                deleted = self._deleted(id for id in latest if id not in known)
                if not deleted:
                    raise
                self._add(latest, {*known, *deleted})
                self._bring_back(deleted, latest)
            for stored in known.values():
                self._replace(stored, latest[stored.id])

    def _add(self, records: Mapping[str, CrewRecord], known: Collection[str]) -> None:
        fresh = [record for id, record in records.items() if id not in known]
        self._store().store_many([{"id": record.id, **self._fields(record)} for record in fresh])

    def _deleted(self, ids: Iterable[str]) -> list[str]:
        """Return those of *ids* whose records were deleted here: the store still knows them."""
        last = [entry for id in ids for entry in self._store().log(id=id, limit=1)]
        gone = (entry for entry in last if entry.action == "forget")
        return [entry.id for entry in gone if entry.id and self._view.sees(entry.namespace)]

    def _bring_back(self, ids: list[str], records: Mapping[str, CrewRecord]) -> None:
        self._store().restore(ids)
        try:
            for stored in self._own(ids).values():
                self._replace(stored, records[stored.id])
        except BaseException:
            self._store().forget(ids)
            raise

    def _fields(self, record: CrewRecord) -> dict[str, Any]:
        fields = to_fields(record, self._view.namespace_of(record.scope))
        if record.embedding:
            check_dimension(record.embedding, self._dimension)
            fields["vectors"] = {VECTOR: record.embedding}
        return fields

    def _replace(self, stored: MemoryRecord, record: CrewRecord) -> None:
        fields = self._fields(record)
        # Consolidation rebuilds a record from its text alone; what it did not say stays as it was.
        if "source" not in record.model_fields_set:
            fields["source"] = stored.source
        if "private" not in record.model_fields_set:
            fields["value"]["private"] = is_private(stored)
        vector = self._store().vectors([stored.id], VECTOR).get(stored.id)
        if vector is not None and record.embedding:
            check_dimension(record.embedding, len(vector))
        elif vector is not None and record.content != stored.content:
            # The vector was the old text's; zeros are near to nothing.
            fields["vectors"] = {VECTOR: vector * 0}
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
        conditions = conditions_of(metadata_filter, categories)
        if older_than is not None:
            conditions.append({"occurred_at": {"$lt": seconds(older_than)}})
        ids = None if record_ids is None else list(self._own(record_ids))
        if part is None:
            return 0
        return self._store().forget(ids, namespace=part, where={"$and": conditions})

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

        When `embedder` made the query, its words count as well as its vector, only relevant
        records are returned, and none scores less than those it outranks. Otherwise the nearest
        are, however far.
        """
        if limit < 1 or len(query_embedding) == 0:
            return []
        check_dimension(query_embedding, self._dimension)
        conditions = conditions_of(metadata_filter, categories or None)
        place = self._view.part(scope_prefix) or self._view.everything()
        finder = Finder(self._store(), place, conditions, limit)
        text = self.embedder.text_of(query_embedding)
        if text is None:
            records = finder.nearest(query_embedding)
        else:
            records = finder.relevant(text, query_embedding if self._foreign else None)
        pairs = scored(self._crew(records), query_embedding, ranked=text is not None)
        return [(record, score) for record, score in pairs[:limit] if score >= min_score]

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
        part = self._view.part(scope_prefix)
        page = {"limit": limit, "offset": offset}
        return self._crew(latest(self._store(), namespace=part, **page) if part else [])

    @crew_errors()
    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Describe a scope and all below it."""
        from crewai.memory.types import ScopeInfo

        found = self._tallies(scope)
        scopes = {self._view.scope_of(each.namespace) for each in found}
        return ScopeInfo(
            path=clean(scope),
            record_count=sum(each.count for each in found),
            categories=sorted({tag for each in found for tag in each.tags}),
            oldest_record=naive(min(each.oldest for each in found)) if found else None,
            newest_record=naive(max(each.newest for each in found)) if found else None,
            child_scopes=children(clean(scope), scopes),
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
        counts = Counter[str]()
        for each in self._tallies(scope_prefix):
            counts.update(dict.fromkeys(each.tags, each.count))
        return dict(counts)

    @crew_errors()
    def count(self, scope_prefix: str | None = None) -> int:
        """Count the records of a scope and below."""
        part = self._view.part(scope_prefix)
        return self._store().count(namespace=part) if part else 0

    # -- without blocking the event loop

    asave = make_async_write(save)
    asearch = make_async(search)
    adelete = make_async_write(delete)

    def _tallies(self, scope: str | None) -> list[Tally]:
        part = self._view.part(scope)
        return tallies(self._store(), namespace=part) if part else []

    def _own(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """Return those of *ids* that the view sees, by id."""
        wanted, place = list(ids), self._view.everything()
        batches = (wanted[i : i + BATCH] for i in range(0, len(wanted), BATCH))
        found = (self._store().all(namespace=place, where={"id": {"$in": b}}) for b in batches)
        return {record.id: record for batch in found for record in batch}

    def _crew(self, records: Collection[MemoryRecord]) -> list[CrewRecord]:
        vectors = self._store().vectors([record.id for record in records], VECTOR)
        scope_of = self._view.scope_of
        return [to_crew(r, scope_of(r.namespace), vectors.get(r.id)) for r in records]
