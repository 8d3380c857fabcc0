"""The picture shows what the figures say. What needs matplotlib is skipped without it."""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path
from typing import Any

import pytest

from bethink import MissingExtraError
from bethink.bench.__main__ import main
from bethink.bench.picture import PANELS, as_figure, draw, lines
from bethink.bench.report import engines_of, where_and_when

from .installed import is_installed

KEPT = Path(__file__).parents[2] / "docs" / "bench"
DOCUMENT: dict[str, Any] = json.loads((KEPT / "figures.json").read_text(encoding="utf-8"))
drawing = pytest.mark.skipif(not is_installed("matplotlib"), reason="matplotlib not installed")


def with_sizes(*sizes: int) -> dict[str, Any]:
    """Return the kept document with the rows of its first size repeated at every one of *sizes*."""
    first = DOCUMENT["figures"][0]["size"]
    rows = [row for row in DOCUMENT["figures"] if row["size"] == first]
    return {**DOCUMENT, "figures": [{**row, "size": size} for size in sizes for row in rows]}


def test_kept_picture_is_of_the_run_whose_figures_are_kept() -> None:
    assert escape(where_and_when(DOCUMENT)) in (KEPT / "figures.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("measure", PANELS)
def test_every_engine_has_a_line_in_seconds_by_size(measure: str) -> None:
    drawn = {engine: (sizes, times) for engine, sizes, times in lines(with_sizes(20, 10), measure)}
    assert list(drawn) == engines_of(DOCUMENT)
    for engine, (sizes, times) in drawn.items():
        (cost,) = {
            row["cpu_us"]
            for row in with_sizes(10)["figures"]
            if (row["engine"], row["measure"], row["embedder"]) == (engine, measure, "shared")
        }
        assert sizes == [10, 20]
        assert times == pytest.approx([cost / 1e6] * 2)


@drawing
def test_panels_are_logarithmic_and_lines_differ_without_colours() -> None:
    panels = as_figure(with_sizes(1000, 10_000, 1_000_000)).axes
    assert [panel.get_title(loc="left") for panel in panels] == list(PANELS.values())
    for panel in panels:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        names = [label.get_text() for label in panel.get_xticklabels()]
        assert names == ["1 k", "10 k", "1 M"]
        marks = [line.get_marker() for line in panel.get_lines()]
        assert len(set(marks)) == len(marks) == len(engines_of(DOCUMENT))


@drawing
def test_pictures_are_written_and_svg_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.png", "a.svg", "b.svg"):
        draw(DOCUMENT, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_missing_matplotlib_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[bench\]'"):
        draw(DOCUMENT, tmp_path / "a.svg")
    with pytest.raises(SystemExit):
        main(["--from", str(KEPT / "figures.json"), "--picture", str(tmp_path / "a.svg")])
    assert "pip install '.[bench]'" in capsys.readouterr().err


def test_a_picture_of_another_kind_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--picture", "figures.gif"])
    assert "a picture is a .png or .svg, not figures.gif" in capsys.readouterr().err
