"""Deleting all memories of a user, without a byte left."""

from __future__ import annotations

from .external import CrewExternalStorage
from .opened import crew_errors
from .storage import CrewStorage


@crew_errors()
def erase_user(storage: CrewStorage | CrewExternalStorage) -> int:
    """Erase all memories that *storage* sees; return the number of records.

    The storage of one user is a view: ``erase_user(storage.bound("/users", user))``. Nothing
    outside of the view is touched.
    """
    store, place = storage.place
    return store.erase(namespace=place)
