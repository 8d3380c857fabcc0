"""The replies of all routes: JSON of values by ``to_dict``, entity tags, links to next pages."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from bethink import MemoryRecord

_ACCESSES: Final = ("access_count", "last_accessed_at")


class Json(Response):
    """A JSON body without NaN, in UTF-8."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return *content* as bytes; a lone surrogate of an old text is escaped."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False).encode()


def dicts(values: Iterable[Any]) -> list[dict[str, Any]]:
    """Return *values* by ``to_dict``."""
    return [each.to_dict() for each in values]


def etag(record: MemoryRecord) -> str:
    """Return the entity tag of *record*: a digest of every field but the counts of accesses."""
    told = {name: each for name, each in record.to_dict().items() if name not in _ACCESSES}
    text = json.dumps(told, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def names_tag(header: str, tag: str) -> bool:
    """Return whether the ``If-Match`` *header* names *tag*."""
    return any(each.strip() in ("*", tag) for each in header.split(","))


def has_tag(header: str, tag: str) -> bool:
    """Return whether the ``If-None-Match`` *header* names *tag*, strong or weak alike."""
    weak = tag.removeprefix("W/")
    return any(each.strip().removeprefix("W/") in ("*", weak) for each in header.split(","))


def memory(record: MemoryRecord, status: int = 200) -> Json:
    """Return *record* with the entity tag."""
    headers = {"ETag": etag(record)}
    if status == 201:
        headers["Location"] = f"/v1/memories/{quote(record.id, safe='')}"
    return Json(record.to_dict(), status, headers)


class Cursor(NamedTuple):
    """The place *offset* in the listing *digest*, as of journal entry *seq* and the time *at*."""

    seq: int
    at: float
    offset: int
    digest: str


def encode_cursor(cursor: Cursor) -> str:
    """Return *cursor* as a text."""
    return base64.urlsafe_b64encode(json.dumps(cursor).encode()).rstrip(b"=").decode()


def decode_cursor(text: str) -> Cursor | None:
    """Return the cursor of *text*; None for a text that is no cursor."""
    try:
        seq, at, offset, digest = json.loads(
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        )
        return Cursor(int(seq), float(at), int(offset), str(digest))
    except (OverflowError, TypeError, ValueError):
        return None
