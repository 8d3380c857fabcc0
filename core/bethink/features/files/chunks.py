"""Chunks: the keys of the records of a text, and the check for gaps between chunks.

The key of the first chunk is the path. The key of a later chunk holds the path and the first byte
of the chunk, so the chunks of a text are neighbours in the order of keys, in the order of the text.
The chunks of all texts below a folder are neighbours, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ...errors import HoleError, ValidationError
from ...memory.engine import Transaction
from ...model import fields
from ...model.port import Stored
from ...model.records import MemoryRecord
from ..keys import key_range
from .paths import ROOT

CHUNK_PREFIX: Final = "+"  # no path begins with "+"
_CHUNK_KEY: Final = re.compile(r"\+(.*)//[0-9a-f]{12}", re.DOTALL)
_AFTER_ROOT: Final = chr(ord(ROOT) + 1)
IN_FILES: Final = {
    "$or": [
        {"key": {"$gte": ROOT, "$lt": _AFTER_ROOT}},
        {"key": {"$gte": CHUNK_PREFIX + ROOT, "$lt": CHUNK_PREFIX + _AFTER_ROOT}},
    ]
}
"""The filter of all chunks of all texts."""


def chunk_key(path: str, begin: int) -> str:
    """Return the key of the later chunk of the text at *path* that begins at byte *begin*."""
    return f"{CHUNK_PREFIX}{path}//{begin:012x}"


MAX_PATH_CHARACTERS: Final = fields.MAX_LABEL - len(chunk_key("", 0))
"""The most characters of a path: a longer path leaves no room for the keys of chunks."""


def chunk_key_range(path: str, start: int = 0, end: int | None = None) -> tuple[str, str]:
    """Return two bounds for the keys of later chunks that begin from *start* to before *end*."""
    after_all = f"{CHUNK_PREFIX}{path}//g"  # "g" follows every hexadecimal digit
    return chunk_key(path, start), after_all if end is None else chunk_key(path, end)


def chunk_text(record: MemoryRecord) -> str:
    """Return the text of a chunk."""
    if record.content:
        return record.content
    return record.value if isinstance(record.value, str) else fields.to_json(record.value)


def path_of(record: MemoryRecord) -> str:
    """Return the path of a chunk's text; any key that is no chunk's is a path."""
    return _path(str(record.key))


def start_byte(record: MemoryRecord) -> int:
    """Return the first byte of a chunk."""
    key = str(record.key)
    return int(key.rpartition("/")[2], 16) if _CHUNK_KEY.fullmatch(key) else 0


def end_byte(record: MemoryRecord) -> int:
    """Return the byte after the last byte of a chunk."""
    return start_byte(record) + len(chunk_text(record).encode())


def is_chunked(transaction: Transaction, record: MemoryRecord) -> bool:
    """Return whether *record* is a chunk of a text with several chunks."""
    if record.key is None or _CHUNK_KEY.fullmatch(record.key):
        return record.key is not None
    return bool(_find_later_chunks(transaction, record.namespace, record.key, last=True))


def find_first_chunk(transaction: Transaction, namespace: str, path: str) -> list[Stored]:
    """Return the first chunk of a text with the row; an empty list without a text."""
    holder = transaction.writer.by_key(namespace, path)
    return [holder] if holder and not holder.record.expired(transaction.now) else []


def records_by_key(transaction: Transaction, namespace: str, path: str) -> dict[str, Stored]:
    """Return the rows and records of all chunks of a text by key, in order, gaps or not."""
    first = find_first_chunk(transaction, namespace, path)
    found = first + _find_later_chunks(transaction, namespace, path)
    return {str(each.record.key): each for each in found}


def find_last_chunk(transaction: Transaction, namespace: str, path: str) -> MemoryRecord | None:
    """Return the last chunk of a text, None without a text."""
    found = find_first_chunk(transaction, namespace, path)
    last = _find_later_chunks(transaction, namespace, path, last=True)
    if last and not found:
        raise HoleError(path, 0)
    return (last or found)[0].record if found else None


def find_gap(chunks: Sequence[MemoryRecord], start: int = 0) -> int | None:
    """Return the first missing byte between *chunks*, in the order of the text; None without a gap.

    Of the bytes before *start*, only the first chunk counts.
    """
    if chunks and chunks[0].key != path_of(chunks[0]):
        return 0
    end = 0
    for chunk in chunks:
        begin = start_byte(chunk)
        if begin != end and not end < begin <= start:
            return end
        end = end_byte(chunk)
    return None


def refuse_gaps(transaction: Transaction) -> None:
    """Refuse a *transaction* that leaves a gap in a text, now or when a chunk expires.

    A text without any chunk has no gap.
    """
    texts = {(namespace, _path(key)) for namespace, key in transaction.keys}
    for namespace, path in sorted(text for text in texts if text[1].startswith(ROOT)):
        chunks = [chunk for _, chunk in records_by_key(transaction, namespace, path).values()]
        ends = {chunk.expires_at for chunk in chunks}
        if find_gap(chunks) is not None or len(ends) > 1:
            raise ValidationError(
                f"it would leave a hole in the text at {path!r}: change it with Files, or take all "
                "its records together"
            )


def _path(key: str) -> str:
    found = _CHUNK_KEY.fullmatch(key)
    return found[1] if found else key


def _find_later_chunks(
    transaction: Transaction, namespace: str, path: str, *, last: bool = False
) -> list[Stored]:
    span = chunk_key_range(path)
    return key_range(transaction.writer, namespace, *span, transaction.now, last=last)
