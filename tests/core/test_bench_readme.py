"""The pages show the figures that are kept beside them, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bethink.bench.__main__ import main
from bethink.bench.readme import BEGIN, END, compared_size, rewrite, section

ROOT = Path(__file__).parents[2]
FIGURES, PICTURE = "docs/bench/figures.json", "docs/bench/figures.svg"
DOCUMENT: dict[str, Any] = json.loads((ROOT / FIGURES).read_text(encoding="utf-8"))


def row(engine: str, measure: str, microseconds: float, size: int = 10) -> dict[str, Any]:
    return {
        "size": size,
        "embedder": "shared",
        "engine": engine,
        "measure": measure,
        "cpu_us": microseconds,
    }


def a_run() -> dict[str, Any]:
    """Return a document of two engines at 10 memories, and of bethink alone at 20."""
    measures = ("recall", "recall, cold", "store + recall", "open and first recall")
    costs = {("bethink", 10): 1500.0, ("remembrane", 10): 60_000.0, ("bethink", 20): 2500.0}
    return {
        "machine": {
            "cpu": "Z80",
            "cores": 1,
            "platform": "CP/M",
            "date": "1976-07-01",
            "load": None,
        },
        "versions": {"python": "0.1", "remembrane": "0.5.1"},
        "settings": {"sizes": [10, 20]},
        "figures": [
            row(engine, measure, cost, size)
            for (engine, size), cost in costs.items()
            for measure in measures
        ],
        "footprints": [
            {**row(engine, "", 0, size), "rss_mb": 61.3, "bytes_per_memory": 2650.4}
            for engine, size in costs
        ],
        "survivors": [{"size": 10, "embedder": "shared", "median": 18.0, "p95": 36}],
        "ratios": [],
    }


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_page_of_measurements_shows_the_figures_that_are_kept() -> None:
    shown = section(DOCUMENT, "bench/figures.svg", "bench/figures.json")
    assert f"{BEGIN}\n{shown}\n{END}\n" in page("docs/measured.md")


def test_readme_shows_some_columns_of_the_figures_that_are_kept() -> None:
    def table(text: str) -> list[dict[str, str]]:
        head, _, *rows = re.findall(r"^\|.*\|$", text, re.MULTILINE)
        return [dict(zip(cells(head), cells(row), strict=True)) for row in rows]

    kept = table(section(DOCUMENT, "", "").partition("bethink by the number")[0])
    shown = table(page("README.md").partition("CPU time")[2].partition("Share of")[0])
    assert shown == [{column: row[column] for column in shown[0]} for row in kept]
    assert PICTURE in page("README.md")


def test_a_peer_is_told_in_time_and_as_a_multiple() -> None:
    text = section(a_run(), "p.svg", "f.json")
    assert "| bethink | words and vectors | 1.5 ms | 1.5 ms | 1.5 ms | 1.5 ms | 61 MB |" in text
    times = " | ".join(["60 ms (\u00d740)"] * 4)
    assert f"| remembrane 0.5.1 | words and vectors | {times} | 61 MB |" in text
    assert "![Processor time" in text
    assert "](p.svg)" in text
    assert "[All figures](f.json) of this run: Z80, 1 cores, CP/M, 1976-07-01; Python 0.1." in text


def test_own_figures_stand_by_size_and_what_was_not_measured_is_empty() -> None:
    lines = section(a_run(), "p.svg", "f.json").splitlines()
    assert "| | 10 | 20 |" in lines
    assert "| recall | 1.5 ms | 2.5 ms |" in lines
    told = "vectors read in full to prove an answer: median (95th percentile)"
    assert f"| {told} | 18 (36) | |" in lines


def test_engines_are_compared_at_the_largest_size_that_most_were_measured_at() -> None:
    assert compared_size(a_run()) == 10
    figures = [row("bethink", "recall", 1, 10), row("bethink", "recall", 1, 30)]
    assert compared_size({"figures": figures}) == 30


def test_only_what_stands_between_the_marks_is_replaced(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n", encoding="utf-8")
    for _ in range(2):
        rewrite(readme, a_run(), tmp_path / "docs" / "p.svg", tmp_path / "f.json")
    new = section(a_run(), "docs/p.svg", "f.json")
    assert readme.read_text(encoding="utf-8") == f"above\n{BEGIN}\n{new}\n{END}\nbelow\n"


def test_a_readme_without_marks_is_left_alone(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"above\n{BEGIN}\nno end", encoding="utf-8")
    with pytest.raises(ValueError, match="has no lines"):
        rewrite(readme, a_run(), tmp_path / "p.svg", tmp_path / "f.json")
    assert readme.read_text(encoding="utf-8") == f"above\n{BEGIN}\nno end"


def test_readme_without_a_picture_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--readme", "README.md", "--from", FIGURES])
    assert "give --picture" in capsys.readouterr().err
