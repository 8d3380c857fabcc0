"""How checkpoints lie in a store: records without text, never found by recall.

Each thread and graph has a namespace, ``<root>/<thread>/<checkpoint_ns>``, with

- ``checkpoint/<id>``: the checkpoint and its metadata, the small values of the channels, and the
  keys of large values,
- ``value/<channel>/<version>``: a large value, stored once for all checkpoints with the value,
- ``writes/<id>/<task>``: the writes of a task after the checkpoint.

The output of LangGraph's serializer stands in a record's JSON as base64, deflated where smaller.
"""

from __future__ import annotations

import base64
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from bethink import MemoryRecord, MemoryStore, segment, unsegment
from bethink.adapting import Scope, keys_between

from ..shared.texts import digest

CHECKPOINTS: Final = {"category": "checkpoint"}
"""The fields of a checkpoint's record, and the filter for checkpoints."""

_AFTER_SLASH: Final = chr(ord("/") + 1)
_INLINE: Final = 256  # characters
_DEFLATED: Final = "z:"
PAGE: Final = 16
"""So many checkpoints are read at a time."""


def place(root: str, thread: object, graph: str) -> str:
    """Return the namespace of the checkpoints of *graph* (a ``checkpoint_ns``) in a thread."""
    return f"{thread_place(root, thread)}/{segment(graph)}"


def thread_place(root: str, thread: object) -> str:
    """Return the namespace above all namespaces of a thread."""
    return f"{root}/{segment(str(thread))}"


def configured(thread: object, graph: str, id: str) -> dict[str, Any]:
    """Return the config of a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": graph, "checkpoint_id": id}}


def config_of(record: MemoryRecord) -> dict[str, Any]:
    """Return the config of the checkpoint in *record*."""
    *_, thread, graph = record.namespace.split("/")
    return configured(unsegment(thread), unsegment(graph), id_of(record))


def made_at(config: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> float | None:
    """Return the Unix time at which a run made *checkpoint*; None without a run."""
    if not any(name.startswith("__pregel_") for name in config["configurable"]):
        return None
    return datetime.fromisoformat(checkpoint["ts"]).timestamp()


def id_of(record: MemoryRecord) -> str:
    """Return the checkpoint's id of a *record* of a checkpoint or of writes."""
    return unsegment(str(record.key).split("/")[1])


def checkpoint_key(id: str) -> str:
    """Return the key of a checkpoint's record."""
    return f"checkpoint/{segment(id)}"


def value_key(channel: str, version: object) -> str:
    """Return the key of a channel's value."""
    return f"value/{segment(channel)}/{segment(str(version))}"


def writes_key(id: str, task: str) -> str:
    """Return the key of the writes of *task* after checkpoint *id*."""
    return f"writes/{segment(id)}/{segment(task)}"


def record_id(namespace: str, id: str) -> str:
    """Return the record's id of checkpoint *id*; the tombstone keeps the id after a deletion.

    The id is a hash: no text of the checkpoint stays.
    """
    told = f"{namespace}\0{id}"
    return f"checkpoint:{digest(told)}"


def writes_after(
    store: MemoryStore, namespace: str, ids: Iterable[str]
) -> dict[str, list[MemoryRecord]]:
    """Return the records of all writes after checkpoints *ids*, by id, from a single read."""
    written: dict[str, list[MemoryRecord]] = {id: [] for id in ids}
    named = [f"writes/{segment(id)}" for id in written]
    low, high = min(f"{each}/" for each in named), max(each + _AFTER_SLASH for each in named)
    for record in keys_between(store, namespace, low, high):
        if (id := id_of(record)) in written:
            written[id].append(record)
    return written


def newest(
    store: MemoryStore, scope: Scope, before: str | None = None, most: int = PAGE
) -> Iterator[list[MemoryRecord]]:
    """Yield the checkpoints in *scope*, the greatest id first, about *most* at a time.

    All ids are less than *before*. A copied thread has the ids of the original: checkpoints with
    one id come together.
    """
    below = checkpoint_key(before) if before else f"checkpoint{_AFTER_SLASH}"
    while found := keys_between(store, scope, "checkpoint/", below, last=most):
        below = str(found[-1].key)
        if not isinstance(scope, str):
            alike = store.all(namespace=scope, where={"key": below})
            found = [*(each for each in found if each.key != below), *alike]
        yield found


def with_writes(
    store: MemoryStore, records: Iterable[MemoryRecord]
) -> Iterator[tuple[MemoryRecord, list[MemoryRecord]]]:
    """Yield each checkpoint in *records* with the writes after; one read serves a namespace."""
    listed, ids = list(records), defaultdict[str, list[str]](list)
    for record in listed:
        ids[record.namespace].append(id_of(record))
    written = {name: writes_after(store, name, found) for name, found in ids.items()}
    return ((record, written[record.namespace][id_of(record)]) for record in listed)


def is_small(value: object) -> bool:
    """Return whether each checkpoint repeats a channel's value instead of a record apart."""
    if isinstance(value, str):
        return len(value) <= _INLINE
    return value is None or isinstance(value, bool | int | float)


def to_text(typed: tuple[str, bytes]) -> list[str]:
    """Return type and bytes from a serializer as JSON."""
    kind, data = typed
    deflated = zlib.compress(data, 1) if len(data) > _INLINE else data
    if len(deflated) < len(data):
        return [_DEFLATED + kind, base64.b64encode(deflated).decode()]
    return [kind, base64.b64encode(data).decode()]


def from_text(pair: Sequence[str]) -> tuple[str, bytes]:
    """Return the arguments of ``to_text``."""
    kind, data = pair[0], base64.b64decode(pair[1])
    if kind.startswith(_DEFLATED):
        return kind.removeprefix(_DEFLATED), zlib.decompress(data)
    return kind, data


def merged_writes(
    known: Mapping[str, Any], path: str, new: Iterable[tuple[int, list[Any]]]
) -> dict[str, Any]:
    """Return the writes of a task with the *new* writes, each a number with channel and value.

    Known writes stay, so that a task may be tried again. A negative number marks a state of the
    task (an error, an interrupt); of several states the last counts.
    """
    writes = dict(known.get("writes", {}))
    for number, write in new:
        if number < 0 or str(number) not in writes:
            writes[str(number)] = write
    return {"path": path, "writes": writes}


def in_order(records: Iterable[MemoryRecord]) -> Iterator[tuple[str, list[Any]]]:
    """Return pairs of task and write, as LangGraph applies them: by path, task and number."""
    found = [
        (record.value["path"], unsegment(str(record.key).split("/")[2]), int(number), write)
        for record in records
        for number, write in record.value["writes"].items()
    ]
    found.sort(key=lambda each: each[:3])
    return ((task, write) for _, task, _, write in found)
