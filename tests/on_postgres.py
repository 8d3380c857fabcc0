"""A plugin that runs tests on Postgres: each store in memory or in a file becomes a schema.

`pytest -p tests.on_postgres -k Contract tests/adapters` needs psycopg and a package with a server.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import pytest

from bethink.memory import memories
from bethink.model.port import Backend
from bethink.storage import open_backend

from .core.storage.postgres.server import fresh_location

FILES_ONLY = {
    "test_a_store_or_a_path_is_checked_at_construction": "a path that no file can have is a schema",
    "test_dump_has_no_secret_and_reloads_in_a_new_process": "a dump names a file",
    "test_erasing_a_user_leaves_no_byte_and_no_other_user_out": "reads the bytes of the file",
}


@cache
def _location_for(path: str) -> str:
    return fresh_location()


def _open_backend(location: Any, *given: Any, **more: Any) -> Backend:
    """Open the schema in place of a file, the same for the same path."""
    place = os.fspath(location)
    if "://" not in place and not any((*given[1:], *more.values())):  # neither key nor anchor
        absolute = os.path.abspath(place)
        place = fresh_location() if place == ":memory:" else _location_for(absolute)
    return open_backend(place, *given, **more)


def pytest_configure(config: pytest.Config) -> None:
    """Let every store open a schema."""
    # A test may leave a store to the garbage collector, which closes files without a word.
    config.addinivalue_line("filterwarnings", "ignore:connection .* was deleted:ResourceWarning")
    vars(memories)["open_backend"] = _open_backend


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that look at the file."""
    for item in items:
        if reason := FILES_ONLY.get(item.name.partition("[")[0]):
            item.add_marker(pytest.mark.skip(reason=reason))
