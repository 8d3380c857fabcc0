"""A retriever of memories, for any use of retrievers in LangChain."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

from bethink.adapting import Mode, Scope, Where, check_scope, integer, number

from ..shared.defaults import DEFAULT_K
from ..shared.opening import open_store
from ..shared.subclassing import refuse_unknown
from ..shared.texts import askable
from .documents import check_mode, part, to_memory

if TYPE_CHECKING:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class MemoryStoreRetriever(BaseRetriever):
        """See ``retriever_class``."""

        store: Any  # a ``MemoryStore``, or a path to open
        namespace: Scope = "default"
        k: int = DEFAULT_K
        mode: Mode = "hybrid"
        where: Where = None
        min_score: float = 0.0
        min_share: float = 0.0

        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
        ) -> list[Document]: ...


@cache
def retriever_class() -> type[MemoryStoreRetriever]:
    """Make the class; the base, a pydantic model, must be there first."""
    base = part("retrievers").BaseRetriever

    class MemoryStoreRetriever(base):  # type: ignore[misc, valid-type]
        """Recall the *k* best memories of *namespace* as documents, exactly as ``recall`` does.

        Unrelated memories are left out, so fewer may be returned. A document's metadata are the
        memory's metadata, with author and time, the score, and the part of each signal.
        ``invoke(query, k=…)`` changes the number once.
        """

        store: Any
        namespace: Any = "default"
        k: int = DEFAULT_K
        mode: str = "hybrid"
        where: Any = None
        min_score: float = 0.0
        min_share: float = 0.0

        def __init__(self, **fields: Any) -> None:
            kind = type(self)
            refuse_unknown(fields, list(getattr(kind, "model_fields", None) or kind.__fields__))
            super().__init__(**fields)  # pydantic 1, of langchain-core 0.2, has no model_post_init
            self.store = open_store(self.store)
            _check(self)

        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
        ) -> list[Document]:
            return _recall(self, query, self.k if k is None else k)

        async def _aget_relevant_documents(
            self,
            query: str,
            *,
            run_manager: AsyncCallbackManagerForRetrieverRun,
            k: int | None = None,
        ) -> list[Document]:
            return await asyncio.to_thread(
                self._get_relevant_documents, query, run_manager=run_manager.get_sync(), k=k
            )

    MemoryStoreRetriever.__module__ = __name__
    MemoryStoreRetriever.__qualname__ = "MemoryStoreRetriever"
    return MemoryStoreRetriever


def _recall(made: MemoryStoreRetriever, query: str, k: int) -> list[Document]:
    found = made.store.recall(
        askable(query),
        k=k,
        namespace=made.namespace,
        mode=made.mode,
        where=made.where,
        min_score=made.min_score,
        min_share=made.min_share,
    )
    return [to_memory(hit) for hit in found]


def _check(made: MemoryStoreRetriever) -> None:
    """Refuse wrong settings at once, not at the first recall."""
    check_mode(made.mode)
    check_scope(made.namespace)
    integer("k", made.k, 0)
    number("min_score", made.min_score, -1e9, 1e9)
    number("min_share", made.min_share, 0.0, 1.0)


def __getattr__(name: str) -> Any:
    if name == "MemoryStoreRetriever":
        return retriever_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
