"""What readers of foreign formats yield, and helpers of the readers.

A reader is any iterable of ``Item``, ``Link`` and ``Skipped``, and for a source with a past of
``Memory``, ``Moment`` and ``DatedLink``; ``import_from`` stores the findings.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bethink import ValidationError, segment
from bethink.adapting import PastChange, check_namespace

from .times import moment

_IDS: Final = uuid.UUID("4ac8f7b1-5f0e-5c7c-9d53-6a1f4f1e2b90")


@dataclass(frozen=True, slots=True)
class Item:
    """A memory found at *place*, for instance "line 7"; *fields* are arguments of ``store``.

    ``fields["source"]`` is a name, unique among all imports; the id is made from the name, unless
    *fields* has an id. A key may hold nothing: no content, and a ``value`` of None. *replaces* has
    the names of earlier items that the item supersedes. An *archived* item is archived in the
    store, too.
    """

    place: str
    fields: Mapping[str, Any]
    replaces: tuple[str, ...] = ()
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a system that keeps times, uses and outcomes; found at *place*.

    *fields* are fields of ``MemoryRecord``, as the memory is now, with the names of ``Item``: a
    unique ``source``, no id, and ``superseded_by`` is the name of a memory. *past* are the changes
    that led there, oldest first.
    """

    place: str
    fields: Mapping[str, Any]
    past: tuple[PastChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """The *name* that the source gave to the moment *at*, in Unix seconds."""

    place: str
    name: str
    at: float


@dataclass(frozen=True, slots=True)
class Link:
    """A link of *kind* between two items, by the names, for ``store.relate``."""

    place: str
    source: str
    target: str
    kind: str


@dataclass(frozen=True, slots=True)
class DatedLink:
    """A link of *kind* between two ``Memory``, by the names, made *at* a time in Unix seconds."""

    place: str
    source: str
    target: str
    kind: str
    at: float


@dataclass(frozen=True, slots=True)
class _Remark:
    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


class Skipped(_Remark):
    """The *reason* why the finding at *place* was not imported."""

    __slots__ = ()


class Incomplete(_Remark):
    """The *reason* why a part of the finding at *place*, such as a time, was not imported."""

    __slots__ = ()


Found: TypeAlias = Item | Memory | Moment | Link | DatedLink | Skipped | Incomplete


@dataclass(frozen=True, slots=True)
class Report:
    """The numbers of memories ``imported`` and already ``known``, and the ``skipped`` findings.

    ``changed`` of the known memories took a later change of the source, and ``without_past`` of the
    imported memories came without earlier versions, since the store was not empty. ``incomplete``
    are findings that came without an unreadable part.
    """

    imported: int
    known: int
    skipped: tuple[Skipped, ...]
    changed: int = 0
    without_past: int = 0
    incomplete: tuple[Incomplete, ...] = ()

    def __str__(self) -> str:
        known = f"{self.known} known" + (f" ({self.changed} changed)" if self.changed else "")
        left_out = [str(each) for each in self.skipped]
        if self.without_past:
            left_out.append(f"{self.without_past} without a past: the store was not empty")
        summary = f"{self.imported} imported, {known}, {len(self.skipped)} skipped"
        if self.incomplete:
            summary += f", {len(self.incomplete)} incomplete"
        return "\n".join([summary, *left_out, *map(str, self.incomplete)])


def read_each(
    values: Iterable[tuple[str, Any] | Skipped], read: Callable[[str, Any], Iterable[Found]]
) -> Iterator[Found]:
    """Yield the findings of *read* in each value; a ``ValueError`` becomes a ``Skipped``."""
    for each in values:
        if isinstance(each, Skipped):
            yield each
            continue
        place, value = each
        try:
            yield from read(place, value)
        except ValueError as error:
            yield Skipped(place, str(error))


def read_times(
    place: str, row: Mapping[str, Any], *names: str
) -> Generator[Incomplete, None, dict[str, float | None]]:
    """Yield what could not be read; return the times of a row, None for an unreadable time."""
    times = dict[str, float | None]()
    for name in names:
        try:
            times[name] = moment(row.get(name))
        except ValueError as error:
            times[name] = None
            yield Incomplete(place, f"{name}: {error}")
    return times


def name_of(format: str, *parts: str) -> str:
    """Return a name, unique among all imports, for *parts*, the names in the source."""
    return f"{format}:{'/'.join(map(segment, parts))}"


def own_namespace(name: str) -> str:
    """Return a foreign *name* as a namespace: unchanged if possible, else quoted.

    Different names give different namespaces.
    """
    try:
        return segment(name) if "%" in name else check_namespace(name)
    except ValidationError:
        return segment(name)


def noted(format: str, own: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata: the source's *own* metadata, and *more* fields under *format*."""
    told = {name: value for name, value in more.items() if value not in (None, "", 0, [], {})}
    return {**({format: told} if told else {}), **own}


def id_of(name: str, root: str | None) -> str:
    """Return the id of the finding called *name*, imported into the namespace *root*."""
    return uuid.uuid5(_IDS, f"{root or ''}\n{name}").hex


def namespace_under(root: str | None, own: Any) -> Any:
    """Return the namespace here of a finding with the namespace *own* in the source."""
    return f"{root}/{own}" if root and own else own or root or "default"
