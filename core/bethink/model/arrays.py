"""The array types of the library."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[Any]
"""An array of any type, one number or row of numbers a position."""

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Truths: TypeAlias = npt.NDArray[np.bool_]

Positions: TypeAlias = npt.NDArray[np.int64]
"""Places in an array, from 0."""

Rows: TypeAlias = npt.NDArray[np.int64]
"""Numbers of rows in the store."""

Vector: TypeAlias = npt.NDArray[np.float32]
"""One vector as stored."""

Matrix: TypeAlias = npt.NDArray[np.float32]
"""Vectors as rows."""
