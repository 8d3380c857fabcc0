"""A plugin that runs tests on Postgres: each store in memory or in a file becomes a schema.

`pytest -p tests.on_postgres -k Contract tests/adapters` needs psycopg and a package with a server.
Tests that look into the file are skipped.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from bethink.memory import memories
from bethink.storage import FullBackend as Backend
from bethink.storage import open_backend

from .core.storage.postgres.server import fresh_location

FILES_ONLY = {
    "test_a_store_or_a_path_is_checked_at_construction": "a path that no file can have is a schema",
    "test_dump_has_no_secret_and_reloads_in_a_new_process": "a dump names a file",
    "test_a_store_says_where_and_what_it_is": "names a file",
    "test_a_store_that_cannot_be_made_leaves_the_file_free": "looks for open files",
    "test_a_failing_embedder_leaves_nothing_open": "a second process opens the file",
    "test_a_killed_process_leaves_work_that_goes_on": "a second process opens the file",
    "test_a_full_disk_changes_nothing": "fills the disk of the file",
    "test_what_is_written_between_index_and_filter_lets_nothing_else_pass": "patches SQLite",
    "test_a_moment_holds_a_record_once_whatever_becomes_of_it_meanwhile": "patches SQLite",
    "test_a_moment_answers_as_a_copy_made_then": "copies the file",
    "test_a_file_is_merged_as_its_store_is": "names a file",
    "test_a_call_that_broke_off_is_repeated": "names a file",
    "test_it_can_be_awaited": "names a file",
    "test_a_store_is_not_merged_with_itself": "links to the file",
    "test_a_store_is_not_exported_over_itself": "writes over the file",
    "test_erasing_a_user_leaves_no_byte_and_no_other_user_out": "reads the bytes of the file",
    "test_an_erased_memory_leaves_some_bytes": "a database gives pages back when it can",
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip a test of the core that opens the file by itself: no store raises these errors."""
    try:
        return (yield)
    except (sqlite3.OperationalError, FileNotFoundError) as error:
        if not item.nodeid.startswith("tests/core/"):
            raise
        pytest.skip(f"looks into the file: {error}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that look at the file."""
    for item in items:
        if reason := FILES_ONLY.get(item.name.partition("[")[0]):
            item.add_marker(pytest.mark.skip(reason=reason))
