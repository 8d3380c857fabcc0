"""The vector column: eight bits per number, and a margin that makes the scan exact.

A unit vector x is kept as scale * codes + e with int8 codes, beside the longest |e|. For a unit
query q the true cosine x.q then differs from scale * codes.q by at most a known margin, so a row
below the k-th exact score by more than the margin cannot belong to the top k. simsimd multiplies
the codes directly; without simsimd numpy does, block by block as float32.

A thread may scan before the thread has the lock of the index, so that threads scan at the same
time, and for several queries at once, so that the codes become float32 only once. Positions only
change when ``keep`` removes some, and then such a scan counts for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from ..model.arrays import Column, Floats, Positions, Vector
from .columns import ROOM, Columns
from .unit_vectors import stacked

_ROUNDING: Final = 5e-6
_BLOCK_NUMBERS: Final = 1 << 18  # 1 MB as float32; for more OpenBLAS starts slow threads
_MIN_EARLY_ROWS: Final = 32_768  # fewer are scanned faster than threads are switched
_BATCH_PRODUCTS: Final = 1 << 22  # products that are reckoned before they are looked at
_MAX_GATHERED_SHARE: Final = 0.3  # of all positions; to gather more takes longer than to scan all


@cache
def _kernel() -> Any:
    try:
        return import_module("simsimd")
    except ImportError:
        return None


class Scan(NamedTuple):
    """How near every position is to a query: cosine ``raw * unit``, give or take ``margin``."""

    raw: Floats
    unit: float
    margin: float

    def bounds(self, positions: Positions) -> Floats:
        """Return an upper bound of the cosine of *positions*."""
        bound: Floats = self.raw[positions] * self.unit
        bound += self.margin
        return bound

    def above(self, cosine: float) -> Positions:
        """Return the positions whose cosine may exceed *cosine*."""
        return (self.raw > (cosine - self.margin) / self.unit).nonzero()[0]


class EarlyScan(NamedTuple):
    """A scan of the first positions of a column, true as long as the column's *positions* last."""

    scan: Scan
    positions: object


class VectorColumn:
    """Unit vectors of *dimension* numbers by position; a zero vector is like nothing."""

    def __init__(self, dimension: int, room: int = ROOM) -> None:
        self.dimension = dimension
        self.error = 0.0
        self._positions = object()  # another object once positions change
        self._kernel = _kernel()
        self._columns = Columns(room, {"codes": (np.int8, (dimension,)), "scale": np.float64})

    @property
    def nbytes(self) -> int:
        """The bytes in use."""
        return self._columns.nbytes

    @property
    def size(self) -> int:
        """The number of positions."""
        return self._columns.size

    def shared(self) -> VectorColumn:
        """Return a copy that shares the vectors until either grows."""
        twin = copy(self)
        twin._columns = self._columns.shared()
        return twin

    def shared_bytes(self, origin: VectorColumn) -> int:
        """Return the bytes that are also in use by *origin*."""
        same = np.may_share_memory(self._columns["codes"], origin._columns["codes"])
        return self.nbytes if same else 0

    def keep(self, kept: Column) -> None:
        """Remove the positions that are False in *kept* (bool by position)."""
        self._positions = object()
        self._columns.keep(kept)
        self._positions = object()  # an early scan may have begun in between

    def append(self, vectors: Collection[Vector | None]) -> None:
        """Append *vectors*, of any length each."""
        self.adopt(*_quantise(*stacked(vectors, self.dimension)))

    def adopt(self, codes: Column, scale: Column, error: float) -> None:
        """Append quantised rows; *error* is the longest remainder among the rows."""
        self.error = max(self.error, error)  # before the rows: an early scan may see them
        self._columns.append(len(codes), codes=codes, scale=scale)

    def quantised(self, start: int, end: int) -> tuple[Column, Column, float]:
        """Return codes (int8) and scales of the positions from *start* to *end*, and the error."""
        return self._columns["codes"][start:end], self._columns["scale"][start:end], self.error

    @property
    def has_early_scans(self) -> bool:
        """Whether a scan takes long enough to be worth a scan before the lock."""
        return len(self._columns["codes"]) >= _MIN_EARLY_ROWS

    def scan_early(self, queries: Sequence[Floats]) -> Iterator[EarlyScan]:
        """Compare the present positions with each of *queries* in turn, without a lock."""
        positions = self._positions
        codes, scale = self._columns["codes"], self._columns["scale"]
        known = min(len(codes), len(scale))
        for found in self._compare(codes[:known], scale[:known], queries, self._margin):
            yield EarlyScan(found, positions)

    def scan(
        self, query: Floats, among: Positions | None = None, early: EarlyScan | None = None
    ) -> Scan:
        """Compare every position, or at least the positions *among*, with the unit vector *query*.

        Positions left out have a ``raw`` of minus infinity. An *early* scan is completed.
        """
        margin = self._margin
        codes, scale = self._columns["codes"], self._columns["scale"]
        if not len(codes):
            return Scan(np.empty(0), 1.0, margin)
        if among is None or len(among) > _MAX_GATHERED_SHARE * len(codes):
            if early is None or early.positions is not self._positions:
                return next(self._compare(codes, scale, [query], margin))
            known = early.scan.raw
            if len(known) == len(codes):
                return early.scan
            new = slice(len(known), None)
            rest = next(self._compare(codes[new], scale[new], [query], margin))
            return rest._replace(raw=np.concatenate((known, rest.raw)))
        raw = np.full(len(codes), -np.inf)
        if not len(among):
            return Scan(raw, 1.0, margin)
        few = next(self._compare(codes.take(among, axis=0), scale[among], [query], margin))
        raw[among] = few.raw
        return few._replace(raw=raw)

    def scans(self, queries: Floats) -> Iterator[Scan]:
        """Compare every position with each of the unit vectors *queries*, in turn.

        numpy multiplies many queries at once, so that the codes become float32 only once.
        """
        codes, scale = self._columns["codes"], self._columns["scale"]
        if self._kernel or not len(codes):
            yield from map(self.scan, queries)
            return
        some = max(_BATCH_PRODUCTS // len(codes), 1)
        for start in range(0, len(queries), some):
            (found,) = _products(codes, queries[start : start + some].T[None])
            for products in found.T:
                yield Scan(products * scale, 1.0, self._margin)

    @property
    def _margin(self) -> float:
        return self.error + _ROUNDING + (1 + self.error) * self.dimension * 2.0**-24

    def _compare(
        self, codes: Column, scale: Column, queries: Sequence[Floats], margin: float
    ) -> Iterator[Scan]:
        """Compare the rows of *codes* with each of *queries*, in turn."""
        if not self._kernel:
            some = max(_BATCH_PRODUCTS // max(len(codes), 1), 1)
            for start in range(0, len(queries), some):
                for products in _products(
                    codes, np.stack(queries[start : start + some])[..., None]
                ):
                    yield Scan(np.multiply(products[:, 0], scale), 1.0, margin)
            return
        for query in queries:
            step = float(np.abs(query).max()) / 127 or 1.0
            rounded = np.rint(query / step)
            distances = self._kernel.cdist(rounded.astype(np.int8)[None], codes, metric="inner")
            raw = np.asarray(distances, dtype=np.float64).ravel()
            raw *= scale
            rest = query - rounded * step
            slack = math.sqrt(rest @ rest)
            yield Scan(raw, step, margin * (1 + slack) + slack)


def scan_early(asked: Sequence[tuple[VectorColumn, Floats]]) -> Iterator[EarlyScan]:
    """Compare the present positions of each column with the query beside, without a lock."""
    columns = {id(column): column for column, _ in asked}
    scans = {
        name: column.scan_early([query for own, query in asked if own is column])
        for name, column in columns.items()
    }
    return (next(scans[id(column)]) for column, _ in asked)


def _products(codes: Column, queries: Floats) -> Column:
    """Return the products of every row of *codes* with each matrix of *queries*, as float32.

    A matrix holds a query in each column. OpenBLAS multiplies several columns faster, but in
    threads of its own, which wait for each other beside other work; a single column never. A block
    is multiplied in one step, for each step hands over the interpreter's lock.
    """
    single = queries.astype(np.float32)
    count, dimension, columns = single.shape
    size = len(codes)
    rows = min(size, max(_BLOCK_NUMBERS // dimension, 1))
    products = np.empty((count, size, columns), dtype=np.float32)
    block = np.empty((rows, dimension), dtype=np.float32)
    for start in range(0, size, rows):
        end = min(start + rows, size)
        block[: end - start] = codes[start:end]
        np.matmul(block[: end - start], single, out=products[:, start:end])
    return products


def _quantise(exact: Floats, length: Floats) -> tuple[Column, Column, float]:
    """Return codes and scales of the rows at *length* one, and the longest remainder.

    Afterwards *exact* holds the remainders, at the original lengths.
    """
    scale = np.abs(exact).max(axis=1, initial=0) / 127
    steps = (scale + (scale == 0))[:, None]
    codes = np.rint(exact / steps)
    exact -= codes * steps
    error = float((np.sqrt(np.einsum("ij,ij->i", exact, exact)) / length).max(initial=0))
    return codes.astype(np.int8), scale / length, error
