"""What becomes of a memory that says nearly what the store holds: it is merged, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal, TypeAlias

from ..backends import Vector
from ..conflicts import read
from ..engine import Engine, Transaction
from ..errors import SimilarMemoryError
from ..records import MemoryRecord
from .lifecycle import Admission, Admit
from .nearness import Nearest

OnSimilar: TypeAlias = Literal["keep", "merge", "raise"]
ON_SIMILAR: Final[tuple[OnSimilar, ...]] = ("keep", "merge", "raise")


def admission(engine: Engine, on_similar: OnSimilar) -> Admission | None:
    """Return how new records are admitted; None stands for all of them as they are."""
    return None if on_similar == "keep" else partial(_gate, engine, on_similar)


def _gate(
    engine: Engine,
    on_similar: OnSimilar,
    records: Sequence[MemoryRecord],
    vectors: Sequence[Vector],
) -> Admit:
    nearest = Nearest(engine, records, vectors)

    def admit(
        transaction: Transaction, record: MemoryRecord, vector: Vector, old: str | None
    ) -> MemoryRecord | None:
        seen = read(replace(record, access_count=1, last_accessed_at=transaction.now))
        found = nearest.to(transaction, seen, old)
        if found is None:
            nearest.add(seen)
            return None
        if on_similar == "raise":
            raise SimilarMemoryError(*found[1:])
        return nearest.absorb(transaction, found, seen, vector)

    return admit
