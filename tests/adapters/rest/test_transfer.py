"""Import and merge over HTTP: previews write nothing, and damage is named by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from bethink import MemoryStore

from .serving import HOST, Client, client_of


@pytest.fixture
def lines(client: Client, store: MemoryStore) -> list[bytes]:
    """The lines of an export of three memories."""
    store.store_many(["Use tabs in Go", "The port is 80", "Ann likes chess"])
    exported: bytes = client().get("/v1/export").content
    return exported.splitlines(keepends=True)


@pytest.mark.parametrize("full", [False, True])
def test_a_dry_run_counts_and_writes_nothing(lines: list[bytes], full: bool) -> None:
    with MemoryStore() as there:
        if full:
            there.store("Something else entirely")
        http, before = client_of(there), there.stats().journal_length
        wanted = {"dry_run": "true"}
        preview = http.post("/v1/import", content=b"".join(lines), params=wanted).json()
        assert preview["added"] == 3
        assert there.stats().journal_length == before
        assert http.post("/v1/import", content=b"".join(lines)).json() == preview
        assert len(there.all()) == 3 + full


def test_a_merge_has_a_dry_run_too(client: Client, store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with MemoryStore(path) as other:
        other.store("from elsewhere")
    body, wanted = path.read_bytes(), {"dry_run": "true"}
    assert client().post("/v1/merge", content=body, params=wanted).json()["added"] == 1
    assert store.all() == []


def test_every_damaged_line_is_named_and_nothing_is_changed(lines: list[bytes]) -> None:
    damaged = [*lines]
    damaged[2] = b'{"entry": \n'
    damaged[4] = b"[]\n"
    with MemoryStore() as there:
        there.store("Here first")
        http = client_of(there)
        before = http.get("/v1/export").content
        for query in ("", "?dry_run=true"):
            refused = http.post(f"/v1/import{query}", content=b"".join(damaged))
            assert refused.status_code == 409
            assert refused.json()["detail"] == "the body cannot be read: line 3 is not JSON"
            assert refused.json()["errors"] == [
                {"line": 3, "what": "is not JSON"},
                {"line": 5, "what": "is not a JSON object"},
            ]
        assert http.get("/v1/export").content == before


def test_a_line_with_a_wrong_value_or_a_missing_end_is_named(lines: list[bytes]) -> None:
    with MemoryStore() as there:
        http = client_of(there)
        changed = b"".join(lines).replace(b"Ann likes chess", b"Ann likes cards")
        [error] = http.post("/v1/import", content=changed).json()["errors"]
        assert error["line"] == len(lines)
        assert "something was changed" in error["what"]
        [error] = http.post("/v1/import", content=b"".join(lines[:-1])).json()["errors"]
        assert error == {"line": len(lines), "what": "is missing: the end is cut off"}


def test_a_foreign_file_is_told_by_its_first_line(client: Client) -> None:
    [error] = client().post("/v1/import", content=b"a,b\n1,2\n").json()["errors"]
    assert error == {"line": 1, "what": "is not the header of a bethink export"}


@pytest.mark.parametrize("path", ["/v1/import", "/v1/merge", "/v1/memories"])
def test_an_upload_that_breaks_off_is_no_error_of_the_server(
    client: Client, store: MemoryStore, lines: list[bytes], path: str
) -> None:
    http, before = client(), store.stats().journal_length
    begun: list[Any] = [{"type": "http.request", "body": lines[0], "more_body": True}]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def left() -> Any:
            return begun.pop() if begun else {"type": "http.disconnect"}

        await http.app(scope, left, send)

    with TestClient(app, base_url=HOST, headers=dict(http.headers)) as leaving:
        assert leaving.post(path, json={}).status_code == 400
    assert store.stats().journal_length == before
