"""The table of Memory Layer's views: complete, and each view to visit now exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = ROOT / "docs" / "web.md"
SHELL: Final = ROOT / "adapters" / "bethink_adapters" / "web" / "js" / "app.js"
VIEWS: Final = ["Dashboard", "Memories", "Search", "Add", "Tasks", "Memory dialog"]


def test_every_view_of_memory_layer_has_a_view_that_exists() -> None:
    section = PAGE.read_text().split("## From Memory Layer\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", section, re.M)[1:]
    assert [left for left, _ in rows] == VIEWS
    views = re.findall(r'path: "([^"]+)", title: "([^"]+)"', SHELL.read_text())
    for _, cell in rows:
        named = [(path, title) for title, path in re.findall(r"([A-Z]\w+) \(`(/[^`]*)`\)", cell)]
        assert named, cell
        assert set(named) <= set(views)
