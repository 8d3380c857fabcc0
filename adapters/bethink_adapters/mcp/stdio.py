"""The transport of hosts: one JSON message a line on standard input and output.

Nothing but messages reaches the standard output: ``sys.stdout`` points at the standard error before
any other import.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import BinaryIO

from .protocol import INVALID_REQUEST, PARSE_ERROR, Message, failure
from .server import MemoryServer

MAX_LINE = 16 * 1024 * 1024
"""The longest message, in bytes."""


def serve(server: MemoryServer) -> None:
    """Answer the messages of the standard input until the input ends."""
    wire = sys.stdout.buffer
    sys.stdout = sys.stderr
    try:
        exchange(server, sys.stdin.buffer, wire)
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    finally:
        server.close()


def exchange(server: MemoryServer, lines: Iterable[bytes], wire: BinaryIO) -> None:
    """Write a reply to *wire* for each of *lines* that wants a reply."""
    warmed = False
    for line in lines:
        if not line.strip():
            continue
        answer = _reply(server, line)
        if answer is not None:
            wire.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            wire.flush()
        if not warmed:
            warmed = True
            server.warm()


def _reply(server: MemoryServer, line: bytes) -> Message | None:
    if len(line) > MAX_LINE:
        return failure(None, INVALID_REQUEST, f"a message is longer than {MAX_LINE:,} bytes")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        return failure(None, PARSE_ERROR, f"no JSON: {error}")
    return server.protocol.reply(message)
