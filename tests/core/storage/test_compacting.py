"""Compacting interrupted by kills and power cuts: nothing acknowledged is lost, nothing comes back.

``BETHINK_CUTS=2000 python -m pytest -rP tests/core/storage/test_compacting.py`` makes more images.
"""

from __future__ import annotations

import os
import random
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal

import pytest

from bethink import HashEmbedder, MemoryStore
from bethink.features import compaction

from ..clock import Clock
from ..inside import connections_of
from .film import Event, Film, films
from .power_cut import Image, images
from .processes import Child, Say, forks

CUTS = int(os.environ.get("BETHINK_CUTS", "75"))
KILLS = int(os.environ.get("BETHINK_KILLS", "40"))
KEY = b"sixteen bytes or more"
ROOMS, STEP, PAGES = 40, 12, 8
LIVE = ["the desk is red", f"the room is {ROOMS - 1}"]
GONE = ["the room is 17.", "a forgotten lamp"]
ERASED = "an erased chair"
Kind = Literal["plain", "keyed", "anchored"]


def opened(folder: Path, kind: Kind, durability: Literal["full", "normal"] = "full") -> MemoryStore:
    ids = count()
    return MemoryStore(
        folder / "home" / "memory.db",
        embedder=HashEmbedder(16),
        durability=durability,
        clock=Clock(),
        new_id=lambda: f"r{next(ids)}",
        integrity_key=None if kind == "plain" else KEY,
        anchor=folder / "safe" / "anchor" if kind == "anchored" else None,
    )


def fill(store: MemoryStore) -> None:
    """Give the store a long past, and few live memories."""
    store.store("the desk is green")
    for n in range(ROOMS):
        store.store(f"the room is {n}" + "." * (n == 17), key="room")
        store.update("r0", importance=n / ROOMS)
    store.update("r0", content=LIVE[0])
    store.forget(store.store(GONE[1]).id)
    store.erase(store.store(ERASED).id)


def compact(store: MemoryStore, say: Say) -> None:
    compaction.STEP_ENTRIES = STEP
    store.compact(keep=0, progress=lambda *done: say(done))


def check(folder: Path, kind: Kind, *, is_over: bool) -> None:
    """Check that the store is whole, and that another compacting finishes the work."""
    with opened(folder, kind, "normal") as store:
        assert store.verify().problems == ()
        assert sorted(record.content for record in store.all()) == LIVE
    assert_gone(folder, [ERASED, *(GONE if is_over else ())])
    with opened(folder, kind, "normal") as store:
        store.compact(keep=0)
        assert store.verify().problems == ()
        assert sorted(record.content for record in store.all()) == LIVE
        assert [hit.content for hit in store.recall("desk red", k=1)] == LIVE[:1]
    assert_gone(folder, [ERASED, *GONE])


def assert_gone(folder: Path, texts: list[str]) -> None:
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert [text for text in texts if text.encode() in data] == [], path.name


@films
@pytest.mark.slow
@pytest.mark.parametrize("log", [True, False], ids=["log", "no log"])
@pytest.mark.parametrize("kind", ["plain", "keyed", "anchored"])
def test_a_power_cut_through_compacting_loses_nothing(
    quick_folder: Path, kind: Kind, log: bool
) -> None:
    folder = quick_folder / "filmed"

    def work(say: Say) -> list[Event]:
        film = Film(folder, shared_memory=log)
        with opened(folder, kind) as store:
            connections_of(store)._writer.execute(f"PRAGMA wal_autocheckpoint = {PAGES}")
            fill(store)
            film.acknowledge(1)
            compact(store, say)
            film.acknowledge(2)
        return film.events

    folder.mkdir()
    film, checked = Child(work).result(), 0
    for number, image in enumerate(images(film, CUTS, 1)):
        if image.acknowledged:
            place = quick_folder / f"image {number}"
            place.mkdir()
            check_image(place, kind, image)
            checked += 1
    assert checked
    print(f"{checked} images of {len(film)} events, none lost, none corrupt")


def check_image(folder: Path, kind: Kind, image: Image) -> None:
    image.write(folder)
    try:
        check(folder, kind, is_over=image.acknowledged == 2)
    except Exception as error:
        error.add_note(image.told)
        raise


def work_until_killed(folder: Path, kind: Kind, say: Say) -> None:
    with opened(folder, kind) as store:
        compact(store, say)


@forks
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "keyed", "anchored"])
def test_a_kill_while_compacting_leaves_a_whole_file(quick_folder: Path, kind: Kind) -> None:
    chance = random.Random(kind)
    for number in range(max(1, KILLS // 4)):
        folder = quick_folder / str(number)
        with opened(folder, kind) as store:
            fill(store)
        with Child(partial(work_until_killed, folder, kind)) as child:
            child.wait_for(chance.randrange(1, 6))
            child.listen(chance.uniform(0, 0.02))
        check(folder, kind, is_over=False)
