"""SentenceTransformerEmbedder: any model that sentence-transformers can load."""

from __future__ import annotations

import threading
from typing import Any

import numpy.typing as npt

from ...embedders import LazyEmbedder, imported

_loading = threading.Lock()


class SentenceTransformerEmbedder(LazyEmbedder):
    """Use a sentence-transformers model; *options* go to ``SentenceTransformer`` as they are."""

    def __init__(self, model: str = "all-MiniLM-L6-v2", **options: Any) -> None:
        super().__init__(f"sentence-transformers/{model}", None)
        self._model_name = model
        self._options = options
        self._model: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_model": None}

    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        with _loading:
            if self._model is None:
                package = imported("sentence_transformers", "sentence-transformers")
                self._model = package.SentenceTransformer(self._model_name, **self._options)
        vectors: npt.ArrayLike = self._model.encode(texts, show_progress_bar=False)
        return vectors
