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
from ...model import fields
from ...model.namespaces import below
from ...model.port import EMBEDDED, Vector
from ...model.records import MemoryRecord
from .chunks import (
    LONGEST_PATH,
    MARK,
    Found,
    end_of,
    head,
    held,
    hole,
    key_of,
    length,
    path_of,
    place_of,
    span_of,
    text_of,
)
from .paths import above

LONGEST: Final = 1024
"""The most characters of a piece that ``cut`` makes."""

_MOST_BYTES: Final = 4 * LONGEST


def cut(text: str) -> list[str]:
    """Cut *text* at the ends of lines into pieces of ``LONGEST`` characters; "" into none.

    Only a line that is longer is cut itself.
    """
    pieces, start = [], 0
    while start < len(text):
        end = start + LONGEST
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        pieces.append(text[start:end])
        start = end
    return pieces


def cut_anew(texts: Sequence[str], text: str) -> list[str]:
    """Cut *text*, which is to replace *texts*: those that it begins with stay as they are."""
    kept, start = [], 0
    for old in texts:
        end = start + len(old)
        whole = old.endswith("\n") or len(old) >= LONGEST or end == len(text)
        if not (old and whole and text.startswith(old, start)):
            break
        kept.append(old)
        start = end
    return [*kept, *cut(text[start:])] or [""]


def read(
    engine: Engine, namespace: str, path: str, start: int = 0, end: int | None = None
) -> list[MemoryRecord]:
    """Return the parts of a text: the head, and pieces after it.

    Of the pieces those with bytes from *start* to before *end*, and perhaps one before them.
    Nothing is returned if there is no such text; one that lacks any of those bytes raises
    ``HoleError``.
    """
    engine.check_open()
    found = _seen(engine, namespace, path, start, end)
    if end is not None and found and end_of(found[-1]) < end:
        found = _seen(engine, namespace, path, start)  # it ends here, or goes on after a hole
    if (missing := hole(found, start)) is not None:
        raise HoleError(path, missing)
    return [part for part in found if end is None or place_of(part) <= end]


def stands(engine: Engine, namespace: str, path: str) -> bool:
    """Tell whether there is a text at *path*, or what is left of one."""
    engine.check_open()
    now = engine.clock()
    if unexpired(engine.backend.by_key(namespace, path), now) is not None:
        return True
    return bool(engine.backend.span(namespace, *span_of(path), now, last=True))


def sizes(engine: Engine, namespace: str, folder: str) -> dict[str, int]:
    """Return by path where the texts below *folder*, or what is left of them, end in bytes."""
    engine.check_open()
    now, span = engine.clock(), engine.backend.span
    ends = {path_of(each): end_of(each) for each in span(namespace, *below(folder), now)}
    low, high = below(f"{MARK}{folder}")
    while last := span(namespace, low, high, now, last=True):
        path, high = path_of(last[0]), str(last[0].key)
        if path != high:
            high = key_of(path, 0)
            ends[path] = end_of(last[0])
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
    drafts = [_draft(engine, namespace, path, each) for each in cut(text) or [""]]
    vectors = engine.embed(drafts)
    with engine.writing(guarded=False) as transaction:
        start = end = length(transaction, namespace, path)
        if end is None:
            _make_room(transaction, namespace, path)
        for draft, vector in zip(drafts, vectors, strict=True):
            added = len(text_of(draft).encode())
            if end is None or added:
                key = path if end is None else key_of(path, end)
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
        wanted = dict(_keyed(path, change([text_of(record) for record in known])))
        if len(wanted) > 1:
            _check_length(path)
        drafts = _drafts(engine, namespace, known, wanted)
        with engine.writing(guarded=False) as transaction:
            there = held(transaction, namespace, path)
            if [_told(record) for _, record in there.values()] != list(map(_told, known)):
                continue
            if not there:
                _make_room(transaction, namespace, path)
            put = [_put(transaction, there, *draft) for draft in drafts]
            retire(transaction, [there[key] for key in there if key not in wanted])
        engine.index.save()
        return engine.current(next(each for each in (*put, *known) if each.key == path))


def forget(engine: Engine, namespace: str, path: str) -> int:
    """Forget the text at *path* and all below it; return how many texts those were."""
    with engine.writing(guarded=False) as transaction:
        found = _tree(transaction, namespace, path)
        retire(transaction, found)
    return _texts(found)


def rename(engine: Engine, namespace: str, path: str, target: str) -> int:
    """Move the text at *path*, and all below it, to *target*; return how many texts those were."""
    with engine.writing(guarded=False) as transaction:
        found = _tree(transaction, namespace, path)
        if found:
            _make_room(transaction, namespace, target)
        for row, record in found:
            mark, _, rest = str(record.key).partition(path)
            _check_length(f"{target}{path_of(record).removeprefix(path)}")
            revise(transaction, row, record, {"key": f"{mark}{target}{rest}"}, {})
    return _texts(found)


def _keyed(path: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    begin = 0
    for text in texts:
        yield key_of(path, begin) if begin else path, text
        begin += len(text.encode())


def _content(text: str) -> dict[str, Any]:
    """Return the fields that hold *text*: a blank one is a value, as no content can be blank."""
    blank = not text.strip()
    return fields.checked({"content": "" if blank else text, "value": text if blank else None})


def _draft(engine: Engine, namespace: str, key: str, text: str) -> MemoryRecord:
    given = {**_content(text), "namespace": namespace, "key": key}
    return build_record(given, {}, engine.clock(), engine.new_id)[0]


def _drafts(
    engine: Engine, namespace: str, known: Sequence[MemoryRecord], wanted: Mapping[str, str]
) -> list[tuple[MemoryRecord, Vector]]:
    """Return the records, with their vectors, of *wanted* texts that are not *known* as they are.

    In the order of the text.
    """
    before = {str(record.key): record for record in known}
    drafts = [
        replace(before[key], **_content(text))
        if key in before
        else _draft(engine, namespace, key, text)
        for key, text in wanted.items()
        if key not in before or text_of(before[key]) != text
    ]
    return list(zip(drafts, engine.embed(drafts), strict=True))


def _told(record: MemoryRecord | None) -> tuple[object, ...]:
    if record is None:
        return ()
    return record.id, record.key, record.content, record.value, record.author


def _seen(
    engine: Engine, namespace: str, path: str, start: int, end: int | None = None
) -> list[MemoryRecord]:
    """Return the parts that ``read`` does, and of a text without a head a piece that is left."""
    backend = engine.backend
    low, high = span_of(path, max(0, start - _MOST_BYTES), end)
    while True:  # until head and pieces are of one moment
        now = engine.clock()
        first = unexpired(backend.by_key(namespace, path), now)
        if first is None:
            found = backend.span(namespace, *span_of(path), now, last=True)
        else:
            row = backend.rows_of([first.id])  # another one even if it says the same again
            found = [first, *backend.span(namespace, low, high, now)]
        again = unexpired(backend.by_key(namespace, path), now)
        if _told(again) == _told(first) and (first is None or backend.rows_of([first.id]) == row):
            return found


def _tree(transaction: Transaction, namespace: str, path: str) -> list[Found]:
    """Return the records of the text at *path* and of all below it, heads first."""
    return head(transaction, namespace, path) + _below(transaction, namespace, path)


def _below(transaction: Transaction, namespace: str, path: str) -> list[Found]:
    """Return the heads of all texts below *path*, then their pieces and those of the text at it."""
    heads, pieces = (
        transaction.writer.span(namespace, *below(top), transaction.now)
        for top in (path, f"{MARK}{path}")
    )
    return heads + pieces


def _texts(found: Iterable[Found]) -> int:
    return len({path_of(record) for _, record in found})


def _make_room(transaction: Transaction, namespace: str, path: str) -> None:
    """Refuse a new text at *path* where something is, and below a text."""
    _check_length(path)
    for name in [*above(path), path]:
        if length(transaction, namespace, name) is not None:
            raise PathTakenError(name, "file")
    if _below(transaction, namespace, path):
        raise PathTakenError(path, "folder")


def _check_length(path: str) -> None:
    if len(path) > LONGEST_PATH:
        raise ValidationError(
            f"path is {len(path):,} characters long; the limit is {LONGEST_PATH:,}"
        )


def _put(
    transaction: Transaction, held: Mapping[str, Found], draft: MemoryRecord, vector: Vector
) -> MemoryRecord:
    """Have a record say what *draft* does: the one that holds its key, or a new one."""
    if known := held.get(str(draft.key)):
        changes = {"content": draft.content, "value": draft.value}
        return revise(transaction, *known, changes, {EMBEDDED: vector})
    add(transaction, draft, {EMBEDDED: vector})
    return draft
