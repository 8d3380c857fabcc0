"""A way to a server that can be cut."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

import psycopg


class Proxy:
    """A way to the server of *location* that counts round trips.

    The way is cut at the next COMMIT, "before" the server hears of the commit or "after". Or a
    "shutdown" follows the commit at once.
    """

    def __init__(self, location: str) -> None:
        port = location.partition("127.0.0.1:")[2].partition("/")[0]
        self.target, self.cut = int(port), ""
        self.round_trips, self._answered = 0, True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.location = location.replace(f":{port}", f":{self.listener.getsockname()[1]}")
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                target = socket.create_connection(("127.0.0.1", self.target))
                for one, other, watched in ((client, target, True), (target, client, False)):
                    threading.Thread(
                        target=self._pass_on, args=(one, other, watched), daemon=True
                    ).start()

    def _pass_on(self, one: socket.socket, other: socket.socket, watched: bool) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                self.round_trips += watched and self._answered
                self._answered = not watched
                if watched and self.cut == "shutdown" and b"COMMIT" in data:
                    self._shut_down(other, data)
                elif watched and self.cut and b"COMMIT" in data:
                    if self.cut == "after":
                        other.sendall(data)
                    self.cut = ""
                    break  # the answer finds no way back
                else:
                    other.sendall(data)
        for each in (one, other):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        one.close()

    def _shut_down(self, server: socket.socket, data: bytes) -> None:
        """End the server's process between the commit and the end of the statements."""
        self.cut = ""
        holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"
        url = f"postgresql://postgres@127.0.0.1:{self.target}/postgres"
        with psycopg.connect(url, autocommit=True) as connection:
            holder = connection.execute(holders).fetchone()
            server.sendall(data.removesuffix(b"S\0\0\0\4"))
            while connection.execute(holders).fetchone():
                pass  # until committed
            connection.execute("SELECT pg_terminate_backend(%s)", holder)
