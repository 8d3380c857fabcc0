"""The command ``bethink serve``."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

from ..cli.command import Context, Failure
from ..shared.extras import needs
from ..surface.location import find_namespace, user_folder
from .settings import Settings
from .tokens import TokenFileError, new_token, read_tokens, write_tokens


def run(context: Context) -> int:
    """Serve by the arguments of *context*, or add a token; return the exit code."""
    given = context.given
    path = Path(given.tokens).expanduser() if given.tokens else user_folder() / "tokens.json"
    try:
        tokens = read_tokens(path)
        if given.new_token:
            named = find_namespace(given.namespace, context.environment)
            added = new_token([named] if named else [], read_only=given.read_only)
            write_tokens(path, [*tokens, added])
            print(added.text)
            return 0
    except TokenFileError as error:
        raise Failure(str(error)) from None
    with needs("server"):
        from .running import run as serve
    hosts = {given.host, *given.allow_host}
    settings = Settings(
        tokens=tokens,
        hosts=frozenset(f"[{each}]" if ":" in each else each.lower() for each in hosts),
        origins=frozenset(map(_origin, given.allow_origin)),
        read_only=given.read_only,
    )
    print(f"tokens: {path}", file=sys.stderr)
    return serve(context.path, settings, host=given.host, port=given.port)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Failure(f"{url!r} is no origin, such as https://app.example", 2)
    return f"{parts.scheme}://{parts.netloc.lower()}"
