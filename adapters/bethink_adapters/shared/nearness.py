"""The cosine as a score, for frameworks whose searches compare vectors alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bethink.adapting import Scored, Signals

Numbers = Sequence[float] | npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Nearness:
    """The ranking whose score is the cosine."""

    @property
    def spread(self) -> float:
        """How much less alike a record may be and still outrank another."""
        return 0.0

    def rank(self, evidence: Signals) -> Scored:
        """Return the cosine of every candidate."""
        return Scored({"cosine": evidence.cosine}, {"cosine": evidence.cosine})


def cosine(one: Numbers, other: Numbers) -> float:
    """Return the cosine of two vectors, 0 for a zero vector."""
    a, b = np.asarray(one, float), np.asarray(other, float)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else 0.0
