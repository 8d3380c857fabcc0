"""One recall, checked: what is looked for, and what a likeness of vectors is worth."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..ranking import Floats
from ..text import Query

Mode = Literal["hybrid", "keyword", "semantic"]
Positions = npt.NDArray[np.int64]


class Probe(NamedTuple):
    """The vector side of a query: a unit vector to compare with the vectors called ``name``.

    ``share`` is the vector's share of the similarity. Its signal rises from 0 at the cosine
    ``zero`` to 1 for the same direction; a record without any word of the query counts only above
    ``floor``.
    """

    name: str
    query: Floats
    share: float
    floor: float
    zero: float

    def signal(self, cosine: Floats, keyword: Floats) -> Floats:
        """Return the vector signal of records with these cosines and keyword scores."""
        signal = (cosine - self.zero) / (1 - self.zero)
        np.minimum(np.maximum(signal, 0.0, out=signal), 1.0, out=signal)
        signal *= (keyword > 0) | (cosine > self.floor)
        return signal

    @property
    def slope(self) -> float:
        """How much similarity a step of the cosine adds."""
        return self.share / (1 - self.zero)


class Question(NamedTuple):
    """One recall, checked: what to look for and what may be returned."""

    query: str | None
    words: Query
    probe: Probe | None
    k: int
    now: float
    min_score: float
    min_similarity: float
    allowed: Positions | None = None
