"""The filter language: conditions on the records of a scope.

A filter is a mapping of fields to conditions; every condition must hold::

    {"category": "decision", "importance": {"$gte": 0.5}, "metadata.lang": {"$in": ["en", "de"]}}
    {"$or": [{"author": "Ann"}, {"$not": {"tags": {"$contains": "draft"}}}]}

Comparisons are typed: numbers compare with numbers, text with text, and ``True`` is not ``1``.
Times are Unix seconds, aware datetimes, dates or ISO 8601 texts; a time in milliseconds is an
error, and so is a comparison that no value of the field can pass. A label stands for all tags with
the label: ``{"tags": "draft"}``. A missing field equals None and passes no other comparison,
``$ne`` and ``$nin`` included; ``$not`` inverts any condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from operator import ge, gt, le, lt
from typing import Any, Final, TypeAlias

from ..calls import unknown_name
from ..errors import ValidationError
from .fields import MAX_DEPTH, plain, storable, timestamp, unboxed
from .records import RECORD_FIELDS, MemoryRecord


def _fields_of(kind: str) -> tuple[str, ...]:
    return tuple(name for name, each in RECORD_FIELDS.items() if each.filtered == kind)


TEXT_FIELDS: Final = _fields_of("text")
NUMBER_FIELDS: Final = _fields_of("number")
TIME_FIELDS: Final = _fields_of("time")
COLUMNS: Final = frozenset((*TEXT_FIELDS, *NUMBER_FIELDS, *TIME_FIELDS))
ROOTS: Final = ("metadata", "value")
ORDERINGS: Final = ("$gt", "$gte", "$lt", "$lte")
_TAGS: Final = ("tags",)
_TEXTS: Final = (str, bytes, bytearray)  # sequences, but no lists


@dataclass(frozen=True, slots=True)
class Compare:
    """A condition: the field at *path* has the relation *operator* to *operand*."""

    path: tuple[str, ...]
    operator: str
    operand: Any


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Any_:
    """At least a single part holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter


Filter: TypeAlias = Compare | All | Any_ | Not
Where: TypeAlias = Mapping[str, Any] | None
"""A filter as callers write it; None for no filter."""


def parse(where: object, depth: int = MAX_DEPTH) -> Filter | None:
    """Return the filter of the mapping *where*, or None for no filter.

    Raise ``ValidationError`` for an invalid mapping, or for more than *depth* levels.
    """
    if where is None:
        return None
    if not depth:
        raise ValidationError("where is nested too deeply")
    if not isinstance(where, Mapping):
        raise ValidationError(f"where must be a mapping, not {type(where).__name__}")
    return All(
        tuple(_clause(_to_text(name), condition, depth) for name, condition in where.items())
    )


def check_where(where: object) -> None:
    """Raise ``ValidationError`` unless *where* is a filter as callers write filters."""
    parse(where)


def matches(where: Filter | None, record: MemoryRecord) -> bool:
    """Return whether *record* passes: the meaning of a filter for every backend."""
    return matcher(where)(record)


def matcher(where: Filter | None) -> Callable[[MemoryRecord], bool]:
    """Return ``matches`` for one filter and many records."""
    match where:
        case None:
            return lambda record: True
        case All(parts):
            every = [matcher(part) for part in parts]
            return lambda record: all(passes(record) for passes in every)
        case Any_(parts):
            some = [matcher(part) for part in parts]
            return lambda record: any(passes(record) for passes in some)
        case Not(part):
            passes = matcher(part)
            return lambda record: not passes(record)
        case Compare(path, operator, operand):
            relation = RELATIONS[operator]
            return lambda record: relation(lookup(record, path), operand)


def constant(where: Filter | None) -> bool | None:
    """Return the result of *where* if equal for every record, None if the record matters."""
    match where:
        case None:
            return True
        case All(parts) | Any_(parts):
            results = [constant(part) for part in parts]
            decisive = isinstance(where, Any_)  # one True decides $or, one False decides $and
            if decisive in results:
                return decisive
            return None if None in results else not decisive
        case Not(part):
            inner = constant(part)
            return None if inner is None else not inner
        case Compare():
            return None


def expired(where: Filter | None, now: float) -> Filter:
    """Return *where*, narrowed to records that have expired by *now*."""
    past = Compare(("expires_at",), "$lte", now)
    return past if where is None else All((where, past))


def unexpired(where: Filter | None, now: float) -> Filter:
    """Return *where*, narrowed to records that have not expired by *now*."""
    # A record without ``expires_at`` fails every comparison, so only $not lets the record pass.
    unexpired = Not(expired(None, now))
    return unexpired if where is None else All((where, unexpired))


def paths_of(where: Filter | None) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the fields that *where* reads."""
    match where:
        case Compare(path):
            yield path
        case All(parts) | Any_(parts):
            yield from chain.from_iterable(map(paths_of, parts))
        case Not(part):
            yield from paths_of(part)


def fields_of(where: Filter | None) -> frozenset[str]:
    """Return the names of the fields that *where* reads."""
    return frozenset(path[0] for path in paths_of(where))


def sees_accesses(where: Filter | None) -> bool:
    """Return whether *where* reads the number or time of accesses."""
    return not fields_of(where).isdisjoint(("access_count", "last_accessed_at"))


def _clause(name: str, condition: object, depth: int) -> Filter:
    if name in ("$and", "$or"):
        if isinstance(condition, _TEXTS) or not isinstance(condition, Sequence):
            raise ValidationError(f"{name} needs a list of filters, not {type(condition).__name__}")
        parts = tuple(_nested(part, depth - 1) for part in condition)
        return All(parts) if name == "$and" else Any_(parts)
    if name == "$not":
        return Not(_nested(condition, depth - 1))
    if name.startswith("$"):
        raise ValidationError(f"unknown operator {name!r}; known here: $and, $or, $not")
    path = _path(name)
    if isinstance(condition, Mapping) and condition:
        # A mapping of operators is a set of conditions; any other mapping is a value to equal.
        operands = {_to_text(key): operand for key, operand in condition.items()}
        is_operator = [operator.startswith("$") for operator in operands]
        if all(is_operator):
            return All(tuple(_compare(path, *each, depth) for each in operands.items()))
        if path[0] not in ROOTS:
            wrong = [operator for operator in operands if not operator.startswith("$")]
            raise unknown_name("operator", wrong[0], [*RELATIONS, "$not"])
        if any(is_operator):
            raise ValidationError(f"the filter on {name!r} has operators beside names")
    return _compare(path, "$eq", condition, depth)


def _to_text(name: object) -> str:
    """Return a *name* in a filter as text; the value of a member of a text enum."""
    return str.__str__(name) if isinstance(name, str) else str(name)


def _nested(where: object, depth: int) -> Filter:
    parsed = parse(where, depth)
    if parsed is None:
        raise ValidationError("a filter inside $and, $or or $not must be a mapping, not None")
    return parsed


def _path(name: str) -> tuple[str, ...]:
    root, *rest = name.split(".")
    if not storable(name):
        raise ValidationError(f"filter field {name!r} holds a lone surrogate")
    if root in ROOTS and all(rest) and (rest or root == "value"):
        return (root, *rest)
    if not rest and (root in COLUMNS or root == "tags"):
        return (root,)
    known = ", ".join((*sorted(COLUMNS), "tags", f"metadata.{name}", f"value.{name}"))
    raise ValidationError(f"unknown filter field {name!r}; known: {known}")


def _compare(path: tuple[str, ...], operator: str, operand: object, depth: int) -> Filter:
    if operator == "$not":
        return Not(_nested({".".join(path): operand}, depth - 1))
    if operator not in RELATIONS:
        raise unknown_name("operator", operator, [*RELATIONS, "$not"])
    name = ".".join(path)
    if operator in ("$in", "$nin", "$contains_any"):
        if isinstance(operand, _TEXTS) or not isinstance(operand, Sequence | set | frozenset):
            kind = type(operand).__name__
            raise ValidationError(f"{operator} on {name!r} needs a list, not {kind}")
        items = [_operand(path, item) for item in operand]
        _check_kind(path, operator, items)
        return _of_tags(operator, items) if path == _TAGS else Compare(path, operator, items)
    checked = _operand(path, operand)
    if operator == "$exists" and not isinstance(checked, bool):
        raise ValidationError(f"$exists on {name!r} needs True or False, not {checked!r}")
    if operator in ORDERINGS and kind_of(checked) not in ("number", "text"):
        kind = type(checked).__name__
        raise ValidationError(f"{operator} on {name!r} needs a number or a str, not {kind}")
    _check_kind(path, operator, [checked])
    if path == _TAGS and isinstance(checked, str) and operator in ("$eq", "$ne"):
        return _of_tags("$in" if operator == "$eq" else "$nin", [checked])
    return Compare(path, operator, checked)


def _check_kind(path: tuple[str, ...], operator: str, operands: Sequence[Any]) -> None:
    """Refuse a comparison that no value of the field can pass."""
    field, searches = path[0], operator.startswith("$contains")
    if field in ROOTS or operator == "$exists":
        return
    has_text = field in TEXT_FIELDS or path == _TAGS
    if (operator in ORDERINGS and path == _TAGS) or (searches and not has_text):
        raise ValidationError(f"{operator} does not apply to {field!r}")
    if not operands or (path == _TAGS and not searches):
        return
    fitting = "text" if has_text else "number"
    if not any(each is None or kind_of(each) == fitting for each in operands):
        wanted = "a str" if has_text else "a time" if field in TIME_FIELDS else "a number"
        kind = type(operands[0]).__name__
        raise ValidationError(f"{operator} on {field!r} needs {wanted}, not {kind}")


def _of_tags(operator: str, items: list[Any]) -> Filter:
    """Return a filter of lists: a label among *items* is one of the tags, a list is all tags."""
    if operator == "$contains_any":
        return Compare(_TAGS, operator, items)
    labels = [item for item in items if isinstance(item, str)]
    lists = [item for item in items if not isinstance(item, str)]
    among = Any_((Compare(_TAGS, "$contains_any", labels), Compare(_TAGS, "$in", lists)))
    return among if operator == "$in" else Not(among)


def _operand(path: tuple[str, ...], operand: object) -> Any:
    operand = unboxed(operand)
    is_time = isinstance(operand, date | str | int | float) and not isinstance(operand, bool)
    if path[0] in TIME_FIELDS and is_time:
        return timestamp(path[0], operand)
    checked = plain(".".join(path), operand)
    if not storable(checked):
        raise ValidationError(f"the filter on {'.'.join(path)!r} holds a lone surrogate")
    return checked


def lookup(record: MemoryRecord, path: tuple[str, ...]) -> Any:
    """Return the value at *path*, None for a missing value."""
    found = getattr(record, path[0])
    if len(path) == 1:
        return list(found) if path[0] == "tags" else found
    return descend(found, path[1:])


def descend(found: Any, rest: tuple[str, ...]) -> Any:
    """Return the value at the path *rest* inside *found*, None for a missing value."""
    # A key that contains dots wins over nested keys, so that every stored key can be named.
    if isinstance(found, Mapping) and (dotted := ".".join(rest)) in found:
        return found[dotted]
    for step in rest:
        if not isinstance(found, Mapping) or step not in found:
            return None
        found = found[step]
    return found


def kind_of(value: object) -> str:
    """Return "bool", "number", "text" or "other": only values of a kind compare."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "other"


def _equal(found: Any, operand: Any) -> bool:
    if kind_of(found) != kind_of(operand):
        return False
    if isinstance(found, list) and isinstance(operand, list):
        return len(found) == len(operand) and all(map(_equal, found, operand))
    if isinstance(found, dict) and isinstance(operand, dict):
        return found.keys() == operand.keys() and all(
            _equal(found[key], operand[key]) for key in found
        )
    return bool(found == operand)


def _ordered(relation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(found: Any, operand: Any) -> bool:
        if found is None:
            return False
        kind = kind_of(found)
        return kind == kind_of(operand) and kind in ("number", "text") and relation(found, operand)

    return holds


def _among(found: Any, operand: list[Any]) -> bool:
    # Python's equality is looser than ours (True == 1) and runs in C: a first, fast refusal.
    if found not in operand:
        return False
    return isinstance(found, str) or any(_equal(found, i) for i in operand[operand.index(found) :])


def _contains(found: Any, operand: Any) -> bool:
    if isinstance(found, str):
        return isinstance(operand, str) and operand in found
    return isinstance(found, list) and any(_equal(item, operand) for item in found)


def _contains_any(found: Any, operand: list[Any]) -> bool:
    if isinstance(found, list):
        return any(_among(item, operand) for item in found)
    return any(_contains(found, item) for item in operand)


RELATIONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": _equal,
    "$ne": lambda found, operand: found is not None and not _equal(found, operand),
    "$gt": _ordered(gt),
    "$gte": _ordered(ge),
    "$lt": _ordered(lt),
    "$lte": _ordered(le),
    "$in": lambda found, operand: found is not None and _among(found, operand),
    "$nin": lambda found, operand: found is not None and not _among(found, operand),
    "$contains": _contains,
    "$contains_any": _contains_any,
    "$exists": lambda found, operand: (found is not None) is operand,
}
