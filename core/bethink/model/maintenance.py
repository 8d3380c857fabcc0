"""The parts of the port for repairs, for a change of the embedder, and for vector indexes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .arrays import Floats, Vector
from .port import IndexData, Stored
from .progress import Tell


class Repairer(Protocol):
    """Repairs of damaged data, inside one write transaction."""

    def repair_indexes(self) -> bool:
        """Build the lookup indexes of records and entries again; return whether any was damaged."""

    def empty_lost_entries(self) -> dict[int, str | None]:
        """Empty unreadable journal entries, and add missing entries of records without contents.

        Return the ids of the records by entry, None if unknown. With a key, nothing is done.
        """

    def embed(self, row: int, vector: Vector) -> None:
        """Give the record in *row*, which is not live, a new vector of the store's embedder.

        A ``patch`` of the record must follow.
        """

    def discard(self) -> frozenset[str]:
        """Remove every saved segment and all data without a record; return the namespaces."""


class Staging(Protocol):
    """The vectors of a new embedder, kept beside the present vectors until all are made."""

    def add(self, embedder: str, dimension: int, vectors: Mapping[int, Vector]) -> None:
        """Keep *vectors* of a new *embedder*, by row.

        Vectors staged for a different embedder, and vectors of rows that are gone, are dropped.
        """

    def missing(self, after: int, limit: int) -> list[Stored]:
        """Return at most *limit* records with a vector and without a staged vector.

        The rows ascend, and begin *after* a row.
        """

    def count(self) -> tuple[int, int]:
        """Return the numbers of staged and of present vectors of the embedder."""

    def adopt(self) -> frozenset[str]:
        """Put the staged vectors in place of the present vectors, and discard every segment.

        Return the namespaces as ``Repairer.discard`` does; ``Backend.scrub`` removes the bytes.
        """


class VectorIndexes(Protocol):
    """Approximate indexes of the embedder's vectors, by namespace, for namespaces of any size."""

    def nearest(self, namespace: str, query: Floats, most: int) -> IndexData | None:
        """Read about *most* rows near the unit vector *query*, and all rows newer than the index.

        The data are for an index of these rows alone. None if *namespace* has no index, or an index
        of vectors of a different embedder.
        """

    def build(self, namespace: str, rate: float | None, tell: Tell | None = None) -> int:
        """Index the live rows of *namespace* anew, while writers go on; return their number.

        With a *rate* per day, vectors count times importance · e^(-rate · days since the last use).
        """

    def drop(self, namespace: str) -> bool:
        """Drop the index of *namespace*; return whether there was any."""
