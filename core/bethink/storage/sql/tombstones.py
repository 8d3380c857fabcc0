"""Folded tombstones: of an erased record only eight bytes stay once the journal is compacted.

The digest of the id still keeps a merge or an import from bringing the record back. The cut holds
the sum of all digests, so that a missing digest shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from ...model.port import Stored
from ...model.records import new_record
from .connection import Connection
from .rows import LISTED, Listed

_ADD: Final = (
    "INSERT INTO erased SELECT CAST(value AS BIGINT) FROM json_each(?) WHERE TRUE "
    "ON CONFLICT DO NOTHING RETURNING digest"
)
_KNOWN: Final = f"SELECT digest FROM erased WHERE digest IN {LISTED}"
_DIGEST_BYTES: Final = 8
_SUMS: Final = 1 << 8 * _DIGEST_BYTES


def fold(connection: Connection, ids: Iterable[str], before: str) -> str:
    """Keep the digests of *ids*; return the sum of all digests, which was *before*."""
    added = connection.execute(_ADD, (Listed(sorted(map(_digest, ids))),)).fetchall()
    return _spelled(int(before, 16) + sum(digest for (digest,) in added))


def find_folded(connection: Connection, ids: Iterable[str]) -> dict[str, Stored]:
    """Return a tombstone in row 0, which knows the id only, for each of *ids* with a digest."""
    named = {_digest(id): id for id in ids}
    kept = connection.execute(_KNOWN, (Listed(named),)).fetchall()
    found = (named[digest] for (digest,) in kept)
    return {id: Stored(0, new_record(id, "", "", 0.0, 0.0, 0.0, state="erased")) for id in found}


def sum_of_digests(connection: Connection) -> str:
    """Return the sum of all digests, hexadecimal."""
    kept = connection.execute("SELECT digest FROM erased").fetchall()
    return _spelled(sum(digest for (digest,) in kept))


def _digest(id: str) -> int:
    return int.from_bytes(hashlib.sha256(id.encode()).digest()[:_DIGEST_BYTES], "big", signed=True)


def _spelled(total: int) -> str:
    return f"{total % _SUMS:x}"
