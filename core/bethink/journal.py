"""The journal's chain: every entry vouches for the one before it.

An entry's *digest* is a hash of its salted changes, its *link* a hash of the previous link, the
entry's own columns and the digest. Erasing salt and changes later leaves digest and link, so the
chain still verifies.
"""

from __future__ import annotations

import hashlib
from operator import attrgetter
from typing import Any, Final

from .records import MemoryRecord

WHOLE: Final = "whole"
"""Where among its changes an entry tells, now and then, all of the record as it left it.

So what a record was at any moment is found without reading all that happened to it before.
"""

START: Final = bytes(32)
"""The link before the first entry."""


def digest(salt: bytes, changes: str) -> bytes:
    """Return the SHA-256 of the salted changes.

    Without the salt the text cannot be guessed from it.
    """
    return hashlib.sha256(salt + changes.encode()).digest()


def link(previous: bytes, columns: tuple[object, ...], digest: bytes) -> bytes:
    """Return the SHA-256 that chains an entry with these *columns* to the one before."""
    return hashlib.sha256(
        previous + repr(columns).encode("utf-8", "surrogatepass") + digest
    ).digest()


_values = attrgetter(*MemoryRecord.__slots__)


def told(record: MemoryRecord) -> dict[str, Any]:
    """Return every field of *record* that says something."""
    fields = zip(MemoryRecord.__slots__, _values(record), strict=True)
    return {
        name: value
        for name, value in fields
        if value or (value is not None and (name == "value" or value not in ((), {})))
    }
