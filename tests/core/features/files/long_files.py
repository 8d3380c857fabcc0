"""What the tests of files in pieces share."""

from __future__ import annotations

from typing import Final

from bethink import Files

LINE: Final = f"{'parrot ' * 20}\u00e9\n"


def records(files: Files) -> list[str]:
    """Return the ids of all heads and pieces."""
    return [record.id for record in files.store.all(namespace=files.namespace)]
