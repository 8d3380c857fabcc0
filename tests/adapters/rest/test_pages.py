"""The web interface: files without a token, under a strict policy; no file of other folders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from bethink import MemoryStore
from bethink_adapters.rest import pages

from .serving import Client


@pytest.fixture
def http(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    (tmp_path / "js").mkdir()
    (tmp_path / "index.html").write_text("<title>bethink</title>" * 50)
    (tmp_path / "js/main.js").write_text("export const a = 1;\n" * 50)
    (tmp_path / "notes.txt").write_text("no file of the interface")
    monkeypatch.setattr(pages.Pages.__init__, "__defaults__", (tmp_path,))
    return client(None)


@pytest.mark.parametrize("path", ["/", "/memories", "/memories/", "/memories/a%2Fb", "/recall?q=x"])
def test_every_page_is_the_index_and_needs_no_token(http: TestClient, path: str) -> None:
    reply = http.get(path)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cache-control"] == "no-cache"


def test_every_route_of_the_interface_is_a_page(http: TestClient) -> None:
    script = (Path(pages.__file__).parents[1] / "web/js/app.js").read_text()
    routes = re.findall(r'{ path: "([^"]+)"', script)
    assert len(routes) > 5
    for route in routes:
        assert http.get(route.replace(":id", "a")).status_code == 200, route


@pytest.mark.parametrize(
    "path", ["/v2/x", "/memory", "/favicon.ico", "/recall/x", "/web", "//", "/x?q=1"]
)
def test_an_unknown_path_is_a_problem(http: TestClient, path: str) -> None:
    reply = http.get(f"http://127.0.0.1:8420{path}")
    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["type"] == "urn:bethink:problem:not-found"


def test_a_file_comes_packed_with_a_tag_and_only_once(http: TestClient) -> None:
    reply = http.get("/web/js/main.js", headers={"Accept-Encoding": "gzip"})
    assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
    assert reply.headers["content-encoding"] == "gzip"
    assert reply.text.startswith("export const")
    again = http.get("/web/js/main.js", headers={"If-None-Match": reply.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    plain = http.get("/web/js/main.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == reply.text


@pytest.mark.parametrize(
    "path", ["/web/none.js", "/web/notes.txt", "/web/", "/web/%2e%2e/rest/app.py", "/web//etc/x.js"]
)
def test_nothing_else_is_served(http: TestClient, path: str) -> None:
    assert http.get(path).status_code == 404


def test_foreign_pages_and_other_methods_stay_out(http: TestClient) -> None:
    assert http.get("/", headers={"Host": "evil.example"}).status_code == 403
    assert http.get("/", headers={"Origin": "null"}).status_code == 403
    assert http.post("/memories").status_code == 401
    assert http.get("/v1/stats").status_code == 401


def test_without_pages_every_path_is_absent(store: MemoryStore, client: Client) -> None:
    http = client(None, pages=False)
    assert [http.get(path).status_code for path in ("/", "/web/js/main.js")] == [404, 404]
