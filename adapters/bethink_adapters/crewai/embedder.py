"""An embedder that can tell which text a vector was made from.

crewAI hands its storage only the vector of a query. With this embedder in between, the storage
gets the words back and can search by both.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Embed = Callable[[list[str]], Any]
Floats = npt.NDArray[np.floating[Any]]

_STEP: Final = 2.0**-20  # so much longer, at least; float32 tells numbers apart that differ by less


class RememberingEmbedder:
    """Embed with *embed* and remember the texts of the *capacity* latest vectors.

    *embed* takes a list of texts and returns one vector each (lists or arrays). Vectors are
    recognised by a digest of their float32 bytes. Where two texts have the same vector, the later
    gets it a little longer, and where that is all zeros, each with other signs of the zeros: no
    cosine changes by that, and no thread is told the text of another.
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
        with self._lock:
            own = [self._own(*each) for each in zip(texts, vectors, strict=True)]
            while len(self._texts) > self._capacity:
                self._texts.popitem(last=False)
        return [vector.tolist() for vector in own]

    def __deepcopy__(self, memo: dict[int, Any]) -> RememberingEmbedder:
        return self

    def text_of(self, vector: Sequence[float]) -> str | None:
        """Return the text *vector* was made from, or None if that is not known."""
        with self._lock:
            return self._texts.get(_key(vector))

    def _own(self, text: str, vector: Floats) -> Floats:
        """Return *vector* as it is this text's alone, and remember that; else it is nobody's."""
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()
        if not vector.any():
            signs = np.resize(np.unpackbits(np.frombuffer(digest, np.uint8)), vector.shape)
            vector = np.where(signs, -0.0, 0.0)
        elif self._texts.get(_key(vector), text) != text:
            vector = vector * (1 + (1 + int.from_bytes(digest[:2], "big") % 1024) * _STEP)
        key = _key(vector)
        self._texts[key] = text if self._texts.get(key, text) == text else None
        self._texts.move_to_end(key)
        return vector


def _key(vector: Sequence[float] | Floats) -> bytes:
    return hashlib.blake2b(np.asarray(vector, np.float32).tobytes(), digest_size=16).digest()
