"""The tokens of clients: a JSON file that only the owner can read."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bethink.adapting import check_namespace


class TokenFileError(Exception):
    """The file of tokens cannot be used, told in one sentence."""


@dataclass(frozen=True)
class Token:
    """A client's secret *text*; *namespaces* are all that is visible, with everything below.

    Without *namespaces* the whole file is visible. A *read_only* token writes nothing.
    """

    text: str
    namespaces: tuple[str, ...] = ()
    read_only: bool = False


def new_token(namespaces: Iterable[str] = (), *, read_only: bool = False) -> Token:
    """Return a token with a random text of 256 bits; refuse a name that no namespace can have."""
    checked = tuple(map(check_namespace, namespaces))
    return Token(f"bt_{secrets.token_urlsafe(32)}", checked, read_only)


def find(tokens: Sequence[Token], header: str | None) -> Token | None:
    """Return the token of an ``Authorization`` *header*; every comparison takes equally long."""
    scheme, _, given = (header or "").partition(" ")
    sent = given.strip().encode("utf-8", "surrogateescape")
    found = None
    for each in tokens:
        if hmac.compare_digest(sent, each.text.encode()):
            found = each
    return found if scheme.lower() == "bearer" else None


def read_tokens(path: Path) -> list[Token]:
    """Return the tokens in the file at *path*; a missing file is made, with a token for all.

    Raise ``TokenFileError`` for a file that others can read, or that holds no tokens.
    """
    if not path.exists():
        write_tokens(path, [new_token()])
    if not path.is_file():
        raise TokenFileError(f"{path} is no file; name a file for the tokens")
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise TokenFileError(f"others can read {path}; run: chmod 600 {path}")
    try:
        found = [_token(each) for each in json.loads(path.read_text("utf-8-sig"))["tokens"]]
    except (ValueError, TypeError, KeyError) as error:
        raise TokenFileError(f"{path} is no file of tokens: {error}") from None
    if not found:
        raise TokenFileError(f"{path} holds no token")
    return found


def write_tokens(path: Path, tokens: Iterable[Token]) -> None:
    """Write *tokens* to *path*, complete at once, for the owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [
        {"token": each.text, "namespaces": each.namespaces, "read_only": each.read_only}
        for each in tokens
    ]
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(json.dumps({"tokens": entries}, indent=2) + "\n")
    draft.replace(path)


def _token(entry: dict[str, Any]) -> Token:
    text, namespaces = entry["token"], entry.get("namespaces", [])
    named = isinstance(namespaces, list) and all(isinstance(each, str) for each in namespaces)
    if not isinstance(text, str) or len(text) < 16 or not named:
        raise ValueError("a token needs a text of 16 characters and a list of namespaces")
    return Token(
        text, tuple(map(check_namespace, namespaces)), entry.get("read_only", False) is True
    )
