"""The lifecycle of records: store, update, forget, restore.

All checks come first, then one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from .backends import EMBEDDED, Vector
from .engine import Engine, Transaction
from .errors import NotFoundError, ValidationError
from .fields import check_held, checked
from .filters import Filter
from .journal import told
from .namespaces import EVERYWHERE, Scope
from .records import MemoryRecord

UNCHANGED: Final = object()
"""What a change returns to leave everything as it is."""

INDEXED: Final = frozenset(("content", "author", "thread", "occurred_at", "namespace"))
_EMBEDDED_FIELDS: Final = frozenset(("content", "author"))
_Prepared = tuple[MemoryRecord, dict[str, Vector]]


def store_many(
    engine: Engine, items: Iterable[str | Mapping[str, Any]], shared: Mapping[str, Any]
) -> list[MemoryRecord]:
    """Store all *items* or none.

    Fields in *shared* hold for every item that does not say otherwise.
    """
    engine.check_open()
    common = checked(shared)
    now = engine.clock()
    prepared = [_prepared(engine, item, common, now) for item in _listed(items)]
    records = [record for record, _ in prepared]
    if len({record.id for record in records}) < len(records):
        raise ValidationError("two items have the same id")
    embedded = engine.embed(records)
    with engine.writing() as transaction:
        for (record, named), vector in zip(prepared, embedded, strict=True):
            _store(transaction, record, {**named, EMBEDDED: vector})
    engine.index.save()
    return records


def update(engine: Engine, id: str, changes: Mapping[str, Any]) -> MemoryRecord:
    """Change fields of a live record; its statistics stay."""
    engine.check_open()
    fields = checked(changes)
    named = fields.pop("vectors", {})
    while True:  # until no one else changes the text while it is being embedded
        known = _live(engine.backend.get([id]), id)
        after = _after(known, fields, known.updated_at)
        check_held(after.content, after.value)
        vectors = dict(named)
        if _EMBEDDED_FIELDS & _different(known, after):
            vectors[EMBEDDED] = engine.embed([after])[0]
        with engine.writing() as transaction:
            found = transaction.writer.find([id])
            before = _live({key: record for key, (_, record) in found.items()}, id)
            same = (before.content, before.author) == (known.content, known.author)
            if same:
                after = _update(transaction, found[id][0], before, fields, vectors)
        if same:
            return engine.current(after)


def modify(
    engine: Engine,
    namespace: str,
    key: str,
    change: Callable[[MemoryRecord | None], Any],
    *,
    anew: bool,
) -> MemoryRecord | None:
    """Give *key* the value that *change* makes of the live record that holds it, or of None.

    The record stays one record, with the value it has now; the journal has them all. *anew* makes
    its row the newest. A record with a text is superseded: the text would not fit the value.
    Return the record, None if *change* returned ``UNCHANGED``; what it raises undoes everything. It
    runs inside the write transaction, so it must be quick and must not use the store.
    """
    with engine.writing() as transaction:
        row, before = transaction.writer.holder(namespace, key) or (0, None)
        value = change(before)
        if value is UNCHANGED:
            return None
        if before is not None and not before.content:
            after = replace(before, value=value, updated_at=transaction.now)
            changes = {"value": value}
            if anew:
                transaction.move(row, before, after, {}, "update", changes)
            else:
                transaction.patch(row, after, "update", changes)
            return after
        id, now = engine.new_id(), transaction.now
        record = MemoryRecord(id, namespace, "", now, now, now, key=key, value=value)
        _store(transaction, record, {})
    return record


def forget(
    engine: Engine, ids: Iterable[str] | None, scope: Scope | None, where: Filter | None
) -> int:
    """Take the records that satisfy every given criterion out of the living; return how many."""
    if ids is None and scope is None and where is None:
        raise ValidationError("forget needs ids, a namespace or a filter")
    engine.settle(where)
    with engine.writing() as transaction:
        writer = transaction.writer
        wanted = None if ids is None else list(dict.fromkeys(ids))
        if wanted is not None:
            _require(wanted, writer.find(wanted))
        if wanted is None or scope is not None or where is not None:
            passing = writer.matching(EVERYWHERE if scope is None else scope, where)
            allowed = set(passing)
            wanted = passing if wanted is None else [id for id in wanted if id in allowed]
        found = writer.find(wanted)
        forgotten = [(row, record) for row, record in found.values() if record.state != "forgotten"]
        for row, record in forgotten:
            gone = replace(record, state="forgotten", updated_at=transaction.now)
            transaction.retire(row, gone, "forget", {"state": "forgotten"})
    return len(forgotten)


def restore(engine: Engine, ids: Iterable[str]) -> int:
    """Bring forgotten records back; return how many were forgotten."""
    wanted = list(dict.fromkeys(ids))
    with engine.writing() as transaction:
        found = transaction.writer.find(wanted)
        _require(wanted, found)
        restored = [(row, record) for row, record in found.values() if record.state == "forgotten"]
        for row, record in restored:
            _check_key_free(transaction, record)
            back = replace(record, state="live", superseded_by=None, updated_at=transaction.now)
            different = sorted(_different(record, back) - {"updated_at"})
            changes = {name: getattr(back, name) for name in different}
            transaction.move(row, record, back, {}, "restore", changes)
    return len(restored)


def _listed(items: object) -> list[str | Mapping[str, Any]]:
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        raise ValidationError("store_many needs a list of str or mappings")
    return list(items)


def _prepared(engine: Engine, item: object, common: Mapping[str, Any], now: float) -> _Prepared:
    """Return the record that *item* describes, and its named vectors."""
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, Mapping):
        raise ValidationError(f"an item must be a str or a mapping, not {type(item).__name__}")
    fields = {**common, **checked(item)}
    named = fields.pop("vectors", {})
    given = {name: value for name, value in fields.items() if value is not None}
    content, value = given.pop("content", ""), given.get("value")
    check_held(content, value)
    record = MemoryRecord(
        id=given.pop("id", None) or engine.new_id(),
        namespace=given.pop("namespace", "default"),
        content=content,
        created_at=now,
        updated_at=now,
        occurred_at=given.pop("occurred_at", now),
        **given,
    )
    return record, named


def _store(transaction: Transaction, record: MemoryRecord, vectors: Mapping[str, Vector]) -> None:
    if record.key is not None and (
        holder := transaction.writer.holder(record.namespace, record.key)
    ):
        row, old = holder
        gone = replace(old, state="superseded", superseded_by=record.id, updated_at=transaction.now)
        transaction.retire(
            row, gone, "supersede", {"state": "superseded", "superseded_by": record.id}
        )
    transaction.add(record, vectors, told(record))


def _update(
    transaction: Transaction,
    row: int,
    before: MemoryRecord,
    fields: Mapping[str, Any],
    vectors: Mapping[str, Vector],
) -> MemoryRecord:
    after = _after(before, fields, transaction.now)
    different = _different(before, after) - {"updated_at"}
    if different & {"key", "namespace"}:
        _check_key_free(transaction, after)
    changes = {name: getattr(after, name) for name in sorted(different)}
    if different & INDEXED or vectors:
        transaction.move(row, before, after, vectors, "update", changes)
    else:
        transaction.patch(row, after, "update", changes)
    return after


def _after(before: MemoryRecord, fields: Mapping[str, Any], now: float) -> MemoryRecord:
    changes = dict(fields)
    if changes.get("occurred_at", now) is None:
        changes["occurred_at"] = before.created_at
    return replace(before, **changes, updated_at=now)


def _different(before: MemoryRecord, after: MemoryRecord) -> set[str]:
    return {
        name for name in MemoryRecord.__slots__ if getattr(before, name) != getattr(after, name)
    }


def _check_key_free(transaction: Transaction, record: MemoryRecord) -> None:
    if record.key is not None:
        holder = transaction.writer.holder(record.namespace, record.key)
        if holder and holder[1].id != record.id:
            raise ValidationError(f"key {record.key!r} is held by record {holder[1].id!r}")


def _live(found: Mapping[str, MemoryRecord], id: str) -> MemoryRecord:
    if id not in found or found[id].state != "live":
        raise NotFoundError("live record", id)
    return found[id]


def _require(wanted: Sequence[str], found: Mapping[str, object]) -> None:
    for id in wanted:
        if id not in found:
            raise NotFoundError("record", id)
