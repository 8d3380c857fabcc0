"""Folding: what makes a decay product one inner product, for servers that scan an index.

A vector folded by importance · e^(rate · (t - t_ref)) has, with a query folded by
e^(-rate · (now - t_ref)), the inner product cosine · importance · e^(-rate · (now - t)): the score
of ``ranking.DecayProduct``. The rate is baked in, and the exponent grows with the time since
*t_ref*, so *t_ref* has to follow the clock: ``re_center`` moves it and rescales what is folded.

The store's own index folds nothing: there every query may have a rate of its own.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import ValidationError
from ..fields import number

Numbers = npt.NDArray[np.floating[Any]]
Folded = npt.NDArray[np.float32]

DAY: Final = 86_400.0

LATE: Final = 40.0
"""At this exponent ``re_center`` acts; float32 overflows only beyond e^88."""

_MOST: Final = 80.0
_GONE: Final = 1 << 12  # after so many halvings any float32 is 0


def fold(
    vector: Numbers, importance: npt.ArrayLike, t: npt.ArrayLike, rate: float, t_ref: float
) -> Folded:
    """Return unit vectors times importance · e^(rate · (t - t_ref)), as float32.

    *vector* has the shape (d,), or (n, d) with n *importance* and n times *t*: Unix seconds, like
    *t_ref*, of what the age counts from. *rate* is per day. What is too old for float32 becomes 0.
    A *t* so long after *t_ref* that it would overflow raises ``ValidationError``, and so does what
    is no finite number.
    """
    weight = np.asarray(importance, dtype=np.float64)
    exponent = _rate(rate) * (np.asarray(t, dtype=np.float64) - t_ref) / DAY
    if not (np.isfinite(exponent).all() and np.isfinite(weight).all()):
        raise ValidationError("importance, t and t_ref must be finite numbers")
    if exponent.max(initial=-math.inf) > _MOST:
        raise ValidationError("t lies too long after t_ref to be folded; re-center first")
    weight = weight * np.exp(exponent)
    return (_unit(vector) * weight[..., None]).astype(np.float32)


def fold_query(vector: Numbers, now: float, rate: float, t_ref: float) -> Folded:
    """Return the unit query times e^(-rate · (now - t_ref)), as float32.

    Its inner product with a folded vector is the decay product at *now*.
    """
    exponent = -_rate(rate) * (now - t_ref) / DAY
    if not exponent <= _MOST:
        raise ValidationError("now lies too long before t_ref")
    if not exponent >= -_MOST:
        raise ValidationError("now lies too long after t_ref; re-center first")
    return (_unit(vector) * math.exp(exponent)).astype(np.float32)


def re_center(folded: Folded, rate: float, t_ref: float, now: float) -> tuple[Folded, float]:
    """Return *folded* and *t_ref* moved to about *now*; both as they are while it is not needed.

    All vectors of one *t_ref* must be moved together. They are scaled by a power of two, so none
    of their digits changes: the order is what it was, ties included, but for what is by now too old
    for float32 and becomes 0.
    """
    exponent = _rate(rate) * (now - t_ref) / DAY
    if not math.isfinite(exponent):
        raise ValidationError("now and t_ref must be finite numbers")
    if exponent <= LATE:
        return folded, t_ref
    halvings = math.floor(exponent / math.log(2))
    moved = t_ref + halvings * math.log(2) / rate * DAY
    return np.ldexp(folded, -min(halvings, _GONE)), moved


def _rate(rate: float) -> float:
    return number("rate", rate, 0.0, 1e9)


def _unit(vector: Numbers) -> npt.NDArray[np.float64]:
    """Return the rows of *vector* at length one; a row of zeros stays."""
    exact = np.asarray(vector, dtype=np.float64)
    length = np.sqrt((exact * exact).sum(axis=-1, keepdims=True))
    return exact / np.where(length > 0, length, 1.0)
