"""Erased texts: no query of the server returns them, whatever the server noted before."""

from __future__ import annotations

import psycopg

from bethink import HashEmbedder, MemoryStore

from .server import fresh_location


def test_the_statistics_of_the_server_quote_no_erased_text() -> None:
    location = fresh_location()
    url, _, schema = location.partition("?schema=")
    quoted = (
        "SELECT count(*) FROM pg_stats WHERE schemaname = %s "
        "AND concat(most_common_vals, histogram_bounds) LIKE '%%secret%%'"
    )
    with (
        MemoryStore(location, embedder=HashEmbedder(16)) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        store.store("The office is in Ghent")
        store.store_many(
            {"content": f"secret {number}", "author": "secret", "metadata": {"of": "secret"}}
            for number in range(20)
        )
        connection.execute("ANALYZE")  # as the server does after many changes
        assert connection.execute(quoted, [schema]).fetchone() != (0,)
        store.erase(where={"author": "secret"})
        assert connection.execute(quoted, [schema]).fetchone() == (0,)
