"""SentenceTransformerEmbedder: any model that sentence-transformers can load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...embedders import LazyEmbedder, import_extra

if TYPE_CHECKING:
    import numpy.typing as npt


class SentenceTransformerEmbedder(LazyEmbedder):
    """Use the *model* of sentence-transformers; *options* go to ``SentenceTransformer``.

    The first text loads the model, and raises ``MissingExtraError`` without the package. For
    *floor*, *zero* and *share* see ``Embedder``.
    """

    def __init__(
        self,
        model: str = "all-MiniLM-L6-v2",
        *,
        floor: float | None = None,
        zero: float | None = None,
        share: float | None = None,
        **options: Any,
    ) -> None:
        name = f"sentence-transformers/{model}"
        super().__init__(name, None, floor=floor, zero=zero, share=share)
        self._model_name = model
        self._options = options

    def _load(self) -> Any:
        package = import_extra("sentence_transformers", "sentence-transformers")
        return package.SentenceTransformer(self._model_name, **self._options)

    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        vectors: npt.ArrayLike = self._model().encode(texts, show_progress_bar=False)
        return vectors
