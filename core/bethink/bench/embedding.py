"""The embedder that every engine shares, so that a run compares engines, not embedders."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"\w+")


@lru_cache(maxsize=1 << 17)
def _signs(word: str, octets: int) -> bytes:
    return hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(octets)


class SharedEmbedder:
    """A text is the normalised sum of a fixed ±1 pattern for each word.

    `prepare` keeps the vectors of given texts, so that embedding costs a look-up later.
    The pattern is a hash of the word: every process gives equal vectors.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 8 or dimension % 8:
            raise ValueError(f"dimension must be a positive multiple of 8, not {dimension}")
        self.dimension = dimension
        self.name = f"bench-{dimension}"
        self.rows: dict[str, int] = {}
        self.matrix: npt.NDArray[np.float32] = np.empty((0, dimension), np.float32)

    def prepare(self, texts: Sequence[str], *, block: int = 4096) -> None:
        """Replace the kept vectors by the vectors of *texts*, in order."""
        self.matrix = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), block):
            self.matrix[start : start + block] = self.compute(texts[start : start + block])
        self.rows = {text: row for row, text in enumerate(texts)}

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one L2-normalised row per text."""
        try:
            return self.matrix[[self.rows[text] for text in texts]]
        except KeyError:
            return self.compute(texts)

    def compute(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one L2-normalised row per text, without a look at the kept vectors."""
        octets = self.dimension // 8
        words = [_WORD.findall(text.lower()) or [text] for text in texts]
        digests = b"".join(_signs(word, octets) for line in words for word in line)
        bits = np.unpackbits(np.frombuffer(digests, np.uint8)).reshape(-1, self.dimension)
        counts = np.array([len(line) for line in words])
        starts = np.concatenate(([0], np.cumsum(counts)[:-1])) if len(words) else counts
        sums = np.add.reduceat(bits, starts, axis=0, dtype=np.int32) if len(words) else bits[:0]
        rows = (2 * sums - counts[:, None]).astype(np.float32)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(norms == 0, 1, norms), np.float32)


class ListEmbedder:
    """The shared embedder for engines that want lists of floats."""

    def __init__(self, shared: SharedEmbedder) -> None:
        self.shared = shared
        self.dimension = shared.dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one row of Python floats per text."""
        rows: list[list[float]] = self.shared.embed(texts).tolist()
        return rows
