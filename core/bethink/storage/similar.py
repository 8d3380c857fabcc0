"""Scopes that a misspelt scope may stand for."""

from __future__ import annotations

from typing import Final

from ..model.namespaces import EVERYWHERE, Scope, Subtree
from ..model.port import Backend, LogQuery, Page

_MAX_SIMILAR: Final = 3


def similar_scopes(backend: Backend, scope: Scope | None) -> list[Scope]:
    """Return scopes of live records whose path ends with the path of *scope*, at most three.

    A *scope* that the journal knows was meant, so nothing is similar.
    """
    if not isinstance(scope, str | Subtree) or backend.select(scope, None, Page(1)):
        return []
    path = scope if isinstance(scope, str) else scope.path
    similar: dict[Scope, None] = {}
    for name in backend.namespaces(EVERYWHERE):
        before, found, after = f"/{name}/".partition(f"/{path}/")
        if found:
            place = f"{before}/{path}".removeprefix("/")
            similar[place if isinstance(scope, str) and not after else Subtree(place)] = None
    known = similar and backend.log(LogQuery(1, scope=scope))
    return [] if known else list(similar)[:_MAX_SIMILAR]
