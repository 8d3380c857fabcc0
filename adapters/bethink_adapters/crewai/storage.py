"""The storage backend of crewAI's unified memory."""

from __future__ import annotations

import copy
import os
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryRecord, MemoryStore, NotFoundError, Subtree, ValidationError, segment
from bethink.adapting import Tally, integer, make_async, make_async_write, suggesting, tallies

from ..shared.extras import require
from ..shared.opening import StoreOrPath
from .embedder import Embed, RememberingEmbedder
from .errors import check_dimension, crew_verb
from .scopes import View, children, normalise
from .scoring import scored
from .search import Search, asks_for_any, build_conditions, find_removed, has_any
from .store_handle import StoreHandle
from .translate import VECTOR, by_id, is_private, naive, seconds, text_of, to_crew, to_fields

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord as CrewRecord
    from crewai.memory.types import ScopeInfo

MAX_IDS: Final = 500  # ids in a filter; the store looks up longer lists one by one


@suggesting
class CrewStorage:
    """The records of a unified memory: ``Memory(storage=CrewStorage(store))``.

    *store* is a ``MemoryStore``, which stays open, or a path, opened at once. *path* is a
    second name for *store*; a call without both raises ``TypeError``. Scopes lie below *namespace*.
    ``embedder`` embeds with *embed* (default: the store's embedder). An embedding of a dimension
    other than *vector_dim* raises crewAI's own ``ValueError``.
    """

    def __init__(
        self,
        store: StoreOrPath | None = None,
        *,
        namespace: str = "crew",
        embed: Embed | None = None,
        path: str | os.PathLike[str] | None = None,
        vector_dim: int | None = None,
    ) -> None:
        require("crewai", "crewai")
        given = path if store is None else store
        if given is None:
            raise ValidationError("CrewStorage needs a store or a path")
        self._store = StoreHandle(given)
        self._view = View(namespace)
        self._dimension = None if vector_dim is None else integer("vector_dim", vector_dim, 1)
        self._owns = True
        self.write_lock = threading.RLock()
        self._has_own_embed = embed is not None
        self.embedder = RememberingEmbedder(
            embed or (lambda texts: self._store().embedder.embed(texts))
        )

    def __repr__(self) -> str:
        return f"CrewStorage(namespace={self._view.namespace!r}, root={self.root!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> CrewStorage:
        return self

    @property
    def root(self) -> str:
        """The scope that the storage cannot leave; "/" for an unbound storage."""
        return self._view.root

    @property
    def place(self) -> tuple[MemoryStore, Subtree]:
        """The store, opened if needed, and the part of the store that the storage sees."""
        return self._store(), self._view.everything()

    def bound(self, root: str, *ids: str) -> CrewStorage:
        """Return a view of *root* and below, for instance of a user or tenant.

        *ids* are further segments, quoted, so any text is a segment: ``bound("/user", user_id)``.
        crewAI lets a model choose the scopes to search. In a view, a search outside the root
        searches the root instead, records outside do not exist, and a write outside raises
        ``ValueError``. Give crewAI the root too: ``Memory(storage=view, root_scope=view.root)``.
        """
        view = copy.copy(self)
        view._view = self._view.bound("/".join([normalise(root), *map(segment, ids)]))
        view._owns = False
        return view

    @crew_verb
    def save(self, records: list[CrewRecord]) -> None:
        """Store *records*: all new records or none; a record with a known id is replaced.

        An erased id stays erased.
        """
        self._upsert(records)

    @crew_verb
    def update(self, record: CrewRecord) -> None:
        """Replace the stored record with the id of *record*; store a new *record*."""
        self._upsert([record])

    def _upsert(self, given: Iterable[CrewRecord]) -> None:
        records = by_id(given)
        with self.write_lock:
            known = self._visible(records)
            try:
                self._insert(records, known)
            except ValidationError:  # a forgotten or erased record may still hold an id
                gone = find_removed(self._store(), self._view, set(records) - set(known))
                if not gone:
                    raise
                self._insert(records, {*known, *gone})
                self._restore([id for id in gone if gone[id] == "forget"], records)
            try:
                for stored in known.values():
                    self._replace(stored, records[stored.id])
            except NotFoundError:  # a parallel call has deleted a record
                self._upsert(records.values())

    def _insert(self, records: Mapping[str, CrewRecord], known: Collection[str]) -> None:
        fresh = [record for id, record in records.items() if id not in known]
        self._store().store_many([{"id": record.id, **self._fields(record)} for record in fresh])

    def _restore(self, ids: list[str], records: Mapping[str, CrewRecord]) -> None:
        self._store().restore(ids)
        try:
            for stored in self._visible(ids).values():
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
        # crewAI's consolidation makes a record from the text alone: unset fields stay as stored.
        if "source" not in record.model_fields_set:
            fields["source"] = stored.source
        if "private" not in record.model_fields_set:
            fields["value"]["private"] = is_private(stored)
        vector = self._store().vectors([stored.id], VECTOR).get(stored.id)
        if vector is not None and record.embedding:
            check_dimension(record.embedding, len(vector))
        elif vector is not None and record.content != text_of(stored):
            # The stored vector belongs to the old text; no query is near to a zero vector.
            fields["vectors"] = {VECTOR: vector * 0}
        self._store().update(record.id, **fields)

    @crew_verb
    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget the records that meet every given criterion; return the number of records.

        An empty list of ids or categories forgets no record, a call without criteria all records.
        """
        part = self._view.part(scope_prefix)
        conditions = build_conditions(metadata_filter, categories)
        if older_than is not None:
            conditions.append({"occurred_at": {"$lt": seconds(older_than)}})
        ids = None if record_ids is None else list(self._visible(record_ids))
        if part is None:
            return 0
        return self._store().forget(ids, namespace=part, where={"$and": conditions})

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget all records of a scope and below; an empty storage takes any embedder."""
        self.delete(scope_prefix)

    @crew_verb
    def touch_records(self, record_ids: list[str]) -> None:
        """Note a use of the records, now."""
        self._store().touch(self._visible(record_ids))

    def close(self) -> None:
        """Close the store if the storage was given a path; a view leaves the store open."""
        if self._owns:
            self._store.close()

    @crew_verb
    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[CrewRecord, float]]:
        """Return the best *limit* records, each with a score in [0, 1], best first.

        The score is the cosine. A query from ``embedder`` is searched by words and vector for
        relevant records; the signal of the words is the score of texts without a cosine, and each
        score is raised to the highest score further down. Any other query returns the nearest
        records, at any distance. Records with a score below *min_score* are left out.
        """
        if not asks_for_any(query_embedding, limit, min_score):
            return []
        check_dimension(query_embedding, self._dimension)
        conditions = build_conditions(metadata_filter, categories or None)
        place = self._view.part(scope_prefix) or self._view.everything()
        search = Search(self._store(), place, conditions, limit)
        text = self.embedder.text_of(query_embedding)
        if text is None:
            pairs = scored(self._to_crew(search.nearest(query_embedding)), query_embedding)
        else:
            hits = search.most_relevant(text, query_embedding if self._has_own_embed else None)
            keywords = {hit.id: hit.explanation.signals.get("keyword", 0.0) for hit in hits}
            found = self._to_crew([hit.memory for hit in hits])
            pairs = scored(found, query_embedding, keywords)
        return [(record, score) for record, score in pairs[:limit] if score >= min_score]

    @crew_verb
    def get_record(self, record_id: str) -> CrewRecord | None:
        """Return the record of an id, None without a record in the view."""
        return next(iter(self._to_crew(self._visible([record_id]).values())), None)

    @crew_verb
    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[CrewRecord]:
        """Return the records of a scope and below, newest first."""
        part = self._view.part(scope_prefix)
        if not part or not has_any(limit, offset):
            return []
        found = self._store().all(namespace=part, limit=limit, offset=offset, order="occurred_at")
        return self._to_crew(found)

    @crew_verb
    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return counts, categories, times and child scopes of a scope and below."""
        from crewai.memory.types import ScopeInfo

        found = self._tallies(scope)
        scopes = {self._view.scope_of(each.namespace) for each in found}
        return ScopeInfo(
            path=normalise(scope),
            record_count=sum(each.count for each in found),
            categories=sorted({tag for each in found for tag in each.tags}),
            oldest_record=naive(min(each.oldest for each in found)) if found else None,
            newest_record=naive(max(each.newest for each in found)) if found else None,
            child_scopes=children(normalise(scope), scopes),
        )

    @crew_verb
    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the immediate child scopes of *parent* with records, as full paths."""
        part = self._view.part(parent)
        held = self._store().namespaces(part) if part else {}
        return children(normalise(parent), map(self._view.scope_of, held))

    @crew_verb
    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the number of records of each category, in a scope and below."""
        counts = Counter[str]()
        for each in self._tallies(scope_prefix):
            counts.update(dict.fromkeys(each.tags, each.count))
        return dict(counts)

    @crew_verb
    def count(self, scope_prefix: str | None = None) -> int:
        """Count the records of a scope and below."""
        part = self._view.part(scope_prefix)
        return self._store().count(namespace=part) if part else 0

    asave = make_async_write(save)
    asearch = make_async(search)
    adelete = make_async_write(delete)

    def _tallies(self, scope: str | None) -> list[Tally]:
        part = self._view.part(scope)
        return tallies(self._store(), namespace=part) if part else []

    def _visible(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        wanted, place = [ids] if isinstance(ids, str) else list(ids), self._view.everything()
        batches = (wanted[i : i + MAX_IDS] for i in range(0, len(wanted), MAX_IDS))
        found = (self._store().all(namespace=place, where={"id": {"$in": b}}) for b in batches)
        return {record.id: record for batch in found for record in batch}

    def _to_crew(self, records: Collection[MemoryRecord]) -> list[CrewRecord]:
        vectors = self._store().vectors([record.id for record in records], VECTOR)
        scope_of = self._view.scope_of
        return [to_crew(r, scope_of(r.namespace), vectors.get(r.id)) for r in records]
