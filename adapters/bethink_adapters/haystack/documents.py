"""Documents as records, with the text and the meta of the documents."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bethink import MemoryRecord
from bethink.adapting import MAX_CONTENT

from ..shared.texts import present, storable, written

if TYPE_CHECKING:
    from haystack import Document

_DATE: Final = re.compile(r"\d{4}-")  # Haystack compares dates by their moments
TOLD: Final = ("author", "thread", "category", "occurred_at")
_ORDERINGS: Final = {">": ("$gt", gt), ">=": ("$gte", ge), "<": ("$lt", lt), "<=": ("$lte", le)}
_MOST: Final = 2**53  # beyond, whole numbers and floats differ

Where = dict[str, Any]
Judge = Callable[[Mapping[str, Any], str, Sequence[Where]], list[Any] | None]


def to_item(document: Document, vector_name: str) -> dict[str, Any]:
    """Return *document* as arguments of ``MemoryStore.store``.

    The value of the record keeps all further fields, embeddings to the last bit.
    """
    data = document.to_dict(flatten=False)
    text, embedding = data.pop("content"), data.pop("embedding")
    item = {"key": data.pop("id"), "metadata": written("meta", data.pop("meta"))}
    content = storable(text or "", MAX_CONTENT)
    content = content if content.strip() else ""
    rest = {name: value for name, value in data.items() if value is not None}
    if text != content:
        rest["content"] = text
    if embedding is not None:
        numbers = np.asarray(embedding, dtype="<f8").tobytes()
        rest["embedding"] = b64encode(numbers).decode("ascii")
    if embedding:
        item["vectors"] = {vector_name: embedding}
    return item | {"content": content, "value": {"document": rest}}


def to_document(record: MemoryRecord, score: float | None = None) -> Document:
    """Return the document of a record by ``to_item``, or a memory as a document."""
    from haystack import Document

    document = record.value.get("document") if isinstance(record.value, Mapping) else None
    meta = dict(record.metadata)
    if not isinstance(document, Mapping):
        document = {}
        meta |= {name: told for name in TOLD if (told := getattr(record, name)) is not None}
    data = {"content": record.content, **document}
    if isinstance(data["content"], str):
        data["content"] = present(data["content"], record.content)
    if "embedding" in data:
        data["embedding"] = np.frombuffer(b64decode(data["embedding"]), dtype="<f8").tolist()
    if score is not None:
        data["score"] = score
    return Document.from_dict({**data, "id": record.key or record.id, "meta": meta})


def narrowed(
    filters: object, judge: Judge | None = None, within: Sequence[Where] = ()
) -> tuple[Where | None, bool]:
    """Return a filter of the records of documents that can pass *filters*, None if unknown.

    The second value tells whether the filter decides alone; otherwise Haystack's filter decides.
    Haystack compares more loosely than bethink: dates in any notation, 1 with True. So *judge* is
    asked which values of a meta field pass a comparison, of the documents *within* some filters.
    A comparison by a number leaves out texts, where Haystack raises an error.
    """
    if not isinstance(filters, Mapping):
        return None, False
    operator, conditions = filters.get("operator"), filters.get("conditions")
    if operator in ("AND", "OR", "NOT") and isinstance(conditions, list) and conditions:
        return _joined(operator, conditions, judge, within)
    field, value = str(filters.get("field", "")), filters.get("value")
    name = field.removeprefix("meta.")
    if not field.startswith("meta.") or not name.isidentifier() or name in TOLD:
        return None, False
    where = _compared(f"metadata.{name}", operator, value)
    if where is None and judge and (values := judge(filters, name, within)) is not None:
        where = _among(f"metadata.{name}", values)
    return where, where is not None


def _joined(
    operator: str, conditions: list[Any], judge: Judge | None, within: Sequence[Where]
) -> tuple[Where | None, bool]:
    """Return the filter of *conditions* joined by *operator*, and whether the filter decides."""
    if operator == "AND" and judge:
        within = [*within, *(where for each in conditions if (where := narrowed(each)[0]))]
    parts = [narrowed(each, judge, within) for each in conditions]
    known = [where for where, _ in parts if where]
    decides = all(whole for _, whole in parts)
    if operator == "AND":
        return ({"$and": known} if known else None), decides
    if len(known) < len(parts) or (operator == "NOT" and not decides):
        return None, False
    return ({"$or": known} if operator == "OR" else {"$not": {"$and": known}}), decides


def _compared(path: str, sign: object, value: Any) -> Where | None:
    """Return the filter of the field at *path*, None where Haystack may compare otherwise."""
    if isinstance(sign, str) and sign in _ORDERINGS:
        if not _is_number(value) or isinstance(value, bool):
            return None
        name, holds = _ORDERINGS[sign]
        twins = [truth for truth in (False, True) if holds(truth, value)]
        return {"$or": [{path: {name: value}}, {path: {"$in": twins}}]}
    values = value if sign in ("in", "not in") else [value]
    if not isinstance(values, list) or not all(_is_number(it) or _is_plain(it) for it in values):
        return None
    equal = [twin for twin in (0, 1, False, True) if twin in values]
    among = _among(path, [*values, *equal])
    if sign in ("==", "in"):
        return among
    return {"$not": among} if sign in ("!=", "not in") else None


def _among(path: str, values: Sequence[Any]) -> Where:
    """Return the filter of the records with one of *values* at *path*; None is a missing value."""
    some: Where = {path: {"$in": [each for each in values if each is not None]}}
    return {"$or": [some, {path: {"$exists": False}}]} if None in values else some


def _is_plain(value: object) -> bool:
    """Return whether *value* is a text, and equal to no other value for Haystack."""
    return isinstance(value, str) and value.isprintable() and not _DATE.match(value)


def _is_number(value: object) -> bool:
    """Return whether *value* is a truth value or a number that a record can hold."""
    return isinstance(value, int | float) and abs(value) < _MOST


def unique(values: Sequence[Any]) -> list[Any]:
    """Return the different *values* without None, told apart by type, sorted as text."""
    distinct = {(str(value), type(value).__name__): value for value in values if value is not None}
    return [distinct[key] for key in sorted(distinct)]
