"""Clients for the tests; without the extra there is nothing to test."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from bethink import MemoryStore

if TYPE_CHECKING:
    from .serving import Client

collect_ignore_glob = [] if find_spec("fastapi") else ["test_*.py"]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore() as made:
        yield made


@pytest.fixture
def client(store: MemoryStore) -> Client:
    from .serving import client_of

    return partial(client_of, store)
