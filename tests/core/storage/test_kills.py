"""Killed while writing: what was acknowledged is there, what was not is there whole or not at all.

``BETHINK_KILLS=400 python -m pytest -rP tests/core/storage/test_kills.py`` kills more often and
shows the figures.
"""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Literal

import pytest

from bethink import MemoryStore

from .processes import Child, Say, forks
from .replay import assert_journal_is_state, unverified
from .scripts import State, script, state_of

pytestmark = forks

KILLS = int(os.environ.get("BETHINK_KILLS", "40"))
WRITERS = ("ann", "ben")
MOST, LONGEST = 12, 0.01  # steps, then seconds before the kill


def write(
    path: Path, durability: Literal["full", "normal"], name: str, seed: int, start: State, say: Say
) -> None:
    """Go through the script, telling the number of each step that was acknowledged."""
    with MemoryStore(path, durability=durability) as store:
        for number, (do, _) in enumerate(script(name, seed, start), 1):
            do(store)
            say(number)


def states(name: str, seed: int, start: State, acknowledged: int) -> tuple[State, State]:
    """Return the state after the acknowledged steps, and after the one that was under way."""
    after = [start, *(state for _, state in islice(script(name, seed, start), acknowledged + 1))]
    return after[-2], after[-1]


def damage(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
    return [*([] if found == [("ok",)] else found), *unverified(path)]


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["full", "normal"])
def test_no_acknowledged_write_is_lost(
    quick_folder: Path, durability: Literal["full", "normal"]
) -> None:
    path = quick_folder / "memory.db"
    known: dict[str, State] = {name: {} for name in WRITERS}
    chance, steps = random.Random(durability), 0
    for seed in range(max(1, KILLS // len(WRITERS) // 2)):
        children = {
            name: Child(partial(write, path, durability, name, seed, known[name]))
            for name in WRITERS
        }
        for child in children.values():
            child.wait_for(chance.randrange(MOST))
            child.listen(chance.uniform(0, LONGEST))
            child.kill()
        acknowledged = {name: len(child.hear()) for name, child in children.items()}
        with MemoryStore(path) as store:
            for name, number in acknowledged.items():
                found = state_of(store, name)
                assert found in states(name, seed, known[name], number)
                known[name] = found
            assert_journal_is_state(store)
            store.store("usable", namespace="after", key="after")
            assert len(store.recall("usable", namespace="after")) == 1
        assert damage(path) == []
        steps += sum(acknowledged.values())
    print(f"{(seed + 1) * len(WRITERS)} kills, {steps} steps acknowledged, none lost")


@pytest.mark.slow
def test_the_scripts_come_to_everything() -> None:
    steps = list(islice(script("ann", 1, {}), 200))
    conditions = {condition for _, condition, _ in steps[-1][1].values()}
    assert conditions == {"live", "forgotten", "superseded"}
    with MemoryStore() as store:
        for (do, state), _ in pairwise(steps):
            do(store)
            assert state_of(store, "ann") == state
