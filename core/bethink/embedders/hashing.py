"""HashEmbedder: stems and pieces of words, hashed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from math import log

import numpy as np
import numpy.typing as npt

from ..calls import suggesting
from ..model.arrays import Matrix
from ..model.fields import integer
from ..text import STOP_WORDS, stem, stems
from .base import Embedder, check_texts, normalise

_BLOCK = 512
_PARTS_WEIGHT = 0.5


@cache
def _stop_stems() -> frozenset[str]:
    """Return the stems of stop words, made on first use."""
    return frozenset(map(stem, STOP_WORDS))


@suggesting
class HashEmbedder(Embedder):
    """Hash stems and pieces of words to signed dimensions: no model, no download, always the same.

    The vectors compare words and spelling, not meaning.
    """

    floor = 0.3  # of two texts without a common word, 1 pair in 3,000 comes out above
    share = 0.1

    def __init__(self, dimension: int = 256) -> None:
        self._dimension = integer("dimension", dimension, 1)

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

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed the texts; a text without any word gives a zero row."""
        texts = check_texts(texts)
        blocks = [self._block(texts[i : i + _BLOCK]) for i in range(0, len(texts), _BLOCK)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self._dimension), np.float32)

    def _block(self, texts: Sequence[str]) -> Matrix:
        places: list[npt.NDArray[np.int64]] = []
        values: list[npt.NDArray[np.float64]] = []
        rows: list[int] = []
        weights: list[float] = []
        for row, text in enumerate(texts):
            for term, count in Counter(_content_stems(text)).items():
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
        return normalise(total.reshape(len(texts), self._dimension))


def _content_stems(text: str) -> list[str]:
    every = stems(text)
    return [each for each in every if each not in _stop_stems()] or every


@lru_cache(maxsize=1 << 15)
def _features(term: str, dimension: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the dimensions that a term falls on, and the signed weight in each dimension."""
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
