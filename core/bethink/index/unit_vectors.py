"""Vectors of length one, in double precision: a cosine is then a product of two vectors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from ..model.arrays import Floats, Matrix, Vector

DECIMALS: Final = 12
"""Decimals of a cosine, so that a right angle is exactly 0."""


def directions(vectors: Matrix) -> Floats:
    """Return the rows of *vectors* in float64 and at length one; a row of zeros stays."""
    exact = vectors.astype(np.float64)
    exact /= _lengths(exact)[:, None]
    return exact


def cosines(directions: Floats, query: Floats) -> Floats:
    """Return the cosine of each row, of length one, with the unit vector *query*.

    Cosines are rounded to ``DECIMALS``.
    """
    similar: Floats = np.einsum("ij,j->i", directions, query)
    return similar.round(DECIMALS, out=similar)


def unit_rows(vectors: Collection[Vector | None], dimension: int) -> Floats:
    """Return the vectors as rows of length one; zero for a missing or damaged vector."""
    rows, length = stacked(vectors, dimension)
    rows /= length[:, None]
    return rows


def stacked(vectors: Collection[Vector | None], dimension: int) -> tuple[Floats, Floats]:
    """Return the vectors as rows, zero for a missing vector or wrong length, and the lengths.

    A vector with a number that is not finite is damaged, and counts as missing.
    """
    exact = np.zeros((len(vectors), dimension))
    for position, vector in enumerate(vectors):
        if vector is not None and len(vector) == dimension:
            exact[position] = vector
    length = _lengths(exact)
    if not np.isfinite(length).all():
        damaged = ~np.isfinite(length)
        exact[damaged], length[damaged] = 0.0, 1.0
    return exact, length


def _lengths(rows: Floats) -> Floats:
    """Return the length of each row, 1 for a row of zeros."""
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1.0
    return lengths
