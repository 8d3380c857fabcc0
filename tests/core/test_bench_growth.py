"""The growth table and the soak run and report; nothing here depends on how fast anything is."""

from __future__ import annotations

import re

import pytest

from bethink import MemoryStore
from bethink.bench import growth
from bethink.bench import soak as soaking
from bethink.bench.__main__ import main, print_growth


@pytest.mark.slow
def test_the_growth_table_has_a_figure_in_each_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(growth, "_RECALLS", 400)
    monkeypatch.setattr(growth, "_THREADED", 64)
    print_growth([300])
    title, *rows = capsys.readouterr().out.splitlines()
    assert title == "300 memories"
    figures = {row[:64].strip(): row[64:].strip() for row in rows}
    assert len(figures) == len(rows) >= 20
    assert all(re.search(r"\d", figure) for figure in figures.values())
    assert 0 < int(figures["bytes of a recall of ten"]) < 400


def test_a_soak_keeps_the_number_of_memories_and_tells_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--soak", "0.03", "--sizes", "200"]) == 0
    out = capsys.readouterr().out
    assert "MB after compact" in out
    assert re.search(r"recall [1-9][\d,]* calls, first fifth p50 \d+\.\d\d p99", out)
    assert re.search(r"write [1-9][\d,]* calls", out)


def test_a_call_that_fails_is_an_error_of_the_soak(monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryStore() as store:
        use = soaking._Use(store, 0.05)
        use.run(1, ["unknown"])
        assert '"errors": ["write: ' in use.told()
