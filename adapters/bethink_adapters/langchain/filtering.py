"""Filters on the metadata of documents, as filters on records.

Metadata beyond JSON are wrapped in a record, and operands are wrapped alike. Datetimes and dates
have an order, the former by the moment; a datetime without a time zone compares with datetimes
without a time zone. All other wrapped values are equal or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bethink import ValidationError

from .encoding import COLLECTIONS, WRAP, encode

Where = dict[str, Any]

_ORDERS: Final = ("$gt", "$gte", "$lt", "$lte")
_ORDERED: Final = ("date", "timedelta")
_MOMENTS: Final = ("at", "at_local")


def where_of(filter: object) -> Where | None:
    """Return the *filter* on metadata, in bethink's filter language, as a filter on records."""
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise ValidationError(
            f"a filter must be a mapping of metadata, not {type(filter).__name__}"
        )
    parts: list[Where] = []
    for name, condition in filter.items():
        if name in ("$and", "$or"):
            parts.append({name: [where_of(part) for part in condition]})
        elif name == "$not":
            parts.append({name: where_of(condition)})
        else:
            parts += _on_field(f"metadata.{name}", condition)
    return {"$and": parts}


def _on_field(path: str, condition: Any) -> list[Where]:
    if not isinstance(condition, Mapping) or not any(str(key)[:1] == "$" for key in condition):
        return [_equal(path, encode(condition, path, is_strict=True))]
    if not all(str(key)[:1] == "$" for key in condition):
        return [{path: condition}]  # refused by the store
    return [_compared(path, operator, operand) for operator, operand in condition.items()]


def _compared(path: str, operator: str, operand: Any) -> Where:
    """Return the condition that *operator* and *operand* put on the field at *path*."""
    if operator == "$not":
        return {"$not": {"$and": _on_field(path, operand)}}
    if operator in ("$in", "$nin") and _is_list(operand):
        listed = [encode(each, path, is_strict=True) for each in operand]
        missing = [{path: None}] if None in listed else []
        moments = (_moment(path, "$eq", each) for each in listed)
        some = {"$or": [{path: {"$in": listed}}, *missing, *filter(None, moments)]}
        return some if operator == "$in" else _without(path, some)
    if operator == "$contains_any" and _is_list(operand):
        return _inside(path, operator, [encode(each, path, is_strict=True) for each in operand])
    written = encode(operand, path, is_strict=True)
    if operator == "$contains":
        return _inside(path, operator, written)
    if operator == "$eq":
        return _equal(path, written)
    if operator == "$ne":
        return _without(path, _equal(path, written))
    return _ordered(path, operator, written) if operator in _ORDERS else {path: {operator: written}}


def _equal(path: str, written: Any) -> Where:
    moment = _moment(path, "$eq", written)
    equal = {path: {"$eq": written}}
    return equal if moment is None else {"$or": [equal, moment]}


def _ordered(path: str, operator: str, written: Any) -> Where:
    moment = _moment(path, operator, written)
    if moment is not None:
        return moment
    kind = _kind(written)
    if kind is None:
        return {path: {operator: written}}
    if kind not in _ORDERED:
        raise ValidationError(f"{operator} on {path!r} needs a value with an order, not a {kind}")
    return {f"{path}.{WRAP}": kind, f"{path}.value": {operator: written["value"]}}


def _moment(path: str, operator: str, written: Any) -> Where | None:
    """Return the condition on the moment of a datetime, None for any other operand."""
    if _kind(written) != "datetime":
        return None
    (name,) = (name for name in _MOMENTS if name in written)
    return {f"{path}.{WRAP}": "datetime", f"{path}.{name}": {operator: written[name]}}


def _inside(path: str, operator: str, written: Any) -> Where:
    """Return the condition on the items of a list, or of a wrapped collection."""
    wrapped = {f"{path}.{WRAP}": {"$in": list(COLLECTIONS)}, f"{path}.value": {operator: written}}
    return {"$or": [{path: {operator: written}}, wrapped]}


def _without(path: str, condition: Where) -> Where:
    return {path: {"$exists": True}, "$not": condition}


def _kind(written: Any) -> Any:
    return written.get(WRAP) if isinstance(written, dict) else None


def _is_list(operand: Any) -> bool:
    return isinstance(operand, Sequence | set | frozenset) and not isinstance(operand, str | bytes)
