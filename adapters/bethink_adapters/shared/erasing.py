"""Deleting a user: all memories of the user's namespace, without a byte left."""

from __future__ import annotations

from bethink import Subtree
from bethink.adapting import explaining

from .opening import StoreOrPath, open_store


@explaining
def erase_user(store: StoreOrPath, *, namespace: str) -> int:
    """Erase all memories of a user in *namespace* and below; return the number of records.

    No byte of the memories stays in the file; the erased turns of a conversation are not taken in
    again. Raises ``ValidationError`` for a namespace that is no name.
    """
    return open_store(store).erase(namespace=Subtree(namespace))
