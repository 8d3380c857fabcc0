"""A text in pieces stays whole, and one that lost a piece is not taken for another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from bethink import FileEntry, Files, HoleError, KeyedMemory, PathTakenError, ValidationError

from ...storage.replay import assert_journal_is_state
from .long_files import LINE, records


def test_what_is_left_of_a_file_stays_until_it_is_deleted(files: Files) -> None:
    for _ in range(3):
        files.append("/d/log", LINE)
    files.store.erase(records(files)[0])
    for change in (Files.append, Files.write, Files.create):
        with pytest.raises(HoleError, match="'/d/log' lacks what stood at byte 0"):
            change(files, "/d/log", "new\n")
    with pytest.raises(HoleError):
        files.append("/d/log/below", "new\n")
    with pytest.raises(HoleError):
        files.read("/d/log")
    assert [files.exists(path) for path in ("/d/log", "/d", "/d/log/below")] == [True, True, False]
    assert files.list("/d") == (FileEntry("/d/log", 3 * len(LINE.encode())),)
    assert len(records(files)) == 2
    assert files.delete("/d/log") == 1
    assert (files.append("/d/log", "new\n"), files.read("/d/log")) == (0, "new\n")


def test_a_folder_moves_to_where_something_is_left_once_that_is_deleted(files: Files) -> None:
    for _ in range(3):
        files.append("/old/log", LINE)
    files.store.erase(records(files)[0])
    files.create("/new/log", "new\n")
    with pytest.raises(PathTakenError):
        files.rename("/new", "/old")
    assert (files.delete("/old"), files.rename("/new", "/old")) == (1, 1)
    assert (files.read("/old/log"), files.append("/old/log", "x")) == ("new\n", 4)


def test_a_text_with_a_hole_is_not_read_as_another(files: Files) -> None:
    size = len(LINE.encode())
    for _ in range(100):
        files.append("/log", LINE)
    files.store.erase(records(files)[49])
    for read in (files.read, files.view, partial(files.str_replace, old=LINE, new="")):
        with pytest.raises(HoleError, match=f"byte {49 * size:,}"):
            read("/log")
    for span in ((0, None), (49 * size, 50 * size), (49 * size, 51 * size), (48 * size, 99 * size)):
        with pytest.raises(HoleError):
            files.read_range("/log", *span)
    for start, end in ((0, 49 * size), (50 * size, 51 * size), (98 * size, 102 * size)):
        there = min(end, 100 * size) - start
        assert files.read_range("/log", start, end) == LINE * (there // size)
    assert files.append("/log", "end\n") == 100 * size


def test_a_text_whose_first_record_was_erased_is_not_lost(files: Files) -> None:
    for _ in range(3):
        files.append("/log", LINE)
    files.store.erase(records(files)[0])
    with pytest.raises(HoleError):
        files.append("/log", "new\n")
    assert len(records(files)) == 2


def test_a_text_that_grows_expires_as_a_whole(files: Files) -> None:
    files.append("/log", LINE)
    files.store.update(records(files)[0], expires_at=9e9)
    files.append("/log", LINE)
    files.write("/log", LINE * 300)
    assert len(records(files)) > 2
    assert {files.store[id].expires_at for id in records(files)} == {9e9}


@pytest.mark.parametrize("chosen", [0, 1])
@pytest.mark.parametrize(
    "change",
    [
        lambda store, id: store.forget(id),
        lambda store, id: store.archive(id),
        lambda store, id: store.update(id, content="brief"),
        lambda store, id: store.update(id, key="other"),
        lambda store, id: store.update(id, expires_at=9e9),
        lambda store, id: store.update(id, namespace="other"),
        lambda store, id: store.resolve(store.store("true").id, id),
        lambda store, id: store.store("another", supersedes=id),
        lambda store, id: store.store_many(["another"], forget=id),
        lambda store, id: store.store("another", key=store.get(id).key, namespace="files"),
        lambda store, id: KeyedMemory(store, namespace="files").remember(store.get(id).key, 1),
    ],
    ids=[
        "forget",
        "archive",
        "content",
        "key",
        "expiry",
        "namespace",
        "resolve",
        "supersede",
        "instead",
        "take the key",
        "value",
    ],
)
def test_no_verb_leaves_a_hole_in_a_text(
    files: Files, change: Callable[[Any, str], object], chosen: int
) -> None:
    for _ in range(3):
        files.append("/log", LINE)
    id = records(files)[chosen]
    with pytest.raises(ValidationError, match="a hole in the text at '/log'"):
        change(files.store, id)
    assert files.read("/log") == 3 * LINE
    assert_journal_is_state(files.store)


def test_all_records_of_a_text_go_and_come_back_together(files: Files) -> None:
    files.append("/log", LINE * 30)
    store, ids = files.store, records(files)
    for away, back in ((store.forget, store.restore), (store.archive, store.unarchive)):
        assert (away(ids), files.exists("/log"), back(ids)) == (len(ids), False, len(ids))
        assert files.read("/log") == LINE * 30
    assert (store.forget(ids[-1]), store.forget(ids[1:])) == (1, len(ids) - 2)
    assert LINE * 30 != files.read("/log") == store.all(namespace="files")[0].content
    with pytest.raises(ValidationError, match="a hole"):
        store.restore(ids[2])
    assert store.restore(ids[1:]) == len(ids) - 1
    assert files.read("/log") == LINE * 30


@pytest.mark.parametrize("piece", [1, 2])
def test_undoing_a_part_of_a_change_leaves_no_hole(files: Files, piece: int) -> None:
    for _ in range(3):
        files.append("/log", LINE)
    files.store.forget(records(files))
    with pytest.raises(ValidationError, match=f"entry {4 + piece} cannot be undone: it would"):
        files.store.undo(4 + piece)
    assert not files.exists("/log")


def test_marking_a_record_of_a_text_is_no_change_of_it(files: Files) -> None:
    files.append("/log", LINE * 30)
    head = records(files)[0]
    assert files.store.update(head, tags=["kept"]).tags == ("kept",)
    assert files.store.reinforce(head).importance > 0.5
