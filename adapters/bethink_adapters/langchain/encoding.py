"""Python's values in JSON, and back.

Values beyond JSON (bytes, dates, sets, paths, model objects) are wrapped: ``{"__bethink__": kind,
"value": …}``.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final
from uuid import UUID

from bethink import ValidationError
from bethink.adapting import unboxed

from ..shared.texts import aware

logger = logging.getLogger("bethink_adapters.langchain")

WRAP: Final = "__bethink__"

# Types beyond JSON: kind -> (type, to JSON, back). The first matching type is taken.
_SCALARS: Final[Mapping[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "float": (float, repr, float),
    "bytes": (bytes, lambda it: base64.b64encode(it).decode(), base64.b64decode),
    "bytearray": (bytearray, bytearray.hex, bytearray.fromhex),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (timedelta, lambda it: it // timedelta.resolution, timedelta.resolution.__mul__),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
    "path": (Path, str, Path),
    "posix path": (PurePosixPath, str, PurePosixPath),
    "windows path": (PureWindowsPath, str, PureWindowsPath),
}
_PLAIN: Final = frozenset((str, int, bool, type(None)))  # most values, in short time
COLLECTIONS: Final[Mapping[str, Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def encode(value: Any, name: str, *, is_strict: bool = False) -> Any:
    """Return *value* in JSON types only; ``decode`` is the inverse.

    An object that cannot be restored is replaced by the repr, with *name* in the log; with
    *is_strict* the object raises ``ValidationError``. Numbers of numpy become numbers of Python,
    subclasses of collections become the collections.
    """

    def inner(item: Any, place: object) -> Any:
        return encode(item, f"{name}[{place!r}]" if name else str(place), is_strict=is_strict)

    if type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        if is_strict and not isinstance(value, str | int):  # which equal the plain value
            raise _unrestorable(value, name)
        return encode(value.value, name)
    value = unboxed(value)
    finite = isinstance(value, float) and math.isfinite(value)
    if value is None or isinstance(value, str | int) or finite:
        return value
    if isinstance(value, list):
        return [inner(item, place) for place, item in enumerate(value)]
    if isinstance(value, Mapping):
        if WRAP not in value and all(isinstance(key, str) for key in value):
            return {key: inner(item, key) for key, item in value.items()}
        pairs = [[inner(key, key), inner(item, key)] for key, item in value.items()]
        return _wrap("dict", pairs)
    for kind, (scalar, to_json, _) in _SCALARS.items():
        if isinstance(value, scalar):
            return _wrap(kind, to_json(value), **(_sortable(value) if is_strict else {}))
    for kind, collection in COLLECTIONS.items():
        if isinstance(value, collection):
            items = [inner(item, place) for place, item in enumerate(value)]
            return _wrap(kind, items if kind == "tuple" else sorted(items, key=json.dumps))
    return _encode_object(value, name, inner, is_strict=is_strict)


def decode(value: Any) -> Any:
    """Return the argument of ``encode``; wrappings of an unknown kind stay."""
    if isinstance(value, list):
        return [item if type(item) in _PLAIN else decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(WRAP)
    if kind is None:
        return {k: item if type(item) in _PLAIN else decode(item) for k, item in value.items()}
    if kind in _SCALARS:
        return _SCALARS[kind][2](value["value"])
    if kind in COLLECTIONS:
        return COLLECTIONS[kind](decode(value["value"]))
    if kind == "dict":
        return {decode(key): decode(item) for key, item in value["value"]}
    return _decode_object(value) if kind == "object" else value


def replaced(value: Any, name: str) -> dict[str, Any]:
    """Return the repr in the place of *value*, and log *name*."""
    logger.warning("Of %s, a %s, only the repr is kept", name, type(value).__qualname__)
    try:
        return _wrap("repr", repr(value))
    except Exception:
        return _wrap("repr", object.__repr__(value))


def attributes(model: Any) -> dict[str, Any]:
    """Return the fields of a pydantic object, of either major version, without conversion."""
    return {**vars(model), **(getattr(model, "__pydantic_extra__", None) or {})}


def _wrap(kind: str, value: object, **more: object) -> dict[str, Any]:
    return {WRAP: kind, "value": value, **more}


def _sortable(value: Any) -> dict[str, float]:
    """Return a number for filters on a time; a time without a zone is on a scale apart."""
    if not isinstance(value, datetime):
        return {}
    return {"at" if value.tzinfo else "at_local": aware(value).timestamp()}


def _encode_object(
    value: Any, name: str, inner: Callable[[Any, object], Any], *, is_strict: bool
) -> dict[str, Any]:
    made = type(value)
    module, path = made.__module__, made.__qualname__
    if is_strict and _loaded(module, path) is not made:
        raise _unrestorable(value, name)
    if is_dataclass(made):
        content = {field.name: getattr(value, field.name) for field in fields(made)}
    elif hasattr(made, "model_fields") or hasattr(made, "__fields__"):
        content = attributes(value)
    elif is_strict:
        raise _unrestorable(value, name)
    else:
        return replaced(value, name)
    return _wrap(
        "object", {key: inner(item, key) for key, item in content.items()}, name=f"{module}:{path}"
    )


def _unrestorable(value: Any, name: str) -> ValidationError:
    kind = type(value).__qualname__
    return ValidationError(f"{name} holds a value of type {kind}, which cannot be restored")


def _loaded(module: str, path: str) -> Any:
    """Return the class of a loaded module, None for an unknown class."""
    made: Any = sys.modules.get(module)
    for name in path.split("."):
        made = getattr(made, name, None)
    return made


def _decode_object(wrapped: Mapping[str, Any]) -> Any:
    """Rebuild a dataclass or pydantic object, or return the fields as a dict.

    Only loaded classes are found: reading a file never imports code.
    """
    content = decode(wrapped["value"])
    module, _, path = wrapped["name"].partition(":")
    made = _loaded(module, path)
    is_plain = is_dataclass(made)
    with suppress(Exception):
        if hasattr(made, "model_construct"):
            return made.model_construct(**content)
        if is_plain:
            return made(**content)
        if hasattr(made, "__fields__"):
            return made.construct(**content)
    return content
