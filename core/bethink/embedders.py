"""Texts into vectors.

An embedder is anything with a ``name``, a ``dimension`` and ``embed``. `HashEmbedder` needs nothing
and is always there; the others reach for a model, but only when the first text comes: making one
imports nothing, loads nothing and opens no socket.
"""

from __future__ import annotations

import json
import os
import threading
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from math import log
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .errors import DimensionError, EmbedderError, MissingExtraError, ValidationError
from .stemming import stem
from .text import STOP_WORDS, stems

if TYPE_CHECKING:
    from urllib.request import Request

_Matrix = npt.NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Turn texts into vectors that are near each other when the texts are about the same.

    Three optional attributes calibrate it: two texts without a common word count as related only
    above the cosine ``floor`` (default 0); the vector signal rises from 0 at the cosine ``zero``
    (default: the floor); ``share`` is its part of hybrid similarity (default .4).
    """

    @property
    def name(self) -> str:
        """Name the model, and the dimension if it varies; equal names mean comparable vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Give the length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> _Matrix:
        """Embed the texts as rows of shape (n, dimension): L2-normalised, zero for empty text."""
        ...


def normalised(matrix: npt.ArrayLike) -> _Matrix:
    """Scale each row to length 1, as float32; a zero row stays zero."""
    rows = np.asarray(matrix, dtype=np.float64)
    peaks = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(peaks > 0, peaks, 1.0)  # squares of tiny or huge numbers stay finite
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


_STOP_STEMS = frozenset(stem(word) for word in STOP_WORDS)
_BLOCK = 512
_PARTS_WEIGHT = 0.5


class HashEmbedder(Embedder):
    """Hash stems and pieces of words to signed dimensions: no model, no download, always the same.

    It sees shared words and shared spelling, not shared meaning.
    """

    floor = 0.3  # of two texts without a common word, 1 pair in 3,000 comes out above
    share = 0.1

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise ValidationError(f"dimension must be at least 1, not {dimension}")
        self._dimension = dimension

    def __repr__(self) -> str:
        return f"HashEmbedder({self._dimension})"

    @property
    def name(self) -> str:
        """Say ``hash-`` and the dimension."""
        return f"hash-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Give the length of each vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> _Matrix:
        """Embed the texts; a text without any word gives a zero row."""
        texts = checked_texts(texts)
        blocks = [self._block(texts[i : i + _BLOCK]) for i in range(0, len(texts), _BLOCK)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self._dimension), np.float32)

    def _block(self, texts: Sequence[str]) -> _Matrix:
        places: list[npt.NDArray[np.int64]] = []
        values: list[npt.NDArray[np.float64]] = []
        rows: list[int] = []
        weights: list[float] = []
        for row, text in enumerate(texts):
            for term, count in Counter(_telling_terms(text)).items():
                place, value = _features(term, self._dimension)
                places.append(place)
                values.append(value)
                rows.append(row * self._dimension)
                weights.append(1.0 + log(count))
        if not places:
            return np.zeros((len(texts), self._dimension), np.float32)
        sizes = [len(place) for place in places]
        total = np.bincount(
            np.concatenate(places) + np.repeat(rows, sizes),
            np.concatenate(values) * np.repeat(weights, sizes),
            minlength=len(texts) * self._dimension,
        )
        return normalised(total.reshape(len(texts), self._dimension))


def _telling_terms(text: str) -> list[str]:
    every = stems(text)
    return [term for term in every if term not in _STOP_STEMS] or every


@lru_cache(maxsize=1 << 15)
def _features(term: str, dimension: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Give the dimensions a term falls on and its signed weight there."""
    padded = f"<{term}>"
    parts = [padded[i : i + n] for n in (3, 4) for i in range(len(padded) - n + 1)]
    if len(term) < 3 or term[0].isdigit():  # pairs of characters and numbers count as a whole only
        parts = []
    hashes = [_hash(feature) for feature in (term, *parts)]
    weights = [1.0] + [_PARTS_WEIGHT / max(1, len(parts)) ** 0.5] * len(parts)
    signed = [w if h & 1 else -w for h, w in zip(hashes, weights, strict=True)]
    return np.array([(h >> 1) % dimension for h in hashes], np.int64), np.array(signed)


@lru_cache(maxsize=1 << 16)
def _hash(feature: str) -> int:
    data = feature.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


class LazyEmbedder(Embedder):
    """Share what embedders with a model behind them have in common.

    Blank text never reaches the model: its row is zero. A dimension that was not given is found
    out by embedding one word.
    """

    def __init__(self, name: str, dimension: int | None) -> None:
        if dimension is not None and dimension < 1:
            raise ValidationError(f"dimension must be at least 1, not {dimension}")
        self._name = name
        self._dimension = dimension

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    @property
    def name(self) -> str:
        """Name the model."""
        return self._name

    @property
    def dimension(self) -> int:
        """Give the length of each vector; asking may load the model."""
        if self._dimension is None:
            self._dimension = self._rows(["dimension"]).shape[1]
        return self._dimension

    def embed(self, texts: Sequence[str]) -> _Matrix:
        """Embed the texts as rows of length one; blank ones as zeros."""
        texts = checked_texts(texts)
        told = [row for row, text in enumerate(texts) if text.strip()]
        found = self._rows([texts[row] for row in told]) if told else None
        if found is not None and self._dimension is None:
            self._dimension = found.shape[1]
        matrix = np.zeros((len(texts), self.dimension), np.float32)
        if found is not None:
            matrix[told] = found
        return matrix

    def _rows(self, texts: list[str]) -> _Matrix:
        return normalised(checked_rows(self._compute(texts), len(texts), self._dimension))

    @abstractmethod
    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        """Give one vector for each of one or more texts, none of them blank."""


class CallableEmbedder(LazyEmbedder):
    """Use your own function: texts in, one vector for each out.

    *name* is kept in the store's file, so change it whenever the function's vectors change.
    """

    def __init__(
        self,
        fn: Callable[[Sequence[str]], npt.ArrayLike],
        *,
        dimension: int | None = None,
        name: str,
    ) -> None:
        super().__init__(name, dimension)
        self._fn = fn

    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        return self._fn(texts)


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


_OPENAI_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class OpenAIEmbedder(LazyEmbedder):
    """Ask OpenAI, or any server that speaks its ``/v1/embeddings``.

    *base_url* and *api_key* fall back to ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, read at each
    call. *dimension* shortens the vectors, where the model can. A server that is busy or down is
    asked *retries* more times, after *backoff* seconds, then twice that, and so on. The key stays
    out of ``repr``, errors and pickles.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimension: int | None = None,
        batch_size: int = 256,
        timeout: float = 30.0,
        retries: int = 3,
        backoff: float = 0.5,
    ) -> None:
        if batch_size < 1 or retries < 0:
            raise ValidationError("batch_size must be at least 1, and retries at least 0")
        name = f"openai/{model}" if dimension is None else f"openai/{model}-{dimension}"
        super().__init__(name, dimension or _OPENAI_DIMENSIONS.get(model))
        self._model = model
        self._shortened = dimension
        self._base_url = base_url
        self._api_key = api_key
        self._batch_size = batch_size
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_api_key": None}

    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        size = self._batch_size
        vectors: list[Any] = []
        for start in range(0, len(texts), size):
            batch = texts[start : start + size]
            found = self._parsed(self._answer(self._request(batch)))
            vectors += checked_rows(found, len(batch), self._dimension).tolist()
        return vectors

    def _request(self, texts: list[str]) -> Request:
        from urllib.request import Request

        base = self._base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        if not base.startswith(("http://", "https://")):
            raise ValidationError("base_url must start with http:// or https://")
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._shortened:
            body["dimensions"] = self._shortened
        request = Request(f"{base.rstrip('/')}/embeddings", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        if key := self._key():
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        return request

    def _key(self) -> str | None:
        return self._api_key or os.environ.get("OPENAI_API_KEY")

    def _answer(self, request: Request) -> bytes:
        """Send the request, again if the server is busy or out of reach."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import urlopen

        for attempt in range(self._retries + 1):
            if attempt:
                time.sleep(self._backoff * 2 ** (attempt - 1))
            try:
                with urlopen(request, timeout=self._timeout) as response:
                    answer: bytes = response.read()
                    return answer
            except HTTPError as error:
                with error:
                    reason = f"HTTP {error.code}: {error.read(500).decode(errors='replace')}"
                if error.code != 429 and error.code < 500:
                    break
            except (OSError, HTTPException) as error:
                reason = str(error) or type(error).__name__
        raise self._failure(reason)

    def _parsed(self, answer: bytes) -> list[Any]:
        try:
            items = sorted(json.loads(answer)["data"], key=lambda item: item["index"])
            return [item["embedding"] for item in items]
        except (ValueError, KeyError, TypeError):
            text = answer[:200].decode(errors="replace")
            raise self._failure(f"the answer is not a list of embeddings: {text}") from None

    def _failure(self, reason: str) -> EmbedderError:
        key = self._key()
        return EmbedderError(self._name, reason.replace(key, "***") if key else reason)


def checked_texts(texts: Sequence[str]) -> Sequence[str]:
    """Return *texts* if they are a list of strings; refuse one string alone."""
    if isinstance(texts, str):
        raise ValidationError("texts must be a list of strings, not one string")
    for text in texts:
        if not isinstance(text, str):
            raise ValidationError(f"texts must be strings, not {type(text).__name__}")
    return texts


def checked_rows(vectors: npt.ArrayLike, count: int, dimension: int | None) -> _Matrix:
    """Return what an embedder returned as float32 rows, or refuse it: a wrong shape, no numbers."""
    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        raise ValidationError("the embedder returned something else than rows of numbers") from None
    if rows.ndim != 2 or len(rows) != count or rows.shape[1] == 0:
        raise ValidationError(f"the embedder returned shape {rows.shape} for {count} texts")
    if dimension is not None and rows.shape[1] != dimension:
        raise DimensionError(dimension, rows.shape[1])
    if not np.isfinite(rows).all():
        raise ValidationError("the embedder returned numbers that are not finite")
    return rows
