"""A store as it is documented, in plain Python: a dict of records, copied for every entry.

It has the verbs of ``MemoryStore`` that write, with their arguments and errors, and what it shows.
What is recalled of it the twin tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

from bethink import (
    BethinkError,
    Consolidated,
    MemoryRecord,
    NotFoundError,
    RateLimitError,
    Relation,
    Snapshot,
    ValidationError,
)
from bethink.model.namespaces import Scope, covers

from .reference_entries import (
    Entry,
    Links,
    Named,
    Records,
    accessed,
    combined,
    counted,
    ends,
    exact,
    hidden,
    shown,
    stored,
    unlinked,
)

WORTH = {"worked": 0.2, "failed": -0.3, "partial": 0.05}
HOUR, DAY = 3_600.0, 86_400.0


class Model:
    """What two stores on one file hold; ``side`` is the one that is spoken to."""

    def __init__(self, clock: Callable[[], float], new_id: Callable[[], str]) -> None:
        self.clock, self.new_id, self.side = clock, new_id, 0
        self.entries = [Entry("nothing", None, 0.0)]  # so that entry 1 is number 1
        self.records: Records = {}
        self.named: Named = {}
        self.since: dict[tuple[str, str], int] = {}
        self.links: Links = {}
        self.merged: dict[int, list[str]] = {}
        self.undoes: dict[int, int] = {}
        self.together: dict[int, list[int]] = {}
        self.linked: dict[int, tuple[str, str, str]] = {}
        self.names: list[Snapshot] = []
        self.facts: dict[str, Any] = {"failed": {}, "swept": None}
        self.accesses: list[dict[str, tuple[int, float]]] = [{}, {}]
        self.waiting = [0.0, 0.0]

    # What it shows.

    def current(self, record: MemoryRecord) -> MemoryRecord:
        """Return *record* with the accesses of this side that are not written yet."""
        times, at = self.accesses[self.side].get(record.id, (0, 0.0))
        return accessed(record, times, at) if times and record.state == "live" else record

    def live(self, records: Records | None = None) -> list[MemoryRecord]:
        """Return the live records, those that have expired as well."""
        known = self.records if records is None else records
        return [record for record in known.values() if record.state == "live"]

    def seen(self) -> list[MemoryRecord]:
        """Return the live records as this side counts their accesses."""
        return list(map(self.current, self.live()))

    def all(self, *, namespace: Scope = "default") -> list[MemoryRecord]:
        return [self.current(each) for each in shown(self.live(), self.clock(), namespace)]

    def namespaces(self) -> dict[str, int]:
        return counted(shown(self.live(), self.clock()))

    def get(self, id: str) -> MemoryRecord | None:
        record = self.records.get(id)
        return None if hidden(record, self.clock()) or record is None else self.current(record)

    def related(self, id: str) -> list[Relation]:
        now = Entry("now", None, self.clock(), self.records, self.named, self.links)
        relations = self.related_then(id, now)
        return [replace(each, memory=self.current(each.memory)) for each in relations]

    def related_then(self, id: str, then: Entry) -> list[Relation]:
        """Return the links of a record, as they showed *then*."""
        if id not in then.records:
            raise NotFoundError("record", id)
        live = {each.id: each for each in shown(self.live(then.records), then.at)}
        return [
            Relation(live[other], kind, way, seq, self.entries[seq].at)
            for (source, kind, target), seq in then.links.items()
            for end, other, way in ends(source, target)
            if end == id and {source, target} <= live.keys()
        ]

    def log(self) -> list[tuple[str, str | None, float]]:
        """Return every entry, newest first."""
        return [(each.action, each.id, each.at) for each in self.entries[:0:-1]]

    # The verbs.

    def store_many(self, items: Iterable[Mapping[str, Any]]) -> list[MemoryRecord]:
        items = list(items)
        if len({item["id"] for item in items}) < len(items):
            raise ValidationError("the same id twice")
        with self.writing():
            stored = [self._store(**item) for item in items]
            return [self.records[record.id] for record in stored]

    def merge(self, kept: str, content: str, item: Mapping[str, Any]) -> MemoryRecord:
        """Store *item* into the record *kept*, which nearly says so and then says *content*."""
        given = {
            name: value for name, value in item.items() if name not in ("supersedes", "vectors")
        }
        with self.writing():
            seen = accessed(self._made(**given), 1, self.clock())
            after = self._absorb(self._living(kept), [seen], content)
            if item.get("supersedes") is not None:
                self._supersede(self._living(item["supersedes"], expired=True), kept)
        return self.current(after)

    def consolidate(self, groups: Sequence[tuple[str, str, Sequence[str]]]) -> list[Consolidated]:
        """Merge *groups* of what nearly repeats: who stays, what that says then, who goes."""
        if not groups:
            return []
        merged = []
        with self.writing(closing=True):
            for kept, content, ids in groups:
                others = [self._living(id) for id in ids]
                for other in others:
                    self._supersede(other, kept)
                after = self._absorb(self._living(kept), others, content)
                merged.append(Consolidated(after, tuple(others)))
        return merged

    def update(self, id: str, **changes: Any) -> MemoryRecord:
        vectors = changes.pop("vectors", None) or {}
        with self.writing():
            before = self._living(id, expired="expires_at" in changes)
            after = stored(replace(before, **changes, updated_at=self.clock()))
            said = not {"content", "value"}.isdisjoint(changes)
            if said and not after.content and after.value is None:
                raise ValidationError("nothing is left")
            if (after.namespace, after.key) != (before.namespace, before.key):
                self._check_key_free(after)
            self._note("update", after, vectors)
        return self.current(after)

    def forget(self, ids: Iterable[str] | None = None, *, namespace: Scope | None = None) -> int:
        with self.writing():
            found = self._chosen(ids, namespace, ("live",))
            return self._retire("forget", found, ("live", "superseded", "archived"), "forgotten")

    def expire(self) -> int:
        with self.writing():
            expired = [record for record in self.live() if record.expired(self.clock())]
            self._retire("expire", expired, ("live",), "forgotten")
            return len(expired)

    def archive(self, ids: Iterable[str]) -> int:
        with self.writing():
            found = shown(self._chosen(ids), self.clock())
            return self._retire("archive", found, ("live",), "archived")

    def unarchive(self, ids: Iterable[str]) -> int:
        return self._bring_back(ids, "archived", "unarchive")

    def restore(self, ids: Iterable[str]) -> int:
        return self._bring_back(ids, "forgotten", "restore")

    def erase(self, ids: Iterable[str] | None = None, *, namespace: Scope | None = None) -> int:
        states = ("live", "superseded", "archived", "forgotten")
        with self.writing():
            chosen = self._chosen(ids, namespace, states)
            gone = [record for record in chosen if record.state in states]
            for record in gone:
                made, now = record.created_at, self.clock()
                tombstone = MemoryRecord(
                    record.id, record.namespace, "", made, made, now, state="erased"
                )
                self.named.pop(record.id, None)
                self.links = unlinked(self.links, record.id)
                self._note("erase", tombstone)
        for record in gone:
            kept = [each for each in self.linked.items() if record.id not in each[1][::2]]
            self.linked = dict(kept)
            for entry in self.entries:
                entry.named.pop(record.id, None)
                for link in entry.links.keys() - unlinked(entry.links, record.id).keys():
                    del entry.links[link]
                if record.id in entry.records and entry.records[record.id].state != "erased":
                    del entry.records[record.id]
        return len(gone)

    def reinforce(self, id: str, amount: float) -> MemoryRecord:
        with self.writing():
            before, now = self._living(id), self.clock()
            raised = min(before.importance + amount, 1.0)
            after = replace(accessed(before, 1, now), importance=raised, updated_at=now)
            self._note("reinforce", after)
        return self.current(after)

    def record_outcome(self, id: str, outcome: str, session: str | None = None) -> MemoryRecord:
        with self.writing():
            self._drift_due([id])
            before = self._judged(id)
            if outcome == "failed":
                self._count_failure(session)
            after = self._settle(before, exact(before.outcome + WORTH[outcome]), outcome)
        return self.current(after)

    def mark_useful(self, ids: Iterable[str]) -> list[MemoryRecord]:
        return self._mark(ids, "useful", lambda was: max(was, exact(min(was + 0.1, 0.5))))

    def mark_useless(self, ids: Iterable[str]) -> list[MemoryRecord]:
        return self._mark(ids, "useless", lambda was: min(was, exact(max(was - 0.1, -0.5))))

    def drift(self) -> int:
        with self.writing():
            return self._drift_all()

    def touch(self, ids: Iterable[str]) -> None:
        """Note accesses; a later write takes them along."""
        pending, now = self.accesses[self.side], self.clock()
        there = {each.id for each in shown(self.live(), now)}
        for id in dict.fromkeys(ids):
            if id in there:
                if not pending:
                    self.waiting[self.side] = now
                times, last = pending.get(id, (0, now))
                pending[id] = times + 1, max(last, now)

    def snapshot(self, name: str) -> Snapshot:
        with self.writing(closing=True):
            if name in {each.name for each in self.names}:
                raise ValidationError("the name is taken")
            taken = Snapshot(name, len(self.entries) - 1, self.clock())
            self._enter("snapshot", None)
        self.names.append(taken)
        return taken

    def snapshots(self) -> list[Snapshot]:
        return sorted(self.names, key=lambda each: (each.seq, each.at, each.name))

    def close(self) -> None:
        if self.accesses[self.side]:
            with self.writing(closing=True):
                pass

    def increment(self, namespace: str, key: str) -> Any:
        """Count under *key*, as a ``KeyedMemory`` of *namespace* does."""
        with self.writing():
            held = self._holder(namespace, key)
            if held is not None and held.expired(self.clock()):
                held = None
            before: Any = 0
            if held is not None:
                before = held.content if held.value is None else held.value
            if isinstance(before, str):
                raise ValidationError("that is no number")
            if held is not None and not held.content:
                after = replace(held, value=before + 1, updated_at=self.clock())
                self._note("update", after)
            else:
                self._store(self.new_id(), "", namespace=namespace, key=key, value=before + 1)
        return before + 1

    def resolve(self, keep: str, drop: Iterable[str], reason: str | None = None) -> int:
        dropped = list(dict.fromkeys(drop))
        if keep in dropped:
            raise ValidationError("kept and dropped")
        with self.writing():
            self._living(keep)
            for id in dropped:
                self._supersede(self._living(id), keep, "resolve")
        return len(dropped)

    def relate(self, source: str, target: str, kind: str) -> bool:
        if source == target:
            raise ValidationError("one record twice")
        with self.writing():
            for id in (source, target):
                self._living(id)
            return self._link((source, kind, target), holds=True)

    def unrelate(self, source: str, target: str, kind: str) -> bool:
        if source == target:
            raise ValidationError("one record twice")
        with self.writing():
            for id in (source, target):
                if id not in self.records or self.records[id].state == "erased":
                    raise NotFoundError("record", id)
            return self._link((source, kind, target), holds=False)

    # How they do it.

    @contextmanager
    def writing(self, *, closing: bool = False) -> Iterator[None]:
        """Let everything happen or nothing, after accesses that are due."""
        kept = dict(vars(self))
        for name in (
            "entries",
            "records",
            "named",
            "since",
            "facts",
            "accesses",
            "links",
            "linked",
            "merged",
        ):
            setattr(self, name, deepcopy(kept[name]) if name == "facts" else kept[name].copy())
        try:
            self._write_accesses(closing=closing)
            yield
        except BethinkError:
            vars(self).update(kept)
            raise

    def _write_accesses(self, *, closing: bool) -> None:
        pending, now = self.accesses[self.side], self.clock()
        early = self.waiting[self.side] <= now < self.waiting[self.side] + 60
        if not pending or (early and not closing):
            return
        live = {each.id: each for each in self.live() if each.id in pending}
        self.accesses[self.side] = {}
        for id, record in live.items():
            self.records[id] = accessed(record, *pending[id])
        if live:
            self._enter("touch", None)

    def _note(
        self,
        action: str,
        record: MemoryRecord,
        vectors: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Let *record* be what it is now, with an entry that says so."""
        self.records[record.id] = record
        for name, vector in (vectors or {}).items():
            self.named[record.id] = {
                **self.named.get(record.id, {}),
                name: vector,
            }
            self.since[record.id, name] = len(self.entries)
        self._enter(action, record.id)

    def _enter(self, action: str, id: str | None) -> None:
        held = self.records.copy(), self.named.copy(), self.links.copy()
        self.entries.append(Entry(action, id, self.clock(), *held))

    def _store(
        self,
        id: str,
        content: str,
        *,
        supersedes: str | None = None,
        vectors: Mapping[str, Sequence[float]] | None = None,
        **given: Any,
    ) -> MemoryRecord:
        record = self._made(id, content, **given)
        if supersedes is not None:
            self._supersede(self._living(supersedes, expired=True), id)
        if held := self._holder(record.namespace, record.key):
            self._supersede(held, id)
        if id in self.records:
            raise ValidationError("the id exists")
        self._note("store", record, vectors)
        return record

    def _made(self, id: str, content: str, **given: Any) -> MemoryRecord:
        now = self.clock()
        times: dict[str, Any] = {"created_at": now, "occurred_at": None, "updated_at": now}
        fields = {"namespace": "default", **times, **given}
        record = stored(MemoryRecord(id=id, content=content, **fields))
        if not content and record.value is None:
            raise ValidationError("there is nothing to store")
        return record

    def _absorb(
        self, kept: MemoryRecord, others: Sequence[MemoryRecord], content: str
    ) -> MemoryRecord:
        """Have *kept* take in what *others* have besides."""
        assert content in {kept.content, *(other.content for other in others)}
        after = kept
        for other in others:
            after = combined(after, other)
        self.merged[len(self.entries)] = [other.id for other in others]
        after = replace(after, content=content, updated_at=self.clock())
        self._note("merge", after)
        return after

    def _supersede(self, old: MemoryRecord, by: str, action: str = "supersede") -> None:
        now = self.clock()
        self._note(action, replace(old, state="superseded", superseded_by=by, updated_at=now))

    def _living(self, id: str, *, expired: bool = False) -> MemoryRecord:
        found = {each.id: each for each in self.live()}.get(id)
        if found is None or (found.expired(self.clock()) and not expired):
            raise NotFoundError("live record", id)
        return found

    def _judged(self, id: str) -> MemoryRecord:
        record = self.records.get(id)
        if record is None or hidden(record, self.clock()):
            raise NotFoundError("record", id)
        return record

    def _holder(self, namespace: str, key: str | None) -> MemoryRecord | None:
        place = (namespace, key, "live")
        for record in self.records.values() if key is not None else ():
            if (record.namespace, record.key, record.state) == place:
                return record
        return None

    def _check_key_free(self, record: MemoryRecord) -> None:
        held = self._holder(record.namespace, record.key)
        if held is not None and held.id != record.id:
            if not held.expired(self.clock()):
                raise ValidationError("the key is held")
            self._retire("expire", [held], ("live",), "forgotten")

    def _chosen(
        self,
        ids: Iterable[str] | None,
        namespace: Scope | None = None,
        states: Sequence[str] = (),
    ) -> list[MemoryRecord]:
        """Return the records in any state that have one of *ids*, or those in *namespace*."""
        if ids is None and namespace is None:
            raise ValidationError("no criterion")
        if ids is None:
            assert namespace is not None
            inside = [each for each in self.records.values() if covers(namespace, each.namespace)]
            return [each for each in inside if each.state in states]
        if unknown := [id for id in ids if id not in self.records]:
            raise NotFoundError("record", unknown[0])
        return [self.records[id] for id in dict.fromkeys(ids)]

    def _retire(
        self, action: str, found: list[MemoryRecord], states: Sequence[str], state: Any
    ) -> int:
        found = [record for record in found if record.state in states]
        for record in found:
            self._note(action, replace(record, state=state, updated_at=self.clock()))
        return len(shown(found, self.clock()))

    def _bring_back(self, ids: Iterable[str], state: str, action: str) -> int:
        with self.writing():
            found = [record for record in self._chosen(ids) if record.state == state]
            returning = {record.id for record in found}
            for record in found:
                now, by = self.clock(), record.superseded_by or ""
                successor = self.records.get(by)
                standing = successor is not None and successor.state not in ("forgotten", "erased")
                if standing or by in returning:
                    self._note(action, replace(record, state="superseded", updated_at=now))
                    continue
                self._check_key_free(record)
                back = replace(record, state="live", superseded_by=None, updated_at=now)
                expiry = None if record.expired(now) else record.expires_at
                outcome = max(record.outcome, -0.5)
                self._note(action, replace(back, expires_at=expiry, outcome=outcome))
        return len(found)

    def _mark(
        self, ids: Iterable[str], action: str, moved: Callable[[float], float]
    ) -> list[MemoryRecord]:
        wanted = list(dict.fromkeys(ids))
        with self.writing():
            self._drift_due(wanted)
            found = list(map(self._judged, wanted))
            marked = [self._settle(each, moved(each.outcome), action) for each in found]
        return list(map(self.current, marked))

    def _settle(self, before: MemoryRecord, outcome: float, action: str) -> MemoryRecord:
        """Give a record an outcome, and the state that goes with it."""
        fell = before.outcome < -0.5
        state = before.state
        if state == "archived" and not fell:
            outcome = max(outcome, -0.5)
        if state == "live" and outcome < -0.5:
            state = "archived"
        elif state == "archived" and fell and outcome >= -0.5:
            taken = self._holder(before.namespace, before.key) or before.expired(self.clock())
            state = "archived" if taken else "live"
        after = replace(before, outcome=outcome, state=state, updated_at=self.clock())
        self._note(action, after)
        return after

    def _count_failure(self, session: str | None) -> None:
        now, failed = self.clock(), self.facts["failed"]
        recent = [at for at in failed.get(session, []) if abs(now - at) < HOUR]
        if len(recent) >= 3:
            raise RateLimitError("failures", 3, HOUR)
        failed[session] = [*recent, now]

    def _drift_due(self, ids: list[str]) -> None:
        swept = self.facts["swept"]
        if swept is None or abs(self.clock() - swept) >= DAY:
            self._drift_all()
        else:
            self._drift([self.records[id] for id in ids if id in self.records])

    def _drift_all(self) -> int:
        self.facts["swept"] = self.clock()
        return self._drift(list(self.records.values()))

    def _drift(self, records: list[MemoryRecord]) -> int:
        since, pending = self.clock() - 30 * DAY, self.accesses[self.side]
        unused = [
            record
            for record in records
            if record.state in ("live", "archived")
            and record.outcome
            and record.updated_at <= since
            and (record.last_accessed_at or 0) <= since
            and pending.get(record.id, (0, 0.0))[1] <= since
        ]
        for record in unused:
            self._settle(record, 0.0, "drift")
        return len(unused)

    def _link(self, link: tuple[str, str, str], *, holds: bool) -> bool:
        if (link in self.links) is holds:
            return False
        seq = len(self.entries)
        if holds:
            self.links = {**self.links, link: seq}
        else:
            del self.links[link]
        self.linked[seq] = link
        self._enter("relate" if holds else "unrelate", link[0])
        return True
