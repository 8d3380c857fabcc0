"""Filters as SQLite conditions.

A condition may let too much through, never too little; ``exact`` tells whether the records that
pass still need ``filters.matches``. Plain columns compile exactly, comparisons inside JSON narrow,
the rest is left open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...model.filters import NUMBER_FIELDS, TIME_FIELDS, All, Any_, Compare, Filter, Not
from ...model.namespaces import Scope
from ...model.records import LIVE, State
from .rows import JSON_LIST, scope_sql

_SYMBOLS = {"$eq": "=", "$ne": "<>", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition over one row of ``records``, its parameters, and whether it says it all.

    *listed* is a column whose values it lists, so that an index finds all that it lets through.
    """

    sql: str = "1"
    parameters: tuple[Any, ...] = ()
    exact: bool = True
    listed: str | None = None


class Selection(NamedTuple):
    """What selects records: as a condition does, and the index to look in, if one is named."""

    sql: str
    parameters: tuple[Any, ...]
    exact: bool
    using: str


_OPEN = Condition(exact=False)
_NEVER = Condition("0")
_DEEPEST = 10
_TOGETHER = 20
_MOST_PARAMETERS = 30_000
_LONGEST = 500_000
_EXACT_INTEGERS = 2**53
_AROUND = {
    "$eq": ("BETWEEN ? AND ?", (-1, 1)),
    "$gt": (">= ?", (-1,)),
    "$gte": (">= ?", (-1,)),
    "$lt": ("<= ?", (1,)),
    "$lte": ("<= ?", (1,)),
}
_PLAIN = re.compile("[A-Za-z0-9_ -]+")


def selection(scope: Scope, where: Filter | None, states: Collection[State] = LIVE) -> Selection:
    """Select the records in *scope* in one of *states* that pass *where*.

    An index is named where SQLite would read a whole namespace; that of keys has but live records.
    """
    inside, parameters = scope_sql(scope)
    among = " OR ".join(f"state = '{state}'" for state in states)
    passing = condition(where)
    by_key = passing.listed == "key" and states == LIVE and isinstance(scope, str)
    using = "INDEXED BY records_key" if by_key else ""
    return Selection(
        f"{inside} AND ({among}) AND ({passing.sql})",
        (*parameters, *passing.parameters),
        passing.exact,
        "INDEXED BY sqlite_autoindex_records_1" if passing.listed == "id" else using,
    )


def condition(where: Filter | None, depth: int = _DEEPEST) -> Condition:
    """Compile *where*, leaving open what is nested or listed beyond what SQLite takes."""
    match where:
        case None:
            return Condition()
        case _ if not depth:
            return _OPEN
        case All(parts):
            found = [condition(part, depth - 1) for part in parts]
            listed = next((part.listed for part in found if part.listed), None)
            return replace(_joined(found, " AND ", "1"), listed=listed)
        case Any_(parts):
            return _joined([condition(part, depth - 1) for part in parts], " OR ", "0")
        case Not(part):
            inner = condition(part, depth - 1)
            return Condition(f"NOT ({inner.sql})", inner.parameters) if inner.exact else _OPEN
        case Compare((column,), operator, operand) if column not in ("tags", "metadata", "value"):
            return _on_column(column, operator, operand)
        case Compare(path, operator, operand):
            return _inside_json(path, operator, operand)


def _joined(parts: list[Condition], word: str, empty: str) -> Condition:
    """Join *parts*, in groups of groups: SQLite parses but a thousand expressions in a row."""
    if not parts:
        return Condition(empty)
    parameters = tuple(value for part in parts for value in part.parameters)
    texts = [part.sql for part in parts]
    if len(parameters) > _MOST_PARAMETERS or sum(map(len, texts)) > _LONGEST:
        return _OPEN
    while len(texts) > _TOGETHER:
        groups = (texts[start : start + _TOGETHER] for start in range(0, len(texts), _TOGETHER))
        texts = [_chain(group, word) for group in groups]
    return Condition(_chain(texts, word), parameters, all(part.exact for part in parts))


def _chain(texts: list[str], word: str) -> str:
    return word.join(f"({text})" for text in texts)


def _on_column(column: str, operator: str, operand: Any) -> Condition:
    if operator == "$exists":
        return Condition(f"{column} IS {'NOT ' if operand else ''}NULL")
    among = operator in ("$in", "$nin")
    if not (among or operator in _SYMBOLS) or any(map(_huge, operand if among else [operand])):
        return _OPEN
    if among:
        return _OPEN if None in operand else _among(column, operator, operand)
    if operand is None:
        return Condition(f"{column} IS {'' if operator == '$eq' else 'NOT '}NULL")
    if not _fits(column, operand):
        return Condition(f"{column} IS NOT NULL") if operator == "$ne" else _NEVER
    return Condition(f"{column} IS NOT NULL AND {column} {_SYMBOLS[operator]} ?", (operand,))


def _among(column: str, operator: str, operand: list[Any]) -> Condition:
    fitting = tuple(item for item in operand if _fits(column, item))
    # The plus has SQLite look for the values that are listed, not for all that are not NULL.
    sql = f"+{column} IS NOT NULL AND {column} {'NOT IN' if operator == '$nin' else 'IN'}"
    if fitting and all(map(_is_text, fitting)):
        listed = column if operator == "$in" and column in ("id", "key") else None
        return Condition(f"{sql} {JSON_LIST}", (json.dumps(fitting),), listed=listed)
    if len(fitting) > 500:
        return _OPEN
    return Condition(f"{sql} ({','.join('?' * len(fitting))})", fitting)


def _fits(column: str, operand: Any) -> bool:
    if column in NUMBER_FIELDS or column in TIME_FIELDS:
        return _is_number(operand)
    return isinstance(operand, str)


def _inside_json(path: tuple[str, ...], operator: str, operand: Any) -> Condition:
    """Narrow by equality with a text or comparison with a number; leave all else open."""
    if path == ("tags",) and operator == "$contains" and _is_text(operand):
        return Condition(
            "EXISTS (SELECT 1 FROM json_each(tags) WHERE json_each.value = ?)",
            (operand,),
            exact=False,
        )
    if len(path) == 1 or not all(map(_PLAIN.fullmatch, path[1:])):
        return _OPEN
    if operator == "$eq" and _is_text(operand):
        relation, operands = "= ?", (operand,)
    elif operator in _AROUND and _is_number(operand) and abs(operand) < _EXACT_INTEGERS:
        # Some versions of SQLite read decimals a little wrong.
        margin = abs(operand) * 1e-9 + 1e-300
        relation, bounds = _AROUND[operator]
        operands = tuple(operand + bound * margin for bound in bounds)
    else:
        return _OPEN
    steps = "".join(f'."{step}"' for step in path[1:])
    names = [f"${steps}"] if len(path) == 2 else [f'$."{".".join(path[1:])}"', f"${steps}"]
    found = ", ".join([f"json_extract({path[0]}, ?)"] * len(names))
    found = found if len(names) == 1 else f"coalesce({found})"
    return Condition(f"{found} {relation}", (*names, *operands), exact=False)


def _is_text(operand: Any) -> bool:
    return isinstance(operand, str) and "\x00" not in operand


def _is_number(operand: Any) -> bool:
    return isinstance(operand, int | float) and not isinstance(operand, bool)


def _huge(operand: Any) -> bool:
    """Tell whether *operand* is an integer that a float may not spell exactly."""
    return isinstance(operand, int) and abs(operand) >= _EXACT_INTEGERS
