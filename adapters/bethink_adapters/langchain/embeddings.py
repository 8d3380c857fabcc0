"""Any of bethink's embedders as LangChain embeddings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bethink import Embedder, StaticEmbedder
from bethink.adapting import check_embedder

from ..shared.subclassing import made_on

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings as _Base
else:
    _Base = object  # a type checker sees LangChain's base class; an object gets it when it is made


@made_on("langchain", "langchain_core.embeddings", "Embeddings")
class BethinkEmbeddings(_Base):
    """Embed with *embedder*; by default with the table inside bethink, without a model.

    The embeddings are a function, too, for LangGraph's stores.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self.embedder = check_embedder(StaticEmbedder() if embedder is None else embedder)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        given = texts if isinstance(texts, str) else list(texts)  # the embedder refuses one text
        found = self.embedder.embed(given) if texts else ()
        return [[float(number) for number in vector] for vector in found]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of *text*."""
        return self.embed_documents([text])[0]

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return self.embed_documents(texts)


async def awaited(verb: Callable[[Any], Any], given: Any) -> Any:
    """Return the result of *verb*, a method of an embedding, by the async twin if there is any."""
    twin = getattr(verb.__self__, f"a{verb.__name__}", None)  # type: ignore[attr-defined]
    return await (asyncio.to_thread(verb, given) if twin is None else twin(given))
