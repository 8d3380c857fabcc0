"""A document store with search by words and vectors: documents are records of a namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

from bethink import MemoryRecord, ValidationError
from bethink.adapting import (
    Mode,
    check_namespace,
    make_async,
    make_async_write,
    suggesting,
    update_all,
    values,
)

from ..shared.extras import require
from ..shared.opening import StoreOrPath, open_store, path_of
from ..shared.texts import askable, written
from ..shared.turns import alone
from .documents import TOLD, Where, narrowed, to_document, to_item
from .metadata import MetaFields

if TYPE_CHECKING:
    from haystack import Document
    from haystack.document_stores.types import DuplicatePolicy

Filters = Mapping[str, Any] | None


@suggesting
class BethinkDocumentStore(MetaFields):
    """The documents of one *namespace* of a *store*, an open store or the path of a file.

    An open *store* stays open. Filters are Haystack's. Times in meta become ISO 8601 texts, UUIDs
    texts. Memories in the namespace are documents, too, with author, thread, category and time
    among the meta. Deleting forgets documents; with *erase*, no byte of the documents stays.
    """

    def __init__(
        self, store: StoreOrPath, *, namespace: str = "documents", erase: bool = False
    ) -> None:
        self.namespace = check_namespace(namespace)
        require("haystack", "haystack.document_stores.types")
        self.store = open_store(store)
        self.erase = erase
        self._vectors = f"haystack/{namespace}"

    def count_documents(self) -> int:
        """Count the documents."""
        return self.store.count(namespace=self.namespace)

    def filter_documents(self, filters: Filters = None) -> list[Document]:
        """Return the documents that pass *filters*, in the order of writing."""
        return [document for _, document in self._passing(filters)]

    def field_values(self, name: str, filters: Filters = None) -> list[Any]:
        """Return the value of a meta field in each document that passes *filters*."""
        where, left = self._narrowed(filters)
        if name in TOLD or left:
            return [document.meta.get(name) for _, document in self._chosen(where, left)]
        path = ("metadata", name)
        return values(self.store, namespace=self.namespace, where=where, path=path)

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy | None = None
    ) -> int:
        """Write all *documents* or none; return the number of written documents.

        A known id raises ``DuplicateDocumentError``, unless the *policy* is to skip or overwrite.
        """
        from haystack.document_stores.types import DuplicatePolicy

        new = _checked(documents)
        with alone(self.namespace):
            gone = list[str]()
            ids = [document.id for document in new]
            if policy is DuplicatePolicy.OVERWRITE:
                gone = [record.id for record in self._there(_keyless(ids))]
            else:
                there = [*self._there(_keyed(ids)), *self._there(_keyless(ids))]
                known = {record.key or record.id for record in there}
                new = _unknown(new, known, skip=policy is DuplicatePolicy.SKIP)
            items = {document.id: to_item(document, self._vectors) for document in new}
            self.store.store_many(items.values(), forget=gone, namespace=self.namespace)
        return len(new)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Forget, or with ``erase`` erase, the documents with the ids; unknown ids are no error."""
        for where in (_keyed(document_ids), _keyless(document_ids)):  # "$or" would read all
            self._delete(namespace=self.namespace, where=where)

    def delete_all_documents(self) -> None:
        """Forget, or with ``erase`` erase, all documents."""
        self._delete(namespace=self.namespace)

    def delete_by_filter(self, filters: Mapping[str, Any]) -> int:
        """Forget, or with ``erase`` erase, the documents that pass *filters*; return the number.

        Empty *filters* raise ``FilterError``.
        """
        ids = [document.id for _, document in self._passing(_filled(filters))]
        self.delete_documents(ids)
        return len(ids)

    def update_by_filter(self, filters: Mapping[str, Any], meta: Mapping[str, Any]) -> int:
        """Set *meta* fields of the documents that pass *filters*; return the number.

        Empty *filters* raise ``FilterError``.
        """
        found = [record for record, _ in self._passing(_filled(filters))]
        new = written("meta", meta)
        changes = {each.id: {"metadata": each.metadata | new} for each in found}
        return len(update_all(self.store, changes))

    def search(
        self,
        query: str | None = None,
        *,
        embedding: Sequence[float] | None = None,
        filters: Filters = None,
        top_k: int = 10,
        mode: Mode = "hybrid",
    ) -> list[Document]:
        """Return the *top_k* documents most relevant to *query*, with scores, best first.

        With an *embedding*, documents are compared by the written embeddings; words alone find
        documents without embeddings. Documents with nothing in common are not returned.
        """
        where, left = self._narrowed(filters)
        if left:
            where = {"id": {"$in": [record.id for record, _ in self._chosen(where, left)]}}
        found = self.store.recall(
            askable(query),
            k=top_k,
            namespace=self.namespace,
            mode="semantic" if query is None else mode,
            where=where,
            vector=None if embedding is None else (self._vectors, embedding),
        )
        return [to_document(hit.memory, hit.score) for hit in found]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as data, with the path of the file."""
        from haystack import default_to_dict

        return default_to_dict(
            self, store=path_of(self.store), namespace=self.namespace, erase=self.erase
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Open the store of the data of ``to_dict``."""
        from haystack import default_from_dict

        return default_from_dict(cls, data)

    @property
    def _delete(self) -> Callable[..., int]:
        return self.store.erase if self.erase else self.store.forget

    def _there(self, where: Mapping[str, Any] | None) -> list[MemoryRecord]:
        return self.store.all(namespace=self.namespace, where=where)

    def _passing(self, filters: Filters) -> list[tuple[MemoryRecord, Document]]:
        return self._chosen(*self._narrowed(filters))

    def _narrowed(self, filters: Filters) -> tuple[Where | None, Filters]:
        """Return the filter of the records, and *filters* if left for Haystack to decide."""
        where, decides = narrowed(filters, self._judged)
        return where, None if decides else filters

    def _chosen(self, where: Where | None, left: Filters) -> list[tuple[MemoryRecord, Document]]:
        """Return the records that pass *where*, with their documents, which pass *left*."""
        from haystack.utils.filters import document_matches_filter

        pairs = [(record, to_document(record)) for record in self._there(where)]
        if not left:
            return pairs
        asked = dict(left)
        return [pair for pair in pairs if document_matches_filter(asked, pair[1])]

    def _judged(
        self, comparison: Mapping[str, Any], name: str, within: Sequence[Mapping[str, Any]]
    ) -> list[Any] | None:
        """Return the values of a meta field that pass; None if a value raises an error."""
        from haystack.errors import FilterError
        from haystack.utils.filters import document_matches_filter

        where, path = {"$and": [*within]}, ("metadata", name)
        found = values(self.store, namespace=self.namespace, where=where, path=path)
        distinct = {(str(each), type(each)): each for each in found}.values()
        asked: Any = dict(comparison)
        views: Any = (SimpleNamespace(meta={name: each}) for each in distinct)
        try:
            return [view.meta[name] for view in views if document_matches_filter(asked, view)]
        except (FilterError, TypeError):  # perhaps of a document that another condition leaves out
            return None

    count_documents_async = make_async(count_documents)
    filter_documents_async = make_async(filter_documents)
    write_documents_async = make_async_write(write_documents)
    delete_documents_async = make_async_write(delete_documents)
    delete_all_documents_async = make_async_write(delete_all_documents)
    delete_by_filter_async = make_async_write(delete_by_filter)
    update_by_filter_async = make_async_write(update_by_filter)
    search_async = make_async(search)


def _keyed(document_ids: Sequence[str]) -> dict[str, Any]:
    """Return the filter of the documents written with the ids."""
    return {"key": {"$in": list(document_ids)}}


def _keyless(document_ids: Sequence[str]) -> dict[str, Any]:
    """Return the filter of the memories without keys that have the ids."""
    return {"key": {"$exists": False}, "id": {"$in": list(document_ids)}}


def _unknown(documents: list[Document], known: set[str], *, skip: bool) -> list[Document]:
    """Return the documents with unknown ids; without *skip*, refuse *known* ids."""
    from haystack.document_stores.errors import DuplicateDocumentError

    new = []
    for document in documents:
        if document.id not in known:
            new.append(document)
            known.add(document.id)
        elif not skip:
            raise DuplicateDocumentError(f"there is a document {document.id!r} already")
    return new


def _filled(filters: Filters) -> Mapping[str, Any]:
    """Return *filters*; raise ``FilterError`` for empty filters, the sign of a mistake."""
    from haystack.errors import FilterError

    if not filters:
        raise FilterError("filters must not be empty; delete_all_documents() forgets all documents")
    return filters


def _checked(documents: object) -> list[Document]:
    from haystack import Document

    if not isinstance(documents, list) or not all(
        isinstance(document, Document) for document in documents
    ):
        raise ValidationError("documents must be a list of Document")
    return documents
