"""Where an item lives: labels and keys of LangGraph as namespaces and keys of bethink, and back.

Below the namespace "langgraph", the items of ``("users", "ann")`` are in ``langgraph/users/ann``.
Every label is quoted, so any label makes one, and prefixes match whole labels only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bethink import Subtree, ValidationError, segment
from bethink.adapting import integer, unsegment

if TYPE_CHECKING:
    from langgraph.store.base import ListNamespacesOp, MatchCondition

Labels = tuple[str, ...]

_QUOTED: Final = "%"
_ANY: Final = "*"


def labels(namespace: Sequence[Any]) -> Labels:
    """Return *namespace* if LangGraph allows each label, in any version."""
    if isinstance(namespace, str):
        _refuse(f"namespace must be a tuple of labels, not the str {namespace!r}")
    for label in namespace:
        if not isinstance(label, str) or not label or "." in label or "\x00" in label:
            _refuse(f"invalid namespace label {label!r}: it must be a str, not empty, without '.'")
    return tuple(namespace)


def owner(namespace: Sequence[Any]) -> Labels:
    """Return *namespace* if items may be put there."""
    found = labels(namespace)
    if not found or found[0] == "langgraph":
        _refuse(f"invalid namespace {found!r}: it must have a label, and not 'langgraph' first")
    return found


def to_key(key: object) -> str:
    """Return the record's key for the key of an item, any text."""
    text = str(key)
    plain = text.strip() and not text.startswith(_QUOTED) and text.isprintable()
    return text if plain else _QUOTED + segment(text)


def from_key(key: str) -> str:
    """Return the item's key for a record's."""
    return unsegment(key.removeprefix(_QUOTED)) if key.startswith(_QUOTED) else key


@dataclass(frozen=True, slots=True)
class Places:
    """The namespaces below *root*."""

    root: str

    def of(self, namespace: Iterable[str]) -> str:
        """Return the namespace of the items of *namespace*."""
        return "/".join([self.root, *map(segment, namespace)])

    def labels(self, namespace: str) -> Labels:
        """Return the labels that *namespace* stands for."""
        below = namespace.removeprefix(self.root).removeprefix("/")
        quoted = [each for each in below.split("/") if each]
        return tuple(map(unsegment, quoted)) if "%" in below else tuple(quoted)

    def below(self, prefix: Iterable[str]) -> Subtree:
        """Return the scope of the items of *prefix* and below."""
        return Subtree(self.of(prefix))

    def scope(self, op: ListNamespacesOp) -> Subtree:
        """Return a scope that has all the namespaces *op* asks for."""
        paths = [match.path for match in op.match_conditions or () if match.match_type == "prefix"]
        plain = sorted((path for path in paths if _ANY not in path), key=len)
        return self.below(plain[-1] if plain else ())

    def listed(self, namespaces: Iterable[str], op: ListNamespacesOp) -> list[Labels]:
        """Return the *namespaces* asked for by *op*, sorted."""
        depth = None if op.max_depth is None else integer("max_depth", op.max_depth, 1)
        limit, offset = integer("limit", op.limit, 0), integer("offset", op.offset, 0)
        conditions = op.match_conditions or ()
        wanted = {
            path[:depth]
            for path in map(self.labels, namespaces)
            if path and all(_meets(path, each) for each in conditions)
        }
        return sorted(wanted)[offset : offset + limit]


def _meets(path: Labels, condition: MatchCondition) -> bool:
    wanted = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValidationError(f"unknown match type {condition.match_type!r}")
    if len(wanted) > len(path):
        return False
    part = path[: len(wanted)] if condition.match_type == "prefix" else path[-len(wanted) :]
    return all(label in (_ANY, found) for label, found in zip(wanted, part, strict=False))


def _refuse(message: str) -> None:
    from langgraph.store.base import InvalidNamespaceError

    raise InvalidNamespaceError(message)
