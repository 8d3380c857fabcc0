"""Two stores on one file beside a model of them: the same is done to both, and compared."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from bethink import (
    EVERYWHERE,
    BethinkError,
    Change,
    Conflict,
    HashEmbedder,
    KeyedMemory,
    MemoryRecord,
    MemoryStore,
    Past,
    SimilarMemoryError,
    Subtree,
)
from bethink.model.namespaces import Scope
from bethink.model.port import Moment

from .reference_entries import Records, counted, differing, hidden, shown
from .reference_undo import WholeModel
from .storage.replay import table, unverified
from .twin import Asked, Twin, assert_same

START = 1.7e9
SPACES = ("a", "a/b", "c")
SCOPES: tuple[Scope, ...] = ("a", "a/b", Subtree("a"), EVERYWHERE)
FIRST = "first"
ASKED = (
    Asked("red cat in Paris", k=8, namespace=EVERYWHERE, now=None),
    Asked("the dog sleeps", k=3, namespace="a", mode="keyword", now=None),
    Asked("tree house", k=8, namespace=Subtree("a"), mode="semantic", now=None),
    Asked("blue", k=8, namespace=EVERYWHERE, where={"importance": {"$gt": 0.4}}, now=None),
    Asked(None, k=8, namespace=EVERYWHERE, vector=("mine", (1.0, 0.5)), now=None),
)


class Pair:
    """A file that two stores have open, and the model of what is in it."""

    def __init__(self, path: Path | str) -> None:
        self.path, self.now, self.ids, self.numbers = path, START, [FIRST], count(1)
        self.next = self.fresh()
        self.contradictions: dict[int, list[tuple[str, str, str, float]]] = {}
        self.model = WholeModel(lambda: self.now, lambda: self.next)
        self.stores = [self.opened(), self.opened()]
        vectors = {"mine": [1.0, 2.0], "other": [1.0, 2.0, 3.0]}
        self.store(0, [{"id": FIRST, "content": "", "value": 0, "vectors": vectors}])

    def opened(self) -> MemoryStore:
        return MemoryStore(
            self.path,
            embedder=HashEmbedder(16),
            clock=lambda: self.now,
            new_id=lambda: self.next,
            durability="normal",
            max_resident=25_000,
        )

    def fresh(self) -> str:
        """Return an id that sorts anywhere."""
        return f"{next(self.numbers) * 7919 % 10_007:05d}"

    def id(self, pick: int) -> str:
        """Return one of the ids that were given last; the first keeps the vectors' names alive."""
        return ([None, *self.ids[1:]][-1 - pick % len(self.ids)]) or "unknown"

    def do(self, side: int, ask: Callable[[Any], Any]) -> Any:
        """Ask a store and the model; return what both answer, None if both refuse alike."""
        self.model.side = side
        expected, found = told(ask, self.model), told(ask, self.stores[side])
        assert found == expected, (found, expected)
        return None if isinstance(found, type) else found

    def store(self, side: int, items: Sequence[Mapping[str, Any]]) -> None:
        given = [{"id": self.fresh(), **item} for item in items]
        stored = self.do(side, lambda it: it.store_many(given))
        self.ids += [record.id for record in stored or ()]

    def store_once(self, side: int, item: Mapping[str, Any], on_similar: Any) -> None:
        """Store *item* unless a record nearly says so; which one does, the store decides."""
        given = {"id": self.fresh(), **item}
        self.model.side = side
        found = told(lambda it: it.store_many([given], on_similar=on_similar), self.stores[side])
        if found is SimilarMemoryError:
            assert on_similar == "raise"
        elif isinstance(found, type) or found[0].id == given["id"]:
            assert told(lambda it: it.store_many([given]), self.model) == found
            self.ids += [] if isinstance(found, type) else [given["id"]]
        else:
            assert on_similar == "merge"
            assert found == [self.model.merge(found[0].id, found[0].content, given)]

    def consolidate(self, side: int, scope: Scope) -> None:
        """Merge what the store finds to repeat itself."""
        self.model.side = side
        found = self.stores[side].consolidate(namespace=scope)
        groups = [
            (each.record.id, each.record.content, [other.id for other in each.others])
            for each in found
        ]
        assert found == self.model.consolidate(groups)

    def conflicts(self, side: int) -> None:
        """Note what contradicts what, so that it can be asked about later."""
        found, other = (store.conflicts(namespace=EVERYWHERE) for store in self.stores)
        assert list(map(contradiction, found)) == list(map(contradiction, other))
        self.model.side = side
        live = {record.id for record in self.model.all(namespace=EVERYWHERE)}
        assert all({each.older.id, each.newer.id} <= live for each in found)
        if self.now == self.model.entries[-1].at:
            self.contradictions[len(self.model.entries) - 1] = list(map(contradiction, found))

    def increment(self, side: int, namespace: str, key: str) -> None:
        self.model.side = side
        expected = told(lambda it: it.increment(namespace, key), self.model)
        memory = KeyedMemory(self.stores[side], namespace=namespace)
        assert told(lambda it: it.increment(key), memory) == expected
        if self.next in self.model.records:
            self.ids.append(self.next)
            self.next = self.fresh()

    def recall(self, side: int, asked: Asked, *, touch: bool) -> None:
        """Ask both, and have what is found count as accessed."""
        self.model.side = side
        answer = asked.at(self.now).of(self.stores[side], touch=touch)
        assert_same(answer, self.twin(self.model.seen()).recall(asked.at(self.now)))
        if touch:
            self.model.touch([id for id, _ in answer])

    def reopen(self, side: int) -> None:
        self.model.side = side
        self.model.close()
        self.stores[side].close()
        self.stores[side] = self.opened()

    def copy(self, side: int) -> None:
        """Export a store, check what is made of that elsewhere, and merge it back: for nothing."""
        self.reopen(side)
        self.model.side, store, lines = side, self.stores[side], io.BytesIO()
        store.export(lines)
        with MemoryStore(embedder=HashEmbedder(16), clock=lambda: self.now) as other:
            other.import_(io.BytesIO(lines.getvalue()))
            assert table(other) == self.model.records
            assert [(each.action, each.id, each.at) for each in other.log(limit=None)] == (
                self.model.log()
            )
            assert other.snapshots() == self.model.snapshots()
            merged = store.merge_from(other)
        assert (merged.added, merged.absorbed, merged.outdated, merged.renamed) == (0, 0, 0, {})
        assert table(store) == self.model.records
        assert len(store.log(limit=None)) == len(self.model.log())

    def twin(self, live: Sequence[MemoryRecord], seq: int = -1) -> Twin:
        """Return what recalls the *live* records, with their vectors as of entry *seq*."""
        named = self.model.entries[seq].named
        by_name = {
            name: {each.id: named[each.id][name] for each in live if name in named.get(each.id, ())}
            for name in ("mine", "other")
        }
        return Twin(live, self.stores[0].embedder, named=by_name)

    def agree(self, side: int) -> None:
        """Check that a store shows what the model does."""
        self.model.side, store = side, self.stores[side]
        assert [(each.action, each.id, each.at) for each in store.log(limit=None)] == (
            self.model.log()
        )
        for scope in SCOPES:
            assert store.all(namespace=scope) == self.model.all(namespace=scope)
        assert store.namespaces() == self.model.namespaces()
        assert {id: store.get(id) for id in self.ids} == {id: self.model.get(id) for id in self.ids}
        assert store.snapshots() == self.model.snapshots()
        for id in self.ids[-4:]:
            assert store.related(id) == self.model.related(id)

    def as_of(self, side: int, seq: int, asked: Asked | None = None) -> None:
        """Check that a store shows its past as the model had it then."""
        self.looked_back(side, seq, Moment(seq, self.model.entries[seq].at), asked)

    def as_of_time(self, side: int, time: float, asked: Asked | None = None) -> None:
        """Check the moment that a time means: the last entry made by then."""
        made = [seq for seq, entry in enumerate(self.model.entries) if entry.at <= time]
        self.looked_back(side, float(time), Moment(made[-1], time), asked)

    def looked_back(self, side: int, when: Any, then: Moment, asked: Asked | None) -> None:
        store, entry = self.stores[side], self.model.entries[then.seq]
        past, live = store.as_of(when), self.model.live(entry.records)
        assert (past.seq, past.at) == (then.seq, then.at)
        assert past.all(namespace=EVERYWHERE) == shown(live, then.at)
        assert past.namespaces() == counted(shown(live, then.at))
        found = {id: past.get(id) for id in self.ids}
        assert found == {id: gotten(entry.records, id, then.at) for id in self.ids}
        now = replace(entry, at=then.at)
        for id in self.ids[-4:]:
            expected = told(partial(WholeModel.related_then, id=id, then=now), self.model)
            assert told(partial(Past.related, id=id), past) == expected
        if isinstance(when, int) and when in self.contradictions:
            known, noted = entry.records.keys(), self.contradictions[when]
            told_then = store.conflicts(namespace=EVERYWHERE, as_of=when)
            left = [each for each in noted if {each[0], each[1]} <= known]
            assert list(map(contradiction, told_then)) == left
        if asked is not None:
            answer = asked.of(store, as_of=when)
            assert_same(answer, self.twin(live, then.seq).recall(asked.at(then.at)))

    def diff(self, side: int, one: int, other: int, scope: Scope) -> None:
        """Check what lies between two entries."""
        before, after = (
            {each.id: each for each in shown(self.model.live(entry.records), entry.at, scope)}
            for entry in (self.model.entries[one], self.model.entries[other])
        )
        diff = self.stores[side].diff(one, other, namespace=scope)
        both = [Change(before[id], after[id]) for id in before if id in after]
        assert list(diff.added) == [after[id] for id in after if id not in before]
        assert list(diff.removed) == [before[id] for id in before if id not in after]
        assert list(diff.changed) == [each for each in both if differing(each.before, each.after)]

    def close(self) -> None:
        """Check what is on the disk, and end."""
        for side in (0, 1):
            self.reopen(side)
            assert table(self.stores[side]) == self.model.records
            assert self.stores[side].verify().ok
            self.stores[side].close()
        assert unverified(self.path) == []


def told(ask: Callable[[Any], Any], whom: Any) -> Any:
    """Return the answer, or the type of the error."""
    try:
        return ask(whom)
    except BethinkError as error:
        return type(error)


def contradiction(found: Conflict) -> tuple[str, str, str, float]:
    return found.older.id, found.newer.id, found.tier, found.similarity


def gotten(records: Records, id: str, now: float) -> MemoryRecord | None:
    record = records.get(id)
    return None if hidden(record, now) else record
