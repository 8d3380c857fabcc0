"""A vector store with a search by words as well: LangChain documents as records of a namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bethink import ValidationError
from bethink.adapting import Mode, check_namespace, finish_in_thread

from ..shared.opening import StoreOrPath, open_store
from ..shared.subclassing import made_on
from .documents import (
    Filter,
    check_mode,
    listed,
    refuse,
    text_in,
    to_document,
    to_items,
)
from .embeddings import BethinkEmbeddings, awaited
from .searching import Found, Numbers, Search
from .starting import Starting

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

Scored = list[tuple["Document", float]]


@made_on("langchain", "langchain_core.vectorstores", "VectorStore")
class BethinkVectorStore(Starting):
    """Keep documents in a *namespace* of a bethink *store*, with exact search.

    *mode* "hybrid" compares words and vectors, "semantic" vectors alone, "keyword" words alone; a
    search may choose a different mode. A document with a known id supersedes the earlier document.
    With an *embedding* a search by vectors returns *k* documents whenever the store has as many,
    unlike documents last and with a score of 0. Without an *embedding* the store's own embedder
    serves, and unrelated documents are left out, as by words alone. A *filter* is on
    metadata, in the language of ``recall``'s ``where``: ``{"lang": "en", "page": {"$gte": 3}}``.
    ``delete`` forgets; with *erase* no byte of a deleted document stays.

    A search counts no access. The score of "semantic" is the cosine. Relevance scores, and with
    them the threshold of a retriever, are cosines in every *mode*; the order is that of the mode.
    """

    def __init__(
        self,
        store: StoreOrPath,
        embedding: Embeddings | None = None,
        *,
        namespace: str = "documents",
        mode: Mode = "hybrid",
        erase: bool = False,
    ) -> None:
        self.store = open_store(store)
        self.erase = erase
        self.namespace = check_namespace(namespace)
        self.mode: Mode = check_mode(mode)
        if not hasattr(embedding or BethinkEmbeddings, "embed_documents"):
            kind = type(embedding).__name__
            raise ValidationError(f"embedding must be Embeddings of LangChain, not {kind}")
        self._embedding = embedding
        name = None if embedding is None else f"langchain/{namespace}"
        self._search = Search(self.store, namespace, name)

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings of the documents and queries."""
        return self._embedding or BethinkEmbeddings(self.store.embedder)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add *texts*, all or none; return the ids, made where none are given."""
        items = to_items(texts, metadatas, ids)
        numbers: Sequence[Numbers] = ()
        if self._embedding is not None and items:
            numbers = self._embedding.embed_documents(list(map(text_in, items)))
        return self._put(items, numbers)

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """Forget, or with ``erase`` erase, the documents with *ids*, or all.

        Unknown ids are passed over.
        """
        where = None if ids is None else {"key": {"$in": listed(ids)}}
        delete = self.store.erase if self.erase else self.store.forget
        delete(namespace=self.namespace, where=where)
        return True

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Do the same as ``add_texts``."""
        items = await asyncio.to_thread(to_items, texts, metadatas, ids)
        numbers: Sequence[Numbers] = ()
        if self._embedding is not None and items:
            given = list(map(text_in, items))
            numbers = await awaited(self._embedding.embed_documents, given)
        return await finish_in_thread(self._put, items, numbers)

    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """Do the same as ``delete``."""
        return await finish_in_thread(self.delete, ids, **kwargs)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the known documents among *ids*, in the order of *ids*."""
        ids = listed(ids)
        where = {"key": {"$in": ids}}
        found = {each.key: each for each in self.store.all(namespace=self.namespace, where=where)}
        return [to_document(found[id]) for id in ids if id in found]

    def similarity_search(
        self, query: str, k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the *k* documents most like *query*, best first."""
        return [each for each, _ in self.similarity_search_with_score(query, k, filter, **kwargs)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Filter = None,
        *,
        mode: Mode | None = None,
        **kwargs: Any,
    ) -> Scored:
        """Return the *k* documents most like *query* with scores, in [0, 1], best first."""
        refuse(kwargs, "mode")
        chosen = self._chosen(mode)
        numbers = self.embeddings.embed_query(query) if self._compares(chosen) else None
        return _documents(self._search.best(query, numbers, k, filter, chosen))

    async def asimilarity_search(
        self, query: str, k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Do the same as ``similarity_search``."""
        found = await self.asimilarity_search_with_score(query, k, filter, **kwargs)
        return [each for each, _ in found]

    async def asimilarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Filter = None,
        *,
        mode: Mode | None = None,
        **kwargs: Any,
    ) -> Scored:
        """Do the same as ``similarity_search_with_score``."""
        refuse(kwargs, "mode")
        chosen = self._chosen(mode)
        numbers = None
        if self._compares(chosen):
            numbers = await awaited(self.embeddings.embed_query, query)
        found = asyncio.to_thread(self._search.best, query, numbers, k, filter, chosen)
        return _documents(await found)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> list[Document]:
        """Return the *k* documents with vectors most like *embedding*."""
        refuse(kwargs)
        found = self._search.best(None, embedding, k, filter, "semantic")
        return [each for each, _ in _documents(found)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return *k* diverse documents of the *fetch_k* most like *query*."""
        refuse(kwargs, "fetch_k", "lambda_mult")
        numbers = self.embeddings.embed_query(query)
        return self._diverse(query, numbers, k, fetch_k, lambda_mult, filter)

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Do the same as ``max_marginal_relevance_search``."""
        refuse(kwargs, "fetch_k", "lambda_mult")
        numbers = await awaited(self.embeddings.embed_query, query)
        diverse = self._diverse
        return await asyncio.to_thread(diverse, query, numbers, k, fetch_k, lambda_mult, filter)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return *k* diverse documents of the *fetch_k* most like *embedding*."""
        refuse(kwargs, "fetch_k", "lambda_mult")
        found = self._search.best(None, embedding, fetch_k, filter, "semantic")
        return list(map(to_document, self._search.diverse(found, embedding, k, lambda_mult)))

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> Scored:
        """Return the found documents, each with the cosine."""
        chosen = self._relevance_mode(**kwargs)
        return self._relevant(query, self.embeddings.embed_query(query), k, filter, chosen)

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, filter: Filter = None, **kwargs: Any
    ) -> Scored:
        """Return the found documents, each with the cosine."""
        chosen = self._relevance_mode(**kwargs)
        numbers = await awaited(self.embeddings.embed_query, query)
        return await asyncio.to_thread(self._relevant, query, numbers, k, filter, chosen)

    def _relevance_mode(self, *, mode: Mode | None = None, **kwargs: Any) -> Mode:
        refuse(kwargs, "mode", "score_threshold")
        return self._chosen(mode)

    def _chosen(self, mode: Mode | None) -> Mode:
        return self.mode if mode is None else check_mode(mode)

    def _compares(self, mode: Mode) -> bool:
        """Return whether a search compares vectors of the given embedding."""
        return self._embedding is not None and mode != "keyword"

    def _put(self, items: list[dict[str, Any]], numbers: Sequence[Numbers]) -> list[str]:
        """Store *items*, each with the vector in *numbers*, if any; return the ids."""
        if self._embedding is not None:
            for item, vector in zip(items, numbers, strict=True):
                item["vectors"] = {self._search.name: vector}
        if items:
            self.store.store_many(items, namespace=self.namespace)
        return [item["key"] for item in items]

    def _relevant(
        self, query: str, numbers: list[float], k: int, filter: Filter, mode: Mode
    ) -> Scored:
        given = numbers if self._compares(mode) else None
        found = self._search.best(query, given, k, filter, mode)
        return _documents(self._search.nearness(found, numbers))

    def _diverse(
        self,
        query: str,
        numbers: list[float],
        k: int,
        fetch_k: int,
        lambda_mult: float,
        filter: Filter,
    ) -> list[Document]:
        given = None if self._embedding is None else numbers
        mode: Mode = "hybrid" if given is None else "semantic"
        found = self._search.best(query, given, fetch_k, filter, mode)
        return list(map(to_document, self._search.diverse(found, numbers, k, lambda_mult)))


def _documents(found: Iterable[Found]) -> Scored:
    return [(to_document(record), score) for record, score in found]
