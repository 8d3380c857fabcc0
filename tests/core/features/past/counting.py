"""An embedder that shows how often it is asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bethink import HashEmbedder


class Counting(HashEmbedder):
    """An embedder that remembers what it was given."""

    def __init__(self) -> None:
        super().__init__(32)
        self.given: list[str] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.given += texts
        return super().embed(texts)
