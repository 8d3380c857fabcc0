"""The journal's chain: every entry vouches for the one before it.

An entry's *digest* is a hash of its salted changes, its *link* a hash of the previous link, the
entry's own columns and the digest. Erasing salt and changes later leaves digest and link, so the
chain still verifies.
"""

from __future__ import annotations

import hashlib
from typing import Final

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
