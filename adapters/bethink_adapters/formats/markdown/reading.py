"""Reading notes: notes of ``export_markdown``, and notes of any author."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bethink import StorageError
from bethink.adapting import CHECKS, MAX_CONTENT, identifier

from ..base import Found, Incomplete, Item, Skipped, name_of, own_namespace
from ..times import moment
from .note import from_note
from .properties import unreadable

_FIELDS: Final = (
    "namespace",
    "key",
    "thread",
    "author",
    "category",
    "tags",
    "importance",
    "confidence",
    "occurred_at",
    "expires_at",
    "value",
    "metadata",
)
_OWN: Final = ("id", "source", *_FIELDS)
_TIMES: Final = ("occurred_at", "expires_at")
_DATES: Final = ("date", "created", "created_at", "date created", "date_created", "created time")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_EARLIEST: Final = 1e8
"""A lower number in a note is no time in seconds, but a year or a count."""
_EXPORTED: Final = frozenset(("id", "namespace", "created_at"))
_TOLD: Final = ("aliases", "created_at", "updated_at", "supersedes", "superseded_by")
_LARGEST: Final = 4 * MAX_CONTENT + (1 << 20)
_LINK: Final = re.compile(r"\[\[([^\]|#]+)")


@dataclass(slots=True)
class Note:
    """The properties of a note that decide the order of the import.

    Only a note by ``export_markdown`` has an *id*; a property "id" of a foreign note is no *id*.
    """

    place: str
    id: str | None
    namespace: object
    key: object
    links: list[str]
    older: list[Note] = field(default_factory=list)


def read_markdown(folder: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the notes below *folder*, or the note of a file, superseding notes last.

    A note by ``export_markdown`` keeps the id, as long as ``import_from`` is given no namespace.
    For foreign notes, the folders are the namespace; properties with the name and a valid value of
    a field become fields, all further properties metadata. An unreadable property is skipped alone,
    in an export with the note. Hidden files and files behind symbolic links are left out. A
    *folder* that does not exist raises ``StorageError``.
    """
    root, places = Path(folder), None
    if root.is_file():
        root, places = root.parent, [root.name]
    elif not root.is_dir():
        raise StorageError(os.fspath(folder), "there is no such folder")
    notes, skipped = notes_in(root, places)
    yield from skipped
    for note in in_order(notes):
        try:
            properties, text, unread = _read(root / note.place)
            if unread and note.id is not None:
                raise ValueError(unreadable(unread[0]))  # a part of a record is another record
            yield _item(note, properties, text)
            yield from (Incomplete(note.place, unreadable(line)) for line in unread)
        except (OSError, ValueError) as error:
            yield Skipped(note.place, str(error))


def notes_in(root: Path, places: Iterable[str] | None = None) -> tuple[list[Note], list[Skipped]]:
    """Return the notes below *root*, with the superseded notes of each, and unreadable notes.

    *places* are the paths of the notes from *root* on, all by default.
    """
    notes, skipped = list[Note](), list[Skipped]()
    for place in _places(root) if places is None else places:
        try:
            notes.append(_note(place, _read(root / place)[0]))
        except (OSError, ValueError) as error:
            skipped.append(Skipped(place, str(error)))
    _connect(notes)
    return notes, skipped


def _places(root: Path) -> Iterator[str]:
    for above, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(above, name)
            hidden = name.startswith(".") or path.is_symlink()
            if name.endswith(".md") and not hidden and path.is_file():  # a pipe would never end
                yield path.relative_to(root).as_posix()


def _read(path: Path) -> tuple[dict[str, Any], str, list[str]]:
    with path.open("rb") as file:
        written = file.read(_LARGEST + 1)
    if len(written) > _LARGEST:
        raise ValueError(f"larger than {_LARGEST:,} bytes")
    try:
        return from_note(written.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start:,}") from None


def _note(place: str, properties: Mapping[str, Any]) -> Note:
    links = _LINK.findall(str(properties.get("supersedes") or ""))
    exported = properties.keys() >= _EXPORTED and properties["id"] is not None
    id = identifier("id", properties["id"]) if exported else None
    return Note(place, id, properties.get("namespace"), properties.get("key"), links)


def _connect(notes: Iterable[Note]) -> None:
    """Find the linked notes of each note; notes with the same key, superseded anyway, last."""
    named = {Path(note.place).stem: note for note in notes}
    for note in notes:
        older = [named[link] for link in note.links if link in named]
        note.older = sorted(older, key=lambda one: one.key is not None and one.key == note.key)


def in_order(notes: Iterable[Note]) -> Iterator[Note]:
    """Yield every note once, after the notes that the note supersedes.

    All superseded notes come before the live notes, because a live note may have the key by now.
    """
    given, met = list(notes), set[str]()
    superseded = {older.place for note in given for older in note.older}
    for note in sorted(given, key=lambda one: (one.place not in superseded, not one.older)):
        waiting = [] if note.place in met else [note]
        met.add(note.place)
        while waiting:
            unmet = next((one for one in waiting[-1].older if one.place not in met), None)
            if unmet is None:
                yield waiting.pop()
            else:
                met.add(unmet.place)
                waiting.append(unmet)


def _item(note: Note, properties: Mapping[str, Any], text: str) -> Item:
    fields = _of_others(note.place, properties) if note.id is None else _own(properties)
    replaces = tuple(older.id for older in note.older if note.id and older.id)
    return Item(note.place, {**fields, "content": text}, replaces)


def _own(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an export, and properties added by hand as metadata."""
    known = {name: _read_as(name, properties[name]) for name in _OWN if name in properties}
    fields = {name: value for name, value in known.items() if value is not None or name == "value"}
    ours = {*_OWN, *_TOLD}
    if added := {name: value for name, value in properties.items() if name not in ours}:
        if not isinstance(metadata := fields.get("metadata", {}), dict):
            raise ValueError("metadata is not an object")
        fields["metadata"] = added | metadata
    return fields


def _of_others(place: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a foreign note at *place*."""
    *folders, title = place.removesuffix(".md").split("/")
    fields, more = dict[str, Any](), dict[str, Any](title=title)
    for name, value in properties.items():
        if name not in _FIELDS:
            more[name] = value
        elif value is not None:
            try:
                fields[name] = CHECKS[name](name, _read_as(name, value))
            except ValueError:
                more[name] = value
    return {
        "namespace": "/".join(map(own_namespace, folders)),
        "occurred_at": _date(title, properties),
        **fields,
        "source": name_of("markdown", *place.split("/")),
        "metadata": more | fields.get("metadata", {}),
    }


def _read_as(name: str, value: Any) -> Any:
    """Return what a property tells as the field *name*."""
    if name in _TIMES and isinstance(value, str):
        return moment(value)
    if name == "tags" and isinstance(value, str):
        return [tag.strip() for tag in value.split(",") if tag.strip()]
    return value


def _date(title: str, properties: Mapping[str, Any]) -> float | None:
    """Return the first date that a property or the begin of the *title* tells, if any."""
    day = _DAY.match(title)
    for told in (*(properties.get(name) for name in _DATES), day and day[0]):
        with suppress(ValueError):
            at = moment(told)
            if at is not None and (isinstance(told, str) or at >= _EARLIEST):
                return at
    return None
