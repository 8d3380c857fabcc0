"""Memories with a past: collected, and written together in order of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bethink import MemoryStore, ValidationError
from bethink.adapting import (
    CHECKS,
    ForeignLink,
    ForeignRecord,
    foreign_link,
    foreign_record,
    import_foreign,
    label,
)

from .base import DatedLink, Link, Memory, Moment, Report, Skipped, id_of, namespace_under

DIFFERS: Final = "the memory with its id says something else here"
_LATE: Final = "a moment before the store's own can only come into an empty store"


class Arrivals:
    """The memories with a past that were found so far, with links and moments."""

    def __init__(self, store: MemoryStore, root: str | None) -> None:
        self._store = store
        self._root = root
        self._records: dict[str, ForeignRecord] = {}
        self._places: dict[str, str] = {}
        self._moments: dict[str, Moment] = {}
        self._links: list[DatedLink] = []
        self._skipped: list[Skipped] = []
        self._repeated = 0

    def take(self, found: Memory | Moment | DatedLink) -> None:
        """Keep a finding that the store will take."""
        try:
            if isinstance(found, Memory):
                self._take_memory(found)
            elif isinstance(found, Moment):
                label("a snapshot's name", found.name)
                CHECKS["occurred_at"]("at", found.at)
                if found.name in self._moments:
                    raise ValidationError(f"a moment {found.name!r} was found before")
                self._moments[found.name] = found
            else:
                self._links.append(found)
        except ValidationError as error:
            self._skipped.append(Skipped(found.place, str(error)))

    def write(self) -> Report:
        """Write all in one transaction."""
        links = [own for link in self._links if (own := self._own_link(link))]
        records, skipped = list(self._records.values()), self._skipped
        if not records and not self._moments:
            return Report(0, 0, tuple(skipped))
        moments = {name: each.at for name, each in self._moments.items()}
        arrived = import_foreign(self._store, records, links, moments)
        shown = [each[-1].record for each in records]
        new = [each.id in arrived.added for each in shown if each.state != "forgotten"]
        kept = [each.id for each in shown if each.id not in arrived.added | arrived.changed]
        differing = (id for id in kept if self._differs(id))
        late = [self._moments[name] for name in arrived.snapshots]
        return Report(
            sum(new),
            len(new) - sum(new) + self._repeated,
            (
                *skipped,
                *(Skipped(each.place, _LATE) for each in late),
                *(Skipped(self._places[id], DIFFERS) for id in differing),
            ),
            len(arrived.changed),
            arrived.without_past,
        )

    def _take_memory(self, memory: Memory) -> None:
        id = id_of(label("source", memory.fields.get("source")), self._root)
        if id in self._records:
            self._repeated += 1
            return
        self._places[id] = memory.place
        fields = {**self._own_names({"namespace": None, **memory.fields}), "id": id}
        past = [each._replace(fields=self._own_names(each.fields)) for each in memory.past]
        try:
            self._records[id] = foreign_record(self._store, fields, past)
        except ValidationError as error:
            self._records[id] = foreign_record(self._store, fields)
            self._skipped.append(Skipped(f"{memory.place}, its past", str(error)))

    def _differs(self, id: str) -> bool:
        """Return whether the live memory *id* has another text here, and none is later there."""
        known, found = self._store.get(id), self._records[id][-1].record
        return known is not None and found.state == "live" and known.content != found.content

    def _own_names(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return *fields* with the names here: the namespace, and the id of a successor."""
        own = dict(fields)
        if "namespace" in own:
            own["namespace"] = namespace_under(self._root, own["namespace"])
        if own.get("superseded_by"):
            own["superseded_by"] = id_of(own["superseded_by"], self._root)
        return own

    def _own_link(self, link: DatedLink) -> ForeignLink | None:
        """Return a *link* between two memories; list any other link."""
        source, target = id_of(link.source, self._root), id_of(link.target, self._root)
        try:
            if self._records.keys() >= {source, target}:
                return foreign_link(source, link.kind, target, link.at)
            self._skipped.append(Skipped(link.place, no_end(link)))
        except ValidationError as error:
            self._skipped.append(Skipped(link.place, str(error)))
        return None


def no_end(link: Link | DatedLink) -> str:
    """Return the reason why a *link* without both ends is skipped."""
    return f"no live memory at one end of {link.source!r} -> {link.target!r}"
