"""Opening a database: what the URL tells, what is shown, and what a role may do."""

from __future__ import annotations

import psycopg
import pytest

from bethink import StorageError, ValidationError
from bethink.storage import database_exists, migrate_database, open_backend
from bethink.storage.urls import split

from .server import shared_url
from .test_database import opened, schema_of


def test_no_password_is_ever_shown(location: str) -> None:
    secret = location.replace("postgres@", "postgres:s3cret@")
    with opened(secret) as store:
        assert "s3cret" not in f"{store!r} {store.location} {store.stats()}"
        assert store.location == location
    with pytest.raises(StorageError) as refused:
        opened("postgresql://ann:s3cret@127.0.0.1:1/none?connect_timeout=1")
    assert refused.value.is_unreachable
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("password", ["s3cr#et", "s3cr?et", "s3cr[et"])
def test_a_password_may_hold_signs_that_libpq_takes(location: str, password: str) -> None:
    with opened(location.replace("postgres@", f"postgres:{password}@")) as store:
        assert store.location == location


@pytest.mark.parametrize(
    "place",
    [
        "ann:s3c ret@127.0.0.1:1/none",
        "ann:s3c%zzret@127.0.0.1:1/none",
        "ann:s3c/ret@127.0.0.1/a",
        "ann@127.0.0.1:1/none?password=s3c@ret",
        "ann@127.0.0.1:1/none?password=s3c&ret",
        "ann@127.0.0.1:1/none?password=s3c%zzret",
    ],
)
def test_a_password_that_cannot_be_read_is_not_shown(place: str) -> None:
    with pytest.raises((StorageError, ValidationError)) as refused:
        opened(f"postgresql://{place}")
    causes = refused.value, refused.value.__cause__  # a traceback shows both
    for part in ("s3c", "ret"):
        assert not any(part in str(each) for each in causes)


def test_other_parameters_reach_libpq_as_given(location: str) -> None:
    url = f"{location}&application_name=two%20words&options=-c%20work_mem%3D5MB"
    opened(url).close()
    with psycopg.connect(split(url)[0]) as connection:
        assert connection.info.parameter_status("application_name") == "two words"
        assert connection.execute("SHOW work_mem").fetchone() == ("5MB",)


def test_a_role_that_reads_only_the_views_hears_what_to_do(location: str) -> None:
    opened(location).close()
    with schema_of(location) as (connection, schema):
        connection.execute(f"CREATE ROLE views_{schema} LOGIN")
    migrate_database(location, readers=[f"views_{schema}"])
    with pytest.raises(StorageError, match=f"role views_{schema} may not use .* --writer views"):
        open_backend(location.replace("postgres@", f"views_{schema}@"))


def test_a_look_whether_there_is_a_store_makes_nothing(location: str) -> None:
    assert not database_exists(location)
    with schema_of(location) as (connection, schema):
        found = connection.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema,)
        ).fetchone()
    assert found == (0,)
    opened(location).close()
    assert database_exists(location)
    with pytest.raises(StorageError, match="refused"):
        database_exists("postgresql://127.0.0.1:1/none?connect_timeout=1")


def test_a_database_without_an_encoding_keeps_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with psycopg.connect(shared_url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0")
    with opened(f"{shared_url()}?dbname=plain") as store:
        store.store("お茶", key="naïve")
        assert [(each.key, each.content) for each in store.all()] == [("naïve", "お茶")]
