"""An embedder that can tell which text a vector was made from.

crewAI hands its storage only the vector of a query. With this embedder in between, the storage
gets the words back and can search by both.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Embed = Callable[[list[str]], Any]


class RememberingEmbedder:
    """Embed with *embed* and remember the texts of the *capacity* latest vectors.

    *embed* takes a list of texts and returns one vector each (lists or arrays). Vectors are
    recognised by a digest of their float32 bytes. Of texts with the same vector the one embedded
    last is remembered, and none if they were embedded together.
    """

    def __init__(self, embed: Embed, *, capacity: int = 4096) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._embed = embed
        self._capacity = capacity
        self._texts: OrderedDict[bytes, str | None] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, input: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text."""
        texts = list(input)
        vectors = [np.asarray(vector, dtype=float) for vector in self._embed(texts)]
        made: dict[bytes, str | None] = {}
        for text, vector in zip(texts, vectors, strict=True):
            key = _key(vector)
            made[key] = text if made.get(key, text) == text else None
        with self._lock:
            self._remember(made)
        return [vector.tolist() for vector in vectors]

    def __deepcopy__(self, memo: dict[int, Any]) -> RememberingEmbedder:
        return self

    def text_of(self, vector: Sequence[float]) -> str | None:
        """Return the text *vector* was made from, or None if that is not known."""
        with self._lock:
            return self._texts.get(_key(vector))

    def _remember(self, made: Mapping[bytes, str | None]) -> None:
        for key, text in made.items():
            self._texts[key] = text
            self._texts.move_to_end(key)
        while len(self._texts) > self._capacity:
            self._texts.popitem(last=False)


def _key(vector: Sequence[float] | np.ndarray) -> bytes:
    return hashlib.blake2b(np.asarray(vector, np.float32).tobytes(), digest_size=16).digest()
