"""Storage: the backend for a location, such as an SQLite file."""

from __future__ import annotations

import os
from typing import Final, Literal

from ..errors import ValidationError
from ..model import fields
from ..model.port import Backend
from .anchors import Anchor, FileAnchor
from .folders import make_folder, replace_file
from .past import PastBackend

__all__ = ["Anchor", "FileAnchor", "PastBackend", "make_folder", "open_backend", "replace_file"]

_MIN_KEY_BYTES: Final = 16


def open_backend(
    location: str | os.PathLike[str],
    durability: Literal["full", "normal"] = "full",
    integrity_key: bytes | None = None,
    anchor: str | os.PathLike[str] | Anchor | Literal[False] | None = None,
) -> Backend:
    """Open the backend for *location*, a path or a URL.

    With *integrity_key* the content is authenticated, and compared with *anchor*; False gives up
    the file's anchor. With an anchor every write is synced, whatever the *durability*. Raises
    ``ValidationError`` for an invalid location, ``StorageError`` for an unusable file, and
    ``IntegrityKeyError`` for a wrong key or a missing anchor.
    """
    from ..storage.sqlite import SQLiteBackend

    fields.one_of("durability", durability, ("full", "normal"))
    if not isinstance(location, str | os.PathLike):
        kind = type(location).__name__
        raise ValidationError(f"location must be a path, a URL or ':memory:', not {kind}")
    if anchor is not None and integrity_key is None:
        raise ValidationError("an anchor needs an integrity_key")
    if not (path := str(location)):
        raise ValidationError("location must not be empty")
    path = path.removeprefix("sqlite:///")
    if "://" in path:
        raise ValidationError(f"no backend for {path!r}; use a path, sqlite:///path or ':memory:'")
    if anchor is not False and not isinstance(anchor, str | os.PathLike | Anchor | None):
        raise ValidationError(f"anchor must be a path or an Anchor, not {type(anchor).__name__}")
    if isinstance(anchor, str | os.PathLike):
        anchor = FileAnchor(anchor)
    return SQLiteBackend(
        fields.path("location", path or os.curdir),
        durability=durability if anchor in (None, False) else "full",  # or the anchor may lead
        integrity_key=None if integrity_key is None else _checked_key(integrity_key),
        anchor=anchor,
    )


def _checked_key(key: object) -> bytes:
    if not isinstance(key, bytes) or len(key) < _MIN_KEY_BYTES:
        given = len(key) if isinstance(key, bytes) else type(key).__name__
        raise ValidationError(
            f"integrity_key must be at least {_MIN_KEY_BYTES} secret bytes, not {given}"
        )
    return key
