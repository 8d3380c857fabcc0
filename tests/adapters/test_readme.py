"""The code of README and docs that a framework or Redis runs, where these are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..core.pages import (
    BLOCKS,
    BLOCKS_OF,
    PAGES,
    missing_modules,
    needs_framework,
    needs_postgres,
    run_scripts,
    runnable,
)

OF_FRAMEWORKS = [block for block in BLOCKS if needs_framework(block) and not needs_postgres(block)]


@pytest.mark.parametrize("block", OF_FRAMEWORKS, ids=lambda block: block.splitlines()[-1][:40])
def test_code_runs_twice_and_gives_the_results_stated(block: str, tmp_path: Path) -> None:
    if missing := missing_modules(block):
        pytest.skip(f"{missing} not installed")
    run_scripts([runnable(block)] * 2, tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_page_runs_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    blocks = [
        block
        for block in BLOCKS_OF[page]
        if not needs_postgres(block) and not missing_modules(block)
    ]
    if not any(block in OF_FRAMEWORKS for block in blocks):
        pytest.skip("no block is of an installed framework")
    run_scripts([runnable(block) for block in blocks], tmp_path)
