"""Chunked texts: a text in one record, or in several: a first chunk and the chunks after.

``chunks`` explains the keys. No text lies below a second text. A text with a gap, after the erasing
or the expiry of a chunk, is neither read nor changed until the remaining chunks are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from ...errors import HoleError, PathTakenError, ValidationError
from ...memory.engine import Engine, Transaction
from ...memory.writing import add, build_record, retire, revise
from ...model.namespaces import below
from ...model.port import EMBEDDED, Stored
from ...model.records import MemoryRecord, checked_fields
from ..keys import key_range
from .chunks import (
    CHUNK_PREFIX,
    MAX_PATH_CHARACTERS,
    chunk_key,
    chunk_key_range,
    chunk_text,
    end_byte,
    find_first_chunk,
    find_gap,
    find_last_chunk,
    path_of,
    records_by_key,
    start_byte,
)
from .paths import above

MAX_CHUNK_CHARACTERS: Final = 1024
"""The most characters of a chunk made by ``split_into_chunks``."""

_MAX_CHUNK_BYTES: Final = 4 * MAX_CHUNK_CHARACTERS


def split_into_chunks(text: str) -> list[str]:
    """Cut *text* at ends of lines into chunks of at most ``MAX_CHUNK_CHARACTERS``; "" into none.

    Only a line longer than a chunk is cut inside.
    """
    chunks, start = [], 0
    while start < len(text):
        end = start + MAX_CHUNK_CHARACTERS
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        chunks.append(text[start:end])
        start = end
    return chunks


def rechunk(chunks: Sequence[str], text: str) -> list[str]:
    """Cut *text*, which replaces *chunks*: the leading chunks that *text* begins with stay."""
    unchanged, start = [], 0
    for old in chunks:
        end = start + len(old)
        # A chunk that stops in the middle of a line is cut again with the rest of the line.
        complete = old.endswith("\n") or len(old) >= MAX_CHUNK_CHARACTERS or end == len(text)
        if not (old and complete and text.startswith(old, start)):
            break
        unchanged.append(old)
        start = end
    return [*unchanged, *split_into_chunks(text[start:])] or [""]


class ChunkedTexts:
    """The texts in *namespace*, by path."""

    def __init__(self, engine: Engine, namespace: str) -> None:
        self._engine = engine
        self._namespace = namespace

    def read(self, path: str, start: int = 0, end: int | None = None) -> list[MemoryRecord]:
        """Return the chunks of a text, in order; none if there is no text at *path*.

        Of the chunks after the first, only chunks with bytes from *start* to before *end*, and
        perhaps the chunk before. A gap in the range raises ``HoleError``.
        """
        found = self._find_chunks(path, start, end)
        if end is not None and found and end_byte(found[-1]) < end:
            # Either the text ends before *end*, or a gap is in the range: the rest decides.
            found = self._find_chunks(path, start)
        if (missing := find_gap(found, start)) is not None:
            raise HoleError(path, missing)
        return [chunk for chunk in found if end is None or start_byte(chunk) <= end]

    def exists_or_remains(self, path: str) -> bool:
        """Return whether any chunk of a text at *path* exists."""
        now = self._engine.clock()
        _, first = self._find_first(path, now)
        return bool(first or self._between(*chunk_key_range(path), now, last=True))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the size in bytes of each text below *folder*, up to the end of the last chunk."""
        now = self._engine.clock()
        ends = {path_of(each): end_byte(each) for each in self._between(*below(folder), now)}
        # From the last key backwards, one step a text: only the last chunk of each text is read.
        low, high = below(f"{CHUNK_PREFIX}{folder}")
        while last := self._between(low, high, now, last=True):
            path, high = path_of(last[0]), str(last[0].key)
            if path != high:
                high = chunk_key(path, 0)
                ends[path] = end_byte(last[0])
        ends.pop(folder, None)
        return ends

    def is_folder(self, path: str) -> bool:
        """Return whether any text lies below *path*."""
        last = self._between(*below(path), self._engine.clock(), last=True)
        return bool(last or self.sizes(path))

    def append(self, path: str, text: str) -> int:
        """Add *text* in new chunks to the end of a text; return the byte where *text* begins.

        A missing text is made. Existing chunks are neither read nor written.
        """
        _check_length(path)
        drafts = [self._build_draft(path, each) for each in split_into_chunks(text) or [""]]
        vectors = self._engine.embed(drafts)
        with self._writing() as transaction:
            last = find_last_chunk(transaction, self._namespace, path)
            start = end = expires_at = None
            if last is None:
                _check_free(transaction, self._namespace, path)
            else:
                transaction.check_source(last)
                start = end = end_byte(last)
                expires_at = last.expires_at
            for draft, vector in zip(drafts, vectors, strict=True):
                added = len(chunk_text(draft).encode())
                if end is None or added:
                    key = path if end is None else chunk_key(path, end)
                    record = replace(draft, key=key, expires_at=expires_at)
                    add(transaction, record, {EMBEDDED: vector})
                end = (end or 0) + added
        self._engine.index.save()
        return start or 0

    def rewrite(self, path: str, change: Callable[[Sequence[str]], Sequence[str]]) -> MemoryRecord:
        """Replace the chunks of a text by the result of *change*; return the first record.

        *change* gets the present chunks, none for a missing text. Records of unchanged chunks stay.
        *change* runs before the transaction, and again if the text has changed meanwhile.
        """
        engine = self._engine
        while True:  # until nobody else changes the text during the embedding
            known = self.read(path)
            before = {str(record.key): record for record in known}
            expires_at = known[0].expires_at if known else None
            wanted, begin = dict[str, str](), 0
            for text in change([chunk_text(record) for record in known]):
                wanted[chunk_key(path, begin) if begin else path] = text
                begin += len(text.encode())
            if len(wanted) > 1:
                _check_length(path)
            drafts = [
                replace(before[key], **_text_fields(text))
                if key in before
                else replace(self._build_draft(key, text), expires_at=expires_at)
                for key, text in wanted.items()
                if key not in before or chunk_text(before[key]) != text
            ]
            vectors = engine.embed(drafts)
            with self._writing() as transaction:
                present = records_by_key(transaction, self._namespace, path)
                if list(map(_identity, before.values())) != [
                    _identity(record) for _, record in present.values()
                ]:
                    continue
                if not present:
                    _check_free(transaction, self._namespace, path)
                written = []
                for draft, vector in zip(drafts, vectors, strict=True):
                    if found := present.get(str(draft.key)):
                        changes = {"content": draft.content, "value": draft.value}
                        draft = revise(transaction, *found, changes, {EMBEDDED: vector})
                    else:
                        add(transaction, draft, {EMBEDDED: vector})
                    written.append(draft)
                retire(transaction, [present[key] for key in present if key not in wanted])
            engine.index.save()
            return engine.current(next(each for each in (*written, *known) if each.key == path))

    def forget(self, path: str) -> int:
        """Forget the text at *path* and all texts below; return the number of texts."""
        with self._writing() as transaction:
            found = _find_tree(transaction, self._namespace, path)
            retire(transaction, found)
        return _count_texts(found)

    def rename(self, path: str, target: str) -> int:
        """Move the text at *path*, and all texts below, to *target*; return the number of texts."""
        with self._writing() as transaction:
            found = _find_tree(transaction, self._namespace, path)
            if found:
                _check_free(transaction, self._namespace, target)
            for row, record in found:
                prefix, _, rest = str(record.key).partition(path)
                _check_length(f"{target}{path_of(record).removeprefix(path)}")
                revise(transaction, row, record, {"key": f"{prefix}{target}{rest}"}, {})
        return _count_texts(found)

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Open a transaction whose entries are undone together."""
        with self._engine.writing(guarded=False) as transaction:
            transaction.parts = 0
            yield transaction

    def _build_draft(self, key: str, text: str) -> MemoryRecord:
        given = {**_text_fields(text), "namespace": self._namespace, "key": key}
        draft, *_ = build_record(given, {}, self._engine.clock(), self._engine.new_id)
        return self._engine.admit(draft)

    def _find_chunks(self, path: str, start: int, end: int | None = None) -> list[MemoryRecord]:
        """Return the chunks for ``read``; the last chunk alone if the first chunk is missing."""
        low, high = chunk_key_range(path, max(0, start - _MAX_CHUNK_BYTES), end)
        while True:  # until the first chunk is equal before and after: one moment for all chunks
            now = self._engine.clock()
            row, first = self._find_first(path, now)
            if first is None:
                found = self._between(*chunk_key_range(path), now, last=True)
            else:
                found = [first, *self._between(low, high, now)]
            again, same = self._find_first(path, now)
            # A rewritten text may return to equal words, in a new row.
            if again == row and _identity(same) == _identity(first):
                return found

    def _find_first(self, path: str, now: float) -> tuple[int, MemoryRecord | None]:
        """Return the first chunk with the row, 0 and None without an unexpired chunk."""
        found = self._engine.backend.by_key(self._namespace, path)
        return (0, None) if found is None or found.record.expired(now) else found

    def _between(
        self, low: str, high: str, now: float, *, last: bool = False
    ) -> list[MemoryRecord]:
        """Return the chunks with keys from *low* to before *high*, or the last, in order."""
        found = key_range(self._engine.backend, self._namespace, low, high, now, last=last)
        return [record for _, record in found]


def _text_fields(text: str) -> dict[str, Any]:
    """Return the fields for *text*: a blank text is a value, since no content can be blank."""
    blank = not text.strip()
    return checked_fields({"content": "" if blank else text, "value": text if blank else None})


def _identity(record: MemoryRecord | None) -> tuple[object, ...]:
    if record is None:
        return ()
    return record.id, record.key, record.content, record.value, record.author


def _find_tree(transaction: Transaction, namespace: str, path: str) -> list[Stored]:
    """Return the records of the text at *path* and of all texts below, first chunks first."""
    first = find_first_chunk(transaction, namespace, path)
    return first + _find_below(transaction, namespace, path)


def _find_below(transaction: Transaction, namespace: str, path: str) -> list[Stored]:
    """Return all first chunks below *path*, then all later chunks at *path* and below."""
    first_chunks, later_chunks = (
        key_range(transaction.writer, namespace, *below(top), transaction.now)
        for top in (path, f"{CHUNK_PREFIX}{path}")
    )
    return first_chunks + later_chunks


def _count_texts(found: Iterable[Stored]) -> int:
    return len({path_of(record) for _, record in found})


def _check_free(transaction: Transaction, namespace: str, path: str) -> None:
    """Refuse a new text at a path that is taken, or below a text."""
    _check_length(path)
    for name in [*above(path), path]:
        if find_last_chunk(transaction, namespace, name) is not None:
            raise PathTakenError(name, "file")
    if _find_below(transaction, namespace, path):
        raise PathTakenError(path, "folder")


def _check_length(path: str) -> None:
    if len(path) > MAX_PATH_CHARACTERS:
        raise ValidationError(
            f"path is {len(path):,} characters long; the limit is {MAX_PATH_CHARACTERS:,}"
        )
