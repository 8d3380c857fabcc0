"""SentenceTransformerEmbedder: any model that sentence-transformers can load."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

import numpy.typing as npt

from ..errors import MissingExtraError
from .base import LazyEmbedder


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
                self._model = _sentence_transformers()(self._model_name, **self._options)
        vectors: npt.ArrayLike = self._model.encode(texts, show_progress_bar=False)
        return vectors


_loading = threading.Lock()


def _sentence_transformers() -> Any:
    try:
        return import_module("sentence_transformers").SentenceTransformer
    except ModuleNotFoundError as error:
        if error.name != "sentence_transformers":
            raise
        raise MissingExtraError("sentence-transformers", "sentence-transformers") from None
