"""Power cuts: of what was acknowledged nothing is lost, and of what was erased nothing comes back.

A process writes step by step, and its calls are filmed. From the film come images of what a power
cut may leave. From each image the store must come back whole.

``BETHINK_CUTS=2000 python -m pytest -rP tests/core/storage/test_power.py`` makes more images and
shows the figures; ``BETHINK_SEED`` chooses other steps and images. The disk is taken to obey syncs,
and to write a sector whole or not at all.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest

from bethink import HashEmbedder, MemoryStore, StorageError

from ..inside import connections_of
from .film import Acknowledge, Create, Event, Film, Sync, Write, films
from .power_cut import Disk, Image, every, images
from .processes import Child, Say
from .replay import assert_journal_is_state
from .scripts import State, script, state_of

pytestmark = films

CUTS = int(os.environ.get("BETHINK_CUTS", "75"))  # of each film; some leave the same files
SEED = int(os.environ.get("BETHINK_SEED", "1"))
SESSIONS, STEPS = 3, 6
PAGES = 12
"""How long the log gets before it is checkpointed; so short that it happens every few steps."""
KEY = b"sixteen bytes or more"
Durability: TypeAlias = Literal["full", "normal"]
Kind: TypeAlias = Literal["plain", "keyed", "anchored"]


@dataclass(frozen=True)
class Step:
    """What to do; once it is done: the state, the texts erased, and the copies made so far."""

    do: Callable[[MemoryStore], Any]
    state: State
    erased: frozenset[str] = frozenset()
    copies: tuple[str, ...] = ()


def location(folder: Path) -> Path:
    return folder / "new" / "home" / "memory.db"


def opened(folder: Path, kind: Kind, durability: Durability) -> MemoryStore:
    return MemoryStore(
        location(folder),
        embedder=HashEmbedder(16),
        durability=durability,
        integrity_key=None if kind == "plain" else KEY,
        anchor=folder / "safe" / "place" / "anchor" if kind == "anchored" else None,
    )


def sessions(folder: Path) -> list[list[Step]]:
    """Return the steps between each opening and closing of the store in *folder*.

    Each session copies the store in three ways and erases a record at the end.
    """
    last, texts, made = Step(print, {}), dict[str, set[str]](), []
    for seed in range(SEED, SEED + SESSIONS):
        steps = []
        for do, state in islice(script("ann", seed, last.state), STEPS):
            last = replace(last, do=do, state=state)
            steps.append(last)
            for id, (content, _, _) in state.items():
                texts.setdefault(id, set()).add(content)
        upgrade_copy = f"{location(folder)}.v0.backup"  # an erasing removes these
        steps.append(replace(last, do=partial(MemoryStore.backup, target=upgrade_copy)))
        for name, copy in (("lines", MemoryStore.export), ("db", MemoryStore.backup)):
            path = f"copies/{seed}.{name}"
            do = partial(copy, target=folder / path)
            last = replace(last, do=do, copies=(*last.copies, path))
            steps.append(last)
        own = {
            id: texts[id].difference(*(texts[other] for other in texts if other != id))
            for id, (_, condition, _) in last.state.items()
            if condition != "erased"
        }
        erased = max(own, key=lambda id: len(own[id]))
        last = Step(
            partial(MemoryStore.erase, ids=erased),
            {**last.state, erased: ("", "erased", None)},
            last.erased | own[erased],
            last.copies,
        )
        made.append([*steps, last])
    return made


def moments(folder: Path) -> list[Step]:
    """Return all steps, after a first moment when nothing is done."""
    return [Step(print, {}), *(step for steps in sessions(folder) for step in steps)]


def filmed(
    folder: Path, kind: Kind, durability: Durability, *pragmas: str, log: bool = True
) -> list[Event]:
    """Return the film of all steps in *folder*."""

    def work(_: Say) -> list[Event]:
        film, number = Film(folder, shared_memory=log), 0
        for steps in sessions(folder):
            with opened(folder, kind, durability) as store:
                for pragma in (f"wal_autocheckpoint = {PAGES}", *pragmas):
                    connections_of(store)._writer.execute(f"PRAGMA {pragma}")
                for step in steps:
                    step.do(store)
                    film.acknowledge(number := number + 1)
        return film.events

    folder.mkdir()
    return Child(work).result()


def filmed_again(folder: Path, kind: Kind, image: Image) -> list[Event]:
    """Return the film of an opening of the store in *image*, with a write."""

    def work(_: Say) -> list[Event]:
        film = Film(folder)
        with opened(folder, kind, "full") as store:
            store.store("usable", namespace="after")
        return film.events

    lay(folder, image)
    return Child(work).result()


def lay(folder: Path, image: Image) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    image.write(folder)


def recovered(folder: Path, image: Image, kind: Kind, steps: list[Step]) -> Step:
    """Return the step whose state the store in *image* has; check the store inside and out."""
    lay(folder, image)
    with opened(folder, kind, "normal") as store:
        assert store.verify().problems == ()
        assert_journal_is_state(store)
        state = state_of(store, "ann")
        store.store("usable", namespace="after")
    found = [step for step in steps if step.state == state]
    assert found, state
    left = [path for path in folder.rglob("*") if path.is_file()]
    assert_erased(found[0], {str(path.relative_to(folder)): path.read_bytes() for path in left})
    return found[0]


def assert_erased(step: Step, files: Mapping[str, bytes]) -> None:
    """Check that no file has a text erased by now; copies that a user makes are the user's."""
    for name, data in files.items():
        if not name.startswith("copies"):
            assert [text for text in step.erased if text.encode() in data] == [], name


def check(folder: Path, image: Image, kind: Kind, steps: list[Step], copies: Path) -> None:
    """Check that *image* holds what the acknowledged steps promise, and that the store opens."""
    try:
        done, *under_way = steps[image.acknowledged :][:2]
        for name in done.copies:
            assert image.files.get(name) == (copies / name).read_bytes(), f"{name} is lost"
        assert_erased(done, image.files)
        recovered(folder, image, kind, [done, *under_way])
    except Exception as error:
        error.add_note(image.told)
        raise


@pytest.mark.slow
@pytest.mark.parametrize("log", [True, False], ids=["log", "no log"])
@pytest.mark.parametrize("kind", ["plain", "keyed", "anchored"])
def test_a_power_cut_loses_nothing_that_was_acknowledged(
    quick_folder: Path, kind: Kind, log: bool
) -> None:
    folder = quick_folder / "filmed"
    film, steps, count = filmed(folder, kind, "full", log=log), moments(folder), 0
    for image in images(film, CUTS, SEED):
        check(quick_folder / "image", image, kind, steps, folder)
        count += 1
    print(f"{count} images of {len(film)} events, none lost, none corrupt")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "keyed", "anchored"])
def test_a_second_power_cut_during_the_recovery_loses_nothing(
    quick_folder: Path, kind: Kind
) -> None:
    folder = quick_folder / "filmed"
    film, steps, count = filmed(folder, kind, "full"), moments(folder), 0
    for first in islice(images(film, CUTS, SEED), 0, None, 10):
        again = filmed_again(quick_folder / "again", kind, first)
        for image in images(again, 5, SEED, first):
            check(quick_folder / "image", image, kind, steps, folder)
            count += 1
    print(f"{count} images after two power cuts, none lost, none corrupt")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "keyed"])
def test_a_power_cut_loses_the_last_writes_at_most_with_normal_durability(
    quick_folder: Path, kind: Kind
) -> None:
    film, steps = filmed(quick_folder / "filmed", kind, "normal"), moments(quick_folder)
    lost = 0
    for image in images(film, CUTS, SEED):
        possible = steps[image.acknowledged + 1 :: -1]
        step = recovered(quick_folder / "image", image, kind, possible)
        lost += step.state not in [step.state for step in steps[image.acknowledged :]]
    assert lost
    print(f"{lost} images without acknowledged writes, none corrupt")


@pytest.mark.slow
def test_without_syncs_the_images_are_corrupt(quick_folder: Path) -> None:
    folder = quick_folder / "filmed"
    film, steps = filmed(folder, "plain", "normal", "synchronous = OFF"), moments(folder)
    corrupt = 0
    for image in images(film, CUTS, SEED):
        try:
            recovered(quick_folder / "image", image, "plain", steps)
        except (AssertionError, StorageError):
            corrupt += 1
    assert corrupt


@pytest.mark.parametrize("kind", ["plain", "anchored"])
def test_a_film_holds_every_change_of_every_file(quick_folder: Path, kind: Kind) -> None:
    disk = Disk()
    for event in filmed(quick_folder / "filmed", kind, "full"):
        disk.apply(event)
    found = [path for path in (quick_folder / "filmed").rglob("*") if path.is_file()]
    names = {str(path.relative_to(quick_folder / "filmed")): path.read_bytes() for path in found}
    assert disk.image(every).files == names


def test_the_images_are_all_that_a_disk_may_hold() -> None:
    film: list[Event] = [
        Create("new", is_folder=True),
        Create("new/file"),
        Sync("new"),
        Sync(""),
        Acknowledge(1),
        Write("new/file", 510, b"abcd"),
        Sync("new/file"),
        Acknowledge(2),
    ]
    ends = (b"ab", b"ab\0\0", b"\0\0cd", b"\0\0\0\0", b"abcd")
    found: dict[int, set[tuple[bytes, ...]]] = {0: set(), 1: set(), 2: set()}
    for seed in range(99):
        for image in images(film, 99, seed):
            found[image.acknowledged].add(tuple(image.files.values()))
    assert found == {
        0: {(), (b"",)},
        1: {(b"",), *((bytes(510) + end,) for end in ends)},
        2: {(bytes(510) + b"abcd",)},
    }
