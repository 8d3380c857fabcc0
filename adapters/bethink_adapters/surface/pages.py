"""Which requests of web pages are answered: no page of a foreign host may reach a local server."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

LOCAL: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))
"""The names of this computer."""


@contextmanager
def binding(host: str, port: int) -> Iterator[None]:
    """Name the address in the error about an address that cannot be taken."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), f"{host} port {port}") from None


def allowed(headers: Mapping[str, str], hosts: Collection[str]) -> bool:
    """Return whether the request came by one of *hosts*, and from no foreign page."""
    if host_name(headers.get("host", "")) not in hosts:
        return False
    origin = headers.get("origin")
    try:
        return origin is None or host_name(urlsplit(origin).netloc) in hosts
    except ValueError:  # such as a bracket that is never closed
        return False


def host_name(netloc: str) -> str:
    """Return the host of *netloc* without the port."""
    host, _, port = netloc.rpartition(":")
    return (host if host and port.isdigit() else netloc).lower()
