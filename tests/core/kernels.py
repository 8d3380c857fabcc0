"""The ways in which vectors are multiplied: by numpy, and by simsimd where Python finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bethink.index import vectors

from .installed import is_installed

# No option chooses the way: a store takes simsimd wherever Python finds simsimd.
NUMPY: Callable[[], Any] = lambda: None  # noqa: E731
SIMSIMD: Callable[[], Any] | None = vectors._kernel if is_installed("simsimd") else None
KERNELS = {"numpy": NUMPY, **({"simsimd": SIMSIMD} if SIMSIMD else {})}
