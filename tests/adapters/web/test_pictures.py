"""The pictures of the page about the interface are those that the maker makes."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

from ...making import web_pictures

PAGE = web_pictures.FOLDER.parent / "web.md"


def size_of(png: Path) -> tuple[int, int]:
    """Return width and height in pixels, from the header of *png*."""
    head = png.read_bytes()[16:24]
    return int.from_bytes(head[:4]), int.from_bytes(head[4:])


def test_the_maker_makes_each_picture_of_the_page(browser: Any, tmp_path: Path) -> None:
    web_pictures.make(tmp_path, browser)
    made = {each.name: each for each in tmp_path.glob("*.png")}
    kept = {each.name: each for each in web_pictures.FOLDER.iterdir()}
    assert (
        set(re.findall(r"\(pictures/([^)]+)\)", PAGE.read_text("utf-8"))) == set(kept) == set(made)
    )
    for picture in (*made.values(), *kept.values()):
        assert size_of(picture) == (web_pictures.SIZE["width"], web_pictures.SIZE["height"])
        assert picture.stat().st_size <= web_pictures.MOST_BYTES


def test_javascript_stays_small() -> None:
    """Compressed, every view together takes no more than a small picture."""
    folder = Path(web_pictures.__file__).parents[2] / "adapters/bethink_adapters/web/js"
    files = sorted(folder.rglob("*.js"))
    assert sum(len(gzip.compress(each.read_bytes(), 9)) for each in files) <= 60 * 1024
