"""The journal's chain: every entry confirms the entry before.

An entry's *digest* is a hash of the salted changes, the *link* a hash of the previous link, the
entry's own columns and the digest. Erasing salt and changes later leaves digest and link, so the
chain still verifies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from ..model.records import RECORD_FIELDS

FULL_RECORD: Final = "whole"
"""The change under which some entries hold the whole record after the entry.

So a past record is found without reading all earlier entries.
"""

START: Final = bytes(32)
"""The link before the first entry."""

BASE: Final = "base"
"""The action of an entry that holds a record as of the cut of a compacted journal."""

PART: Final = "part"
"""The change with the place of an entry, from 1 on, among entries that are undone together.

The entry of place 0, right before, has no such change.
"""

SALT_BYTES: Final = 16

_TYPES: Final[Mapping[str, Any]] = {
    **{name: each.types for name, each in RECORD_FIELDS.items()},
    **dict.fromkeys(("merged", "rows"), list),
    **dict.fromkeys(("accesses", FULL_RECORD), dict),
    **dict.fromkeys(("kind", "target", "session", "name"), str),
    **dict.fromkeys(("undoes", PART), int),
}
_MEMBERS: Final = {"tags": str, "merged": str, "rows": int}


def is_well_formed(changes: object) -> bool:
    """Return whether *changes* have the types of journal entries."""
    return isinstance(changes, dict) and all(
        isinstance(value, _TYPES.get(name, object)) and _has_sensible_members(name, value)
        for name, value in changes.items()
    )


def _has_sensible_members(name: str, value: Any) -> bool:
    if name == FULL_RECORD:
        return is_well_formed(value)
    if name == "accesses":
        return all(
            isinstance(each, list) and list(map(type, each)) == [int, float]
            for each in value.values()
        )
    return name not in _MEMBERS or all(isinstance(each, _MEMBERS[name]) for each in value)


def digest(salt: bytes, changes: str) -> bytes:
    """Return the SHA-256 of the salted changes.

    Without the salt nobody can guess the text from the digest.
    """
    return hashlib.sha256(salt + changes.encode()).digest()


def chain_hash(previous: bytes, columns: tuple[object, ...], digest: bytes) -> bytes:
    """Return the SHA-256 that chains an entry with *columns* to the entry before."""
    spelled = repr(columns).encode("utf-8", "surrogatepass")
    return hashlib.sha256(previous + spelled + digest).digest()
