"""Notes read in again: those that were written here, and anybody else's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bethink import StorageError
from bethink.adapting import CHECKS, MAX_CONTENT, identifier

from ..base import Found, Item, Skipped, name_of, own_namespace
from ..times import moment
from .note import from_note

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
_EXPORTED: Final = frozenset(("id", "namespace", "created_at"))
_TOLD: Final = ("aliases", "created_at", "updated_at", "supersedes", "superseded_by")
_LARGEST: Final = 4 * MAX_CONTENT + (1 << 20)
_LINK: Final = re.compile(r"\[\[([^\]|#]+)")


@dataclass(slots=True)
class Note:
    """What must be known of a note before the first one is imported.

    Only one that ``export_markdown`` wrote has an *id*, whatever anybody else's note calls so.
    """

    place: str
    id: str | None
    namespace: object
    key: object
    links: list[str]
    older: list[Note] = field(default_factory=list)


def read_markdown(folder: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the notes below *folder*, what was superseded before what supersedes it.

    A note that ``export_markdown`` wrote keeps its id, as long as ``import_from`` is given no
    namespace. Of any other the folders are the namespace, and its properties metadata, but for
    those called like a field and fit to be one. Hidden files are left out, and those behind
    symbolic links.
    """
    root = Path(folder)
    if not root.is_dir():
        raise StorageError(os.fspath(folder), "there is no such folder")
    notes, skipped = notes_in(root)
    yield from skipped
    for note in in_order(notes):
        try:
            yield _item(note, *_read(root / note.place))
        except (OSError, ValueError) as error:
            yield Skipped(note.place, str(error))


def notes_in(root: Path) -> tuple[list[Note], list[Skipped]]:
    """Return the notes below *root*, with those that each supersedes, and what cannot be read."""
    notes, skipped = list[Note](), list[Skipped]()
    for place in _places(root):
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


def _read(path: Path) -> tuple[dict[str, Any], str]:
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
    """Find the notes that the links lead to, those superseded by their key anyway last."""
    named = {Path(note.place).stem: note for note in notes}
    for note in notes:
        older = [named[link] for link in note.links if link in named]
        note.older = sorted(older, key=lambda one: one.key is not None and one.key == note.key)


def in_order(notes: Iterable[Note]) -> Iterator[Note]:
    """Yield every note once, those that it supersedes first.

    Whatever is superseded comes before what is not, which may have been given its key since.
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
    """Return the fields that an export wrote, and what was added by hand as metadata."""
    known = {name: _read_as(name, properties[name]) for name in _OWN if name in properties}
    fields = {name: value for name, value in known.items() if value is not None or name == "value"}
    ours = {*_OWN, *_TOLD}
    if added := {name: value for name, value in properties.items() if name not in ours}:
        if not isinstance(metadata := fields.get("metadata", {}), dict):
            raise ValueError("metadata is not an object")
        fields["metadata"] = added | metadata
    return fields


def _of_others(place: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a note that was not written here says about itself in its own way."""
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
        "occurred_at": _date(properties),
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


def _date(properties: Mapping[str, Any]) -> float | None:
    try:
        return moment(properties.get("date") or properties.get("created"))
    except ValueError:
        return None
