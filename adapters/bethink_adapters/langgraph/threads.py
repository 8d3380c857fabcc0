"""Whole threads of checkpoints: followed back, copied, pruned, deleted.

Deleting erases. Superseded and forgotten records would keep a thread's state in the file for ever,
twice with the journal, and nobody looks for the history of deleted threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bethink import MemoryRecord, MemoryStore, Subtree, ValidationError, segment, unsegment

from .checkpoints import (
    CHECKPOINTS,
    checkpoint_key,
    id_of,
    in_order,
    record_id,
    thread_place,
    writes_after,
)


def copy(store: MemoryStore, root: str, source: object, target: object) -> None:
    """Copy all records of a thread to a second thread, in one transaction."""
    old, new = thread_place(root, source), thread_place(root, target)
    items = [
        {
            "namespace": new + record.namespace.removeprefix(old),
            "key": record.key,
            "value": record.value,
            "category": record.category,
            "source": record.source,
        }
        for record in store.all(namespace=Subtree(old))
    ]
    try:
        store.store_many(list(map(_with_id, items)))
    except ValidationError:  # ids are taken: the target had, or has, such checkpoints
        store.store_many(items)


def _with_id(item: dict[str, Any]) -> dict[str, Any]:
    """Return a copied *item*; give a checkpoint the id for the tombstone."""
    if item["category"] != CHECKPOINTS["category"]:
        return item
    id = unsegment(str(item["key"]).split("/")[1])
    return {**item, "id": record_id(item["namespace"], id)}


def prune(store: MemoryStore, root: str, threads: Iterable[object], strategy: str) -> None:
    """Erase the threads, or ("keep_latest") all but the latest checkpoint of each graph."""
    if strategy not in ("keep_latest", "delete"):
        raise ValidationError(f"strategy must be 'keep_latest' or 'delete', not {strategy!r}")
    places = [thread_place(root, thread) for thread in threads]
    if not places:
        return
    whole = [Subtree(place) for place in places]
    if strategy == "delete":
        store.erase(namespace=whole)
        return
    found = store.namespaces(whole)
    _erase_keys(store, root, {namespace: _outdated(store, namespace) for namespace in found})


def delete_for_runs(store: MemoryStore, root: str, run_ids: Iterable[str]) -> None:
    """Erase the checkpoints of the runs, with writes and values of no other checkpoint."""
    runs = {segment(str(run)) for run in run_ids}
    made = store.all(
        namespace=Subtree(root), where={**CHECKPOINTS, "source": {"$in": sorted(runs)}}
    )
    doomed: dict[str, Sequence[str]] = {}
    for namespace in {record.namespace for record in made}:
        records = store.all(namespace=namespace)
        kept = [each for each in _checkpoints(records).values() if each.source not in runs]
        doomed[namespace] = _superfluous(records, kept)
    _erase_keys(store, root, doomed)


def written(
    store: MemoryStore,
    record: MemoryRecord | None,
    channels: Iterable[str],
    load: Callable[[Sequence[str]], Any],
) -> dict[str, Any]:
    """Return, for each of *channels*, the value at the last ancestor of *record* with a value.

    The value stands under "seed", the writes since then under "writes", oldest first.
    """
    told: dict[str, Any] = {channel: {"writes": []} for channel in channels}
    open_ = set(told)
    while open_ and record is not None and (parent := record.value["parent"]) is not None:
        namespace = record.namespace
        record = store.get(namespace=namespace, key=checkpoint_key(parent))
        if record is None:
            break
        after = in_order(writes_after(store, namespace, [parent])[parent])
        for task, (channel, value) in reversed(list(after)):
            if channel in open_:
                told[channel]["writes"].insert(0, (task, channel, load(value)))
        for channel in open_ & record.value["values"].keys():
            told[channel]["seed"] = _value(store, record, channel, load)
            open_.remove(channel)
    return told


def _value(
    store: MemoryStore, record: MemoryRecord, channel: str, load: Callable[[Sequence[str]], Any]
) -> Any:
    key = record.value["values"][channel]
    if key is None:
        return load(record.value["checkpoint"])["channel_values"][channel]
    held = store.get(namespace=record.namespace, key=key)
    return None if held is None else load(held.value)


def _outdated(store: MemoryStore, namespace: str) -> Sequence[str]:
    records = store.all(namespace=namespace)
    known = _checkpoints(records)
    return _superfluous(records, _lineage(known[max(known)], known) if known else [])


def _checkpoints(records: Iterable[MemoryRecord]) -> dict[str, MemoryRecord]:
    kind = CHECKPOINTS["category"]
    return {id_of(record): record for record in records if record.category == kind}


def _lineage(latest: MemoryRecord, known: Mapping[str, MemoryRecord]) -> list[MemoryRecord]:
    """Return *latest* and the ancestors needed for the state of *latest*.

    A delta channel needs all writes since the last checkpoint with the channel's value.
    """
    kept, untold = [latest], set(latest.value["deltas"]) - latest.value["values"].keys()
    while untold and (parent := known.get(kept[-1].value["parent"])) is not None:
        kept.append(parent)
        untold -= parent.value["values"].keys()
    return kept


def _superfluous(records: Sequence[MemoryRecord], kept: Iterable[MemoryRecord]) -> list[str]:
    """Return the keys of *records*, all of a namespace, not needed by the *kept*."""
    checkpoints = list(kept)
    ids = {id_of(record) for record in checkpoints}
    values = {key for record in checkpoints for key in record.value["values"].values()}
    return [
        str(record.key)
        for record in records
        if record.key not in values
        and (str(record.key).startswith("value/") or id_of(record) not in ids)
    ]


def _erase_keys(store: MemoryStore, root: str, doomed: Mapping[str, Sequence[str]]) -> None:
    parts = [{"namespace": name, "key": {"$in": keys}} for name, keys in doomed.items() if keys]
    if parts:
        store.erase(namespace=Subtree(root), where={"$or": parts})
