"""Pieces: how the parts of a text lie in a namespace, and that no hole comes between them.

The key of the head is the path of the text. The key of a piece tells the path, too, and the byte at
which the piece begins; so the pieces of a text lie side by side and in order, and those of all
texts below a folder lie together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from ...errors import HoleError, ValidationError
from ...memory.engine import Transaction
from ...model import fields
from ...model.records import MemoryRecord
from .paths import ROOT

CHUNK_PREFIX: Final = "+"  # no path begins with it
_CHUNK_KEY: Final = re.compile(r"\+(.*)//[0-9a-f]{12}", re.DOTALL)
Found: TypeAlias = tuple[int, MemoryRecord]


def chunk_key(path: str, begin: int) -> str:
    """Return the key of the piece of the text at *path* that begins at byte *begin*."""
    return f"{CHUNK_PREFIX}{path}//{begin:012x}"


MAX_PATH_CHARACTERS: Final = fields.MAX_LABEL - len(chunk_key("", 0))
"""The most characters of a path whose pieces can have keys."""


def chunk_key_range(path: str, start: int = 0, end: int | None = None) -> tuple[str, str]:
    """Return the ends of the keys of the pieces that begin from *start* to before *end*."""
    return chunk_key(path, start), f"{CHUNK_PREFIX}{path}//g" if end is None else chunk_key(
        path, end
    )


def chunk_text(record: MemoryRecord) -> str:
    """Return the text of a head or a piece."""
    if record.content:
        return record.content
    return record.value if isinstance(record.value, str) else fields.to_json(record.value)


def path_of(record: MemoryRecord) -> str:
    """Return the path of the text that a head or a piece is of; another key is its own."""
    return _path(str(record.key))


def start_byte(record: MemoryRecord) -> int:
    """Return the byte at which a head or a piece begins."""
    key = str(record.key)
    return int(key.rpartition("/")[2], 16) if _CHUNK_KEY.fullmatch(key) else 0


def end_byte(part: MemoryRecord) -> int:
    """Return the byte at which a head or a piece ends."""
    return start_byte(part) + len(chunk_text(part).encode())


def is_chunked(transaction: Transaction, record: MemoryRecord) -> bool:
    """Tell whether a record is one of several that a text is kept in."""
    if record.key is None or _CHUNK_KEY.fullmatch(record.key):
        return record.key is not None
    return bool(_find_chunks(transaction, record.namespace, record.key, last=True))


def find_first_chunk(transaction: Transaction, namespace: str, path: str) -> list[Found]:
    """Return the head of a text with its row, nothing if there is none."""
    holder = transaction.writer.by_key(namespace, path)
    return [holder] if holder and not holder[1].expired(transaction.now) else []


def records_by_key(transaction: Transaction, namespace: str, path: str) -> dict[str, Found]:
    """Return by key the records of a text, or what is left of it, with their rows, in order."""
    found = find_first_chunk(transaction, namespace, path) + _find_chunks(
        transaction, namespace, path
    )
    return {str(record.key): (row, record) for row, record in found}


def text_length(transaction: Transaction, namespace: str, path: str) -> int | None:
    """Return the byte at which a text ends, None if there is none."""
    found = find_first_chunk(transaction, namespace, path)
    last = _find_chunks(transaction, namespace, path, last=True)
    if last and not found:
        raise HoleError(path, 0)
    return end_byte((last or found)[0][1]) if found else None


def find_gap(parts: Sequence[MemoryRecord], start: int = 0) -> int | None:
    """Return the byte at which something is missing between *parts* of a text, in order of it.

    What is missing before byte *start* does not count, but for the head.
    """
    if parts and parts[0].key != path_of(parts[0]):
        return 0
    at = 0
    for part in parts:
        begin = start_byte(part)
        if begin != at and not at < begin <= start:
            return at
        at = end_byte(part)
    return None


def refuse_gaps(transaction: Transaction) -> None:
    """Refuse what has been done if it leaves a hole in a text of which anything is left."""
    for namespace, path in sorted(_texts(transaction.keys)):
        parts = records_by_key(transaction, namespace, path).values()
        if find_gap([part for _, part in parts]) is not None:
            raise ValidationError(
                f"it would leave a hole in the text at {path!r}: change it with Files, or take all "
                "its records together"
            )


def _texts(keys: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the namespaces and paths of the texts that records with these *keys* are of."""
    texts = {(namespace, _path(key)) for namespace, key in keys}
    return {text for text in texts if text[1].startswith(ROOT)}


def _path(key: str) -> str:
    found = _CHUNK_KEY.fullmatch(key)
    return found[1] if found else key


def _find_chunks(
    transaction: Transaction, namespace: str, path: str, *, last: bool = False
) -> list[Found]:
    return transaction.writer.span(namespace, *chunk_key_range(path), transaction.now, last=last)
