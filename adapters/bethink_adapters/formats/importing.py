"""The import of all formats: a reader yields findings, and the import stores the findings.

An imported item is known by the name in the source and not added again, even if changed, forgotten
or erased in the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from bethink import KeyedMemory, MemoryStore, NotFoundError, ValidationError
from bethink.adapting import (
    Progress,
    check_namespace,
    counted,
    identifier,
    integer,
    label,
    telling,
)
from bethink.adapting import checked_fields as checked

from .arrivals import DIFFERS, Arrivals, no_end
from .base import (
    DatedLink,
    Found,
    Incomplete,
    Item,
    Link,
    Memory,
    Moment,
    Report,
    Skipped,
    id_of,
    namespace_under,
)

_BATCH: Final = 256
_STAND_IN: Final = ""
_NOT_COMPARED: Final = frozenset(("id", "namespace", "importance", "vectors"))
"""Fields of place, fields changed by use, and fields that no record holds."""


def import_from(
    store: MemoryStore,
    reader: Iterable[Found],
    *,
    namespace: str | None = None,
    batch: int = _BATCH,
    progress: Progress = None,
) -> Report:
    """Store the items of *reader*, *batch* memories at a time, and report skipped findings.

    Records go to the namespace of the source, "default" without a namespace; with *namespace*, to
    *namespace*, or to the source's namespace below *namespace*. ``occurred_at`` keeps the time of
    the source. Items that the store refuses are skipped, never cut to fit. Items imported before
    into the same *namespace* are left alone, even if changed, forgotten or erased by now; so an
    import that broke off goes on. An item with the id of a memory, but with different fields, is
    skipped.

    Each ``Memory`` of remembrane or Memory Layer keeps times, counts, outcome and state, all in one
    transaction. An empty store gets the past of the source, too: the journal, and named moments.
    Imported again, a memory that the source has changed since changes here.

    *progress* is a function of the findings read and the total, which is None here, or True for a
    bar of ``tqdm``. An error of the function ends the import; earlier batches stay.
    """
    root = None if namespace is None else check_namespace(namespace)
    size = integer("batch", batch, 1)
    run = _Import(store, root)
    with telling(progress) as tell:
        found = counted(reader, tell, None)
        while some := list(islice(found, size)):
            run.take(some)
        return run.finish()


class _Import:
    def __init__(self, store: MemoryStore, root: str | None) -> None:
        self._store = store
        self._root = root
        self._links: list[Link] = []
        self._arrivals = Arrivals(store, root)
        self._skipped: list[Skipped] = []
        self._incomplete: list[Incomplete] = []
        self._refused: dict[str, list[str]] = {}  # with the ids of what each would supersede
        self._imported = 0
        self._known = 0

    def take(self, found: Iterable[Found]) -> None:
        """Store what is new among *found*."""
        fresh: dict[str, Item] = {}
        for each in found:
            if isinstance(each, Skipped):
                self._skipped.append(each)
            elif isinstance(each, Incomplete):
                self._incomplete.append(each)
            elif isinstance(each, Memory | Moment | DatedLink):
                self._arrivals.take(each)
            elif isinstance(each, Link):
                self._links.append(each)
            else:
                self._take(each, fresh)
                if len(each.replaces) > 1 or _holds_nothing(each):
                    self._flush(fresh)  # before something supersedes it in turn
        self._flush(fresh)

    def _flush(self, fresh: dict[str, Item]) -> None:
        if fresh:
            self._put(list(fresh.items()))
        fresh.clear()

    def _take(self, item: Item, fresh: dict[str, Item]) -> None:
        try:
            id = self._id(item)
            replaced = tuple(self._id(item, name) for name in item.replaces)
            if id not in fresh and not self._store.log(limit=1, id=id):
                fresh[id] = replace(item, replaces=replaced)
            elif self._differs(id, item, fresh.get(id)):
                self._skipped.append(Skipped(item.place, DIFFERS))
            else:
                self._known += 1
                if self._says_else(id, item, fresh.get(id)):
                    self._skipped.append(Skipped(item.place, DIFFERS))
        except ValidationError as error:
            self._skipped.append(Skipped(item.place, str(error)))

    def _differs(self, id: str, item: Item, other: Item | None) -> bool:
        """Return whether *item*, with an id of its own, or the memory with the id was edited."""
        if "id" not in item.fields:
            return False
        if other is not None:
            return item.fields != other.fields
        record = self._store.get(id)
        compared = (name for name in item.fields if name not in _NOT_COMPARED)
        told = checked({name: item.fields[name] for name in compared})
        return record is not None and any(getattr(record, name) != told[name] for name in told)

    def _says_else(self, id: str, item: Item, other: Item | None) -> bool:
        """Return whether a known *item* has another text by now, here or in the source."""
        text = item.fields.get("content", "")
        if other is not None:
            return bool(text != other.fields.get("content", ""))
        record = self._store.get(id)
        return record is not None and record.content != text

    def finish(self) -> Report:
        """Write what arrived with a past, and make the links, now that all items are stored."""
        arrived = self._arrivals.write()
        for link in self._links:
            self._relate(link)
        return Report(
            self._imported + arrived.imported,
            self._known + arrived.known,
            (*self._skipped, *arrived.skipped),
            arrived.changed,
            arrived.without_past,
            tuple(self._incomplete),
        )

    def _relate(self, link: Link) -> None:
        try:
            ends = id_of(link.source, self._root), id_of(link.target, self._root)
            self._store.relate(*ends, link.kind)
        except NotFoundError:
            self._skipped.append(Skipped(link.place, no_end(link)))
        except ValidationError as error:
            self._skipped.append(Skipped(link.place, str(error)))

    def _put(self, items: list[tuple[str, Item]]) -> None:
        """Store *items*, without refused items."""
        try:
            self._store.store_many([self._fields(id, item) for id, item in items])
        except (ValidationError, NotFoundError) as error:
            self._put_fewer(items, error)
            return
        self._imported += len(items)
        for id, item in items:
            self._supersede(id, item.replaces[1:])
            self._empty(item)
        if aside := [id for id, item in items if item.archived]:
            self._store.archive(aside)

    def _supersede(self, id: str, more: Iterable[str]) -> None:
        """Let a record supersede *more* records; ``store`` takes a single record."""
        if live := [old for old in self._live(more) if old != id]:
            self._store.resolve(id, live)

    def _live(self, replaced: Iterable[str]) -> list[str]:
        """Return the ids of the live records among *replaced*."""
        known = map(self._store.get, self._replaced(replaced))
        return [old.id for old in known if old is not None and old.state == "live"]

    def _replaced(self, ids: Iterable[str]) -> list[str]:
        """Return *ids*; in place of a refused id, the ids that the refused item supersedes."""
        return [old for id in ids for old in self._refused.get(id, [id])]

    def _empty(self, item: Item) -> None:
        """Let a key hold nothing, which ``store`` cannot be told, instead of the stand-in."""
        if _holds_nothing(item):
            keys = KeyedMemory(self._store, namespace=self._namespace(item))
            keys.compare_and_set(item.fields["key"], _STAND_IN, None)

    def _put_fewer(self, items: list[tuple[str, Item]], error: Exception) -> None:
        if len(items) > 1:
            middle = len(items) // 2
            self._put(items[:middle])
            self._put(items[middle:])
            return
        ((id, item),) = items
        if isinstance(error, NotFoundError):  # what it supersedes was refused, or is gone already
            self._put([(id, replace(item, replaces=tuple(self._live(item.replaces))))])
        else:
            self._refused[id] = self._replaced(item.replaces)
            self._skipped.append(Skipped(item.place, str(error)))

    def _fields(self, id: str, item: Item) -> dict[str, Any]:
        fields = {**item.fields, "id": id, "namespace": self._namespace(item)}
        if item.replaces:
            fields["supersedes"] = item.replaces[0]
        if _holds_nothing(item):
            fields["value"] = _STAND_IN
        return fields

    def _namespace(self, item: Item) -> Any:
        return namespace_under(self._root, item.fields.get("namespace"))

    def _id(self, item: Item, name: str | None = None) -> str:
        """Return the id of *item*, or of the item called *name* in the same source."""
        told = "id" if "id" in item.fields else "source"
        given = label(told, name or item.fields.get(told))
        made = told == "source" or self._root is not None
        return id_of(given, self._root) if made else identifier("id", given)


def _holds_nothing(item: Item) -> bool:
    content, key = item.fields.get("content"), item.fields.get("key")
    return content == "" and key is not None and item.fields.get("value", "") is None
