"""Paths of virtual files: one spelling each, and no way out.

A path is segments joined by "/", and begins with one: ``/notes/ann.md``. It never reaches a disk,
yet it may be exported to one, or shown to a program that decodes it, so whatever could be read as a
way up or out is refused and not repaired. Names that look the same are the same: they are composed
(NFC). Case counts.
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
    """Return the one spelling of *path*; a missing first "/" and one last "/" make no difference.

    Raise ``ValidationError`` for "." and "..", empty segments, backslashes, control characters and
    those that turn the direction of writing, spaces at the ends of a name, and all that becomes
    such a path once percent-decoded, however often, or in compatible characters (NFKC).
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
    """Return the folders that *path* is in, the root aside, from the top."""
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
    """Refuse a path that another program could read as a path of another shape."""
    decoded = inner
    while (once := unquote(decoded, errors="replace")) != decoded:
        decoded = once
    marks = [(text.count("/"), text.count("\ufffd")) for text in (inner, decoded)]
    steps = _SEPARATORS.split(unicodedata.normalize("NFKC", decoded))
    if marks[0] != marks[1] or _UNSAFE.search(decoded) or not all(map(_is_name, steps)):
        raise ValidationError(f"path {path!r} hides another one in its spelling")


def _is_name(step: str) -> bool:
    return bool(step.strip().strip(". "))
