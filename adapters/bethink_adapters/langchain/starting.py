"""Vector stores of LangChain with documents from the start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from bethink.adapting import finish_in_thread

from ..shared.opening import StoreOrPath
from .documents import parts_of

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import VectorStore as _Base
else:
    _Base = object  # see `vectorstore`


class Starting(_Base):
    """The class methods of a vector store."""

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | None = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        store: StoreOrPath = ":memory:",
        **options: Any,
    ) -> Self:
        """Return a vector store with *texts* in *store*, by default a store in memory."""
        make: Any = cls
        made = make(store, embedding, **options)
        made.add_texts(texts, metadatas, ids=ids)
        return cast("Self", made)

    @classmethod
    def from_documents(
        cls, documents: Sequence[Document], embedding: Embeddings | None = None, **options: Any
    ) -> Self:
        """Return a vector store with *documents*; *options* are those of ``from_texts``."""
        return cls.from_texts(embedding=embedding, **{**parts_of(documents), **options})

    @classmethod
    async def afrom_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | None = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        store: StoreOrPath = ":memory:",
        **options: Any,
    ) -> Self:
        """Do the same as ``from_texts``."""
        make: Any = cls
        made = await finish_in_thread(make, store, embedding, **options)
        await made.aadd_texts(texts, metadatas, ids=ids)
        return cast("Self", made)

    @classmethod
    async def afrom_documents(
        cls, documents: Sequence[Document], embedding: Embeddings | None = None, **options: Any
    ) -> Self:
        """Do the same as ``from_documents``."""
        given = {**parts_of(documents), **options}
        return await cls.afrom_texts(embedding=embedding, **given)
