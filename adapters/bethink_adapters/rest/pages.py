"""The web interface: the files of the package folder ``web``, for any client, without a token."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import answer
from .replies import has_tag

FOLDER: Final = Path(__file__).parent.parent / "web"
_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
"""Suffix → media type; files with a different suffix are not served."""
_SERVER: Final = frozenset(("health", "mcp", "metrics", "openapi.json", "v1"))
"""The first segments of the server's own paths."""
_PAGE: Final = re.compile(
    r"/|/(activity|conflicts|context|data|memories|recall|tasks|time)/?|/memories/(?s:.+)"
)
"""The paths of pages, as in the table ROUTES of ``web/js/app.js``."""
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True)
class _File:
    """A file in memory, plain and packed, with the entity tag."""

    media_type: str
    plain: bytes
    packed: bytes
    tag: str


def is_page(scope: Scope) -> bool:
    """Return whether the request reads outside of the server's own paths: nothing of the memory."""
    first = scope["path"].split("/", 2)[1]
    return scope["method"] in ("GET", "HEAD") and first not in _SERVER


class Pages:
    """Answers ``/web/NAME`` with a file of *folder*, and every path of a page with index.html."""

    def __init__(self, app: ASGIApp, folder: Path = FOLDER) -> None:
        self._app = app
        self._files = {
            path.relative_to(folder).as_posix(): _read(path)
            for path in sorted(folder.rglob("*"))
            if path.suffix in _TYPES
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope.get("path", "")
        is_file = path.startswith("/web/")
        known = is_file or _PAGE.fullmatch(path)
        if scope["type"] != "http" or not known or not is_page(scope):
            await self._app(scope, receive, send)
            return
        name = path.removeprefix("/web/") if is_file else "index.html"
        file = self._files.get(name)
        if file is None:
            reply = answer(path, 404, "not-found", f"the web interface has no file {name!r}")
        else:
            reply = _reply(file, Headers(scope=scope))
        await reply(scope, receive, send)


def _read(path: Path) -> _File:
    plain = path.read_bytes()
    tag = f'W/"{hashlib.sha256(plain).hexdigest()[:32]}"'
    return _File(_TYPES[path.suffix], plain, gzip.compress(plain, mtime=0), tag)


def _reply(file: _File, headers: Headers) -> Response:
    told = {**_HEADERS, "ETag": file.tag}
    if has_tag(headers.get("if-none-match", ""), file.tag):
        return Response(status_code=304, headers=told)
    body = file.plain
    if "gzip" in headers.get("accept-encoding", "") and len(file.packed) < len(body):
        body, told["Content-Encoding"] = file.packed, "gzip"
    return Response(body, media_type=file.media_type, headers=told)
