"""A document store that finds by words and by vectors: documents as records of a namespace."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from bethink import MemoryRecord, ValidationError
from bethink.adapting import Mode, check_namespace, make_async, make_async_write

from ..shared.texts import askable
from .documents import narrowed, to_document, to_item
from .locations import Location, opened, path_of
from .metadata import MetaFields

if TYPE_CHECKING:
    from haystack import Document
    from haystack.document_stores.types import DuplicatePolicy

Filters = Mapping[str, Any] | None

_writing: Final = threading.Lock()  # of two writes at once both would find an id free


class BethinkDocumentStore(MetaFields):
    """The documents of one *namespace* of a *store*, which is one that is open, or a file's path.

    A store that is given open stays the caller's to close. Filters are Haystack's. Memories in the
    namespace are documents, too, with who said them, where and when among their meta.
    """

    def __init__(self, store: Location, *, namespace: str = "documents") -> None:
        self.namespace = check_namespace(namespace)
        self.store = opened(store)
        self._vectors = f"haystack/{namespace}"

    def count_documents(self) -> int:
        """Count the documents."""
        return self.store.count(namespace=self.namespace)

    def filter_documents(self, filters: Filters = None) -> list[Document]:
        """Return the documents that pass *filters*, in the order in which they were written."""
        return [document for _, document in self._passing(filters)]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy | None = None
    ) -> int:
        """Write *documents*, all or none; return how many were.

        One whose id is there already is an error, unless the *policy* is to skip or to overwrite.
        """
        from haystack.document_stores.types import DuplicatePolicy

        new = _checked(documents)
        with _writing:
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
        """Forget the documents with these ids; an unknown one is passed over."""
        self.store.forget(namespace=self.namespace, where=_of(document_ids))

    def delete_all_documents(self) -> None:
        """Forget all documents."""
        self.store.forget(namespace=self.namespace)

    def delete_by_filter(self, filters: Mapping[str, Any]) -> int:
        """Forget the documents that pass *filters*, which must say something; return how many."""
        ids = [record.id for record, _ in self._passing(_filled(filters))]
        return self.store.forget(ids)

    def update_by_filter(self, filters: Mapping[str, Any], meta: Mapping[str, Any]) -> int:
        """Set *meta* fields of the documents that pass *filters*; return how many.

        The *filters* must say something.
        """
        found = [record for record, _ in self._passing(_filled(filters))]
        for record in found:
            self.store.update(record.id, metadata=record.metadata | dict(meta))
        return len(found)

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

        With an *embedding*, documents are compared by the ones they were written with, and those
        that have none are found by their words alone. What is not alike at all is not returned.
        """
        where = None
        if filters:
            where = {"id": {"$in": [record.id for record, _ in self._passing(filters)]}}
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
        """Return what makes this store again; the file itself stays where it is."""
        from haystack import default_to_dict

        return default_to_dict(self, store=path_of(self.store), namespace=self.namespace)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Open the store that ``to_dict`` was asked of."""
        from haystack import default_from_dict

        return default_from_dict(cls, data)

    def _there(self, where: Mapping[str, Any] | None) -> list[MemoryRecord]:
        return self.store.all(namespace=self.namespace, where=where)

    def _passing(self, filters: Filters) -> list[tuple[MemoryRecord, Document]]:
        from haystack.utils.filters import document_matches_filter

        pairs = [(record, to_document(record)) for record in self._there(narrowed(filters))]
        if not filters:
            return pairs
        asked = dict(filters)
        return [pair for pair in pairs if document_matches_filter(asked, pair[1])]

    count_documents_async = make_async(count_documents)
    filter_documents_async = make_async(filter_documents)
    write_documents_async = make_async_write(write_documents)
    delete_documents_async = make_async_write(delete_documents)
    delete_all_documents_async = make_async_write(delete_all_documents)
    delete_by_filter_async = make_async_write(delete_by_filter)
    update_by_filter_async = make_async_write(update_by_filter)
    search_async = make_async(search)


def _of(document_ids: Sequence[str]) -> dict[str, Any]:
    """Return the filter of the documents with these ids."""
    return {"$or": [_keyed(document_ids), _keyless(document_ids)]}


def _keyed(document_ids: Sequence[str]) -> dict[str, Any]:
    """Return the filter of the documents that were written with these ids."""
    return {"key": {"$in": list(document_ids)}}


def _keyless(document_ids: Sequence[str]) -> dict[str, Any]:
    """Return the filter of the memories whose own ids these are, for they have no key."""
    return {"key": {"$exists": False}, "id": {"$in": list(document_ids)}}


def _unknown(documents: list[Document], known: set[str], *, skip: bool) -> list[Document]:
    """Return the documents whose ids are not *known*; without *skip*, refuse the others."""
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
    """Return *filters* unless they are empty, as they are when something went wrong."""
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
