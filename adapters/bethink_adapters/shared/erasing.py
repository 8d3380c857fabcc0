"""Deleting a user: all memories of the user's namespace, without a byte left."""

from __future__ import annotations

from bethink import MemoryStore, Subtree
from bethink.adapting import check_store


def erase_user(store: MemoryStore, *, namespace: str) -> int:
    """Erase all memories of a user in *namespace* and below; return the number of records.

    No byte of the memories stays in the file; the erased turns of a conversation are not taken in
    again. Raises ``ValidationError`` for a namespace that is no name.
    """
    return check_store(store).erase(namespace=Subtree(namespace))
