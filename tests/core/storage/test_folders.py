"""Names of files and folders over a power cut."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from bethink.storage import make_folder, replace_file

from .film import Event, Film, films
from .power_cut import Disk, none
from .processes import NOBODY, Child, Say, as_nobody, forks


def make(folder: Path) -> None:
    """Make a file in *folder*, as an export is made."""
    make_folder(folder)
    part = folder / "part"
    with open(part, "wb", buffering=0, opener=os.open) as file:
        file.write(b"whole")
        os.fsync(file)
    replace_file(part, part.with_name("file"))


@films
def test_new_folders_and_files_survive_a_power_cut(quick_folder: Path) -> None:
    def work(_: Say) -> list[Event]:
        film = Film(quick_folder)
        make(quick_folder / "new" / "inner")
        return film.events

    disk = Disk()
    for event in Child(work).result():
        disk.apply(event)
    image = disk.image(none)
    assert image.folders == frozenset({"new", "new/inner"})
    assert image.files == {"new/inner/file": b"whole"}


@forks
def test_a_folder_that_cannot_be_read_takes_folders_and_files(quick_folder: Path) -> None:
    quick_folder.chmod(0o755)
    box = quick_folder / "box"
    box.mkdir()
    if os.geteuid() == 0:
        os.chown(box, NOBODY, NOBODY)
    box.chmod(0o300)
    as_nobody(partial(make, box))
    as_nobody(partial(make, box / "new" / "inner"))
    box.chmod(0o700)
    assert (box / "file").read_bytes() == (box / "new" / "inner" / "file").read_bytes() == b"whole"
