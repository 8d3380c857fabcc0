"""The component of a pipeline that asks a document store."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Self

from bethink.adapting import integer, one_of, suggesting

from ..shared.extras import needs
from .document_store import BethinkDocumentStore

if TYPE_CHECKING:
    from haystack import Document


@suggesting
class _Retriever:
    """Return the *top_k* documents most relevant to a query, an embedding, or both.

    *mode* "hybrid" compares words and vectors, "keyword" words alone, "semantic" vectors alone.
    *filters* hold where a run gives none. What takes a ``TextRetriever`` or an
    ``EmbeddingRetriever`` takes it.
    """

    def __init__(
        self,
        document_store: BethinkDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        mode: str = "hybrid",
    ) -> None:
        self.document_store = document_store
        self.filters = filters
        self.top_k = integer("top_k", top_k, 1)
        self.mode = one_of("mode", mode, ("hybrid", "keyword", "semantic"))

    def _options(
        self,
        filters: dict[str, Any] | None,
        top_k: int | None,
        query_embedding: list[float] | None,
    ) -> dict[str, Any]:
        return {
            "embedding": query_embedding,
            "filters": filters or self.filters,
            "top_k": self.top_k if top_k is None else top_k,
            "mode": self.mode,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as data."""
        from haystack import default_to_dict

        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            mode=self.mode,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a retriever from the data of ``to_dict``."""
        from haystack import default_from_dict

        given = data["init_parameters"]
        store = BethinkDocumentStore.from_dict(given["document_store"])
        return default_from_dict(
            cls, {**data, "init_parameters": {**given, "document_store": store}}
        )


if TYPE_CHECKING:

    class BethinkRetriever(_Retriever):
        """See ``_Retriever``; made by ``_retriever`` on first use."""

        def run(
            self,
            query: str | None = None,
            filters: dict[str, Any] | None = None,
            top_k: int | None = None,
            query_embedding: list[float] | None = None,
        ) -> dict[str, list[Document]]:
            """Return the documents found, best first."""


@cache
def _retriever() -> type:
    """Make a component of it, as whose inputs Haystack reads the arguments of ``run``."""
    with needs("haystack"):
        from haystack import Document, component

    class BethinkRetriever(_Retriever):
        __doc__ = _Retriever.__doc__
        __module__ = __name__
        __qualname__ = "BethinkRetriever"

        @component.output_types(documents=list[Document])
        def run(
            self,
            query: str | None = None,
            filters: dict[str, Any] | None = None,
            top_k: int | None = None,
            query_embedding: list[float] | None = None,
        ) -> dict[str, Any]:
            """Return the documents found, best first."""
            options = self._options(filters, top_k, query_embedding)
            return {"documents": self.document_store.search(query, **options)}

        @component.output_types(documents=list[Document])
        async def run_async(
            self,
            query: str | None = None,
            filters: dict[str, Any] | None = None,
            top_k: int | None = None,
            query_embedding: list[float] | None = None,
        ) -> dict[str, Any]:
            """Return the documents found, best first."""
            options = self._options(filters, top_k, query_embedding)
            return {"documents": await self.document_store.search_async(query, **options)}

    return component(BethinkRetriever)


def __getattr__(name: str) -> type:
    if name == "BethinkRetriever":
        return _retriever()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
