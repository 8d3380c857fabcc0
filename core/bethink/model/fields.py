"""Checks of arguments, applied before anything is written."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import numpy as np

from ..errors import CorruptStoreError, ValidationError
from .arrays import Vector

Time: TypeAlias = float | date | str
"""Unix seconds, an aware datetime, a date, or an ISO 8601 text; see ``timestamp``."""

Choice = TypeVar("Choice", bound=str)
Function = TypeVar("Function", bound=Callable[..., Any])

MAX_CONTENT: Final = 524_288  # characters
MAX_LABEL: Final = 1024  # characters
MAX_DEPTH: Final = 128  # levels of nested JSON
MAX_TIME: Final = 1e12  # Unix seconds, before and after 1970
_TIME: Final = "Unix seconds, an aware datetime, a date or an ISO text"
_MAX_COUNT: Final = 2**61  # fits SQLite's 64 bits, also after an addition
_MAX_JSON_INT: Final = 10**4000  # Python reads no more than 4,300 digits
_MAX_DIMENSION: Final = 131_072  # of a vector: products of eight-bit codes add up within 32 bits
_MAX_COMPONENT: Final = 1e18  # of a vector: the square of the length stays finite in float32
_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LISTS: Final = (list, tuple)  # a union would be made anew for each value
_NUMBERS: Final = (int, float)
_BOXED: Final = (np.integer, np.bool_)
_MAPPINGS: Final = (dict, Mapping)  # in this order: to ask for a Mapping takes longer
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_held(content: str, value: object) -> None:
    """Refuse a record without content and value."""
    if not content and value is None:
        raise ValidationError("content must not be empty (unless a value is given)")


def unboxed(value: Any) -> Any:
    """Return a number or boolean of numpy as Python's, and any other *value* as given."""
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, _BOXED) else value


def number(name: str, value: object, low: float, high: float, what: str = "a number") -> float:
    """Return *value*, the argument *what*, as a finite float within [low, high]."""
    value = unboxed(value)
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        raise ValidationError(f"{name} must be {what}, not {type(value).__name__}")
    if not low <= value <= high:
        raise ValidationError(f"{name} must lie in [{low:g}, {high:g}], not {describe(value)}")
    return float(value)


def integer(name: str, value: object, low: int) -> int:
    """Return *value* as an int of at least *low*, cut down to 2^61."""
    value = unboxed(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(f"{name} must be an int, not {type(value).__name__}")
    if value < low:
        raise ValidationError(f"{name} must be at least {low}, not {describe(value)}")
    return min(value, _MAX_COUNT)


def limit(name: str, value: object) -> int | None:
    """Return *value* as a limit on the number of results, None for no limit."""
    return None if value is None else integer(name, value, 0)


def timestamp(name: str, value: object) -> float:
    """Return *value*, a time as below, as float Unix seconds.

    A time is Unix seconds, an aware datetime, a date or an ISO 8601 text. A text without a time
    zone is in UTC, and a date is the start of the day in UTC, also as a text: "2026-11-24".
    """
    value = unboxed(value)
    if isinstance(value, str):
        if (found := iso_seconds(value)) is None:
            raise ValidationError(
                f"{name} must be {_TIME}; {value[:80]!r} is no text such as '2026-11-24T10:00Z'"
            )
        return found
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValidationError(f"{name} is a naive datetime; give it a time zone")
        return value.timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    if isinstance(value, _NUMBERS) and MAX_TIME < abs(value) < math.inf:
        raise ValidationError(f"{name} must be in seconds, not milliseconds: {describe(value)}")
    return number(name, value, -MAX_TIME, MAX_TIME, _TIME)


def iso_seconds(text: str) -> float | None:
    """Return an ISO 8601 *text* as Unix seconds, None for a text in no such form."""
    if text.isdecimal() and len(text) != len("20261124"):  # and never milliseconds
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def text(name: str, value: object, limit: int = MAX_LABEL) -> str:
    """Return *value* as a plain str without lone surrogates, at most *limit* characters."""
    if not isinstance(value, str):
        raise ValidationError(f"{name} must be a str, not {type(value).__name__}")
    if len(value) > limit:
        raise ValidationError(f"{name} is {len(value):,} characters long; the limit is {limit:,}")
    if not value.isascii() and _SURROGATE.search(value):
        raise ValidationError(f"{name} holds a lone surrogate and cannot be stored as text")
    return str.__str__(value)


def label(name: str, value: object) -> str:
    """Return *value*, a non-blank str of at most ``MAX_LABEL`` characters."""
    found = text(name, value)
    if not found.strip():
        raise ValidationError(f"{name} must not be empty")
    return found


def identifier(name: str, value: object) -> str:
    """Return *value*, a label without NUL: SQLite's JSON ends a text at NUL."""
    if not isinstance(value, str) and hasattr(value, "id"):
        kind = type(value).__name__
        raise ValidationError(f"{name} must be a str, not {kind}; use the id of the {kind}")
    found = label(name, value)
    if "\0" in found:
        raise ValidationError(f"{name} must not hold a NUL character")
    return found


def one_of(name: str, value: Choice, choices: tuple[Choice, ...]) -> Choice:
    """Return *value*; refuse a value outside *choices*."""
    if not isinstance(value, str) or value not in choices:
        raise ValidationError(
            f"{name} must be one of {', '.join(map(repr, choices))}, not {describe(value)[:80]}"
        )
    return value


def ids(value: str | Iterable[str]) -> list[str]:
    """Return an id, or several ids, as a list."""
    if isinstance(value, str) or hasattr(value, "id"):
        return [identifier("id", value)]
    if not isinstance(value, Iterable):
        raise ValidationError(f"ids must be a str or a list of str, not {type(value).__name__}")
    return [identifier("id", id) for id in value]


def path(name: str, value: object) -> str:
    """Return *value*, a path as text or ``os.PathLike``, with "~" for the home folder."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str):
        raise ValidationError(f"{name} must be a path, not {type(value).__name__}")
    if not given or "\0" in given or not _encodable(given):
        raise ValidationError(f"{name} is the name of no file: {given[:80]!r}")
    scheme, is_url, _ = given.partition("://")
    if is_url and "/" not in scheme:  # a URL may hold a password
        raise ValidationError(f"{name} must be the path of a file, not a URL: {scheme}://…")
    return os.path.expanduser(given)


def boolean(name: str, value: object) -> bool:
    """Return *value* if True or False."""
    value = unboxed(value)
    if not isinstance(value, bool):
        raise ValidationError(f"{name} must be True or False, not {type(value).__name__}")
    return value


def function(name: str, value: Function) -> Function:
    """Return *value* if callable."""
    if not callable(value):
        raise ValidationError(f"{name} must be a function, not {type(value).__name__}")
    return value


def named_vector(value: object) -> tuple[str, Vector]:
    """Return a pair of name and numbers as a name and a float32 vector."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValidationError(f"vector must be a pair (name, numbers), not {type(value).__name__}")
    return identifier("vector name", value[0]), vector(value[0], value[1])


def fail(message: str) -> NoReturn:
    """Refuse a call."""
    raise ValidationError(message)


def plain(name: str, value: object, depth: int = MAX_DEPTH) -> Any:
    """Return a deep copy of *value* made of JSON types only (tuples become lists)."""
    if isinstance(value, str):
        return str.__str__(value) if value.isascii() else _paired(str.__str__(value))
    if value is None or isinstance(value, bool):
        return value
    if not depth:
        raise ValidationError(f"{name} is nested too deeply or contains itself")
    if isinstance(value, int):
        if abs(value) > _MAX_JSON_INT:
            raise ValidationError(f"{name} holds {describe(value)}, too long to be read again")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValidationError(f"{name} holds {value!r}, which JSON cannot")
        return float(value)
    if isinstance(value, _LISTS):
        return [plain(name, item, depth - 1) for item in value]
    if isinstance(value, _MAPPINGS):
        copied = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValidationError(f"{name} has a key of type {type(key).__name__}, not str")
            copied[str.__str__(key)] = plain(name, item, depth - 1)
        return copied
    if (own := unboxed(value)) is not value:
        return plain(name, own, depth - 1)
    raise ValidationError(f"{name} holds a value of type {type(value).__name__}, which JSON cannot")


def _paired(text: str) -> str:
    """Return *text* with each pair of surrogates as one character, as JSON reads the pair."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def storable(value: object) -> bool:
    """Return whether *value*, made of JSON types, can be encoded as UTF-8: no lone surrogate."""
    return not _SURROGATE.search(_COMPACT.encode(value))


def to_json(value: object) -> str:
    """Return *value* as compact JSON, ready for UTF-8."""
    try:
        encoded = _COMPACT.encode(value)
    except ValueError as error:  # input was checked before
        raise CorruptStoreError(None, "damaged number in the store") from error
    if encoded.isascii() or not _SURROGATE.search(encoded):
        return encoded
    return json.dumps(value, separators=(",", ":"))


def content(name: str, value: object) -> str:
    """Return *value* as the text of a record, "" for a blank text."""
    found = text(name, value, MAX_CONTENT)
    return found if found.strip() else ""


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def describe(value: object) -> str:
    """Return *value* as errors show values; a huge number is not spelled out."""
    if isinstance(value, int) and abs(value) > _MAX_JSON_INT:
        return f"a number of {value.bit_length()} bits"
    return repr(value)


def metadata(name: str, value: object) -> dict[str, Any]:
    """Return a deep copy of the mapping *value*, empty for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValidationError(f"{name} must be a mapping, not {type(value).__name__}")
    copied: dict[str, Any] = plain(name, value)
    return copied


def tags(name: str, value: object) -> tuple[str, ...]:
    """Return the labels in *value* without repetitions."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValidationError(f"{name} must be a list of str, not {type(value).__name__}")
    return tuple(dict.fromkeys(label("tag", tag) for tag in value))


def unit(name: str, value: object) -> float:
    """Return *value* as a float within [0, 1]."""
    return number(name, value, 0.0, 1.0)


def vector(name: str, value: object) -> Vector:
    """Return *value*, a list of at most 131,072 finite numbers, as a float32 vector."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValidationError(f"vector {name!r} is not a list of numbers") from None
    if numbers.ndim != 1 or not len(numbers):
        raise ValidationError(f"vector {name!r} must be a flat list of at least one number")
    if len(numbers) > _MAX_DIMENSION:
        most = f"at most {_MAX_DIMENSION:,} numbers can be searched"
        raise ValidationError(f"vector {name!r} has {len(numbers):,} numbers, and {most}")
    if not np.abs(numbers).max() <= _MAX_COMPONENT:  # a NaN is the greatest of all
        raise ValidationError(f"vector {name!r} holds a number that float32 cannot")
    return numbers.astype(np.float32)


def vectors(name: str, value: object) -> dict[str, Vector]:
    """Return the mapping *value* of names to vectors, empty for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValidationError(f"{name} must map names to vectors, not {type(value).__name__}")
    return {identifier("vector name", key): vector(key, numbers) for key, numbers in value.items()}


def optional(check: Callable[[str, object], Any]) -> Callable[[str, object], Any]:
    """Return *check* with None allowed."""
    return lambda name, value: None if value is None else check(name, value)
