"""Crew scopes as namespaces: below the namespace "crew", the scope "/user/1" is "crew/user/1".

The scope "/" is the namespace "crew". Every segment is quoted, so a store can hold any scope that a
model invents. Scopes match by whole segments: "/user/1" never sees "/user/10".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bethink import Subtree, ValidationError, segment
from bethink.adapting import check_namespace, covers, unsegment


def normalise(scope: str | None) -> str:
    """Return *scope* with a leading slash and without empty segments; None is "/"."""
    if not isinstance(scope, str | None):
        raise ValidationError(
            f"a scope must be a str such as '/users/ann', not {type(scope).__name__}"
        )
    return "/" + "/".join(filter(None, (scope or "").split("/")))


def contains(scope: str, inner: str) -> bool:
    """Return whether *inner* is *scope* or lies below *scope*; both are normalised."""
    return scope == "/" or inner == scope or inner.startswith(scope + "/")


def children(parent: str, scopes: Iterable[str]) -> list[str]:
    """Return the immediate children of *parent* on the paths of *scopes*, sorted."""
    prefix = parent.rstrip("/") + "/"
    below = (scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))
    return sorted({prefix + rest.partition("/")[0] for rest in below if rest})


@dataclass(frozen=True, slots=True)
class View:
    """The part of *namespace* that a storage may touch: the scope *root* and the scopes below."""

    namespace: str
    root: str = "/"

    def __post_init__(self) -> None:
        check_namespace(self.namespace)

    def bound(self, root: str) -> View:
        """Return the narrower view at *root*; a root outside the view raises ``ValueError``."""
        self.namespace_of(root)
        return View(self.namespace, normalise(root))

    def namespace_of(self, scope: str | None) -> str:
        """Return the namespace of *scope*; a scope outside the view raises ``ValueError``."""
        wanted = normalise(scope)
        if not contains(self.root, wanted):
            raise ValidationError(f"scope {wanted!r} lies outside {self.root!r}")
        return "/".join([self.namespace, *map(segment, filter(None, wanted.split("/")))])

    def scope_of(self, namespace: str) -> str:
        """Return the scope of *namespace*."""
        below = namespace.removeprefix(self.namespace).removeprefix("/")
        return "/" + "/".join(map(unsegment, filter(None, below.split("/"))))

    def everything(self) -> Subtree:
        """Return the namespaces of the view."""
        return Subtree(self.namespace_of(self.root))

    def sees(self, namespace: str | None) -> bool:
        """Return whether *namespace* lies in the view."""
        return namespace is not None and covers(self.everything(), namespace)

    def part(self, prefix: str | None) -> Subtree | None:
        """Return the namespaces of *prefix* and below that lie in the view; None without any."""
        wanted = normalise(prefix)
        if contains(wanted, self.root):
            return self.everything()
        return Subtree(self.namespace_of(wanted)) if contains(self.root, wanted) else None
