"""Notes read in again: those that were written here, and anybody else's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bethink import StorageError
from bethink.fields import MAX_CONTENT, identifier

from ..base import Found, Item, Skipped, name_of, own_namespace
from ..times import moment
from .note import from_note

_FIELDS: Final = (
    "id",
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
    "source",
    "value",
    "metadata",
)
_EXPORTED: Final = frozenset(("id", "namespace", "created_at"))
_TOLD: Final = frozenset(("aliases", "created_at", "updated_at", "supersedes", "superseded_by"))
_LARGEST: Final = 4 * MAX_CONTENT + (1 << 20)
_LINK: Final = re.compile(r"\[\[([^\]|#]+)")


@dataclass(slots=True)
class Note:
    """What must be known of a note before the first one is imported.

    One that was *exported* has the properties that ``export_markdown`` writes.
    """

    place: str
    id: str | None
    namespace: object
    key: object
    links: list[str]
    exported: bool
    older: list[Note] = field(default_factory=list)


def read_markdown(folder: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the notes below *folder*, what was superseded before what supersedes it.

    A note that ``export_markdown`` wrote keeps its id, as long as ``import_from`` is given no
    namespace. Of any other the folders are the namespace, and unknown properties metadata. Hidden
    files are left out, and those behind symbolic links.
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
    id = properties.get("id")
    known = None if id is None else identifier("id", id)
    namespace, key = properties.get("namespace"), properties.get("key")
    return Note(place, known, namespace, key, links, properties.keys() >= _EXPORTED)


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
    fields = {name: properties[name] for name in _FIELDS if properties.get(name) is not None}
    if "value" in properties:
        fields["value"] = properties["value"]
    fields["content"] = text
    for name in ("occurred_at", "expires_at"):
        if isinstance(fields.get(name), str):
            fields[name] = moment(fields[name])
    if isinstance(fields.get("tags"), str):
        fields["tags"] = [fields["tags"]]
    if "id" not in fields:
        fields |= _of_others(note.place, properties, fields)
    replaces = tuple(older.id for older in note.older if older.id is not None)
    return Item(note.place, fields, replaces)


def _of_others(
    place: str, properties: Mapping[str, Any], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a note that was not written here says about itself in its own way."""
    *folders, name = place.split("/")
    unknown = {name: value for name, value in properties.items() if name not in {*_FIELDS, *_TOLD}}
    if not isinstance(known := fields.get("metadata", {}), dict):
        raise ValueError("metadata is not an object")
    return {
        "namespace": fields.get("namespace") or "/".join(map(own_namespace, folders)),
        "source": name_of("markdown", *folders, name),
        "metadata": {"title": name.removesuffix(".md"), **unknown, **known},
        "occurred_at": fields.get("occurred_at", _date(properties)),
    }


def _date(properties: Mapping[str, Any]) -> float | None:
    try:
        return moment(properties.get("date") or properties.get("created"))
    except ValueError:
        return None
