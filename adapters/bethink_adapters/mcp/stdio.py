"""The transport of hosts: one JSON message a line on standard input and output.

Nothing but messages reaches the standard output: ``sys.stdout`` points at the standard error before
any other import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import BinaryIO, Final

from .protocol import INVALID_REQUEST, PARSE_ERROR, Message, encode, failure, parse
from .server import MemoryServer

MAX_LINE: Final = 16 * 1024 * 1024
"""The longest message, in bytes."""


def serve(server: MemoryServer) -> None:
    """Answer the messages of the standard input until the input ends."""
    descriptor = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # for libraries that print without Python
    sys.stdout = sys.stderr
    try:
        with open(descriptor, "wb") as wire:
            exchange(server, sys.stdin.buffer, wire)
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    finally:
        server.close()


def exchange(server: MemoryServer, source: BinaryIO, wire: BinaryIO) -> None:
    """Write a reply to *wire* for each line of *source* that wants a reply."""
    warmed = False
    for line in _lines(source):
        answer = _reply(server, line)
        if answer is not None:
            wire.write(encode(answer) + b"\n")
            wire.flush()
        if not warmed:
            warmed = True
            server.warm()


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that hold anything; of a line that is too long, the beginning."""
    while line := source.readline(MAX_LINE + 1):
        rest = line
        while len(rest) > MAX_LINE and not rest.endswith(b"\n"):
            rest = source.readline(MAX_LINE + 1)
        if line.strip():
            yield line


def _reply(server: MemoryServer, line: bytes) -> Message | None:
    if len(line) > MAX_LINE:
        return failure(None, INVALID_REQUEST, f"a message is longer than {MAX_LINE:,} bytes")
    try:
        message = parse(line)
    except ValueError as error:
        return failure(None, PARSE_ERROR, f"no JSON: {error}")
    return server.protocol.reply(message)
