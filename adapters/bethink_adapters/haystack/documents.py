"""Documents as records, with the text and the meta of the documents."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bethink import MemoryRecord
from bethink.adapting import MAX_CONTENT

from ..shared.texts import present, storable, written

if TYPE_CHECKING:
    from haystack import Document

_DATE: Final = re.compile(r"\d{4}-")  # Haystack compares dates by their moments
_TOLD: Final = ("author", "thread", "category", "occurred_at")


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
        meta |= {name: told for name in _TOLD if (told := getattr(record, name)) is not None}
    data = {"content": record.content, **document}
    if isinstance(data["content"], str):
        data["content"] = present(data["content"], record.content)
    if "embedding" in data:
        data["embedding"] = np.frombuffer(b64decode(data["embedding"]), dtype="<f8").tolist()
    if score is not None:
        data["score"] = score
    return Document.from_dict({**data, "id": record.key or record.id, "meta": meta})


def narrowed(filters: object) -> dict[str, Any] | None:
    """Return a filter of the records of documents that can pass *filters*; None if unknown.

    Haystack's filters compare more loosely than bethink's: dates in any notation, 1 with True. So
    the filter only spares reading most documents that do not pass; Haystack's filter decides.
    """
    if not isinstance(filters, Mapping):
        return None
    operator, conditions = filters.get("operator"), filters.get("conditions")
    if operator in ("AND", "OR") and isinstance(conditions, list):
        parts = [narrowed(each) for each in conditions]
        known = [part for part in parts if part]
        if operator == "OR":
            return {"$or": parts} if parts and parts == known else None
        return {"$and": known} if known else None
    field, value = str(filters.get("field", "")), filters.get("value")
    name = field.removeprefix("meta.")
    if not field.startswith("meta.") or not name.isidentifier() or name in _TOLD:
        return None
    if operator == "in" and isinstance(value, list) and all(map(_is_plain, value)):
        return {f"metadata.{name}": {"$in": value}}
    if operator == "==" and _is_plain(value):
        return {f"metadata.{name}": value}
    return None


def _is_plain(value: object) -> bool:
    """Return whether *value* is a text, and equal to no other value for Haystack."""
    return isinstance(value, str) and value.isprintable() and not _DATE.match(value)


def unique(values: Sequence[Any]) -> list[Any]:
    """Return the different *values* without None, told apart by type, sorted as text."""
    distinct = {(str(value), type(value).__name__): value for value in values if value is not None}
    return [distinct[key] for key in sorted(distinct)]
