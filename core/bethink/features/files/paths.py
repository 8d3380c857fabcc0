"""Paths of virtual files: one spelling for each path, and no way out of the root.

A path is "/" and segments joined by "/": ``/notes/ann.md``. No path reaches a disk, but a file may
be exported to a disk, or the path shown to a program that decodes the path. So any spelling that a
program could read as a way up or out is refused, not repaired. Names are composed (NFC), so names
that look alike are equal. Case counts.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import unquote

from ...errors import ValidationError
from ...model import fields

ROOT: Final = "/"
_SEPARATORS = re.compile(r"[/\\]")
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\\\\]")


def normalise_path(path: str) -> str:
    """Return the normal spelling of *path*; a missing first "/" or a last "/" makes no difference.

    Raise ``ValidationError`` for "." and "..", empty segments, backslashes, control characters,
    characters that turn the direction of writing, and spaces at the ends of a name. The same goes
    for the path percent-decoded, however often, and in compatible characters (NFKC).
    """
    given = unicodedata.normalize("NFC", fields.label("path", path))
    if given == ROOT:
        return ROOT
    inner = given.removeprefix("/").removesuffix("/")
    for segment in inner.split("/"):
        _check_segment(path, segment)
    _check_hidden(path, inner)
    return f"/{inner}"


def above(path: str) -> list[str]:
    """Return the folders above *path*, from the top, without the root."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(2, len(parts))]


def _check_segment(path: str, segment: str) -> None:
    if not segment:
        raise ValidationError(f"path {path!r} has an empty segment")
    if _UNSAFE.search(segment):
        raise ValidationError(f"path {path!r} holds a backslash or a control character")
    if not segment.strip("."):
        raise ValidationError(f"path {path!r} has a segment of dots alone")
    if segment != segment.strip():
        raise ValidationError(f"path {path!r} has a segment that begins or ends with a space")


def _check_hidden(path: str, inner: str) -> None:
    """Refuse a path that a decoding program could read as a path of a different shape."""
    decoded = inner
    while (once := unquote(decoded, errors="replace")) != decoded:
        decoded = once
    marks = [(text.count("/"), text.count("\ufffd")) for text in (inner, decoded)]
    steps = _SEPARATORS.split(unicodedata.normalize("NFKC", decoded))
    if marks[0] != marks[1] or _UNSAFE.search(decoded) or not all(map(_is_name, steps)):
        raise ValidationError(f"path {path!r} hides another one in its spelling")


def _is_name(step: str) -> bool:
    return bool(step.strip().strip(". "))
