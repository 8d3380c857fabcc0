"""Links: what one memory has to do with another, as the caller says.

A link stands between records and is no part of either. It holds from one journal entry to another,
so every moment of the past has its own; it shows while both its ends are live.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..errors import NotFoundError, ValidationError
from ..memory.engine import Engine, Transaction
from ..memory.memories import Memories, View
from ..memory.writing import find_live
from ..model import fields
from ..model.fields import identifier, text
from ..model.port import Link
from ..model.records import LogEntry, MemoryRecord

Way: TypeAlias = Literal["out", "in"]
Direction: TypeAlias = Literal["both"] | Way

DIRECTIONS: Final[tuple[Direction, ...]] = ("both", "out", "in")
LINKING: Final = ("relate", "unrelate")
"""The actions of entries that tell of a link."""
MAX_KIND: Final = 64


@dataclass(frozen=True, slots=True)
class Relation:
    """A link as one of its ends sees it: ``memory`` is at the other end.

    ``direction`` "out" leads there, "in" comes from there. It was made by journal entry ``seq`` at
    the time ``at``.
    """

    memory: MemoryRecord
    kind: str
    direction: Way
    seq: int
    at: float


def checked_kind(kind: object) -> str:
    """Return *kind* if it is a label of at most ``MAX_KIND`` characters."""
    return identifier("kind", text("kind", kind, MAX_KIND))


def relate(engine: Engine, source: str, target: str, kind: str) -> bool:
    """Link *source* to *target*; tell whether that is new."""
    _check_two(source, target)
    with engine.writing() as transaction:
        (_, record), _ = (find_live(transaction, id) for id in (source, target))
        new = not transaction.writer.linked(source, kind, target)
        if new:
            transaction.link(record, kind, target, holds=True)
    return new


def unrelate(engine: Engine, source: str, target: str, kind: str) -> bool:
    """Take the link back, even if it does not show; tell whether there was one."""
    _check_two(source, target)
    with engine.writing() as transaction:
        record = _known(transaction, source, target)
        held = transaction.writer.linked(source, kind, target)
        if held:
            transaction.link(record, kind, target, holds=False)
    return held


def related(engine: Engine, id: str, kind: str | None, direction: Direction) -> list[Relation]:
    """Return the links of a record that show, oldest first."""
    engine.check_open()
    backend, now = engine.backend, engine.clock()
    held = backend.journal_reader.links([id], backend.head())
    found = backend.get([id, *(_other(link, id) for link in held)])
    if id not in found:
        raise NotFoundError("record", id)
    live = {
        end: each for end, each in found.items() if each.state == "live" and not each.expired(now)
    }
    return [
        Relation(engine.current(live[_other(link, id)]), link.kind, way, link.seq, link.at)
        for link in held
        if live.keys() >= {link.source, link.target} and kind in (None, link.kind)
        if direction in ("both", way := _way(link, id))
    ]


def undo(engine: Engine, entry: LogEntry) -> MemoryRecord:
    """Take back an entry that made a link or took one back; return the record that it led from."""
    if not entry.changes:
        raise ValidationError(f"what entry {entry.seq} told has been erased")
    source, kind, target = str(entry.id), entry.changes["kind"], entry.changes["target"]
    made = entry.action == "relate"
    with engine.writing() as transaction:
        record = _known(transaction, source, target)
        if transaction.writer.linked(source, kind, target) is not made:
            raise ValidationError(f"entry {entry.seq} cannot be undone: the link changed after it")
        transaction.link(record, kind, target, holds=not made, undoes=entry.seq)
    return engine.current(record)


def _check_two(source: str, target: str) -> None:
    if source == target:
        raise ValidationError(f"a link needs two records, not {source!r} twice")


def _known(transaction: Transaction, source: str, target: str) -> MemoryRecord:
    """Return the *source* of a link between two records, in whatever state but erased."""
    found = transaction.writer.find([source, target])
    for id in (source, target):
        if id not in found or found[id][1].state == "erased":
            raise NotFoundError("record", id)
    return found[source][1]


def _other(link: Link, id: str) -> str:
    return link.target if link.source == id else link.source


def _way(link: Link, id: str) -> Way:
    return "out" if link.source == id else "in"


class LinkReader(View):
    """The verb ``related``, of the present and of the past."""

    def related(
        self, id: str, *, kind: str | None = None, direction: Direction = "both"
    ) -> list[Relation]:
        """Return what live record is linked with the live one with *id*, oldest link first.

        Only links of *kind*, if one is given; *direction* "out" are the links from the record, "in"
        those to it. A record that is no longer live has none until it is back; an unknown *id*
        raises ``NotFoundError``.
        """
        fields.one_of("direction", direction, DIRECTIONS)
        wanted = None if kind is None else checked_kind(kind)
        return related(self._engine, fields.identifier("id", id), wanted, direction)


class LinkVerbs(LinkReader, Memories):
    """The verbs ``relate`` and ``unrelate``."""

    def relate(self, source: str, target: str, kind: str) -> bool:
        """Link one live record to another, such as "fixes" or "contradicts"; tell if that is new.

        *kind* is a label of yours. The records need not share a namespace, nor do they change.
        Forgetting either end hides the link until it is restored, erasing it ends it for good. An
        id that is unknown or no longer live raises ``NotFoundError``.
        """
        ends = fields.identifier("id", source), fields.identifier("id", target)
        return relate(self._engine, *ends, checked_kind(kind))

    def unrelate(self, source: str, target: str, kind: str) -> bool:
        """Take such a link back; tell whether there was one."""
        ends = fields.identifier("id", source), fields.identifier("id", target)
        return unrelate(self._engine, *ends, checked_kind(kind))
