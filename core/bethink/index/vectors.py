"""The vector column: eight bits per number, and a margin that makes the scan exact.

A unit vector x is kept as scale * codes + e with int8 codes; the longest |e| is kept beside them.
For a unit query q the true cosine x.q then differs from scale * codes.q by a known margin at most,
so whatever the margin leaves below the k-th exact score cannot belong to the top k. With simsimd
the scan reads one byte per number; without it the same values are held as float32 and numpy
multiplies them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .columns import Column, grown

Floats = npt.NDArray[np.float64]

_ROUNDING: Final = 5e-6


def _kernel() -> Any:
    try:
        return import_module("simsimd")
    except ImportError:
        return None


class VectorColumn:
    """Unit vectors of *dimension* numbers by position; a zero vector is like nothing."""

    def __init__(self, dimension: int, room: int = 64) -> None:
        self.dimension = dimension
        self.size = 0
        self.error = 0.0
        self._kernel = _kernel()
        self._codes: Column = np.empty(
            (room, dimension), dtype=np.int8 if self._kernel else np.float32
        )
        self._scale: Column = np.empty(room, dtype=np.float64)

    def append(self, vectors: npt.NDArray[np.float32]) -> None:
        """Append the rows of *vectors*, shape (n, dimension), of any length each."""
        self.adopt(*_quantised(unit(vectors)))

    def adopt(self, codes: Column, scale: Column, error: float) -> None:
        """Append rows that are quantised already; *error* is the longest remainder among them."""
        start, self.size = self.size, self.size + len(codes)
        self._codes, self._scale = grown(self._codes, self.size), grown(self._scale, self.size)
        self._codes[start : self.size] = codes
        self._scale[start : self.size] = scale
        self.error = max(self.error, error)
        if not self._kernel:
            self._codes[start : self.size] *= scale[:, None]

    def quantised(self, start: int, end: int) -> tuple[Column, Column, float]:
        """Return codes (int8) and scales of the positions from *start* to *end*, and the error."""
        codes, scale = self._codes[start:end], self._scale[start:end]
        if not self._kernel:
            codes = np.rint(codes / np.where(scale > 0, scale, 1)[:, None]).astype(np.int8)
        return codes, scale, self.error

    def scan(self, query: Floats) -> tuple[Floats, float]:
        """Return each position's cosine with the unit *query*, and how far off it is at most."""
        margin = self.error + _ROUNDING + self.dimension * 2.0**-24
        if not self.size:
            return np.empty(0), margin
        if not self._kernel:
            return (self._codes[: self.size] @ query.astype(np.float32)).astype(np.float64), margin
        step = np.abs(query).max() / 127 or 1.0
        rounded = np.rint(query / step).astype(np.int8)
        distances = self._kernel.cdist(rounded[None], self._codes[: self.size], metric="inner")
        products = np.asarray(distances, dtype=np.float64).ravel()
        products *= self._scale[: self.size]
        products *= step
        slack = float(np.linalg.norm(query - rounded * step))
        return products, margin * (1 + slack) + slack


def unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the rows of *vectors* scaled to length one; zero rows stay zero."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    lengths[lengths == 0] = 1.0
    exact /= lengths[:, None]
    return exact.astype(np.float32)


def cosines(vectors: npt.NDArray[np.float32], query: Floats) -> Floats:
    """Return the cosine, in float64, of each row of *vectors* with the unit vector *query*.

    Rounded to twelve decimals: a right angle is exactly 0.
    """
    exact = vectors.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1))
    lengths[lengths == 0] = 1.0
    similar: Floats = np.round((exact * query).sum(axis=1) / lengths, 12)
    return similar


def _quantised(vectors: npt.NDArray[np.float32]) -> tuple[Column, Column, float]:
    scale = np.abs(vectors).max(axis=1, initial=0).astype(np.float64) / 127
    steps = np.where(scale > 0, scale, 1.0)[:, None]
    codes = np.rint(vectors / steps)
    rest = vectors - codes * steps
    error = float(np.sqrt(np.einsum("ij,ij->i", rest, rest).max(initial=0)))
    return codes.astype(np.int8), scale, error
