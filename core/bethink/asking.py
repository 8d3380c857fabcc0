"""What ``recall``, ``pack`` and ``why_not`` are asked, in the same words, and the check of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from . import fields
from .filters import parse
from .namespaces import Scope, check_scope
from .recall import Mode
from .verbs.reading import Request
from .view import Where

NamedVector = tuple[str, Sequence[float] | npt.NDArray[np.floating[Any]]]


class Asked(TypedDict, total=False):
    """The arguments that all three take; see ``MemoryStore.recall``."""

    namespace: Scope
    mode: Mode
    where: Where
    min_score: float
    min_similarity: float
    now: float | None
    vector: NamedVector | None


def request(
    query: str | None,
    k: int,
    touch: bool,
    /,
    *,
    namespace: Scope = "default",
    mode: Mode = "hybrid",
    where: Where = None,
    min_score: float = 0.0,
    min_similarity: float = 0.0,
    now: float | None = None,
    vector: NamedVector | None = None,
    **unknown: object,
) -> Request:
    """Return the arguments of ``recall``, checked."""
    if unknown:
        fields.fail(f"unknown argument {next(iter(unknown))!r}")
    return Request(
        query=query if query is None else fields.text("query", query, fields.MAX_CONTENT),
        k=fields.integer("k", k, 0),
        scope=check_scope(namespace),
        mode=fields.one_of("mode", mode, ("hybrid", "keyword", "semantic")),
        where=parse(where),
        min_score=fields.number("min_score", min_score, -1e9, 1e9),
        min_similarity=fields.number("min_similarity", min_similarity, 0.0, 1.0),
        now=None if now is None else fields.timestamp("now", now),
        touch=touch,
        vector=None if vector is None else fields.named_vector(vector),
    )
