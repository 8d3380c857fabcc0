"""The protocol over HTTP: one POST, one JSON reply. ``answer`` is pure, for any server to call.

Only requests that name a known host, and come from no foreign page, are answered: a page in a
browser must not reach the memory by a rebound name.
"""

from __future__ import annotations

import base64
import binascii
import socket
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from ..surface.pages import LOCAL, allowed, binding
from .protocol import (
    HANDSHAKE,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN,
    PARSE_ERROR,
    PROTOCOL,
    Message,
    Server,
    encode,
    failure,
    is_modern,
    parse,
    unsupported,
)

MAX_BODY: Final = 4 * 1024 * 1024
"""The longest body, in bytes."""
IDLE_SECONDS: Final = 60
"""A connection without a request for so long is closed."""

_NAMED: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}
"""Method → the parameter that the header Mcp-Name repeats."""


@dataclass(frozen=True)
class HttpReply:
    """A status, a JSON *body* or nothing, and further *headers*."""

    status: int
    body: Message | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(
    server: Server,
    method: str,
    headers: Mapping[str, str],
    body: bytes,
    hosts: Collection[str] = LOCAL,
) -> HttpReply:
    """Return the reply to one HTTP request on ``/mcp``; the names of *headers* are lower case.

    *hosts* are the names that the header Host, and the page in Origin, may have.
    """
    if not allowed(headers, hosts):
        return HttpReply(403, failure(None, INVALID_REQUEST, "foreign Host or Origin"))
    if method != "POST":
        return HttpReply(405, headers={"Allow": "POST"})
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return HttpReply(415, failure(None, INVALID_REQUEST, "the body must be application/json"))
    try:
        message = parse(body)
    except ValueError as error:
        return HttpReply(400, failure(None, PARSE_ERROR, f"no JSON: {error}"))
    refused = _check_headers(message, headers)
    if refused is not None:
        return HttpReply(400, refused)
    reply = server.reply(message)
    if reply is None:
        return HttpReply(202)
    return HttpReply(_status(message, reply), reply)


class HttpServer(ThreadingHTTPServer):
    """An HTTP server of ``/mcp`` at *host* and *port*; the caller runs ``serve_forever``."""

    def __init__(self, server: Server, host: str, port: int) -> None:
        self.answers = server
        self.hosts = LOCAL | {f"[{host}]" if ":" in host else host.lower()}
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with binding(host, port):
            super().__init__((host, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell nothing of a client that left."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    wbufsize = -1  # head and body in one packet: two would wait for each other, 40 ms
    server: HttpServer

    def _handle(self) -> None:
        length = self.headers.get("content-length", "0")
        size = int(length) if length.isdecimal() and len(length) < 20 else MAX_BODY + 1
        headers = {name.lower(): value.strip() for name, value in self.headers.items()}
        if self.path.partition("?")[0] != "/mcp":
            reply = HttpReply(404)
        elif "transfer-encoding" in headers:
            self.close_connection = True
            reply = HttpReply(411)
        elif size > MAX_BODY:
            self.close_connection = True
            reply = HttpReply(413)
        else:
            body, hosts = self.rfile.read(size), self.server.hosts
            reply = answer(self.server.answers, self.command, headers, body, hosts)
        self._send(reply)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_HEAD = do_OPTIONS = _handle

    def _send(self, reply: HttpReply) -> None:
        body = b"" if reply.body is None else encode(reply.body)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a request may hold what a user said."""


def _status(message: object, reply: Message) -> int:
    """Return the status of *reply*: errors have a status of their own in the modern version."""
    code = reply.get("error", {}).get("code")
    if code in (PARSE_ERROR, INVALID_REQUEST):
        return 400
    if code is None or not (isinstance(message, dict) and is_modern(message.get("params"))):
        return 200
    return {METHOD_NOT_FOUND: 404, INTERNAL_ERROR: 500}.get(code, 400)


def _check_headers(message: object, headers: Mapping[str, str]) -> Message | None:
    """Return the error of headers that are unknown, or contradict *message*."""
    version = headers.get("mcp-protocol-version")
    fields = message if isinstance(message, dict) else {}
    params, identity = fields.get("params"), fields.get("id")
    if not is_modern(params):
        if version is not None and version not in (*HANDSHAKE, *MODERN):
            error = unsupported(version)
            return failure(identity, error.code, str(error), error.data)
        if version in MODERN and "id" in fields:
            return failure(identity, INVALID_PARAMS, f"params._meta needs {PROTOCOL!r}")
        return None
    assert isinstance(params, dict)
    if version != params["_meta"][PROTOCOL]:
        return _mismatch(identity, "MCP-Protocol-Version")
    if headers.get("mcp-method") != fields.get("method"):
        return _mismatch(identity, "Mcp-Method")
    named = _NAMED.get(str(fields.get("method")))
    if named is not None and _decoded(headers.get("mcp-name")) != params.get(named):
        return _mismatch(identity, "Mcp-Name")
    return None


def _mismatch(identity: object, header: str) -> Message:
    return failure(
        identity, HEADER_MISMATCH, f"the header {header} is missing or contradicts the body"
    )


def _decoded(value: str | None) -> str | None:
    """Return a header's text; texts beyond ASCII come as ``=?base64?…?=``."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
