"""Records as notes in a folder, with links between superseding and superseded notes."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from textwrap import shorten
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from bethink import MemoryRecord, MemoryStore, StorageError
from bethink.adapting import Scope, Where

from ..times import to_text
from .note import to_note
from .reading import Note, in_order, notes_in

_DEEPEST: Final = 8
_LONGEST: Final = 48
_UNSAFE: Final = re.compile(r"[^\w-]+")
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


class _Version(NamedTuple):
    """A record, with the superseded records and the record that supersedes."""

    record: MemoryRecord
    older: Sequence[MemoryRecord]
    newer: MemoryRecord | None


def export_markdown(
    store: MemoryStore,
    folder: str | os.PathLike[str],
    *,
    namespace: Scope = "default",
    where: Where = None,
    history: bool = False,
) -> int:
    """Write a note for every live record of *namespace* that passes *where*; return the number.

    A note lies in folders named after the namespace. The properties of the note hold the fields,
    the text is the content; a fact's key is an alias. With *history*, superseded records have
    notes, too, linked both ways. A folder that leads out of *folder* raises ``StorageError``.

    A note takes the place of the notes by former exports of the same record, edited by hand or not;
    a call of ``import_from`` before lists edited notes. Notes by former exports of records with a
    different namespace or key by now, or no longer live in *store*, are removed, unless a remaining
    note links to the note as superseded. All further notes are left alone.
    """
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    older = _superseded(store) if history else {}
    written: dict[str, Path] = {}
    for name in store.namespaces(namespace):
        for record in store.all(namespace=name, where=where):
            for version in _versions(store, record, older):
                written[version.record.id] = _write(root, version)
    _remove_former(store, root, written)
    return len(written)


def _superseded(store: MemoryStore) -> dict[str, list[str]]:
    """Return, by the id of each record, the ids of the superseded records."""
    older: dict[str, list[str]] = {}
    for entry in store.log(limit=None):
        if (newer := entry.changes.get("superseded_by")) and entry.id is not None:
            older.setdefault(str(newer), []).append(entry.id)
    return older


def _versions(
    store: MemoryStore, record: MemoryRecord, older: Mapping[str, Sequence[str]]
) -> Iterator[_Version]:
    waiting: list[tuple[MemoryRecord, MemoryRecord | None]] = [(record, None)]
    while waiting:
        each, newer = waiting.pop()
        known = [store.get(id) for id in older.get(each.id, ())]
        before = [one for one in known if one is not None and one.superseded_by == each.id]
        yield _Version(each, before, newer)
        waiting += [(one, each) for one in before]


def _write(root: Path, version: _Version) -> Path:
    parts = map(_safe, version.record.namespace.split("/")[:_DEEPEST])
    parent = root.joinpath(*parts)
    parent.mkdir(parents=True, exist_ok=True)
    if not parent.resolve().is_relative_to(root.resolve()):
        raise StorageError(str(parent), f"it leads out of {root}; nothing was written there")
    note = to_note(_properties(version), version.record.content)
    with tempfile.NamedTemporaryFile("wb", dir=parent, prefix=".", delete=False) as file:
        file.write(note.encode())
    path = parent / f"{_name(version.record)}.md"
    os.replace(file.name, path)
    return path


def _remove_former(store: MemoryStore, root: Path, written: Mapping[str, Path]) -> None:
    """Remove the notes of former exports that are out of date."""
    notes, _ = notes_in(root)
    former = {note.place: note for note in notes if _is_former(store, root, note, written)}
    linked = {each.place for each in in_order(note for note in notes if note.place not in former)}
    for place, note in former.items():
        if note.id in written or place not in linked:
            (root / place).unlink(missing_ok=True)


def _is_former(store: MemoryStore, root: Path, note: Note, written: Mapping[str, Path]) -> bool:
    """Return whether *note* is *written* elsewhere by now, or the record has moved or is gone."""
    if note.id is None:
        return False
    if note.id in written:
        return not written[note.id].samefile(root / note.place)
    record = store.get(note.id)
    if record is not None and record.state == "live":
        return (record.namespace, record.key) != (note.namespace, note.key)
    return bool(store.log(limit=1, id=note.id))


def _properties(version: _Version) -> dict[str, Any]:
    """Return the properties of the note without None; without content, ``value`` always stays."""
    record = version.record
    told = {
        "id": record.id,
        "namespace": record.namespace,
        "key": record.key,
        "aliases": [record.key] if record.key and not version.newer else None,
        "thread": record.thread,
        "author": record.author,
        "category": record.category,
        "tags": list(record.tags) or None,
        "importance": record.importance,
        "confidence": record.confidence,
        "occurred_at": to_text(record.occurred_at),
        "expires_at": None if record.expires_at is None else to_text(record.expires_at),
        "created_at": to_text(record.created_at),
        "updated_at": to_text(record.updated_at),
        "source": record.source,
        "supersedes": [f"[[{_name(older)}]]" for older in version.older] or None,
        "superseded_by": f"[[{_name(version.newer)}]]" if version.newer else None,
        "value": record.value,
        "metadata": record.metadata or None,
    }
    held = None if record.content else "value"
    return {name: value for name, value in told.items() if value is not None or name == held}


def _name(record: MemoryRecord) -> str:
    """Return the name of a record's note; no two records have the same name."""
    digest = sha256(record.id.encode()).hexdigest()[:12]
    return f"{_safe(record.key or record.content)} {digest}"


def _safe(text: str) -> str:
    """Return *text* as a name for every file system, without a way out of the folder."""
    words = _UNSAFE.sub(" ", normalize("NFC", text[: 4 * _LONGEST])).strip()
    name = shorten(words, _LONGEST, placeholder="") or words[:_LONGEST] or "_"
    return f"{name}_" if _DEVICES.fullmatch(name) else name
