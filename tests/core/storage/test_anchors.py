"""An anchor that fails, or gives what is none: a clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bethink import HashEmbedder, MemoryStore, StorageError, ValidationError


class Unreadable:
    """An anchor that gives what it is told to, or fails with it."""

    def __init__(self) -> None:
        self.gives: object = None

    def read(self) -> Any:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives

    def write(self, line: str) -> None:
        self.gives = line


def opened(path: Path, anchor: Unreadable) -> MemoryStore:
    key = b"sixteen bytes or more"
    return MemoryStore(path, embedder=HashEmbedder(16), integrity_key=key, anchor=anchor)


@pytest.mark.parametrize(
    ("gives", "kind", "said"),
    [
        (
            RuntimeError("no route"),
            StorageError,
            r"memory\.db: its anchor cannot be read: no route",
        ),
        (StorageError("anchor", "is a folder"), StorageError, "^anchor: is a folder$"),
        (5, ValidationError, "what an anchor reads must be a str or None, not int"),
        (b"line", ValidationError, "what an anchor reads must be a str or None, not bytes"),
    ],
)
def test_an_anchor_that_cannot_be_read_says_why(
    path: Path, gives: object, kind: type[Exception], said: str
) -> None:
    anchor = Unreadable()
    with opened(path, anchor) as store:
        store.store("one")
        anchor.gives = gives
        with pytest.raises(kind, match=said):
            store.verify()
    with pytest.raises(kind, match=said):
        opened(path, anchor)
