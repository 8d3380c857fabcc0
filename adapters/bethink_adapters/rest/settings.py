"""What a server allows: tokens, hosts, pages, and the limits of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .tokens import Token

METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
"""The methods that some path takes."""
UPLOADS: Final = frozenset(("/v1/import", "/v1/merge"))
"""The paths of long bodies, which are streams."""
MAX_BODY: Final = 4 * 1024 * 1024
"""The longest body, in bytes; uploads aside."""
MAX_UPLOAD: Final = 1024 * 1024 * 1024
"""The longest body of an import or a merge, in bytes."""
MAX_DEPTH: Final = 64
"""The most levels of a JSON body."""
MAX_BATCH: Final = 1_000
"""The most memories or ids in a request."""
MAX_HITS: Final = 1_000
"""The most hits of a recall."""
MAX_PAGE: Final = 200
"""The most memories of a page."""
MAX_ENTRIES: Final = 1_000
"""The most journal entries or conflicts of a page."""
MAX_STREAMS: Final = 32
"""The most streams of events at a time."""


@dataclass(frozen=True)
class Settings:
    """*tokens* open the server, nothing else does; *hosts* are names beside those of this computer.

    Pages of *origins*, such as "https://app.example", may read answers. With *read_only* no request
    writes. With *pages* the web interface is served. *poll_seconds* is how often a stream of events
    looks for entries.
    """

    tokens: Sequence[Token]
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    read_only: bool = False
    pages: bool = True
    poll_seconds: float = 0.3
    heartbeat_seconds: float = 15.0
    max_body: int = MAX_BODY
    max_upload: int = MAX_UPLOAD
    max_streams: int = MAX_STREAMS
