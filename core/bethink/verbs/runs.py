"""Runs: a text kept in one record, or in several: a head, and pieces that go on where it ends.

The key of the head is the path of the text. The key of a piece tells the path, too, and the byte at
which the piece begins; so the pieces of a text lie side by side and in order, and those of all
texts below a folder lie together. No text lies below another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from .. import fields
from ..backends import EMBEDDED, Vector
from ..engine import Engine, Transaction
from ..errors import PathTakenError
from ..paths import above, below
from ..records import MemoryRecord
from .lifecycle import add, prepare, retire, revise, unexpired

LONGEST: Final = 1024
"""The most characters of a piece that ``cut`` makes."""

_MOST_BYTES: Final = 4 * LONGEST
_MARK: Final = "+"  # no path begins with it
_PIECE: Final = re.compile(r"\+(.*)//[0-9a-f]{12}", re.DOTALL)
_Found: TypeAlias = tuple[int, MemoryRecord]


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


def text_of(record: MemoryRecord) -> str:
    """Return the text of a head or a piece."""
    if record.content:
        return record.content
    return record.value if isinstance(record.value, str) else fields.to_json(record.value)


def path_of(record: MemoryRecord) -> str:
    """Return the path of the text that a head or a piece is of; another key is its own."""
    found = _PIECE.fullmatch(str(record.key))
    return found[1] if found else str(record.key)


def place_of(record: MemoryRecord) -> int:
    """Return the byte at which a head or a piece begins."""
    return _begin(record) if _PIECE.fullmatch(str(record.key)) else 0


def is_of_pieces(transaction: Transaction, record: MemoryRecord) -> bool:
    """Tell whether a record is one of several that a text is kept in."""
    if record.key is None or _PIECE.fullmatch(record.key):
        return record.key is not None
    span = _span(record.key)
    return bool(transaction.writer.span(record.namespace, *span, transaction.now, last=True))


def leaves_whole(transaction: Transaction, record: MemoryRecord) -> bool:
    """Tell whether a text has no hole once *record* is live, or is not, as its state says.

    A piece may come only where its text ends, and a part go only if nothing follows it.
    """
    namespace, path = record.namespace, path_of(record)
    if record.state == "live":
        return record.key == path or place_of(record) == _end_of(transaction, namespace, path)
    after = _span(path, place_of(record) + 1)
    return not transaction.writer.span(namespace, *after, transaction.now, last=True)


def held(transaction: Transaction, namespace: str, path: str) -> dict[str, _Found]:
    """Return by key the records of a text with their rows, the head first."""
    writer, now = transaction.writer, transaction.now
    found = _at(transaction, namespace, path)
    if found:
        found += writer.span(namespace, *_span(path), now)
    return {str(record.key): (row, record) for row, record in found}


def read(
    engine: Engine, namespace: str, path: str, start: int = 0, end: int | None = None
) -> list[tuple[int, MemoryRecord]]:
    """Return the parts of a text with the byte each begins at: the head, and pieces after it.

    Of the pieces those with bytes from *start* to before *end*, and perhaps one before them.
    Nothing is returned if there is no such text.
    """
    engine.check_open()
    low, high = _span(path, max(0, start - _MOST_BYTES), end)
    while True:  # until head and pieces are of one moment
        now = engine.clock()
        head = unexpired(engine.backend.holder(namespace, path), now)
        if head is None:
            return []
        row = engine.backend.rows_of([head.id])  # another one even if it says the same again
        pieces = engine.backend.span(namespace, low, high, now)
        again = engine.backend.holder(namespace, path)
        if _told(again) == _told(head) and engine.backend.rows_of([head.id]) == row:
            return [(0, head), *((_begin(piece), piece) for piece in pieces)]


def heads(engine: Engine, namespace: str, folder: str, *, last: bool = False) -> list[MemoryRecord]:
    """Return the heads of all texts below *folder*, or only the last one."""
    engine.check_open()
    return engine.backend.span(namespace, *below(folder), engine.clock(), last=last)


def size(engine: Engine, head: MemoryRecord) -> int:
    """Return the bytes of the text that begins with *head*."""
    span = _span(str(head.key))
    return _end(head, engine.backend.span(head.namespace, *span, engine.clock(), last=True))


def append(engine: Engine, namespace: str, path: str, text: str) -> int:
    """Add *text* in pieces to the end of a text; return the byte at which it begins.

    Where there is none it is made, if there is room. What is there is neither read nor written
    anew.
    """
    engine.check_open()
    drafts = [_draft(engine, namespace, path, each) for each in cut(text) or [""]]
    vectors = engine.embed(drafts)
    with engine.writing() as transaction:
        start = end = _end_of(transaction, namespace, path)
        if end is None:
            _make_room(transaction, namespace, path)
        for draft, vector in zip(drafts, vectors, strict=True):
            length = len(text_of(draft).encode())
            if end is None or length:
                key = path if end is None else _key(path, end)
                add(transaction, replace(draft, key=fields.label("key", key)), {EMBEDDED: vector})
            end = (end or 0) + length
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
        known = [record for _, record in read(engine, namespace, path)]
        wanted = dict(_keyed(path, change([text_of(record) for record in known])))
        drafts = _drafts(engine, namespace, known, wanted)
        with engine.writing() as transaction:
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
    with engine.writing() as transaction:
        found = _tree(transaction, namespace, path)
        retire(transaction, found)
    return _heads(found)


def rename(engine: Engine, namespace: str, path: str, target: str) -> int:
    """Move the text at *path*, and all below it, to *target*; return how many texts those were."""
    with engine.writing() as transaction:
        found = _tree(transaction, namespace, path)
        if found:
            _make_room(transaction, namespace, target)
        for row, record in found:
            mark, _, rest = str(record.key).partition(path)
            moved = fields.label("key", f"{mark}{target}{rest}")
            revise(transaction, row, record, {"key": moved}, {})
    return _heads(found)


def _key(path: str, begin: int) -> str:
    return f"{_MARK}{path}//{begin:012x}"


def _begin(piece: MemoryRecord) -> int:
    return int(str(piece.key).rpartition("/")[2], 16)


def _span(path: str, start: int = 0, end: int | None = None) -> tuple[str, str]:
    """Return the ends of the keys of the pieces that begin from *start* to before *end*."""
    return _key(path, start), f"{_MARK}{path}//g" if end is None else _key(path, end)


def _end(head: MemoryRecord, last: Sequence[MemoryRecord]) -> int:
    """Return where a text ends that ends with the piece *last*, if it has any."""
    part = last[0] if last else head
    return (_begin(part) if last else 0) + len(text_of(part).encode())


def _end_of(transaction: Transaction, namespace: str, path: str) -> int | None:
    """Return the byte at which a text ends, None if there is none."""
    found = _at(transaction, namespace, path)
    if not found:
        return None
    last = transaction.writer.span(namespace, *_span(path), transaction.now, last=True)
    return _end(found[0][1], [record for _, record in last])


def _keyed(path: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    begin = 0
    for text in texts:
        yield _key(path, begin) if begin else path, text
        begin += len(text.encode())


def _content(text: str) -> dict[str, Any]:
    """Return the fields that hold *text*: a blank one is a value, as no content can be blank."""
    blank = not text.strip()
    return fields.checked({"content": "" if blank else text, "value": text if blank else None})


def _draft(engine: Engine, namespace: str, key: str, text: str) -> MemoryRecord:
    given = {**_content(text), "namespace": namespace, "key": key}
    return prepare(given, {}, engine.clock(), engine.new_id)[0]


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


def _at(transaction: Transaction, namespace: str, path: str) -> list[_Found]:
    held = transaction.writer.holder(namespace, path)
    return [held] if held and not held[1].expired(transaction.now) else []


def _tree(transaction: Transaction, namespace: str, path: str) -> list[_Found]:
    """Return the records of the text at *path* and of all below it, heads first."""
    return _at(transaction, namespace, path) + _below(transaction, namespace, path)


def _below(transaction: Transaction, namespace: str, path: str) -> list[_Found]:
    """Return the heads of all texts below *path*, then their pieces and those of the text at it."""
    heads, pieces = (
        transaction.writer.span(namespace, *below(top), transaction.now)
        for top in (path, f"{_MARK}{path}")
    )
    return heads + pieces


def _heads(found: Iterable[_Found]) -> int:
    return sum(not str(record.key).startswith(_MARK) for _, record in found)


def _make_room(transaction: Transaction, namespace: str, path: str) -> None:
    """Refuse a new text at *path* where something is, and below a text.

    What remains of texts whose heads alone were forgotten goes.
    """
    for name in [*above(path), path]:
        if _at(transaction, namespace, name):
            raise PathTakenError(name, "file")
    left = _below(transaction, namespace, path)
    if _heads(left):
        raise PathTakenError(path, "folder")
    retire(transaction, left)


def _put(
    transaction: Transaction, held: Mapping[str, _Found], draft: MemoryRecord, vector: Vector
) -> MemoryRecord:
    """Have a record say what *draft* does: the one that holds its key, or a new one."""
    if known := held.get(str(draft.key)):
        changes = {"content": draft.content, "value": draft.value}
        return revise(transaction, *known, changes, {EMBEDDED: vector})
    add(transaction, draft, {EMBEDDED: vector})
    return draft
