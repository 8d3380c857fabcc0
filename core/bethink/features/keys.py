"""Records by key: ranges of keys, and writes that a look inside the transaction may refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..errors import ValidationError
from ..memory.engine import Transaction
from ..memory.memories import check_store
from ..memory.writing import find_live, retire, revise, unexpired, update
from ..model import fields as checks
from ..model import filters
from ..model.filters import All, Compare
from ..model.namespaces import Scope
from ..model.port import Page, Reader, Stored
from ..model.records import MemoryRecord, checked_fields

if TYPE_CHECKING:
    from ..store import MemoryStore

_NOT_TOGETHER: Final = frozenset(("content", "author", "value", "vectors", "id", "supersedes"))
"""Fields that are embedded or screened, or that no update changes."""


def key_range(
    reader: Reader, scope: Scope, low: str, high: str, now: float, *, last: int = 0
) -> list[Stored]:
    """Return the live records of *scope* with keys from *low* to before *high*, in order of keys.

    Records expired by *now* are left out; *last* returns so many of the last, the very last first.
    """
    span = All((Compare(("key",), "$gte", low), Compare(("key",), "$lt", high)))
    page = Page(int(last), descending=True, by="key") if last else Page(by="key")
    return reader.select(scope, filters.unexpired(span, now), page)


@dataclass(frozen=True, slots=True)
class Held:
    """The records of a store inside a write transaction, before the first change."""

    transaction: Transaction

    def by_key(self, namespace: str, key: str) -> MemoryRecord | None:
        """Return the live record with *key*; None without a match."""
        found = self.transaction.writer.by_key(namespace, key)
        return None if found is None else unexpired(found.record, self.transaction.now)

    def last_between(self, namespace: str, low: str, high: str) -> MemoryRecord | None:
        """Return the live record with the greatest key from *low* to before *high*, or None."""
        transaction = self.transaction
        found = key_range(transaction.writer, namespace, low, high, transaction.now, last=1)
        return found[0].record if found else None

    def are_live(self, ids: Sequence[str]) -> bool:
        """Return whether a live record has each of *ids*."""
        found = self.transaction.writer.find(ids)
        return all(id in found and found[id].record.state == "live" for id in ids)

    def is_erased(self, id: str) -> bool:
        """Return whether the record with *id* was erased."""
        found = self.transaction.writer.find_ever([id]).get(id)
        return found is not None and found.record.state == "erased"


class _Refused(Exception):
    """The condition of a write does not hold."""


def store_if(
    store: MemoryStore,
    condition: Callable[[Held], bool],
    items: Iterable[Mapping[str, Any]],
    *,
    namespace: str,
    thread: str | None = None,
    forget: Sequence[str] = (),
) -> list[MemoryRecord] | None:
    """Store all *items* if *condition* holds inside the transaction; return the records, or None.

    *items* are mappings of arguments of ``store``, for *namespace* and *thread*. The same
    transaction forgets the records with the ids in *forget*. *condition* must be quick and must not
    use the store. None says that *condition* does not hold, and that nothing changed.
    """
    shared = {"namespace": namespace, "thread": thread}

    def check(transaction: Transaction) -> None:
        if not condition(Held(transaction)):
            raise _Refused

    try:
        return check_store(store)._store_items(items, shared, forget, check=check)
    except _Refused:
        return None


def update_if(
    store: MemoryStore,
    condition: Callable[[MemoryRecord], bool],
    id: str,
    changes: Mapping[str, Any],
) -> MemoryRecord | None:
    """Change fields of the live record *id* if *condition* holds inside the transaction.

    Return the changed record, or None if the record does not satisfy *condition*. An *id* without a
    live record raises ``NotFoundError``.
    """

    def check(record: MemoryRecord) -> None:
        if not condition(record):
            raise _Refused

    engine = check_store(store)._engine
    try:
        return update(engine, checks.identifier("id", id), changes, check)
    except _Refused:
        return None


def forget_if(store: MemoryStore, condition: Callable[[MemoryRecord], bool], id: str) -> bool:
    """Forget the live record *id* if *condition* holds inside the transaction; return whether.

    An *id* without a live record raises ``NotFoundError``.
    """
    engine = check_store(store)._engine
    with engine.writing() as transaction:
        found = find_live(transaction, checks.identifier("id", id))
        fits = condition(found.record)
        retire(transaction, [found] if fits else [])
    return fits


def update_all(store: MemoryStore, changes: Mapping[str, Mapping[str, Any]]) -> list[MemoryRecord]:
    """Change fields of live records, ``{id: changes}``, in one transaction; return the records.

    An id without a live record is passed over. Text, author and value cannot be changed.
    """
    engine = check_store(store)._engine
    fields = {id: checked_fields(each) for id, each in changes.items()}
    for each in fields.values():
        if name := next(iter(_NOT_TOGETHER & each.keys()), None):
            raise ValidationError(f"many records cannot change the field {name!r} together")
    with engine.writing() as transaction:
        found = transaction.writer.find(list(fields))
        updated = [
            revise(transaction, row, record, fields[id], {})
            for id, (row, record) in found.items()
            if record.state == "live" and not record.expired(transaction.now)
        ]
    return engine.all_current(updated)


def keys_between(
    store: MemoryStore, scope: Scope, low: str, high: str, *, last: int = 0
) -> list[MemoryRecord]:
    """Return the live records of *scope* with keys from *low* to before *high*, in order of keys.

    *last* returns so many of the last, the very last first.
    """
    engine = check_store(store)._engine
    found = key_range(engine.backend, scope, low, high, engine.clock(), last=last)
    return engine.all_current([record for _, record in found])
