"""Runs: a text kept in one record, or in several: a head, and pieces that go on where it ends.

``pieces`` tells how they lie. No text lies below another. A text that lost a part, as erasing one
or its expiry may do, is neither read nor changed until what is left of it is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ...errors import HoleError, PathTakenError, ValidationError
from ...memory.engine import Engine, Transaction
from ...memory.writing import add, build_record, retire, revise, unexpired
from ...model.namespaces import below
from ...model.port import EMBEDDED, Vector
from ...model.records import MemoryRecord, checked
from .chunks import (
    CHUNK_PREFIX,
    MAX_PATH_CHARACTERS,
    Found,
    chunk_key,
    chunk_key_range,
    chunk_text,
    end_byte,
    find_first_chunk,
    find_gap,
    path_of,
    records_by_key,
    start_byte,
    text_length,
)
from .paths import above

MAX_CHUNK_CHARACTERS: Final = 1024
"""The most characters of a piece that ``split_into_chunks`` makes."""

_MAX_CHUNK_BYTES: Final = 4 * MAX_CHUNK_CHARACTERS


def split_into_chunks(text: str) -> list[str]:
    """Cut *text* at ends of lines into chunks of at most ``MAX_CHUNK_CHARACTERS``; "" into none.

    Only a longer line is cut within.
    """
    pieces, start = [], 0
    while start < len(text):
        end = start + MAX_CHUNK_CHARACTERS
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        pieces.append(text[start:end])
        start = end
    return pieces


def rechunk(texts: Sequence[str], text: str) -> list[str]:
    """Cut *text*, which is to replace *texts*: those that it begins with stay as they are."""
    kept, start = [], 0
    for old in texts:
        end = start + len(old)
        whole = old.endswith("\n") or len(old) >= MAX_CHUNK_CHARACTERS or end == len(text)
        if not (old and whole and text.startswith(old, start)):
            break
        kept.append(old)
        start = end
    return [*kept, *split_into_chunks(text[start:])] or [""]


def read(
    engine: Engine, namespace: str, path: str, start: int = 0, end: int | None = None
) -> list[MemoryRecord]:
    """Return the parts of a text: the head, and pieces after it.

    Of the pieces those with bytes from *start* to before *end*, and perhaps one before them.
    Nothing is returned if there is no such text; one that lacks any of those bytes raises
    ``HoleError``.
    """
    engine.check_open()
    found = _find_parts(engine, namespace, path, start, end)
    if end is not None and found and end_byte(found[-1]) < end:
        found = _find_parts(engine, namespace, path, start)  # it ends here, or goes on after a hole
    if (missing := find_gap(found, start)) is not None:
        raise HoleError(path, missing)
    return [part for part in found if end is None or start_byte(part) <= end]


def exists_or_remains(engine: Engine, namespace: str, path: str) -> bool:
    """Tell whether there is a text at *path*, or what is left of one."""
    engine.check_open()
    now = engine.clock()
    if unexpired(engine.backend.by_key(namespace, path), now) is not None:
        return True
    return bool(engine.backend.span(namespace, *chunk_key_range(path), now, last=True))


def sizes(engine: Engine, namespace: str, folder: str) -> dict[str, int]:
    """Return by path where the texts below *folder*, or what is left of them, end in bytes."""
    engine.check_open()
    now, span = engine.clock(), engine.backend.span
    ends = {path_of(each): end_byte(each) for each in span(namespace, *below(folder), now)}
    low, high = below(f"{CHUNK_PREFIX}{folder}")
    while last := span(namespace, low, high, now, last=True):
        path, high = path_of(last[0]), str(last[0].key)
        if path != high:
            high = chunk_key(path, 0)
            ends[path] = end_byte(last[0])
    ends.pop(folder, None)
    return ends


def is_folder(engine: Engine, namespace: str, path: str) -> bool:
    """Tell whether there is any text below *path*."""
    engine.check_open()
    last = engine.backend.span(namespace, *below(path), engine.clock(), last=True)
    return bool(last or sizes(engine, namespace, path))


def append(engine: Engine, namespace: str, path: str, text: str) -> int:
    """Add *text* in pieces to the end of a text; return the byte at which it begins.

    Where there is none it is made, if there is room. What is there is neither read nor written
    anew.
    """
    engine.check_open()
    _check_length(path)
    drafts = [
        _build_draft(engine, namespace, path, each) for each in split_into_chunks(text) or [""]
    ]
    vectors = engine.embed(drafts)
    with engine.writing(guarded=False) as transaction:
        start = end = text_length(transaction, namespace, path)
        if end is None:
            _make_room(transaction, namespace, path)
        for draft, vector in zip(drafts, vectors, strict=True):
            added = len(chunk_text(draft).encode())
            if end is None or added:
                key = path if end is None else chunk_key(path, end)
                add(transaction, replace(draft, key=key), {EMBEDDED: vector})
            end = (end or 0) + added
    engine.index.save()
    return start or 0


def rewrite(
    engine: Engine,
    namespace: str,
    path: str,
    change: Callable[[Sequence[str]], Sequence[str]],
) -> MemoryRecord:
    """Give a text the parts that *change* makes of those it has, none if there is no such text.

    Records whose part does not change stay as they are. *change* runs before the transaction, and
    again if the text is another by then. Return the head.
    """
    while True:  # until no one else changes the text while it is being embedded
        known = read(engine, namespace, path)
        wanted = dict(_key_chunks(path, change([chunk_text(record) for record in known])))
        if len(wanted) > 1:
            _check_length(path)
        drafts = _build_changed_drafts(engine, namespace, known, wanted)
        with engine.writing(guarded=False) as transaction:
            there = records_by_key(transaction, namespace, path)
            if [_said_by(record) for _, record in there.values()] != list(map(_said_by, known)):
                continue
            if not there:
                _make_room(transaction, namespace, path)
            put = [_write_part(transaction, there, *draft) for draft in drafts]
            retire(transaction, [there[key] for key in there if key not in wanted])
        engine.index.save()
        return engine.current(next(each for each in (*put, *known) if each.key == path))


def forget(engine: Engine, namespace: str, path: str) -> int:
    """Forget the text at *path* and all below it; return how many texts those were."""
    with engine.writing(guarded=False) as transaction:
        found = _find_tree(transaction, namespace, path)
        retire(transaction, found)
    return _count_texts(found)


def rename(engine: Engine, namespace: str, path: str, target: str) -> int:
    """Move the text at *path*, and all below it, to *target*; return how many texts those were."""
    with engine.writing(guarded=False) as transaction:
        found = _find_tree(transaction, namespace, path)
        if found:
            _make_room(transaction, namespace, target)
        for row, record in found:
            mark, _, rest = str(record.key).partition(path)
            _check_length(f"{target}{path_of(record).removeprefix(path)}")
            revise(transaction, row, record, {"key": f"{mark}{target}{rest}"}, {})
    return _count_texts(found)


def _key_chunks(path: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    begin = 0
    for text in texts:
        yield chunk_key(path, begin) if begin else path, text
        begin += len(text.encode())


def _text_fields(text: str) -> dict[str, Any]:
    """Return the fields that hold *text*: a blank one is a value, as no content can be blank."""
    blank = not text.strip()
    return checked({"content": "" if blank else text, "value": text if blank else None})


def _build_draft(engine: Engine, namespace: str, key: str, text: str) -> MemoryRecord:
    given = {**_text_fields(text), "namespace": namespace, "key": key}
    return build_record(given, {}, engine.clock(), engine.new_id)[0]


def _build_changed_drafts(
    engine: Engine, namespace: str, known: Sequence[MemoryRecord], wanted: Mapping[str, str]
) -> list[tuple[MemoryRecord, Vector]]:
    """Return the records, with their vectors, of *wanted* texts that are not *known* as they are.

    In the order of the text.
    """
    before = {str(record.key): record for record in known}
    drafts = [
        replace(before[key], **_text_fields(text))
        if key in before
        else _build_draft(engine, namespace, key, text)
        for key, text in wanted.items()
        if key not in before or chunk_text(before[key]) != text
    ]
    return list(zip(drafts, engine.embed(drafts), strict=True))


def _said_by(record: MemoryRecord | None) -> tuple[object, ...]:
    if record is None:
        return ()
    return record.id, record.key, record.content, record.value, record.author


def _find_parts(
    engine: Engine, namespace: str, path: str, start: int, end: int | None = None
) -> list[MemoryRecord]:
    """Return the parts that ``read`` does, and of a text without a head a piece that is left."""
    backend = engine.backend
    low, high = chunk_key_range(path, max(0, start - _MAX_CHUNK_BYTES), end)
    while True:  # until head and pieces are of one moment
        now = engine.clock()
        first = unexpired(backend.by_key(namespace, path), now)
        if first is None:
            found = backend.span(namespace, *chunk_key_range(path), now, last=True)
        else:
            row = backend.rows_of([first.id])  # another one even if it says the same again
            found = [first, *backend.span(namespace, low, high, now)]
        again = unexpired(backend.by_key(namespace, path), now)
        if _said_by(again) == _said_by(first) and (
            first is None or backend.rows_of([first.id]) == row
        ):
            return found


def _find_tree(transaction: Transaction, namespace: str, path: str) -> list[Found]:
    """Return the records of the text at *path* and of all below it, heads first."""
    return find_first_chunk(transaction, namespace, path) + _find_below(
        transaction, namespace, path
    )


def _find_below(transaction: Transaction, namespace: str, path: str) -> list[Found]:
    """Return the heads of all texts below *path*, then their pieces and those of the text at it."""
    heads, pieces = (
        transaction.writer.span(namespace, *below(top), transaction.now)
        for top in (path, f"{CHUNK_PREFIX}{path}")
    )
    return heads + pieces


def _count_texts(found: Iterable[Found]) -> int:
    return len({path_of(record) for _, record in found})


def _make_room(transaction: Transaction, namespace: str, path: str) -> None:
    """Refuse a new text at *path* where something is, and below a text."""
    _check_length(path)
    for name in [*above(path), path]:
        if text_length(transaction, namespace, name) is not None:
            raise PathTakenError(name, "file")
    if _find_below(transaction, namespace, path):
        raise PathTakenError(path, "folder")


def _check_length(path: str) -> None:
    if len(path) > MAX_PATH_CHARACTERS:
        raise ValidationError(
            f"path is {len(path):,} characters long; the limit is {MAX_PATH_CHARACTERS:,}"
        )


def _write_part(
    transaction: Transaction,
    known_by_key: Mapping[str, Found],
    draft: MemoryRecord,
    vector: Vector,
) -> MemoryRecord:
    """Have a record say what *draft* does: the one that holds its key, or a new one."""
    if known := known_by_key.get(str(draft.key)):
        changes = {"content": draft.content, "value": draft.value}
        return revise(transaction, *known, changes, {EMBEDDED: vector})
    add(transaction, draft, {EMBEDDED: vector})
    return draft
