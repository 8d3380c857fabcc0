"""Checkpoints and writes of running graphs, stored unless the thread was deleted.

A graph saves in the background: a save may arrive after the deletion of the thread, and the writes
of a task before the checkpoint. The look at the thread and the write are one transaction.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bethink import MemoryRecord, MemoryStore, ValidationError
from bethink.adapting import Held, store_if

from .checkpoints import checkpoint_key, merged_writes, record_id, writes_key

_logger: Final = logging.getLogger(__name__)
_MOST: Final = 1024
"""The most early writes, dropped checkpoints and deleted threads that are kept in mind."""

Place: TypeAlias = tuple[str, str]
"""A namespace, and the id of a checkpoint in it."""


@dataclass(frozen=True, slots=True)
class Written:
    """What *task* has written after a checkpoint: numbers, each with a channel and a value."""

    task: str
    path: str
    writes: Sequence[tuple[int, list[Any]]]


class Arrivals:
    """Store checkpoints and writes as they arrive, from many threads."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._dropped = OrderedDict[Place, None]()
        self._early = OrderedDict[Place, list[Written]]()
        self._deletions = OrderedDict[str, float]()
        self._children = OrderedDict[Place, list[Place]]()

    def put(
        self,
        namespace: str,
        id: str,
        items: Sequence[dict[str, Any]],
        parents: Sequence[Place],
        made_at: float | None,
    ) -> None:
        """Store the checkpoint *id*, the last of *items*, with the values, the items before.

        Drop the checkpoint if one of the *parents* was deleted, or if the whole thread was deleted
        since a run made the checkpoint, at the Unix time *made_at* (None: not made by a run).
        """
        thread = namespace.rpartition("/")[0]

        def may_come(held: Held) -> bool:
            deleted_at = self._deletions.get(thread)
            if made_at is not None and deleted_at is not None and made_at < deleted_at:
                return False
            return not any(self._is_gone(held, parent) for parent in parents)

        *values, last = items
        named = [*values, {**last, "id": record_id(namespace, id)}]
        try:
            stored = store_if(self._store, may_come, named, namespace=namespace)
        except ValidationError:  # the id is taken: the checkpoint was put before
            stored = store_if(self._store, may_come, items, namespace=namespace)
        place = namespace, id
        if stored:
            self._dropped.pop(place, None)
            self._write_early(place)
            around = [parent for parent in parents if parent[0] != namespace]
            if around and thread in self._deletions:
                self._note_child(place, around)
        else:
            self._drop(place)

    def write(self, namespace: str, id: str, written: Written) -> None:
        """Store what was *written* after checkpoint *id*; a second time changes nothing.

        Writes after a deleted checkpoint are dropped. Early writes stay in memory until the
        checkpoint comes: without the checkpoint nobody could read the writes.
        """
        if not self._settle((namespace, id), written):
            with self._lock:
                self._early.setdefault((namespace, id), []).append(written)
                _cut(self._early)
            self._write_early((namespace, id))

    def note_deletion(self, thread: str) -> None:
        """Note that the *thread* is deleted from now on, and forget early writes to the thread."""
        with self._lock:
            self._deletions[thread] = time.time()
            self._deletions.move_to_end(thread)
            _cut(self._deletions)
            for namespace, id in list(self._early):
                if namespace.startswith(f"{thread}/"):
                    del self._early[namespace, id]

    def _write_early(self, place: Place) -> None:
        """Store the early writes of a checkpoint, if the checkpoint is there by now."""
        if place not in self._early:
            return
        with self._lock:  # or a checkpoint that comes meanwhile would not see them
            early = self._early.pop(place, [])
            if left := [each for each in early if not self._settle(place, each)]:
                self._early[place] = left

    def _settle(self, place: Place, written: Written) -> bool:
        """Store or drop what was *written*; return False if the checkpoint has yet to come."""
        namespace, id = place
        key = writes_key(id, written.task)
        known: MemoryRecord | None = None
        while True:
            merged = merged_writes(known.value if known else {}, written.path, written.writes)
            look = _Look(self, place, key, known)
            item = {"key": key, "value": merged}
            if store_if(self._store, look, [item], namespace=namespace):
                return True
            if look.is_gone:
                self._drop(place)
            if look.is_gone or not look.is_there:
                return look.is_gone
            known = look.found

    def _note_child(self, place: Place, parents: Sequence[Place]) -> None:
        """Note that *place* depends on *parents* of graphs around; a later drop drops *place*.

        A graph inside a node may save earlier than the graph around the node.
        """
        with self._lock:
            for parent in parents:
                self._children.setdefault(parent, []).append(place)
            _cut(self._children)
        if any(parent in self._dropped for parent in parents):
            self._drop(place)

    def _is_gone(self, held: Held, place: Place) -> bool:
        """Return whether the checkpoint was deleted, or dropped with a deleted parent."""
        erased = place in self._dropped or held.is_erased(record_id(*place))
        return erased and held.by_key(place[0], checkpoint_key(place[1])) is None

    def _drop(self, place: Place) -> None:
        """Note that *place* was dropped; erase earlier checkpoints of graphs inside."""
        with self._lock:
            if place not in self._dropped:
                _logger.warning("dropped what a run put into a deleted thread: %s", place[0])
            self._dropped[place] = None
            self._early.pop(place, None)
            children = self._children.pop(place, [])
            _cut(self._dropped)
        for namespace, id in children:
            self._drop((namespace, id))
            self._store.erase(namespace=namespace)


class _Look:
    """The condition of writes after a checkpoint, and what was found in the transaction."""

    def __init__(
        self, arrivals: Arrivals, place: Place, key: str, known: MemoryRecord | None
    ) -> None:
        self._arrivals, self._place, self._key, self._known = arrivals, place, key, known
        self.is_there = self.is_gone = False
        self.found: MemoryRecord | None = None

    def __call__(self, held: Held) -> bool:
        namespace, id = self._place
        self.is_there = held.by_key(namespace, checkpoint_key(id)) is not None
        self.is_gone = not self.is_there and self._arrivals._is_gone(held, self._place)
        self.found = held.by_key(namespace, self._key)
        return self.is_there and self.found == self._known


def _cut(places: OrderedDict[Any, Any]) -> None:
    """Leave the latest of *places*."""
    while len(places) > _MOST:
        places.popitem(last=False)
