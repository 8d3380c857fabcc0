"""The journal's chain: every entry vouches for the one before it.

An entry's *digest* is a hash of its salted changes, its *link* a hash of the previous link, the
entry's own columns and the digest. Erasing salt and changes later leaves digest and link, so the
chain still verifies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

from .records import RECORD_FIELDS, MemoryRecord

FULL_RECORD: Final = "whole"
"""Where among its changes an entry tells, now and then, all of the record as it left it.

So what a record was at any moment is found without reading all that happened to it before.
"""

START: Final = bytes(32)
"""The link before the first entry."""

_TOLD: Final[Mapping[str, Any]] = {
    **{name: each.types for name, each in RECORD_FIELDS.items()},
    **dict.fromkeys(("merged", "rows"), list),
    **dict.fromkeys(("accesses", FULL_RECORD), dict),
    **dict.fromkeys(("kind", "target", "session", "name"), str),
    "undoes": int,
}
_MEMBERS: Final = {"tags": str, "merged": str, "rows": int}


def is_well_formed(changes: object) -> bool:
    """Tell whether *changes* are of the types that entries tell."""
    return isinstance(changes, dict) and all(
        isinstance(told, _TOLD.get(name, object)) and _has_sensible_members(name, told)
        for name, told in changes.items()
    )


def _has_sensible_members(name: str, told: Any) -> bool:
    if name == FULL_RECORD:
        return is_well_formed(told)
    if name == "accesses":
        return all(
            isinstance(each, list) and list(map(type, each)) == [int, float]
            for each in told.values()
        )
    return name not in _MEMBERS or all(isinstance(each, _MEMBERS[name]) for each in told)


def digest(salt: bytes, changes: str) -> bytes:
    """Return the SHA-256 of the salted changes.

    Without the salt the text cannot be guessed from it.
    """
    return hashlib.sha256(salt + changes.encode()).digest()


def chain_hash(previous: bytes, columns: tuple[object, ...], digest: bytes) -> bytes:
    """Return the SHA-256 that chains an entry with these *columns* to the one before."""
    spelled = repr(columns).encode("utf-8", "surrogatepass")
    return hashlib.sha256(previous + spelled + digest).digest()


_NOTHING: Final[tuple[Any, ...]] = ((), {})
_values = attrgetter(*MemoryRecord.__slots__)


def non_empty_fields(record: MemoryRecord) -> dict[str, Any]:
    """Return every field of *record* that says something."""
    fields = zip(MemoryRecord.__slots__, _values(record), strict=True)
    return {
        name: value
        for name, value in fields
        if value is not None and (value or name == "value" or value not in _NOTHING)
    }
