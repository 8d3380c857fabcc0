"""OpenAIEmbedder: OpenAI, or any server with the protocol of OpenAI."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from ...calls import suggesting
from ...embedders import LazyEmbedder, check_rows
from ...errors import EmbedderError, ValidationError
from ...model.fields import integer, label, number

if TYPE_CHECKING:
    from urllib.request import Request

    import numpy.typing as npt

_OPENAI_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


@suggesting
class OpenAIEmbedder(LazyEmbedder):
    """Ask OpenAI, or any server with the route ``/v1/embeddings`` of OpenAI.

    *base_url* and *api_key* fall back to ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, read at each
    call. *dimension* shortens the vectors, where the model can. A request has *batch_size* texts at
    most and ends after *timeout* seconds. A server that is busy or down is asked *retries* more
    times, after *backoff* seconds, then after twice as many, and so on; then ``EmbedderError`` is
    raised. The key stays out of ``repr``, errors and pickles. For *floor*, *zero* and *share* see
    ``Embedder``.
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
        floor: float | None = None,
        zero: float | None = None,
        share: float | None = None,
    ) -> None:
        shortened = "" if dimension is None else f"-{dimension}"
        name = f"openai/{label('model', model)}{shortened}"
        known = _OPENAI_DIMENSIONS.get(model)
        length = known if dimension is None else dimension
        super().__init__(name, length, floor=floor, zero=zero, share=share)
        self._model_name = model
        self._shortened = dimension
        self._base_url = base_url
        self._api_key = api_key
        self._batch_size = integer("batch_size", batch_size, 1)
        self._timeout = number("timeout", timeout, 1e-3, 1e6)
        self._retries = integer("retries", retries, 0)
        self._backoff = number("backoff", backoff, 0.0, 1e6)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_api_key": None}

    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        size = self._batch_size
        vectors: list[Any] = []
        for start in range(0, len(texts), size):
            batch = texts[start : start + size]
            found = self._parsed(self._answer(self._request(batch)))
            vectors += check_rows(found, len(batch), self._dimension).tolist()
        return vectors

    def _request(self, texts: list[str]) -> Request:
        from urllib.request import Request

        key = self._key()
        base = self._base_url or os.environ.get("OPENAI_BASE_URL")
        if not base and not key:
            raise self._failure("no API key; set OPENAI_API_KEY, or pass api_key")
        base = base or "https://api.openai.com/v1"
        if not str(base).startswith(("http://", "https://")):
            raise ValidationError("base_url must start with http:// or https://")
        body: dict[str, Any] = {"input": texts, "encoding_format": "float"}
        body["model"] = self._model_name
        if self._shortened:
            body["dimensions"] = self._shortened
        request = Request(f"{base.rstrip('/')}/embeddings", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        if key:
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
