"""What a power cut may leave of the files that a film tells of.

What was synced is there. Of the rest, any part may be there: each sector of 512 bytes as any write
since the last sync left the sector, each new size, each new, removed or changed name. A sector is
safe once the file is synced, a name once the folder is.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeAlias

from .film import Acknowledge, Create, Delete, Event, Rename, Sync, Truncate, Write

SECTOR = 512
KINDS = ("all", "one", "all but one", "some", "some")
Choice: TypeAlias = Callable[[int], int]
"""Returns how many of so many changes of one place the disk has made, from 0 to all."""


@dataclass(frozen=True)
class Image:
    """The files and folders after a power cut, and the number of steps acknowledged before."""

    files: Mapping[str, bytes]
    folders: frozenset[str]
    acknowledged: int
    told: str = ""

    def write(self, folder: Path) -> None:
        """Make the files in *folder*, which is empty."""
        for name in sorted(self.folders):
            (folder / name).mkdir()
        for name, data in self.files.items():
            (folder / name).write_bytes(data)


EMPTY = Image({}, frozenset(), 0)


@dataclass
class _File:
    """A file or folder: the safe bytes, and the changes since the last sync."""

    is_folder: bool
    safe: bytes = b""
    changes: list[Write | Truncate] = field(default_factory=list)

    def read(self, choose: Choice) -> bytes:
        """Return the bytes after the changes that *choose* picks."""
        writes: dict[int, int] = defaultdict(int)
        for change in self.changes:
            for start, _ in _parts(change):
                writes[start // SECTOR] += 1
        left = {sector: choose(number) for sector, number in writes.items()}
        data, size = bytearray(self.safe), len(self.safe)
        for change in self.changes:
            if isinstance(change, Truncate):
                size = change.size
                if choose(1):
                    data = data[:size].ljust(size, b"\x00")
                continue
            size = max(size, change.offset + len(change.data))
            for start, part in _parts(change):
                left[start // SECTOR] -= 1
                if left[start // SECTOR] >= 0:
                    data = data.ljust(start, b"\x00")
                    data[start : start + len(part)] = part
        if len(data) < size and choose(1):  # the size is kept apart from the data
            data = data.ljust(size, b"\x00")
        return bytes(data)


_Names: TypeAlias = dict[str, _File]


class Disk:
    """The files that a film makes of the files at the *start*."""

    def __init__(self, start: Image = EMPTY) -> None:
        self._safe = {name: _File(True) for name in start.folders}
        self._safe |= {name: _File(False, data) for name, data in start.files.items()}
        self._names = dict(self._safe)
        self._renamings: list[dict[str, _File | None]] = []  # since the folder was synced
        self._acknowledged = start.acknowledged

    def apply(self, event: Event) -> None:
        """Do what *event* tells."""
        match event:
            case Create(path, is_folder):
                self._rename({path: _File(is_folder)})
            case Delete(path):
                self._rename({path: None})
            case Rename(path, target):
                self._rename({path: None, target: self._names[path]})
            case Write(path) | Truncate(path):
                self._names[path].changes.append(event)
            case Sync(path):
                self._sync(path)
            case Acknowledge(step):
                self._acknowledged = step

    def image(self, choose: Choice, told: str = "") -> Image:
        """Return the image of the changes that *choose* picks."""
        found = dict(self._safe)
        for renaming in self._renamings:
            if choose(1):
                _change(found, renaming)
        for name in sorted(found):
            if (folder := os.path.dirname(name)) and folder not in found:
                del found[name]
        folders = frozenset(name for name, file in found.items() if file.is_folder)
        files = {name: file.read(choose) for name, file in found.items() if not file.is_folder}
        return Image(files, folders, self._acknowledged, told)

    def _rename(self, renaming: dict[str, _File | None]) -> None:
        self._renamings.append(renaming)
        _change(self._names, renaming)

    def _sync(self, path: str) -> None:
        if path and not (file := self._names[path]).is_folder:
            file.safe, file.changes = file.read(every), []
            return
        left = []
        for renaming in self._renamings:
            if os.path.dirname(next(iter(renaming))) == path:
                _change(self._safe, renaming)
            else:
                left.append(renaming)
        self._renamings = left


def every(number: int) -> int:
    """Choose every change, which is what a killed process leaves."""
    return number


def none(number: int) -> int:
    """Choose no change, which is the least that a disk may hold."""
    return 0


def images(film: list[Event], most: int, seed: int, start: Image = EMPTY) -> Iterator[Image]:
    """Yield at most *most* images of power cuts during *film*, no two alike.

    After each acknowledgement comes the image with the least that the disk may hold.
    """
    chance = random.Random(seed)
    plan = [(cut, "none") for cut, event in enumerate(film) if isinstance(event, Acknowledge)]
    more = [(cut, kind) for cut in range(len(film)) for kind in KINDS]
    more += [(cut, "none") for cut, event in enumerate(film) if isinstance(event, Sync)]
    plan += chance.sample(more, min(len(more), max(0, most - len(plan))))
    kinds: dict[int, list[str]] = defaultdict(list)
    for cut, kind in plan:
        kinds[cut].append(kind)
    disk, seen = Disk(start), set()
    for cut, event in enumerate(film):
        disk.apply(event)
        for kind in kinds[cut]:
            told = f"{start.told}seed {seed}, cut {cut} of {len(film)}, changes made: {kind}; "
            image = disk.image(_choice(kind, disk, chance), told)
            known = frozenset(image.files.items()), image.folders, image.acknowledged
            if hash(known) not in seen:
                seen.add(hash(known))
                yield image


def _choice(kind: str, disk: Disk, chance: random.Random) -> Choice:
    asked, turn = count(), count()
    disk.image(lambda number: 0 * next(asked))
    chosen, share = chance.randrange(max(1, next(asked))), chance.choice((0.1, 0.5, 0.9))
    choices: dict[str, Choice] = {
        "none": none,
        "all": every,
        "one": lambda number: number if next(turn) == chosen else 0,
        "all but one": lambda number: 0 if next(turn) == chosen else number,
        "some": lambda number: chance.randint(1, number) if chance.random() < share else 0,
    }
    return choices[kind]


def _change(names: _Names, renaming: dict[str, _File | None]) -> None:
    for name, file in renaming.items():
        names.pop(name, None)
        if file is not None:
            names[name] = file


def _parts(change: Write | Truncate) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a write by sector: where a part begins, and the bytes."""
    if isinstance(change, Truncate):
        return
    start, end = change.offset, change.offset + len(change.data)
    while start < end:
        stop = min(end, start - start % SECTOR + SECTOR)
        yield start, change.data[start - change.offset : stop - change.offset]
        start = stop
