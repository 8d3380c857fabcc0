from __future__ import annotations

from pathlib import Path

import pytest

from bethink import CompactedError, MemoryStore

from .conftest import Run


def history(file: Path) -> int:
    with MemoryStore(file) as store:
        return len(store.log())


def test_a_trial_shows_what_would_go(run: Run, file: Path) -> None:
    before = history(file)
    done = run("compact", "--before", "#4", "--dry-run")
    assert "would remove" in done.out
    assert "history begins after entry" in done.out
    assert run("compact", "--before", "#4", "--dry-run", "--json").data["dry_run"] is True
    assert history(file) == before


def test_history_goes_after_a_yes_only(run: Run, file: Path) -> None:
    before = history(file)
    assert run("compact", "--before", "#4").code == 2
    refused = run("compact", "--before", "#4", text="n\n", terminal=True)
    assert (refused.code, history(file)) == (1, before)
    assert "journal entries? [y/N]" in refused.err
    done = run("compact", "--before", "#4", "--json", text="y\n", terminal=True)
    with MemoryStore(file) as store:
        assert store.log()[-1].action in ("base", "relate")
        with pytest.raises(CompactedError):
            store.as_of(done.data["cut"] - 1)
        assert store.verify().problems == ()


def test_history_of_a_span_stays(run: Run, file: Path) -> None:
    assert run("compact", "--keep", "9000d", "--yes", "--json").data["entries"] == 0
    assert run("compact", "--keep", "0d", "--yes", "--json").data["entries"] > 0
