"""Hosts for the tests of the server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .calling import Host


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """A function that connects a host to a server with options, on one file."""
    hosts = []

    def connected(**options: Any) -> Host:
        hosts.append(Host(tmp_path / "memory.db", **options))
        return hosts[-1]

    yield connected
    for each in hosts:
        each.server.close()


@pytest.fixture
def host(connect: Callable[..., Host]) -> Host:
    """A host of a server with all tools."""
    return connect(everything=True)
