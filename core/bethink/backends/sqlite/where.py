"""Filters as SQLite conditions.

A condition may let too much through, never too little; ``exact`` tells whether the records that
pass still need ``filters.matches``. Plain columns compile exactly, equality inside JSON narrows,
the rest is left open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...filters import NUMBER_FIELDS, TIME_FIELDS, All, Any_, Compare, Filter, Not

_SYMBOLS = {"$eq": "=", "$ne": "<>", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition over one row of ``records``, its parameters, and whether it says it all."""

    sql: str = "1"
    parameters: tuple[Any, ...] = ()
    exact: bool = True


_OPEN = Condition(exact=False)
_NEVER = Condition("0")


def condition(where: Filter | None) -> Condition:
    """Compile *where*."""
    match where:
        case None:
            return Condition()
        case All(parts):
            return _joined([condition(part) for part in parts], " AND ", "1")
        case Any_(parts):
            return _joined([condition(part) for part in parts], " OR ", "0")
        case Not(part):
            inner = condition(part)
            return Condition(f"NOT ({inner.sql})", inner.parameters) if inner.exact else _OPEN
        case Compare((column,), operator, operand) if column not in ("tags", "metadata", "value"):
            return _on_column(column, operator, operand)
        case Compare(path, operator, operand):
            return _inside_json(path, operator, operand)


def _joined(parts: list[Condition], word: str, empty: str) -> Condition:
    if not parts:
        return Condition(empty)
    return Condition(
        word.join(f"({part.sql})" for part in parts),
        tuple(value for part in parts for value in part.parameters),
        all(part.exact for part in parts),
    )


def _on_column(column: str, operator: str, operand: Any) -> Condition:
    if operator == "$exists":
        return Condition(f"{column} IS {'NOT ' if operand else ''}NULL")
    if operator in ("$in", "$nin"):
        fitting = tuple(item for item in operand if _fits(column, item))
        marks = ",".join("?" * len(fitting))
        if len(fitting) > 500 or None in operand:
            return _OPEN
        negation = "NOT " if operator == "$nin" else ""
        return Condition(f"{column} IS NOT NULL AND {column} {negation}IN ({marks})", fitting)
    if operator not in _SYMBOLS:
        return _OPEN
    if operand is None:
        return (
            Condition(f"{column} IS NULL")
            if operator == "$eq"
            else Condition(f"{column} IS NOT NULL")
        )
    if not _fits(column, operand):
        return Condition(f"{column} IS NOT NULL") if operator == "$ne" else _NEVER
    return Condition(f"{column} IS NOT NULL AND {column} {_SYMBOLS[operator]} ?", (operand,))


def _fits(column: str, operand: Any) -> bool:
    if column in NUMBER_FIELDS or column in TIME_FIELDS:
        small = not isinstance(operand, int) or abs(operand) < 2**53
        return isinstance(operand, int | float) and not isinstance(operand, bool) and small
    return isinstance(operand, str)


def _inside_json(path: tuple[str, ...], operator: str, operand: Any) -> Condition:
    """Narrow by equality with one text at a single, plainly named step; leave all else open."""
    if path == ("tags",) and operator == "$contains" and isinstance(operand, str):
        return Condition(
            "EXISTS (SELECT 1 FROM json_each(tags) WHERE json_each.value = ?)",
            (operand,),
            exact=False,
        )
    simple = len(path) == 2 and '"' not in path[1] and "\\" not in path[1]
    if simple and operator == "$eq" and isinstance(operand, str) and "\x00" not in operand:
        return Condition(
            f"json_extract({path[0]}, ?) = ?", (f'$."{path[1]}"', operand), exact=False
        )
    return _OPEN
