"""The code of README and docs that a framework or a server runs, where these are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..core.pages import (
    BLOCKS,
    BLOCKS_OF,
    PAGES,
    missing_modules,
    needs_framework,
    run_scripts,
    runnable,
)

OF_FRAMEWORKS = [block for block in BLOCKS if needs_framework(block)]


@pytest.mark.parametrize("block", OF_FRAMEWORKS, ids=lambda block: block.splitlines()[-1][:40])
def test_code_runs_twice_and_gives_the_results_stated(block: str, tmp_path: Path) -> None:
    if missing := missing_modules(block):
        pytest.skip(f"{missing} not installed")
    run_scripts([runnable(block)] * 2, tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page_runs_in_one_process(page: str, tmp_path: Path) -> None:
    blocks = [block for block in BLOCKS_OF[page] if block in OF_FRAMEWORKS]
    scripts = [runnable(block) for block in blocks if not missing_modules(block)]
    if len(scripts) < 2:
        pytest.skip("the blocks run alone")
    run_scripts(scripts, tmp_path)
