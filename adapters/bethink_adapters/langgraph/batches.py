"""How a batch of LangGraph's operations is answered: reads first, then all writes in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bethink import MemoryRecord, MemoryStore, NotFoundError, ValidationError
from bethink.adapting import integer

from ..shared.texts import askable
from .embedding import Index, Vectors, name_of
from .filtering import to_where
from .items import kinds, renewed, to_fields, to_item, to_search_item
from .places import Labels, Places, labels, owner, to_key
from .searching import Found, Mode, Search

if TYPE_CHECKING:
    from langgraph.store.base import Op, PutOp, Result, SearchOp


@dataclass(frozen=True, slots=True)
class Batches:
    """Answer batches from *store*; a search ranks by *mode* and cuts at *min_score*.

    With *erases* a deletion erases an item with all earlier values, after the puts of the batch.
    """

    store: MemoryStore
    places: Places
    index: Index
    mode: Mode
    min_score: float | None
    erases: bool

    def checked(self, ops: Iterable[Op]) -> list[Op]:
        """Return *ops*; refuse all if any goes to a forbidden namespace."""
        known, asked = kinds(), list[Any](ops)
        for op in asked:
            if isinstance(op, known.PutOp) and op.value is not None:
                owner(op.namespace)
            elif isinstance(op, known.GetOp | known.PutOp):
                labels(op.namespace)
            elif isinstance(op, known.SearchOp):
                labels(op.namespace_prefix)
            elif isinstance(op, known.ListNamespacesOp):
                for condition in op.match_conditions or ():
                    labels(condition.path)
            else:
                raise ValidationError(f"unknown operation {type(op).__name__}")
        return asked

    def documents(self, ops: Sequence[Op]) -> list[str]:
        """Return the texts of items in *ops* to be embedded."""
        return [text for op in _puts(ops) if op.value is not None for text in self.index.texts(op)]

    def queries(self, ops: Sequence[Op]) -> list[str]:
        """Return the queries in *ops* to be embedded."""
        searches: list[Any] = [op for op in ops if isinstance(op, kinds().SearchOp)]
        return [op.query for op in searches if op.query and self.embeds(op.query)]

    def embeds(self, query: str) -> bool:
        """Tell whether *query* is compared by a vector of the index configuration."""
        return self.index.embeddings is not None and self.mode != "keyword" and _asks(query)

    def answer(self, ops: Sequence[Op], vectors: Vectors) -> list[Result]:
        """Return the result of each of *ops*, as things were before the batch; then write."""
        read: list[MemoryRecord] = []
        results = [self._read(op, vectors, read) for op in ops]
        if puts := {(tuple(op.namespace), to_key(op.key)): op for op in _puts(ops)}:
            self._write(puts, vectors)
        if read:
            self._renew(read)
        return results

    def writes(self, ops: Sequence[Op]) -> bool:
        """Tell whether any of *ops* changes an item."""
        return next(_puts(ops), None) is not None

    def record(self, namespace: Iterable[str], key: object) -> MemoryRecord | None:
        """Return the record of the item."""
        return self.store.get(namespace=self.places.of(namespace), key=to_key(key))

    def search(self, op: SearchOp, vectors: Vectors) -> Search:
        """Return the search for the query of *op*."""
        return Search(
            self.store,
            self.places.below(op.namespace_prefix),
            to_where(op.filter),
            self.mode,
            askable(op.query or ""),
            vectors.queries.get(op.query or ""),
        )

    def _read(self, op: Any, vectors: Vectors, read: list[MemoryRecord]) -> Result:
        """Answer *op*; add the records to renew to *read*."""
        known = kinds()
        if isinstance(op, known.PutOp):
            return None
        if isinstance(op, known.ListNamespacesOp):
            held = self.store.namespaces(self.places.scope(op))
            return self.places.listed(held, op)
        if isinstance(op, known.GetOp):
            record = self.record(op.namespace, op.key)
            if record is not None and op.refresh_ttl and record.expires_at is not None:
                read.append(record)
            return None if record is None else to_item(record, self.places)
        found = self._found(op, vectors)
        if op.refresh_ttl:
            read += [record for record, _ in found if record.expires_at is not None]
        return [to_search_item(record, score, self.places) for record, score in found]

    def _found(self, op: SearchOp, vectors: Vectors) -> list[Found]:
        limit, offset = integer("limit", op.limit, 0), integer("offset", op.offset, 0)
        search = self.search(op, vectors)
        if op.query and _asks(op.query):
            return search.page(offset, limit, self.min_score)
        records = self.store.all(
            namespace=search.scope, where=search.where, limit=limit, offset=offset, order="newest"
        )
        return [(record, None) for record in records]

    def _write(self, puts: dict[tuple[Labels, str], PutOp], vectors: Vectors) -> None:
        now, items, gone = self.store.clock(), list[dict[str, Any]](), list[str]()
        doomed: list[dict[str, str]] = []
        for (namespace, key), op in puts.items():
            if op.value is None and self.erases:
                doomed.append({"namespace": self.places.of(namespace), "key": key})
                continue
            before = self.record(namespace, op.key)
            if op.value is None:
                gone += [before.id] if before else []
                continue
            fields = to_fields(op, self.places, self.index.fields, before, now)
            named = enumerate(vectors.documents[text] for text in self.index.texts(op))
            items.append({**fields, "vectors": {name_of(n): vector for n, vector in named}})
        if items or gone:
            self.store.store_many(items, forget=gone)
        if doomed:
            self.store.erase(namespace=self.places.below(()), where={"$or": doomed})

    def _renew(self, read: Iterable[MemoryRecord]) -> None:
        """Renew the lifetime of *read* items; items deleted meanwhile stay deleted."""
        for record in {record.id: record for record in read}.values():
            until = renewed(record, self.store.clock())
            if until is not None:
                with suppress(NotFoundError):
                    self.store.update(record.id, expires_at=until)


def _puts(ops: Iterable[Op]) -> Iterator[PutOp]:
    kind = kinds().PutOp
    return (op for op in ops if isinstance(op, kind))


def _asks(query: str) -> bool:
    return isinstance(query, str) and bool(query.strip())
