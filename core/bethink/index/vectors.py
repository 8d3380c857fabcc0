"""The vector column: eight bits per number, and a bound that makes the scan exact.

A unit vector x is kept as scale * codes + e with int8 codes, and |e| is kept beside them. For a
unit query q that gives x.q <= scale * codes.q + |e|, so whatever the bound leaves below the k-th
exact score cannot belong to the top k. With simsimd the scan reads one byte per number; without it
the same values are held as float32 and numpy multiplies them.
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

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.size = 0
        self._kernel = _kernel()
        self._codes: Column = np.empty(
            (64, dimension), dtype=np.int8 if self._kernel else np.float32
        )
        self._scale: Column = np.empty(64, dtype=np.float32)
        self._error: Column = np.empty(64, dtype=np.float32)

    def append(self, vectors: npt.NDArray[np.float32]) -> None:
        """Append the rows of *vectors*, shape (n, dimension), of any length each."""
        self.adopt(*_quantised(unit(vectors)))

    def adopt(self, codes: Column, scale: Column, error: Column) -> None:
        """Append rows that are quantised already."""
        start, self.size = self.size, self.size + len(codes)
        for name, values in (("_codes", codes), ("_scale", scale), ("_error", error)):
            setattr(self, name, grown(getattr(self, name), self.size))
            getattr(self, name)[start : self.size] = values
        if not self._kernel:
            self._codes[start : self.size] *= scale[:, None]

    def quantised(self, start: int, end: int) -> tuple[Column, Column, Column]:
        """Return the codes (int8), scales and errors of the positions from *start* to *end*."""
        codes, scale = self._codes[start:end], self._scale[start:end]
        if not self._kernel:
            codes = np.rint(codes / np.where(scale > 0, scale, 1)[:, None]).astype(np.int8)
        return codes, scale, self._error[start:end]

    def upper(self, query: Floats) -> Floats:
        """Return for each position a number no less than its cosine with the unit *query*."""
        error = self._error[: self.size].astype(np.float64)
        error += _ROUNDING + self.dimension * 2.0**-24
        if not self.size:
            return error
        if not self._kernel:
            error += self._codes[: self.size] @ query.astype(np.float32)
            return error
        step = np.abs(query).max() / 127 or 1.0
        rounded = np.rint(query / step).astype(np.int8)
        distances = self._kernel.cdist(rounded[None], self._codes[: self.size], metric="inner")
        products = np.asarray(distances, dtype=np.float64).ravel()
        products *= self._scale[: self.size]
        products *= step
        slack = float(np.linalg.norm(query - rounded * step))
        products += error * (1 + slack) + slack
        return products


def unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the rows of *vectors* scaled to length one; zero rows stay zero."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    scaled: npt.NDArray[np.float32] = (vectors / np.where(lengths > 0, lengths, 1)).astype(
        np.float32
    )
    return scaled


def cosines(vectors: npt.NDArray[np.float32], query: Floats) -> Floats:
    """Return the cosine, in float64, of each row of *vectors* with the unit vector *query*."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1))
    similar: Floats = (exact * query).sum(axis=1) / np.where(lengths > 0, lengths, 1)
    return similar


def _quantised(vectors: npt.NDArray[np.float32]) -> tuple[Column, Column, Column]:
    scale = (np.abs(vectors).max(axis=1, initial=0) / 127).astype(np.float32)
    codes = np.rint(vectors / np.where(scale > 0, scale, 1)[:, None]).astype(np.int8)
    error = np.linalg.norm(vectors - codes * scale[:, None], axis=1).astype(np.float32)
    return codes, scale, error
