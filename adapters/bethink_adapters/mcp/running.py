"""Run the server until the input ends, or until Ctrl-C."""

from __future__ import annotations

import sys

from ..surface.location import Location, unknown_variables
from . import stdio
from .server import MemoryServer, Options


def run(
    location: Location,
    *,
    namespace: str | None = None,
    everything: bool = False,
    read_only: bool = False,
    port: int | None = None,
    host: str = "127.0.0.1",
) -> int:
    """Serve the memory at *location* until the input ends, or until Ctrl-C; return the exit code.

    *port* (0: any free port) serves HTTP on *host*; the address goes to the standard error.
    """
    for warning in unknown_variables():
        print(f"bethink mcp: {warning}", file=sys.stderr, flush=True)
    names = () if namespace is None else (namespace,)
    server = MemoryServer(Options(location, names, everything=everything, read_only=read_only))
    if port is None:
        if sys.stdin.isatty():
            hint = "waits for messages of an agent host; `bethink install` sets a host up"
            print(f"bethink mcp: {hint}", file=sys.stderr, flush=True)
        stdio.serve(server)
        return 0
    from . import http  # only where HTTP is asked for

    with http.HttpServer(server.protocol, host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        print(f"http://{name}:{listening.server_port}/mcp", file=sys.stderr, flush=True)
        server.warm()
        try:
            listening.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            server.close()
    return 0
