"""Namespaces: slash paths that own records, and scopes: the namespaces that a call may see.

A namespace is non-empty segments joined by "/", such as ``users/42/prefs``. Scopes match whole
segments only: ``Subtree("a")`` covers ``a`` and ``a/b``, never ``ab``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

from ..calls import suggesting
from ..errors import ValidationError

MAX_NAMESPACE: Final = 1024  # characters
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_QUOTED = re.compile(r"[%/\x00-\x1f\x7f-\x9f\ud800-\udfff]|^\*+\Z")
_PATTERN = re.compile(r"(?:^|/)\*+\Z")
_EMPTY: Final = "%"


@suggesting
@dataclass(frozen=True, slots=True)
class Subtree:
    """The scope of *path* and every namespace below."""

    path: str

    def __post_init__(self) -> None:
        if self.path == "":
            raise ValidationError("a Subtree needs a namespace; EVERYWHERE covers all namespaces")
        check_namespace(self.path)


class Everywhere:
    """The scope of all namespaces; the only instance is ``EVERYWHERE``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "EVERYWHERE"

    def __reduce__(self) -> str:
        return "EVERYWHERE"


EVERYWHERE: Final = Everywhere()
Scope: TypeAlias = str | Subtree | Everywhere | Collection[str | Subtree]
"""A namespace, a subtree, all namespaces, or several namespaces and subtrees."""


def check_namespace(name: object) -> str:
    """Return *name*; raise ``ValidationError`` for a name that is no namespace."""
    if not isinstance(name, str):
        kind = type(name).__name__
        raise ValidationError(f"namespace must be a str such as 'users/ann', not {kind}")
    if not all(name.split("/")):
        raise ValidationError(
            f"namespace {name!r} has an empty segment; write 'a/b', or quote it: segment({name!r})"
        )
    if _PATTERN.search(name):
        raise ValidationError(
            f"namespace {name!r} is a pattern; Subtree('users') covers 'users' and all below, "
            "EVERYWHERE all namespaces"
        )
    if _UNSAFE.search(name):
        raise ValidationError(
            f"namespace {name!r} holds a control character; quote it with segment()"
        )
    if len(name) > MAX_NAMESPACE:
        raise ValidationError(f"namespace is longer than {MAX_NAMESPACE} characters")
    return str.__str__(name)


def check_scope(scope: object) -> Scope:
    """Return *scope*; refuse a value that is no scope.

    ``None`` never means all namespaces. Several namespaces and subtrees give a sorted tuple.
    """
    if isinstance(scope, Subtree | Everywhere):
        return scope
    if scope is None:
        raise ValidationError("namespace must not be None; to see all namespaces pass EVERYWHERE")
    if isinstance(scope, list | tuple | set | frozenset):
        if not scope:
            raise ValidationError(f"namespace needs a name, not an empty {type(scope).__name__}")
        each = {one if isinstance(one, Subtree) else check_namespace(one) for one in scope}
        return each.pop() if len(each) == 1 else tuple(sorted(each, key=repr))
    if not isinstance(scope, str):
        named = "a str, a Subtree, EVERYWHERE or a list of namespaces"
        raise ValidationError(f"namespace must be {named}, not {type(scope).__name__}")
    return check_namespace(scope)


def covers(scope: Scope, namespace: str) -> bool:
    """Return whether *scope* contains *namespace*."""
    if isinstance(scope, Subtree):
        return namespace == scope.path or namespace.startswith(scope.path + "/")
    if isinstance(scope, tuple):
        return any(covers(each, namespace) for each in scope)
    return scope is EVERYWHERE or scope == namespace


@lru_cache(maxsize=4096)
def scopes_over(namespace: str) -> tuple[Scope, ...]:
    """Return every scope that contains *namespace*, several scopes together aside."""
    steps = namespace.split("/")
    paths = ("/".join(steps[:end]) for end in range(1, len(steps) + 1))
    return (EVERYWHERE, namespace, *map(Subtree, paths))


def to_pattern(scope: Subtree | Everywhere) -> str:
    """Return ``users/*`` for a subtree, ``*`` for all namespaces; no namespace has such a name."""
    return f"{scope.path}/*" if isinstance(scope, Subtree) else "*"


def from_pattern(name: str) -> Scope:
    """Return the scope of a pattern; a namespace is a scope already."""
    if not _PATTERN.search(name):
        return name
    return Subtree(name[:-2]) if name != "*" else EVERYWHERE


def segment(text: str) -> str:
    """Quote any *text* as one step of a namespace, as "a/b" in "a%2Fb"; no two texts become equal.

    Percent-encodes "/", "%", control characters, lone surrogates, and a text of asterisks alone;
    the empty text becomes "%". A whole namespace has at most 1,024 characters: a long text may not
    fit.
    """
    if not isinstance(text, str):
        raise ValidationError(f"segment needs a str, not {type(text).__name__}")
    return _QUOTED.sub(lambda run: quote(run[0], "", errors="surrogatepass"), text) or _EMPTY


def unsegment(quoted: str) -> str:
    """Return the text quoted by ``segment``."""
    if quoted == _EMPTY:
        return ""
    return re.sub("(?:%[0-9A-F]{2})+", lambda run: unquote(run[0], errors="surrogatepass"), quoted)


def below(path: str) -> tuple[str, str]:
    """Return two bounds, the lowest and the end, of all paths below *path*."""
    start = path.removesuffix("/")
    return f"{start}/", f"{start}0"  # "0" follows "/" in the order of characters
