"""Items as records, and back.

An item is a record with the item's key and `value`; words are looked up in `content`. Putting an
item again supersedes the record, so the store's log and `audit` have every earlier value. The time
of the first put and the lifetime stand in the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from bethink import MemoryRecord, ValidationError
from bethink.adapting import MAX_CONTENT, number

from ..shared.texts import written
from .places import Places, from_key, to_key

if TYPE_CHECKING:
    from langgraph.store.base import Item, PutOp, SearchItem

MINUTE = 60.0


@cache
def kinds() -> Any:
    """Return the module of LangGraph's operations and items, imported at the first use."""
    from langgraph.store import base

    return base


def value_of(op: PutOp) -> dict[str, Any]:
    """Return a copy of the value in *op*, with ISO texts for times and texts for UUIDs.

    Any other value beyond JSON raises ``ValidationError``.
    """
    if not isinstance(op.value, Mapping):
        raise ValidationError(f"value must be a mapping, not {type(op.value).__name__}")
    copied: dict[str, Any] = written("value", op.value)
    return copied


def lifetime(op: PutOp) -> float | None:
    """Return the lifetime in seconds of the item in *op*; None is for ever."""
    ttl = getattr(op, "ttl", None)
    return None if ttl is None else number("ttl", ttl, 0.0, 1e9) * MINUTE


def paths_of(op: PutOp, fields: Sequence[str]) -> Sequence[str]:
    """Return the paths into the value of *op* to searchable texts."""
    if op.index is None or op.index is False:
        return fields if op.index is None else ()
    if isinstance(op.index, str) or not all(isinstance(path, str) for path in op.index):
        raise ValidationError("index must be None, False or a list of paths")
    return op.index


def texts_at(value: Mapping[str, Any], paths: Sequence[str]) -> list[str]:
    """Return the texts at *paths*, as LangGraph reads them, each once."""
    from langgraph.store.base import get_text_at_path

    found = [text for path in paths for text in get_text_at_path(value, path)]
    return list(dict.fromkeys(text for text in found if text))


def content_of(value: Mapping[str, Any], paths: Sequence[str]) -> str:
    """Return the text at *paths* to look words up in; the text of the whole value has all leaves.

    Text beyond the longest content is not searched.
    """
    parts = ["\n".join(_told("", value))] if "$" in paths else texts_at(value, paths)
    text = "\n".join(parts)[:MAX_CONTENT]
    return text.encode("utf-8", "replace").decode("utf-8")


def _told(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _told(key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _told(name, inner)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"{name}: {text}"


def to_fields(
    op: PutOp, places: Places, fields: Sequence[str], before: MemoryRecord | None, now: float
) -> dict[str, Any]:
    """Return the arguments of ``MemoryStore.store`` for *op*; *before* is the record to replace."""
    value, seconds = value_of(op), lifetime(op)
    metadata: dict[str, Any] = {}
    if before is not None:
        metadata["created_at"] = first_put(before)
    if seconds is not None:
        metadata["lifetime"] = seconds
    return {
        "content": content_of(value, paths_of(op, fields)),
        "value": value,
        "namespace": places.of(op.namespace),
        "key": to_key(op.key),
        "metadata": metadata,
        "expires_at": None if seconds is None else now + seconds,
    }


def first_put(record: MemoryRecord) -> float:
    """Return the time of the item's first put."""
    noted = record.metadata.get("created_at")
    return float(noted) if isinstance(noted, int | float) else record.created_at


def renewed(record: MemoryRecord, now: float) -> float | None:
    """Return the new expiry of *record* after a read now; None if nothing needs to be written.

    A read writes nothing for less than a hundredth of the lifetime.
    """
    seconds = record.metadata.get("lifetime")
    if record.expires_at is None or not isinstance(seconds, int | float):
        return None
    until = now + seconds
    return until if until - record.expires_at > seconds / 100 else None


def to_item(record: MemoryRecord, places: Places) -> Item:
    """Return *record* as an item."""
    item: Item = kinds().Item(**_common(record, places))
    return item


def to_search_item(record: MemoryRecord, score: float | None, places: Places) -> SearchItem:
    """Return *record* as a found item."""
    item: SearchItem = kinds().SearchItem(**_common(record, places), score=score)
    return item


def _common(record: MemoryRecord, places: Places) -> dict[str, Any]:
    return {
        "value": record.value if isinstance(record.value, dict) else {"content": record.content},
        "key": record.id if record.key is None else from_key(record.key),
        "namespace": places.labels(record.namespace),
        "created_at": datetime.fromtimestamp(first_put(record), UTC),
        "updated_at": datetime.fromtimestamp(record.created_at, UTC),
    }
