"""Crew scopes as namespaces: below the namespace "crew", the scope "/user/1" is "crew/user/1".

The scope "/" is the namespace itself. Every segment is quoted, so any scope a model invents is
stored as it is, and scopes match by whole segments: "/user/1" never sees "/user/10".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bethink import Subtree, segment
from bethink.adapting import covers, unsegment


def clean(scope: str | None) -> str:
    """Return *scope* with one leading slash and no empty segment; None is "/"."""
    return "/" + "/".join(filter(None, (scope or "").split("/")))


def holds(scope: str, other: str) -> bool:
    """Tell whether the clean scope *other* is *scope* or lies below it."""
    return scope == "/" or other == scope or other.startswith(scope + "/")


def children(parent: str, scopes: Iterable[str]) -> list[str]:
    """Return the immediate children of *parent* that *scopes* are or lie below, sorted."""
    prefix = parent.rstrip("/") + "/"
    below = (scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))
    return sorted({prefix + rest.partition("/")[0] for rest in below if rest})


@dataclass(frozen=True, slots=True)
class View:
    """The part of *namespace* at and below the scope *root*: all that one storage may touch."""

    namespace: str
    root: str = "/"

    def bound(self, root: str) -> View:
        """Return the narrower view at *root*; a root outside this view is a ``ValueError``."""
        self.namespace_of(root)
        return View(self.namespace, clean(root))

    def namespace_of(self, scope: str | None) -> str:
        """Return the namespace that holds *scope*; outside the view it is a ``ValueError``."""
        wanted = clean(scope)
        if not holds(self.root, wanted):
            raise ValueError(f"scope {wanted!r} lies outside {self.root!r}")
        return "/".join([self.namespace, *map(segment, filter(None, wanted.split("/")))])

    def scope_of(self, namespace: str) -> str:
        """Return the scope that *namespace* holds."""
        below = namespace.removeprefix(self.namespace).removeprefix("/")
        return "/" + "/".join(map(unsegment, filter(None, below.split("/"))))

    def everything(self) -> Subtree:
        """Return all that the view sees."""
        return Subtree(self.namespace_of(self.root))

    def sees(self, namespace: str | None) -> bool:
        """Tell whether *namespace* lies in the view."""
        return namespace is not None and covers(self.everything(), namespace)

    def part(self, prefix: str | None) -> Subtree | None:
        """Return what of *prefix* and below lies in the view; None when nothing does."""
        wanted = clean(prefix)
        if holds(wanted, self.root):
            return self.everything()
        return Subtree(self.namespace_of(wanted)) if holds(self.root, wanted) else None
