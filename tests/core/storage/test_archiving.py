"""Archiving interrupted by kills and power cuts: each memory is in one of the files, or in both.

``BETHINK_CUTS=2000 python -m pytest -rP tests/core/storage/test_archiving.py`` makes more images.
"""

from __future__ import annotations

import os
import random
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from bethink import EVERYWHERE, HashEmbedder, MemoryStore

from ..clock import Clock
from .film import Event, Film, films
from .power_cut import images
from .processes import Child, Say, forks

CUTS = int(os.environ.get("BETHINK_CUTS", "75"))
KILLS = int(os.environ.get("BETHINK_KILLS", "40"))
KEPT = ["a note to keep"]
OLD = [f"an old note {n}" for n in range(60)]


def opened(path: Path) -> MemoryStore:
    ids = count()
    return MemoryStore(
        path, embedder=HashEmbedder(16), clock=Clock(), new_id=lambda: f"{path.stem}{next(ids)}"
    )


def fill(folder: Path) -> None:
    with opened(folder / "memory.db") as store:
        store.store_many(KEPT, namespace="new")
        store.store_many(OLD, namespace="old")


def archive(folder: Path, say: Say) -> None:
    with opened(folder / "memory.db") as store:
        say("open")
        store.archive_to(folder / "old.db", namespace="old")


def check(folder: Path, *, is_over: bool) -> None:
    """Check that nothing is lost, and that another call finishes the work."""
    is_moved = contents(folder / "memory.db") == KEPT
    assert is_moved or not is_over
    if is_moved:
        assert contents(folder / "old.db") == OLD
    else:
        assert contents(folder / "memory.db") == [*KEPT, *OLD]
        with opened(folder / "memory.db") as store:
            store.archive_to(folder / "old.db", namespace="old")
    assert (contents(folder / "memory.db"), contents(folder / "old.db")) == (KEPT, OLD)


def contents(path: Path) -> list[str]:
    with opened(path) as store:
        assert store.verify().ok
        return [record.content for record in store.all(namespace=EVERYWHERE)]


@films
@pytest.mark.slow
def test_a_power_cut_while_archiving_loses_nothing(quick_folder: Path) -> None:
    folder = quick_folder / "filmed"
    folder.mkdir()

    def work(say: Say) -> list[Event]:
        film = Film(folder)
        fill(folder)
        film.acknowledge(1)
        archive(folder, say)
        film.acknowledge(2)
        return film.events

    film, checked = Child(work).result(), 0
    for number, image in enumerate(images(film, CUTS, 1)):
        if image.acknowledged:
            place = quick_folder / f"image {number}"
            place.mkdir()
            image.write(place)
            try:
                check(place, is_over=image.acknowledged == 2)
            except Exception as error:
                error.add_note(image.told)
                raise
            checked += 1
    assert checked
    print(f"{checked} images of {len(film)} events, none lost")


@forks
@pytest.mark.slow
def test_a_kill_while_archiving_loses_nothing(quick_folder: Path) -> None:
    chance = random.Random(1)
    for number in range(max(1, KILLS // 4)):
        folder = quick_folder / str(number)
        folder.mkdir()
        fill(folder)
        with Child(partial(archive, folder)) as child:
            child.wait_for(1)
            child.listen(chance.uniform(0, 0.04))
        check(folder, is_over=False)
