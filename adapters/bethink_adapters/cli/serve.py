"""The work of the command ``serve``."""

from __future__ import annotations

import json
import sys
import threading
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

from ..rest.settings import Settings
from ..rest.tokens import TokenFileError, new_token, read_tokens, write_tokens
from ..shared.extras import needs
from ..surface.location import user_folder
from .command import Context, Failure


def run(context: Context) -> int:
    """Serve by the arguments of *context*, or add a token; return the exit code."""
    given = context.given
    path = Path(given.tokens).expanduser() if given.tokens else user_folder() / "tokens.json"
    try:
        tokens = read_tokens(path)
        if given.new_token:
            added = new_token([context.named] if context.named else [], read_only=given.read_only)
            write_tokens(path, [*tokens, added])
            print(json.dumps({"token": added.text}) if given.json else added.text)
            return 0
    except TokenFileError as error:
        raise Failure(str(error)) from None
    with needs("server"):
        from ..rest.running import run as serve
    hosts = {given.host, *given.allow_host}
    settings = Settings(
        tokens=tokens,
        hosts=frozenset(f"[{each}]" if ":" in each else each.lower() for each in hosts),
        origins=frozenset(map(_origin, given.allow_origin)),
        read_only=given.read_only,
        pages=not given.no_ui,
    )
    print(f"tokens: {path}", file=sys.stderr)

    def ready(address: str) -> None:
        if given.json:
            print(json.dumps({"url": address, "token": tokens[0].text}), flush=True)
        print(address, file=sys.stderr, flush=True)
        if given.open:
            page = f"{address}#token={tokens[0].text}"
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

    return serve(context.location, settings, host=given.host, port=given.port, ready=ready)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Failure(f"{url!r} is no origin, such as https://app.example", 2)
    return f"{parts.scheme}://{parts.netloc.lower()}"
