"""The index configuration of a LangGraph store: the texts to embed, and the function.

Each text of an item has a vector, "langgraph:0" the first. All texts of a batch are embedded in one
call before the first read of the store; a coroutine function is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bethink import DimensionError, MemoryStore, ValidationError
from bethink.adapting import integer, vector

from .items import paths_of, texts_at, value_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from langgraph.store.base import Embeddings, IndexConfig, PutOp

    Vector = npt.NDArray[np.float32]

Numbers = Sequence[float]
T = TypeVar("T")

FULL_RECORD: Final = ("$",)


def name_of(number: int) -> str:
    """Return the name of an item's vectors with this number."""
    return f"langgraph:{number}"


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one batch, by text."""

    documents: Mapping[str, Vector] = field(default_factory=dict)
    queries: Mapping[str, Vector] = field(default_factory=dict)


class Index:
    """The settings of an index *config*; without a config only the store's embedder works."""

    def __init__(self, config: IndexConfig | None) -> None:
        self.fields: Sequence[str] = FULL_RECORD
        self.embeddings: Embeddings | None = None
        self.dims: int | None = None
        if config is None:
            return
        from langgraph.store.base import ensure_embeddings

        if not isinstance(config, Mapping):
            raise ValidationError(f"index must be a mapping, not {type(config).__name__}")
        fields = config.get("fields") or FULL_RECORD
        if isinstance(fields, str) or not all(isinstance(path, str) for path in fields):
            raise ValidationError(f"index fields must be a list of paths, not {fields!r}")
        self.fields = tuple(fields)
        self.embeddings = ensure_embeddings(config.get("embed"))
        if config.get("dims") is not None:
            self.dims = integer("dims", config["dims"], 1)

    def check(self, store: MemoryStore) -> None:
        """Refuse a *store* with vectors of a different length."""
        stored = store.dimension(name_of(0))
        if None not in (self.dims, stored) and self.dims != stored:
            raise DimensionError(stored or 0, self.dims or 0, "index dims")

    def texts(self, op: PutOp) -> list[str]:
        """Return the texts to embed of the item in *op*."""
        if self.embeddings is None:
            return []
        return texts_at(value_of(op), paths_of(op, self.fields))

    def vectors(self, documents: Iterable[str], queries: Iterable[str]) -> Vectors:
        """Embed *documents* and *queries*, each of them once."""
        texts, asked = list(dict.fromkeys(documents)), list(dict.fromkeys(queries))
        if self.embeddings is None or not (texts or asked):
            return Vectors()
        embedded = self.embeddings.embed_documents(texts) if texts else []
        found = list(map(self.embeddings.embed_query, asked))
        return Vectors(self._by_text(texts, embedded), self._by_text(asked, found))

    async def avectors(self, documents: Iterable[str], queries: Iterable[str]) -> Vectors:
        """Embed *documents* and *queries* without blocking the event loop."""
        texts, asked = list(dict.fromkeys(documents)), list(dict.fromkeys(queries))
        if self.embeddings is None or not (texts or asked):
            return Vectors()
        embedded = await self.embeddings.aembed_documents(texts) if texts else []
        found = await asyncio.gather(*map(self.embeddings.aembed_query, asked))
        return Vectors(self._by_text(texts, embedded), self._by_text(asked, found))

    def _by_text(self, texts: Sequence[str], found: Sequence[Numbers]) -> dict[str, Vector]:
        if len(found) != len(texts):
            raise ValidationError(f"embed returned {len(found)} vectors for {len(texts)} texts")
        return {text: self._checked(each) for text, each in zip(texts, found, strict=True)}

    def _checked(self, numbers: Any) -> Vector:
        checked = vector("embed", numbers)
        if self.dims is not None and len(checked) != self.dims:
            raise DimensionError(self.dims, len(checked), "embed")
        return checked
