"""Links: relations between two memories, named by the caller.

A link stands between records and is part of neither record. A link holds from one journal entry to
a later entry, so every moment of the past has its own links. A link shows while both ends are live.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..errors import NotFoundError, ValidationError
from ..memory.engine import Engine, Transaction
from ..memory.memories import Memories, View
from ..memory.writing import find_live
from ..model import fields
from ..model.records import LogEntry, MemoryRecord
from ..model.values import Value
from ..storage import Link

Way: TypeAlias = Literal["out", "in"]
Direction: TypeAlias = Literal["both"] | Way

DIRECTIONS: Final[tuple[Direction, ...]] = ("both", "out", "in")
LINK_ACTIONS: Final = ("relate", "unrelate")
"""The actions of journal entries about links."""
MAX_KIND_CHARACTERS: Final = 64


@dataclass(frozen=True, slots=True)
class Relation(Value):
    """A link as seen from one end: ``memory`` is the record at the far end.

    ``direction`` "out" leads to ``memory``, "in" comes from ``memory``. Journal entry ``seq`` made
    the link at the time ``at``.
    """

    memory: MemoryRecord
    kind: str
    direction: Way
    seq: int
    at: float


class LinkReader(View):
    """The verb ``related``, of the present and of the past."""

    def related(
        self, id: str, *, kind: str | None = None, direction: Direction = "both"
    ) -> list[Relation]:
        """Return the live records linked with the live record *id*, oldest link first.

        With *kind*, only links of the kind. *direction* "out" means links from the record, "in"
        links to the record. A record that is no longer live has no links until the record is back.
        An unknown *id* raises ``NotFoundError``.
        """
        fields.one_of("direction", direction, DIRECTIONS)
        wanted = None if kind is None else check_kind(kind)
        near, engine = fields.identifier("id", id), self._engine
        links = engine.backend.journal_reader.links([near], engine.backend.head())
        records = engine.backend.find([near, *(_far_end(link, near)[1] for link in links)])
        if near not in records:
            raise NotFoundError("record", near)
        now, found = engine.clock(), list[Relation]()
        live = {
            record.id: record
            for _, record in records.values()
            if record.state == "live" and not record.expired(now)
        }
        for link in links:
            way, far = _far_end(link, near)
            shows = near in live and far in live
            if shows and wanted in (None, link.kind) and direction in ("both", way):
                memory = engine.current(live[far])
                found.append(Relation(memory, link.kind, way, link.seq, link.at))
        return found


class LinkVerbs(LinkReader, Memories):
    """The verbs ``relate`` and ``unrelate``."""

    def relate(self, source: str, target: str, kind: str) -> bool:
        """Link a live record to a second, such as "fixes" or "contradicts"; return whether new.

        *kind* is a label of your own, at most 64 characters. The records may be in different
        namespaces, and do not change. Forgetting either end hides the link until the end is
        restored; erasing either end ends the link for good. A memory that supersedes or absorbs an
        end does not take the link over, but ``update`` keeps the memory and the links. An id that
        is unknown or no longer live raises ``NotFoundError``.
        """
        ends, label = check_ends(source, target), check_kind(kind)
        with self._engine.writing() as transaction:
            (_, record), _ = (find_live(transaction, id) for id in ends)
            return set_link(transaction, record, label, ends[1], holds=True)

    def unrelate(self, source: str, target: str, kind: str) -> bool:
        """Remove a link, even a hidden link; return whether the link existed."""
        ends, label = check_ends(source, target), check_kind(kind)
        with self._engine.writing() as transaction:
            record = _find_source(transaction, *ends)
            return set_link(transaction, record, label, ends[1], holds=False)


def set_link(
    transaction: Transaction,
    source: MemoryRecord,
    kind: str,
    target: str,
    *,
    holds: bool,
    undoes: int | None = None,
) -> bool:
    """Link *source* to the record *target*, or remove the link; return whether changed.

    The records do not change.
    """
    transaction.check_source(source)
    if not transaction.writer.link(source.id, kind, target, holds=holds):
        return False
    changes = {"kind": kind, "target": target, **({} if undoes is None else {"undoes": undoes})}
    action = "relate" if holds else "unrelate"
    transaction.writer.journal(action, transaction.now, source, None, None, changes)
    return True


def undo_link(engine: Engine, entry: LogEntry) -> MemoryRecord:
    """Undo an entry that made or removed a link; return the link's source."""
    if not entry.changes:
        raise ValidationError(f"what entry {entry.seq} told has been erased")
    source, kind, target = str(entry.id), entry.changes["kind"], entry.changes["target"]
    holds = entry.action == "relate"
    with engine.writing() as transaction:
        record = _find_source(transaction, source, target)
        link = record, kind, target
        if not set_link(transaction, *link, holds=not holds, undoes=entry.seq):
            raise ValidationError(f"entry {entry.seq} cannot be undone: the link changed after it")
    return engine.current(record)


def check_kind(kind: object) -> str:
    """Return the *kind* of a link, checked."""
    return fields.identifier("kind", fields.text("kind", kind, MAX_KIND_CHARACTERS))


def check_ends(source: str, target: str) -> tuple[str, str]:
    """Return the ids of the ends of a link, checked."""
    ends = fields.identifier("id", source), fields.identifier("id", target)
    if ends[0] == ends[1]:
        raise ValidationError(f"a link needs two records, not {source!r} twice")
    return ends


def _find_source(transaction: Transaction, source: str, target: str) -> MemoryRecord:
    """Return the *source* of a link; refuse a link with an unknown or erased end."""
    found = transaction.writer.find([source, target])
    for id in (source, target):
        if id not in found or found[id].record.state == "erased":
            raise NotFoundError("record", id)
    return found[source].record


def _far_end(link: Link, near: str) -> tuple[Way, str]:
    """Return the direction from the record *near*, and the id of the record at the far end."""
    return ("out", link.target) if link.source == near else ("in", link.source)
