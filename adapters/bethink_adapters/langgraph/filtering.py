"""LangGraph's filters in bethink's filter language, over the fields of an item's value.

Theirs: ``{"field": value}``, ``{"field": {"$gt": value}}``, with ``$eq``, ``$ne``, ``$gt``,
``$gte``, ``$lt`` and ``$lte``. Ours are welcome too: ``$in``, ``$nin``, ``$contains``,
``$contains_any``, ``$exists``, ``$not``, ``$and`` and ``$or``. A dotted field is the one of that
name or else the nested one. Comparisons are typed, and one with a missing field is false.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bethink import ValidationError
from bethink.fields import storable

_BEYOND: Final = 10**400  # greater than any float
_NOTHING: Final = {"$in": list[Any]()}


def to_where(filter: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return *filter* as the ``where`` of a record; a wrong one is a ``ValidationError``."""
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise ValidationError(f"filter must be a mapping, not {type(filter).__name__}")
    return {"$and": [_clause(name, condition) for name, condition in filter.items()]}


def _clause(name: object, condition: Any) -> dict[str, Any]:
    if name == "$not":
        return {"$not": to_where(condition)}
    if name in ("$and", "$or"):
        if isinstance(condition, str) or not isinstance(condition, Sequence):
            raise ValidationError(f"{name} needs a list of filters")
        return {str(name): [to_where(part) for part in condition]}
    field = f"value.{_checked(name)}"
    if not isinstance(condition, Mapping) or not any(map(_is_operator, condition)):
        return {field: _compared("$eq", condition)}
    for operator in condition:
        if not _is_operator(operator):
            raise ValidationError(f"the filter on {name!r} mixes operators with {operator!r}")
    parts = [{field: _compared(key, operand)} for key, operand in condition.items()]
    return {"$and": parts}


def _checked(name: object) -> str:
    """Return *name* if it can be that of a field."""
    if not isinstance(name, str) or not all(name.split(".")) or not storable(name):
        raise ValidationError(f"Invalid filter key: {name!r}")
    if name.startswith("$"):
        raise ValidationError(f"Invalid filter key: {name!r}; known here: $and, $or, $not")
    return name


def _is_operator(key: object) -> bool:
    return isinstance(key, str) and key.startswith("$")


def _compared(operator: str, operand: Any) -> dict[str, Any]:
    """Return the condition, without the numbers that JSON lacks."""
    if not isinstance(operand, float) or math.isfinite(operand):
        return {operator: operand}
    if math.isnan(operand):
        return {"$exists": True} if operator == "$ne" else _NOTHING
    return {operator: _BEYOND if operand > 0 else -_BEYOND}
