"""A power cut, as far as it can be told from the bytes of the files.

A process writes step by step. After each step the files are filmed: what they hold then was synced
before the step was acknowledged. A power cut between two steps leaves of what was written since any
512-byte sectors and any length. From such images the store must come back whole.

It shows neither that SQLite syncs when it should and that the disk obeys, which is taken as given,
nor what a file system may do to the names of files.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Literal

import pytest

from bethink import MemoryStore

from ..inside import connections_of
from .processes import Child, Say, ask, forks
from .replay import assert_journal_is_state, unverified
from .scripts import State, script, state_of

pytestmark = forks

STEPS = 24
SECTOR = 512
LOG_HEADER = 32
PAGES = 12
"""How long the log gets before it is checkpointed; so short that it happens every few steps."""


@dataclass(frozen=True)
class Frame:
    """The files as they were when a step was acknowledged, and the state it led to."""

    pages: bytes
    log: bytes
    state: State


def film(path: Path, durability: Literal["full", "normal"]) -> list[Frame]:
    steps = list(islice(script("ann", 7, {}), STEPS))

    def write(say: Say) -> None:
        store = MemoryStore(path, durability=durability)
        writer = connections_of(store)._writer
        writer.execute(f"PRAGMA wal_autocheckpoint = {PAGES}")
        for do, _ in steps:
            do(store)
            ask(say)

    frames = []
    with Child(write) as child:
        for _, state in steps:
            child.wait_for_question()
            log = path.with_name(f"{path.name}-wal").read_bytes()
            frames.append(Frame(path.read_bytes(), log, state))
            child.answer()
    return frames


def torn(before: bytes, after: bytes, chance: random.Random) -> bytes:
    """Return *before* with some sectors, and some of the length, that *after* has more or anew."""
    longest = max(len(before), len(after))
    end = chance.randint(len(before), longest)
    image = bytearray(before.ljust(longest, b"\x00"))
    for start in range(0, longest, SECTOR):
        if chance.random() < 0.5:
            image[start : start + SECTOR] = after[start : start + SECTOR].ljust(
                min(SECTOR, longest - start), b"\x00"
            )
    return bytes(image[:end])


def cut_log(before: bytes, after: bytes, chance: random.Random) -> bytes:
    """Return the log when the power goes while *after* is written over *before*.

    A log that starts anew has its header synced first.
    """
    if before[:LOG_HEADER] != after[:LOG_HEADER]:
        before = after[:LOG_HEADER] + before[LOG_HEADER:]
    if chance.random() < 0.3:  # in order, up to some byte
        return after[: chance.randint(min(len(before), len(after)), len(after))]
    return torn(before, after, chance)


def images(frames: list[Frame], chance: random.Random) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield pages, log and the number of the last step that must not be lost."""
    for number, (old, new) in enumerate(pairwise(frames)):
        yield old.pages, old.log, number
        for _ in range(3):
            yield old.pages, cut_log(old.log, new.log, chance), number
        if old.pages != new.pages:  # a checkpoint came after the log was synced
            for _ in range(3):
                yield torn(old.pages, new.pages, chance), new.log, number


def unsynced_images(
    frames: list[Frame], chance: random.Random
) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield the same for a log that is synced at checkpoints only."""
    synced = 0
    for number, (old, new) in enumerate(pairwise(frames)):
        if old.pages != new.pages:
            synced = number + 1
        else:
            for _ in range(3):
                log = frames[synced].log if synced else b""
                yield old.pages, cut_log(log, new.log, chance), synced


def recovered(folder: Path, pages: bytes, log: bytes) -> State:
    """Return the state of the store that these files hold; check it inside and out."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "memory.db"
    path.write_bytes(pages)
    path.with_name("memory.db-wal").write_bytes(log)
    with MemoryStore(path, durability="normal") as store:
        assert_journal_is_state(store)
        state = state_of(store, "ann")
        store.store("usable", namespace="after")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert unverified(path) == []
    return state


@pytest.mark.slow
def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    frames = film(tmp_path / "memory.db", "full")
    assert sum(old.pages != new.pages for old, new in pairwise(frames)) > 3
    count = 0
    for pages, log, number in images(frames, random.Random(1)):
        allowed = [frame.state for frame in frames[number : number + 2]]
        assert recovered(tmp_path / "image", pages, log) in allowed
        count += 1
    print(f"{count} images, none lost, none corrupt")


@pytest.mark.slow
def test_a_power_cut_loses_the_last_writes_at_most_with_normal_durability(tmp_path: Path) -> None:
    frames = film(tmp_path / "memory.db", "normal")
    lost = 0
    for pages, log, synced in unsynced_images(frames, random.Random(2)):
        state = recovered(tmp_path / "image", pages, log)
        assert state in [{}, *(frame.state for frame in frames[synced:])]
        lost += state == frames[synced].state
    assert lost
