"""Erasing a user: all memories that a storage sees, without a byte left."""

from __future__ import annotations

from bethink import ValidationError

from .errors import crew_verb
from .external import CrewExternalStorage
from .storage import CrewStorage


@crew_verb
def erase_user(storage: CrewStorage | CrewExternalStorage) -> int:
    """Erase all memories in the view of *storage*; return the number of records.

    A user's view is a bound storage: ``erase_user(storage.bound("/users", user))``. Memories
    outside the view stay.
    """
    if not isinstance(storage, CrewStorage | CrewExternalStorage):
        kind = type(storage).__name__
        raise ValidationError(f"storage must be a CrewStorage or CrewExternalStorage, not {kind}")
    store, place = storage.place
    return store.erase(namespace=place)
