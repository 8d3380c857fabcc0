"""Running the server: the store opened once, and a stop that loses nothing acknowledged."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from ..surface.location import Location
from ..surface.pages import binding
from .app import create_app
from .settings import Settings

_STOP_SECONDS = 10


class Server(uvicorn.Server):
    """A server that ends the streams of events when it is told to stop."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; requests in work are answered."""
        streams = self.config.app.state.streams  # type: ignore[union-attr]
        streams.stopping.set()
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections to *host*; *port* 0 takes any free port.

    Only on sockets that name TCP asyncio turns off Nagle's algorithm. The algorithm would hold the
    body of each answer back until the client acknowledges the head, some 40 ms later.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        with binding(host, port):
            listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    listening.listen(128)
    return listening


def run(
    location: Location,
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8420,
    ready: Callable[[str], None],
) -> int:
    """Serve the memory at *location* until a signal; return the exit code.

    *port* 0 takes any free port; *ready* is called with the address once clients may connect.
    """
    with location.open() as store, listen(host, port) as listening:
        app = create_app(store, settings)
        config = uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        named = f"[{host}]" if ":" in host else host
        ready(f"http://{named}:{listening.getsockname()[1]}/")
        try:
            Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            return 0
    return 0
