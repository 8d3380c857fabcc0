"""The code of the pages that runs on Postgres, where psycopg and a server are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...pages import (
    BLOCKS,
    BLOCKS_OF,
    PAGES,
    missing_modules,
    needs_postgres,
    run_scripts,
    runnable,
)

ON_POSTGRES = [block for block in BLOCKS if needs_postgres(block) and not missing_modules(block)]
PAGES_ON_POSTGRES = [page for page in PAGES if any(map(ON_POSTGRES.count, BLOCKS_OF[page]))]


@pytest.mark.parametrize("block", ON_POSTGRES, ids=lambda block: block.splitlines()[-1][:40])
def test_code_runs_twice_and_gives_the_results_stated(block: str, tmp_path: Path) -> None:
    run_scripts([runnable(block)] * 2, tmp_path)


@pytest.mark.parametrize("page", PAGES_ON_POSTGRES)
def test_page_runs_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    blocks = [block for block in BLOCKS_OF[page] if not missing_modules(block)]
    run_scripts([runnable(block) for block in blocks], tmp_path)
