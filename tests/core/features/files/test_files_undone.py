"""A change of a long file, or of many files, is taken back whole by any of its entries."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import pairwise
from typing import Final

import pytest

from bethink import CompactedError, Files, HashEmbedder, MemoryStore, ValidationError

from ...clock import Clock
from .long_files import LINE, records

CHANGES: Final[dict[str, Callable[[Files], object]]] = {
    "write": lambda files: files.write("/a", LINE * 30),
    "append": lambda files: files.append("/a", LINE * 30),
    "rewrite": lambda files: files.write("/a", f"first\n{LINE * 40}"),
    "cut": lambda files: files.write("/a", LINE * 3),
    "insert": lambda files: files.insert("/a", 2, LINE * 30),
    "second": lambda files: files.write("/d/b", LINE * 30),
    "rename": lambda files: files.rename("/a", "/d/a"),
    "rename folder": lambda files: files.rename("/d", "/e/f"),
    "empty": lambda files: files.write("/e/f/b", ""),
    "delete": lambda files: files.delete("/e"),
}


def texts(files: Files) -> dict[str, str]:
    found = files.list(depth=None)
    return {each.path: files.read(each.path) for each in found if not each.is_folder}


@pytest.mark.parametrize("place", [0, 0.5, 1])
@pytest.mark.parametrize("ticks", [True, False])
def test_changes_of_files_are_undone_and_done_again_whole(
    place: float, ticks: bool, clock: Clock
) -> None:
    with MemoryStore(embedder=HashEmbedder(16), clock=clock) as store:
        files, ends = Files(store), [0]
        seen: list[dict[str, str]] = [{}]
        for change in CHANGES.values():
            change(files)
            ends.append(store.stats().journal_length)
            seen.append(texts(files))
            clock.now += ticks
        for expected in (seen[-2::-1], seen[1:], seen[-2::-1]):
            spans = [range(start + 1, end + 1) for start, end in pairwise(ends)]
            ends = ends[-1:]
            for found, span in zip(expected, reversed(spans), strict=True):
                store.undo(span[round(place * (len(span) - 1))])
                assert texts(files) == found
                ends.append(store.stats().journal_length)
                clock.now += ticks
        assert store.verify().ok


def test_a_change_of_a_file_is_not_undone_in_part(files: Files) -> None:
    files.write("/a", LINE * 30)
    first = files.store.log(limit=1)[0]
    files.write("/a", LINE * 29 + LINE.upper())
    with pytest.raises(ValidationError, match="undo that first"):
        files.store.undo(first.seq - 1)
    files.store.undo(files.store.log(limit=1)[0])
    files.store.undo(first.seq - 1)
    assert records(files) == []


def test_a_deletion_is_not_undone_once_a_piece_is_erased(files: Files) -> None:
    files.write("/a", LINE * 30)
    pieces = records(files)
    files.delete("/a")
    files.store.erase(pieces[1])
    for entry in files.store.log(limit=6)[1:]:
        with pytest.raises(ValidationError, match="erased"):
            files.store.undo(entry)
    assert not files.exists("/a")


def test_a_change_that_began_before_the_cut_is_not_undone(files: Files) -> None:
    files.write("/a", LINE * 30)
    last = files.store.log(limit=1)[0].seq
    files.store.compact(before=last - 2)
    with pytest.raises(CompactedError):
        files.store.undo(last)
    assert files.read("/a") == LINE * 30


def test_a_change_is_undone_in_a_store_that_took_in_the_history(files: Files) -> None:
    files.store.store("not a file")
    files.write("/a", LINE * 30)
    files.write("/a", "brief")
    target = io.BytesIO()
    files.store.export(target, namespace=files.namespace)
    with MemoryStore(embedder=HashEmbedder(16)) as other:
        other.import_(io.BytesIO(target.getvalue()))
        other.undo(other.log(limit=1)[0])
        assert Files(other).read("/a") == LINE * 30
