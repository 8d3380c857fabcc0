"""The map: memories as points of a plane, where memories with like vectors are close together."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt
from fastapi import Query
from starlette.responses import Response

from . import results
from .caller import Client
from .replies import Json
from .routing import router, told
from .settings import MAX_HITS
from .types import Named, Switch

routes = router("map")


@routes.get("/map", name="map", responses=told(results.Map))
def draw_map(
    caller: Client,
    namespace: Named = None,
    subtree: Switch = False,
    limit: Annotated[int, Query(ge=1, le=MAX_HITS)] = 500,
) -> Response:
    """Lay the newest memories out in a plane, by the two principal components of the vectors."""
    scope = caller.scope(namespace, subtree)
    found = caller.store.all(namespace=scope, order="newest", limit=limit)
    vectors = caller.store.vectors([record.id for record in found])
    shown = [record for record in found if record.id in vectors]
    points, shares = principal([vectors[record.id] for record in shown])
    items = [
        {
            "id": record.id,
            "content": record.content,
            "namespace": record.namespace,
            "category": record.category,
            "x": x,
            "y": y,
        }
        for record, (x, y) in zip(shown, points.tolist(), strict=True)
    ]
    return Json({"items": items, "shares": shares})


def principal(
    vectors: list[npt.NDArray[np.float32]],
) -> tuple[npt.NDArray[np.float64], list[float]]:
    """Return a point for each vector, both coordinates in [-1, 1], and the shares of variance.

    The axes are the first two principal components (Pearson 1901). The largest coefficient of each
    axis is positive, so that the same memories give the same map.
    """
    points, shares = np.zeros((len(vectors), 2)), [0.0, 0.0]
    if len(vectors) < 2:
        return points, shares
    matrix = np.asarray(vectors, dtype=np.float64)
    matrix -= matrix.mean(axis=0)
    left, sizes, axes = np.linalg.svd(matrix, full_matrices=False)
    total = float(sizes @ sizes)
    for axis in range(min(2, len(sizes))):
        if sizes[axis] <= 1e-9:
            continue
        sign = np.sign(axes[axis][np.argmax(np.abs(axes[axis]))])
        place = sign * left[:, axis]
        points[:, axis] = place / np.abs(place).max()
        shares[axis] = round(float(sizes[axis] ** 2) / total, 6)
    return np.round(points, 6), shares
