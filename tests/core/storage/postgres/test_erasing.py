"""Erased texts: no query of the server returns them, whatever the server noted before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from bethink import HashEmbedder, MemoryStore

from .server import fresh_location

QUOTED = (
    "SELECT count(*) FROM pg_stats WHERE schemaname = %s "
    "AND concat(most_common_vals, histogram_bounds) LIKE '%%secret%%'"
)
SECRET = {"author": "secret"}


@contextmanager
def opened(location: str) -> Iterator[tuple[MemoryStore, Callable[[], bool]]]:
    """Open a store with secrets, and tell whether the statistics of the server quote them."""
    url, _, schema = location.partition("?schema=")
    with (
        MemoryStore(location, embedder=HashEmbedder(16)) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        store.store("The office is in Ghent")
        store.store_many(
            {"content": f"secret {number}", "metadata": {"of": "secret"}, **SECRET}
            for number in range(20)
        )
        connection.execute("ANALYZE")  # as the server does after many changes
        yield store, lambda: connection.execute(QUOTED, [schema]).fetchone() != (0,)


def test_the_statistics_of_the_server_quote_no_erased_text() -> None:
    with opened(fresh_location()) as (store, is_quoted):
        assert is_quoted()
        store.erase(where=SECRET)
        assert not is_quoted()


def test_a_role_that_may_not_vacuum_leaves_the_statistics_to_the_owner_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    location = fresh_location()
    url, _, schema = location.partition("?schema=")
    role = f"{schema}_plain"
    with opened(location) as (store, is_quoted):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {role} LOGIN")
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
            verbs = "SELECT, INSERT, UPDATE, DELETE"
            connection.execute(f"GRANT {verbs} ON ALL TABLES IN SCHEMA {schema} TO {role}")
        with MemoryStore(
            location.replace("postgres@", f"{role}@"), embedder=HashEmbedder(16)
        ) as plain:
            assert plain.erase(where=SECRET) == 20
        assert is_quoted()
        assert "may still quote what was erased" in caplog.text
        store.erase([])
        assert not is_quoted()
