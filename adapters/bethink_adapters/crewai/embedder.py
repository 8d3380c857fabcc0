"""An embedder that remembers the text behind each vector.

crewAI hands a storage only the vector of a query. From the embedder the storage gets the words of
the query back, and can search by words and vector.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bethink.adapting import function, integer

Embed = Callable[[list[str]], Any]
Floats = npt.NDArray[np.floating[Any]]

_LENGTH_STEP: Final = 2.0**-20  # the least relative change of a length; float32 resolves 2**-23


class RememberingEmbedder:
    """Embed with *embed*, and remember the texts of the *capacity* latest vectors.

    *embed* takes a list of texts and returns a vector (a list or an array) for each text. Vectors
    are recognised by a digest of the float32 bytes. Two texts get two vectors: where *embed*
    returns a known vector for a new text, the new vector is made longer, by a thousandth at most,
    and zero vectors differ in the signs of the zeros. No cosine changes, and parallel threads each
    get the right text back. A *capacity* below 1 raises ``ValueError``.
    """

    def __init__(self, embed: Embed, *, capacity: int = 4096) -> None:
        self._embed = function("embed", embed)
        self._capacity = integer("capacity", capacity, 1)
        self._texts: OrderedDict[bytes, str | None] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, input: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        texts = list(input)
        vectors = [np.asarray(vector, dtype=float) for vector in self._embed(texts)]
        with self._lock:
            distinct = [self._distinct(*each) for each in zip(texts, vectors, strict=True)]
            while len(self._texts) > self._capacity:
                self._texts.popitem(last=False)
        return [vector.tolist() for vector in distinct]

    def __deepcopy__(self, memo: dict[int, Any]) -> RememberingEmbedder:
        return self

    def text_of(self, vector: Sequence[float]) -> str | None:
        """Return the text that *vector* was made from; None for an unknown or shared vector."""
        with self._lock:
            return self._texts.get(_key(vector))

    def _distinct(self, text: str, vector: Floats) -> Floats:
        """Return *vector*, changed so that no other text has the vector, and remember *text*.

        A vector that two texts share all the same is remembered with the text None.
        """
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()
        if not vector.any():
            signs = np.resize(np.unpackbits(np.frombuffer(digest, np.uint8)), vector.shape)
            vector = np.where(signs, -0.0, 0.0)
        elif self._texts.get(_key(vector), text) != text:
            vector = vector * (1 + (1 + int.from_bytes(digest[:2], "big") % 1024) * _LENGTH_STEP)
        key = _key(vector)
        self._texts[key] = text if self._texts.get(key, text) == text else None
        self._texts.move_to_end(key)
        return vector


def _key(vector: Sequence[float] | Floats) -> bytes:
    return hashlib.blake2b(np.asarray(vector, np.float32).tobytes(), digest_size=16).digest()
