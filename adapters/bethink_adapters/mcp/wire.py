"""Messages as bytes: strict JSON in, UTF-8 out."""

from __future__ import annotations

import json

from .protocol import Message


def parse(text: bytes) -> object:
    """Return the JSON value of *text*; raise ``ValueError`` for all else, NaN and depth too."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def encode(message: Message) -> bytes:
    """Return *message* as JSON in one line; lone surrogates are escaped."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is no JSON")
