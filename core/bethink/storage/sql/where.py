"""Filters as SQLite conditions.

A condition may let too many records through, never too few; ``exact`` tells whether no record needs
``filters.matches``. Conditions on plain columns are exact, comparisons inside JSON only narrow, and
all other filters let every record through.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from ...model.filters import TEXT_FIELDS, Any_, Compare, Filter, Not, kind_of
from ...model.namespaces import Scope
from ...model.records import LIVE, State
from .rows import LISTED, Listed, scope_sql

_SYMBOLS: Final = {"$eq": "=", "$ne": "<>", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_BOUNDS: Final = ("$gt", "$gte", "$lt", "$lte")
_KEY_INDEX: Final = "INDEXED BY records_key"
_INDEXES: Final = {"id": "INDEXED BY sqlite_autoindex_records_1", "key": _KEY_INDEX}


class Condition(NamedTuple):
    """An SQL condition on a row of ``records``, and the index to search, if any."""

    sql: str = "TRUE"
    parameters: tuple[Any, ...] = ()
    exact: bool = True
    using: str = ""


_ANY: Final = Condition(exact=False)
_NONE: Final = Condition("FALSE")
_MAX_DEPTH: Final = 10
_MAX_LISTED_NUMBERS: Final = 500
_MAX_GROUP: Final = 20
_MAX_PARAMETERS: Final = 30_000
_MAX_CHARACTERS: Final = 500_000
_EXACT_INTEGERS: Final = 2**53  # a float holds every smaller integer
_WITH_MARGIN: Final = {  # the signs say on which side of the operand a bound lies
    "$eq": ("BETWEEN ? AND ?", (-1, 1)),
    "$gt": (">= ?", (-1,)),
    "$gte": (">= ?", (-1,)),
    "$lt": ("<= ?", (1,)),
    "$lte": ("<= ?", (1,)),
}
_PLAIN_NAME: Final = re.compile("[A-Za-z0-9_ -]+")


def selection(
    scope: Scope,
    where: Filter | None,
    states: Collection[State] = LIVE,
    *,
    inside_json: bool = True,
) -> Condition:
    """Return the condition for the records in *scope* and *states* that pass *where*.

    An index is named where SQLite would read a whole namespace. Without *inside_json* all
    comparisons inside JSON let every record through.
    """
    inside, parameters = scope_sql(scope)
    among = " OR ".join(f"state = '{state}'" for state in states)
    passing = condition(where, inside_json=inside_json)
    # The index of keys holds live records only, by namespace.
    usable = passing.using != _KEY_INDEX or (states == LIVE and isinstance(scope, str))
    return Condition(
        f"{inside} AND ({among}) AND ({passing.sql})",
        (*parameters, *passing.parameters),
        passing.exact,
        passing.using if usable else "",
    )


def condition(
    where: Filter | None, depth: int = _MAX_DEPTH, *, inside_json: bool = True
) -> Condition:
    """Compile *where*; a part that is too deep or too long for SQLite lets all through."""
    if where is None:
        return Condition()
    if not depth:
        return _ANY
    if isinstance(where, Compare):
        path, operator, operand = where.path, where.operator, where.operand
        if len(path) == 1 and path[0] not in ("tags", "metadata", "value"):
            return _on_column(path[0], operator, operand)
        return _inside_json(path, operator, operand) if inside_json else _ANY
    parts = (where.part,) if isinstance(where, Not) else where.parts
    found = [condition(part, depth - 1, inside_json=inside_json) for part in parts]
    if isinstance(where, Not):
        (inside,) = found
        return Condition(f"NOT ({inside.sql})", inside.parameters) if inside.exact else _ANY
    if isinstance(where, Any_):
        return _join(found, " OR ", "FALSE")
    using = next((part.using for part in found if part.using), "")
    return _join(found, " AND ", "TRUE", using)


def _join(parts: list[Condition], word: str, empty: str, using: str = "") -> Condition:
    """Join *parts*; too many for SQLite let all through."""
    if not parts:
        return Condition(empty)
    parameters = tuple(value for part in parts for value in part.parameters)
    texts = [f"({part.sql})" for part in parts]
    if len(parameters) > _MAX_PARAMETERS or sum(map(len, texts)) > _MAX_CHARACTERS:
        return _ANY
    exact = all(part.exact for part in parts)
    return Condition(_joined(texts, word), parameters, exact, using)


def _joined(conditions: Sequence[str], word: str) -> str:
    """Join SQL *conditions*, in groups of groups: SQLite parses at most 1,000 in a row."""
    texts = list(conditions)
    while len(texts) > _MAX_GROUP:
        groups = (texts[start : start + _MAX_GROUP] for start in range(0, len(texts), _MAX_GROUP))
        texts = [f"({word.join(group)})" for group in groups]
    return word.join(texts)


def _on_column(column: str, operator: str, operand: Any) -> Condition:
    if operator == "$exists":
        return Condition(f"{column} IS {'NOT ' if operand else ''}NULL")
    among = operator in ("$in", "$nin")
    if not (among or operator in _SYMBOLS) or any(map(_is_huge, operand if among else [operand])):
        return _ANY
    if among:
        return _ANY if None in operand else _among(column, operator, operand)
    if operand is None:
        return Condition(f"{column} IS {'' if operator == '$eq' else 'NOT '}NULL")
    if not _fits(column, operand):
        return Condition(f"{column} IS NOT NULL") if operator == "$ne" else _NONE
    using = _KEY_INDEX if column == "key" and operator in _BOUNDS else ""
    return Condition(
        f"{column} IS NOT NULL AND {column} {_SYMBOLS[operator]} ?", (operand,), using=using
    )


def _among(column: str, operator: str, operand: list[Any]) -> Condition:
    fitting = tuple(item for item in operand if _fits(column, item))
    # The plus makes SQLite search for the listed values, not for all that are not NULL.
    sql = f"+{column} IS NOT NULL AND {column} {'NOT IN' if operator == '$nin' else 'IN'}"
    if fitting and all(map(_is_text, fitting)):
        using = _INDEXES.get(column, "") if operator == "$in" else ""
        return Condition(f"{sql} {LISTED}", (Listed(fitting),), using=using)
    if len(fitting) > _MAX_LISTED_NUMBERS:
        return _ANY
    return Condition(f"{sql} ({','.join('?' * len(fitting))})", fitting)


def _fits(column: str, operand: Any) -> bool:
    return kind_of(operand) == ("text" if column in TEXT_FIELDS else "number")


def _inside_json(path: tuple[str, ...], operator: str, operand: Any) -> Condition:
    """Narrow by equality with texts, by comparison with a number, or by presence."""
    if path == ("tags",) and operator == "$contains" and _is_text(operand):
        sql = "EXISTS (SELECT 1 FROM json_each(tags) WHERE json_each.value = ?)"
        return Condition(sql, (operand,), exact=False)
    if len(path) == 1 or not all(map(_PLAIN_NAME.fullmatch, path[1:])):
        return _ANY
    number = kind_of(operand) == "number"
    operands: tuple[Any, ...] = ()
    if operator == "$eq" and _is_text(operand):
        relation, operands = "= ?", (operand,)
    elif operator == "$in" and all(map(_is_text, operand)):
        relation, operands = f"IN {LISTED}", (Listed(operand),)
    elif operator == "$exists" and (operand or len(path) == 2):
        relation = f"IS {'NOT ' if operand else ''}NULL"
    elif operator in _WITH_MARGIN and number and abs(operand) < _EXACT_INTEGERS:
        # Some versions of SQLite read decimals a little wrong.
        margin = abs(operand) * 1e-9 + 1e-300
        relation, signs = _WITH_MARGIN[operator]
        operands = tuple(operand + sign * margin for sign in signs)
    else:
        return _ANY
    steps = "".join(f'."{step}"' for step in path[1:])
    names = [f"${steps}"] if len(path) == 2 else [f'$."{".".join(path[1:])}"', f"${steps}"]
    found = ", ".join([f"json_extract({path[0]}, ?)"] * len(names))
    found = found if len(names) == 1 else f"coalesce({found})"
    return Condition(f"{found} {relation}", (*names, *operands), exact=False)


def _is_text(operand: Any) -> bool:
    return isinstance(operand, str) and "\x00" not in operand


def _is_huge(operand: Any) -> bool:
    """Return whether a float may not hold the integer *operand* exactly."""
    return isinstance(operand, int) and abs(operand) >= _EXACT_INTEGERS
