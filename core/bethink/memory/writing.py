"""Writes: store, update, forget, bring back and erase, and the parts of other writes.

Each verb checks every argument first, then runs one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias

from ..errors import NotFoundError, ValidationError
from ..model.arrays import Vector
from ..model.fields import check_held, content
from ..model.filters import Filter, matches
from ..model.namespaces import EVERYWHERE, Scope, covers
from ..model.port import EMBEDDED, Place, Stored, Writer
from ..model.progress import Tell
from ..model.records import (
    LIVE,
    LOWEST_LIVE,
    TURN_KEY,
    MemoryRecord,
    State,
    checked_fields,
    different,
    new_record,
    non_empty_fields,
    with_fields,
)
from .engine import Engine, Transaction

OnSimilar: TypeAlias = Literal["keep", "merge", "raise"]
ON_SIMILAR: Final[tuple[OnSimilar, ...]] = ("keep", "merge", "raise")

_FROM: Final[Mapping[State, tuple[State, ...]]] = {
    "archived": LIVE,
    "forgotten": ("live", "superseded", "archived"),
}
_HELD: Final = frozenset(("content", "value"))
_EMBEDDED_FIELDS: Final = frozenset(("content", "author"))
_NewRecord = tuple[MemoryRecord, dict[str, Vector], str | None]


class DuplicateFinder(Protocol):
    """Finds live records that nearly repeat the new records of one write."""

    def begin(self, transaction: Transaction) -> None:
        """Add the records that were stored since the finder was made, without the write lock."""

    def merge(
        self, transaction: Transaction, record: MemoryRecord, vector: Vector, replaced: str | None
    ) -> MemoryRecord | None:
        """Merge a new *record* into a live near-duplicate; return the merged record.

        Return None if there is no near-duplicate. *replaced* is the id of the record that the new
        record supersedes, and is no near-duplicate. Raise ``SimilarMemoryError`` where
        near-duplicates are to be refused.
        """


FinderMaker: TypeAlias = Callable[[Sequence[MemoryRecord], Sequence[Vector]], DuplicateFinder]
"""Makes the finder for new records with vectors, before the write lock is taken."""


def store_many(
    engine: Engine,
    items: Iterable[str | Mapping[str, Any]],
    shared: Mapping[str, Any],
    gone: Sequence[str] = (),
    make_finder: FinderMaker | None = None,
    check: Callable[[Transaction], None] | None = None,
    tell: Tell | None = None,
) -> list[MemoryRecord]:
    """Store all *items* or none, and forget the records with the ids in *gone*.

    Fields in *shared* hold for every item that does not say otherwise. An item that the finder
    merges into a live record returns the live record. *check* looks at the transaction before the
    first change, and raises to refuse the write.
    """
    engine.check_open()
    common = checked_fields(shared)
    now = engine.clock()  # before the embedding; the journal's time is read inside the transaction
    listed = _listed(items)
    built = build_records(listed, common, now, engine.new_ids(len(listed)))
    if engine.source is not None or engine.screen is not None:
        built = [(engine.admit(record), named, old) for record, named, old in built]
    records = [record for record, *_ in built]
    if len({record.id for record in records}) < len(records):
        raise ValidationError("two items have the same id")
    vectors = engine.embed(records, tell)
    finder = make_finder and make_finder(records, vectors)
    places = {(each.namespace, each.key) for each in records if each.key is not None}
    with engine.writing(places) as transaction:
        if check is not None:
            check(transaction)
        if gone:
            retire(transaction, select_records(transaction.writer, gone))
        stored = _store_new(transaction, built, places, vectors, finder)
    engine.index.save()
    return engine.all_current(stored)


def _store_new(
    transaction: Transaction,
    built: Sequence[_NewRecord],
    places: Collection[Place],
    vectors: Iterable[Vector],
    finder: DuplicateFinder | None,
) -> list[MemoryRecord]:
    """Store records, of which each may supersede live records, or merge with a live record.

    Records in a row that do neither are stored together, with one statement a table. Return each
    record in its state after the last item.
    """
    stored: list[MemoryRecord] = []
    replaced: list[MemoryRecord] = []
    fresh: list[tuple[MemoryRecord, dict[str, Vector]]] = []
    keys = set[Place]()
    if finder is not None:
        finder.begin(transaction)
    # Holders that merging or superseding may change are asked for one by one.
    is_plain = finder is None and all(old is None for *_, old in built)
    holders = transaction.writer.by_keys(places) if is_plain else {}
    for (record, named, old), vector in zip(built, vectors, strict=True):
        place = None if record.key is None else (record.namespace, record.key)
        if fresh and (finder is not None or old is not None or place in keys):
            transaction.add_all(fresh)
            fresh = []
        merged = finder.merge(transaction, record, vector, old) if finder else None
        stored.append(merged or record)
        if old is not None:
            found = find_live(transaction, old, expired=True)
            replaced.append(supersede(transaction, *found, stored[-1].id))
        if merged is not None:
            continue
        if place is not None:
            known = is_plain and place not in keys
            keys.add(place)
            holder = holders.get(place) if known else transaction.writer.by_key(*place)
            if holder is not None:
                transaction.add_all(fresh)
                fresh = []
                replaced.append(supersede(transaction, *holder, record.id))
        fresh.append((record, {**named, EMBEDDED: vector}))
    transaction.add_all(fresh)
    latest = {each.id: each for each in (*stored, *replaced)}
    return [latest[each.id] for each in stored]


def update(
    engine: Engine,
    id: str,
    changes: Mapping[str, Any],
    check: Callable[[MemoryRecord], None] | None = None,
) -> MemoryRecord:
    """Change fields of a live record; accesses and outcome stay.

    *check* sees the record inside the transaction, and may refuse by an error.
    """
    engine.check_open()
    fields = checked_fields(changes)
    if "supersedes" in fields:
        raise ValidationError("an update cannot supersede another record; store can")
    named = fields.pop("vectors", {})
    while True:  # until no one else changes the text while it is being embedded
        _, known = engine.backend.find([id]).get(id, (0, None))
        known = _live(known, id)
        after = _after(known, fields, known.updated_at)
        if not _HELD.isdisjoint(fields):
            after = engine.admit(after)
            fields["content"] = after.content
        vectors = dict(named)
        if not _EMBEDDED_FIELDS.isdisjoint(different(known, after)):
            vectors[EMBEDDED] = engine.embed([after])[0]
        with engine.writing() as transaction:
            row, before = find_live(transaction, id, expired="expires_at" in fields)
            if check is not None:
                check(before)
            same = (before.content, before.author) == (known.content, known.author)
            if same:
                after = revise(transaction, row, before, fields, vectors)
        if same:
            return engine.current(after)


def forget(
    engine: Engine, ids: Iterable[str] | None, scope: Scope | None, where: Filter | None
) -> int:
    """Forget the live records that satisfy every given criterion; return the number."""
    with engine.writing() as transaction:
        return retire(transaction, select_records(transaction.writer, ids, scope, where))


def select_records(
    writer: Writer,
    ids: Iterable[str] | None,
    scope: Scope | None = None,
    where: Filter | None = None,
    states: Collection[State] = LIVE,
) -> list[Stored]:
    """Return the records that satisfy every given criterion, with rows; no text without *ids*.

    *ids* select records in any state, and must all exist; scope and filter select by *states*.
    """
    everywhere = EVERYWHERE if scope is None else scope
    if ids is None:
        return writer.outlines(everywhere, where, states)
    wanted = list(dict.fromkeys(ids))
    found = writer.find(wanted)
    if unknown := [id for id in wanted if id not in found]:
        raise NotFoundError("record", unknown[0])
    if scope is None and where is None:
        return list(found.values())
    named = (found[id] for id in wanted)
    inside = (pair for pair in named if covers(everywhere, pair[1].namespace))
    return [pair for pair in inside if pair[1].state in states and matches(where, pair[1])]


def retire(
    transaction: Transaction,
    found: Iterable[Stored],
    action: str = "forget",
    state: State = "forgotten",
) -> int:
    """Move the records of *found* that may go there into *state*, journaled as *action*.

    Return the number of records that had not expired before.
    """
    going = [pair for pair in found if pair[1].state in _FROM[state]]
    transaction.retire(going, state, action)
    return sum(not record.expired(transaction.now) for _, record in going)


def bring_back(engine: Engine, ids: Iterable[str], state: State, action: str) -> int:
    """Bring the records in *state* back; return the number."""
    with engine.writing() as transaction:
        found = select_records(transaction.writer, ids)
        returning = {pair[1].id: pair for pair in found if pair[1].state == state}
        for row, record in returning.values():
            back = _brought_back(transaction, record, returning)
            transaction.change(row, record, back, {}, action, _changes(record, back))
    return len(returning)


def _brought_back(
    transaction: Transaction, record: MemoryRecord, returning: Container[str]
) -> MemoryRecord:
    """Return *record* live again, or superseded if the successor exists or is *returning*, too.

    A live record loses an expiry in the past, which would hide the record at once.
    """
    back = with_fields(record, updated_at=transaction.now)
    successor = successor_of(transaction, record)
    standing = successor is not None and successor.state not in ("forgotten", "erased")
    if standing or record.superseded_by in returning:
        return with_fields(back, state="superseded")
    check_key_free(transaction, record)
    expiry = None if record.expired(transaction.now) else record.expires_at
    outcome = max(record.outcome, LOWEST_LIVE)
    return with_fields(back, state="live", superseded_by=None, expires_at=expiry, outcome=outcome)


def successor_of(transaction: Transaction, record: MemoryRecord) -> MemoryRecord | None:
    """Return the record that superseded *record*, if any."""
    by = record.superseded_by or ""
    return transaction.writer.find([by]).get(by, (0, None))[1]


def _listed(items: object) -> list[str | Mapping[str, Any]]:
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        kind = type(items).__name__
        raise ValidationError(f"store_many needs a list of str or mappings, not {kind}")
    return list(items)


def build_records(
    items: Collection[str | Mapping[str, Any]],
    common: Mapping[str, Any],
    now: float,
    new_id: Callable[[], str],
) -> list[_NewRecord]:
    """Return ``build_record`` of each item; among several items, errors name the item's number."""
    built = []
    for number, item in enumerate(items):
        try:
            built.append(build_record(item, common, now, new_id))
        except ValidationError as error:
            if len(items) == 1:
                raise
            numbered = ValidationError(f"item {number}: {error}")
            numbered.item = number
            raise numbered from None
    return built


def build_record(
    item: object, common: Mapping[str, Any], now: float, new_id: Callable[[], str]
) -> _NewRecord:
    """Return the record of *item*, the named vectors, and the id of the superseded record.

    Fields in *common* are checked already.
    """
    if isinstance(item, str):
        fields = {"namespace": "default", **common, "content": content("content", item)}
    elif isinstance(item, Mapping):
        fields = {"content": "", "namespace": "default", **common, **checked_fields(item)}
    else:
        raise ValidationError(f"an item must be a str or a mapping, not {type(item).__name__}")
    named, old = fields.pop("vectors", {}), fields.pop("supersedes", None)
    check_held(fields["content"], fields.get("value"))
    fields["id"] = fields.get("id") or new_id()
    fields["created_at"] = fields["updated_at"] = now
    if fields.get("occurred_at") is None:
        fields["occurred_at"] = now
    return new_record(**fields), named, old


def add(
    transaction: Transaction, record: MemoryRecord, vectors: Mapping[str, Vector]
) -> list[MemoryRecord]:
    """Add a new record; supersede and return the live records with the same key."""
    holder = record.key and transaction.writer.by_key(record.namespace, record.key)
    replaced = [supersede(transaction, *holder, record.id)] if holder else []
    transaction.add(record, vectors, non_empty_fields(record))
    return replaced


def supersede(
    transaction: Transaction,
    row: int,
    old: MemoryRecord,
    by: str,
    action: str = "supersede",
    details: Mapping[str, Any] = MappingProxyType({}),
) -> MemoryRecord:
    """Supersede the live record *old* by the record *by*; return the superseded record.

    *details* are more changes for the journal.
    """
    gone = with_fields(old, state="superseded", superseded_by=by, updated_at=transaction.now)
    changes = {"state": "superseded", "superseded_by": by, **details}
    transaction.change(row, old, gone, {}, action, changes)
    return gone


def revise(
    transaction: Transaction,
    row: int,
    before: MemoryRecord,
    fields: Mapping[str, Any],
    vectors: Mapping[str, Vector],
) -> MemoryRecord:
    """Change *fields* of the record *before*; return the changed record."""
    after = _after(before, fields, transaction.now)
    changes = _changes(before, after)
    if not _HELD.isdisjoint(fields):
        check_held(after.content, after.value)
    if not {"key", "namespace"}.isdisjoint(changes):
        check_key_free(transaction, after)
    transaction.change(row, before, after, vectors, "update", changes)
    return after


def _after(before: MemoryRecord, fields: Mapping[str, Any], now: float) -> MemoryRecord:
    changes = dict(fields)
    if changes.get("occurred_at", now) is None:
        changes["occurred_at"] = before.created_at
    return with_fields(before, **changes, updated_at=now)


def _changes(before: MemoryRecord, after: MemoryRecord) -> dict[str, Any]:
    """Return the changes for the journal: the fields that differ, with the new values."""
    names = sorted(name for name in different(before, after) if name != "updated_at")
    return {name: getattr(after, name) for name in names}


def unexpired(record: MemoryRecord | None, now: float) -> MemoryRecord | None:
    """Return *record*, or None if expired by *now*."""
    return None if record is None or record.expired(now) else record


def check_key_free(transaction: Transaction, record: MemoryRecord) -> None:
    """Refuse *record* if a different live record has the key; an expired holder is forgotten."""
    if record.key is not None:
        held = transaction.writer.by_key(record.namespace, record.key)
        if held is None or held.record.id == record.id:
            return
        if not held.record.expired(transaction.now):
            raise ValidationError(f"key {record.key!r} is held by record {held.record.id!r}")
        retire(transaction, [held], "expire")


def find_live(transaction: Transaction, id: str, *, expired: bool = False) -> Stored:
    """Return the row and the live record with *id*; raise ``NotFoundError`` without a match.

    Only with *expired* is an expired record a match.
    """
    row, record = transaction.writer.find([id]).get(id, (0, None))
    return Stored(row, _live(record if expired else unexpired(record, transaction.now), id))


def _live(record: MemoryRecord | None, id: str) -> MemoryRecord:
    if record is None or record.state != "live":
        raise NotFoundError("live record", id)
    return record


_STATES: Final[tuple[State, ...]] = ("live", "superseded", "archived", "forgotten")


def erase(
    engine: Engine, ids: Iterable[str] | None, scope: Scope | None, where: Filter | None
) -> int:
    """Erase the records, in any state, that satisfy every given criterion; return the number.

    One transaction erases all records, and no verb finds them afterwards. Then the storage is
    cleaned of the bytes. A tombstone keeps id, namespace and times, and the key of a turn, so that
    the turn is not taken in again. The journal keeps the entries without their changes, so that the
    hash chain still verifies.
    """
    with engine.writing(guarded=False) as transaction:
        found = select_records(transaction.writer, ids, scope, where, _STATES)
        erased = [pair for pair in found if pair[1].state != "erased"]
        for row, record in erased:
            tombstone = _tombstone(record, transaction.now)
            transaction.erase(row, record, tombstone, non_empty_fields(tombstone))
    engine.index.rebuild(transaction.erased)
    engine.backend.scrub()
    return len(erased)


def _tombstone(record: MemoryRecord, now: float) -> MemoryRecord:
    return MemoryRecord(
        id=record.id,
        namespace=record.namespace,
        content="",
        created_at=record.created_at,
        occurred_at=record.created_at,
        updated_at=now,
        key=record.key if record.key and TURN_KEY.fullmatch(record.key) else None,
        state="erased",
    )
