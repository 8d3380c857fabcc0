"""The table of Memory Layer's routes: complete, and each operation to call now exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from .serving import Client

PAGE: Final = Path(__file__).parents[3] / "docs" / "rest.md"
ROUTES: Final = {
    "GET / /health /health/live /health/ready /metrics /stats /memories /memories/{id} /context",
    "GET /beads/context /beads/tasks /beads/tasks/{id} /beads/tasks/{id}/memories /beads/stats",
    "GET /tasks /tasks/stats /tasks/context /tasks/{id} /tasks/{id}/memories",
    "POST /memories /memories/search /memories/outcome /sessions/ingest",
    "POST /beads/sync /beads/link /tasks/sync",
    "PATCH /memories/{id}",
    "DELETE /memories/{id}",
}
"""The routes of Memory Layer 4.x, after the method."""


def test_every_route_of_memory_layer_is_in_the_table() -> None:
    wanted = {f"{method} {path}" for method, *paths in map(str.split, ROUTES) for path in paths}
    assert {route for cell, _ in rows() for route in operations(cell)} == wanted


def test_every_operation_of_the_table_exists(client: Client) -> None:
    http = client()
    described = http.get("/openapi.json").json()["paths"]
    for _, cell in rows():
        for operation in operations(cell):
            method, path = operation.split()
            if path.startswith("/v1/"):
                assert method.lower() in described[path], operation
            else:
                assert http.request(method, path).is_success, operation


def rows() -> list[tuple[str, str]]:
    """Return the cells of the table, without the head."""
    section = PAGE.read_text().split("## From Memory Layer\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    assert len(lines) > 15
    return [
        (left, right) for left, right in re.findall(r"\| (.*) \| (.*) \|", "\n".join(lines[1:]))
    ]


def operations(cell: str) -> list[str]:
    return re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) [^`]+)`", cell)
