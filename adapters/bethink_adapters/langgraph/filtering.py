"""LangGraph's filters in bethink's filter language, over the fields of an item's value.

LangGraph has ``{"field": value}``, ``{"field": {"$gt": value}}``, with ``$eq``, ``$ne``, ``$gt``,
``$gte``, ``$lt`` and ``$lte``. bethink adds ``$in``, ``$nin``, ``$contains``,
``$contains_any``, ``$exists``, ``$not``, ``$and`` and ``$or``. A dotted field is the field
with the whole name, else the nested field. A mapping without operators holds conditions on the
fields inside; ``$eq`` compares the mapping as a whole. Only an item with a field of both names,
``a`` and ``a.b``, is judged by the latter in ``{"a": {"b": 6}}``. Comparisons are typed. A
comparison with a missing field is false, but ``None`` finds missing fields, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bethink import ValidationError
from bethink.adapting import storable

from ..shared.texts import written

_BEYOND: Final = 10**400  # greater than any float
_EQUALS: Final = ("$eq", "$ne")
_NOTHING: Final = {"$in": list[Any]()}


def to_where(filter: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return *filter* as the ``where`` of a record; a wrong one is a ``ValidationError``."""
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise ValidationError(f"filter must be a mapping, not {type(filter).__name__}")
    try:
        return {"$and": [_clause(name, condition) for name, condition in filter.items()]}
    except RecursionError:
        raise ValidationError("filter is nested too deeply") from None


def _text_of(operand: Any) -> Any:
    return operand if isinstance(operand, float) else written("filter", operand)


def _clause(name: object, condition: Any) -> dict[str, Any]:
    if name == "$not":
        return {"$not": to_where(condition)}
    if name in ("$and", "$or"):
        if isinstance(condition, str) or not isinstance(condition, Sequence):
            raise ValidationError(f"{name} needs a list of filters")
        return {str(name): [to_where(part) for part in condition]}
    return _on_field(_checked(name), condition)


def _on_field(name: str, condition: Any) -> dict[str, Any]:
    if not isinstance(condition, Mapping) or not condition:
        return {f"value.{name}": _compared("$eq", condition)}
    operators = [key for key in condition if isinstance(key, str) and key.startswith("$")]
    if operators and len(operators) < len(condition):
        raise ValidationError(f"the filter on {name!r} mixes operators and fields")
    if operators:
        parts = [{f"value.{name}": _compared(key, condition[key])} for key in operators]
    else:
        inner = ((f"{name}.{_checked(key)}", each) for key, each in condition.items())
        parts = [{f"value.{name}": {"$exists": True}}]  # or a dotted name would do
        parts += [_on_field(path, each) for path, each in inner]
    return {"$and": parts}


def _checked(name: object) -> str:
    """Return *name* if a field can have the name."""
    if not isinstance(name, str) or not all(name.split(".")) or not storable(name):
        raise ValidationError(f"Invalid filter key: {name!r}")
    if name.startswith("$"):
        raise ValidationError(f"Invalid filter key: {name!r}; known here: $and, $or, $not")
    return name


def _compared(operator: str, operand: Any) -> dict[str, Any]:
    """Return the condition, without the numbers that JSON lacks; times and UUIDs equal texts."""
    if operator in _EQUALS:
        operand = _text_of(operand)
    elif operator in ("$in", "$nin") and isinstance(operand, list | tuple | set | frozenset):
        operand = list(map(_text_of, operand))
    if not isinstance(operand, float) or math.isfinite(operand):
        return {operator: operand}
    if math.isnan(operand):
        return {"$exists": True} if operator == "$ne" else _NOTHING
    return {operator: _BEYOND if operand > 0 else -_BEYOND}
