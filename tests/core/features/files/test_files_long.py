"""Files that are written and appended to: texts of any length, kept in pieces."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import (
    FileEntry,
    Files,
    HashEmbedder,
    IsAFolderError,
    MemoryStore,
    NotFoundError,
    PathTakenError,
    ValidationError,
)
from bethink.features.files import path_of
from bethink.features.files.chunked_text import MAX_CHUNK_CHARACTERS
from bethink.model.fields import MAX_CONTENT

from ...inside import engine_of
from ...storage.processes import Child, forks
from ...storage.replay import assert_journal_is_state, unverified
from .long_files import LINE, records


def test_failures_cut_no_hole_into_a_text(files: Files) -> None:
    files.append("/log", LINE * 30)
    for id in records(files)[:2]:
        for session in ("a", "b"):
            files.store.record_outcome(id, "failed", session=session)
        assert files.store.record_outcome(id, "failed", session="c").state == "live"
    assert files.read("/log") == LINE * 30


@pytest.mark.slow
@given(texts=st.lists(st.text() | st.just("é" * MAX_CHUNK_CHARACTERS), max_size=4), data=st.data())
def test_what_is_appended_begins_where_the_file_ended(
    texts: list[str], data: st.DataObject
) -> None:
    with MemoryStore(embedder=HashEmbedder(16)) as store:
        files, whole = Files(store), b""
        for text in texts:
            assert files.append("/log", text) == len(whole)
            whole += text.encode()
        if texts:
            assert files.read("/log").encode() == whole
            ends = list(accumulate(len(each.encode()) for each in whole.decode()))
            start, end = data.draw(
                st.tuples(st.sampled_from([0, *ends]), st.sampled_from([0, *ends]))
            )
            assert files.read_range("/log", start, end).encode() == whole[start:end]
            assert files.read_range("/log", start).encode() == whole[start:]


def test_an_append_writes_what_is_appended_and_nothing_else(files: Files) -> None:
    files.append("/log", LINE)
    before = files.store.all(namespace=files.namespace)
    for _ in range(3):
        files.append("/log", LINE)
    assert files.store.all(namespace=files.namespace)[:1] == before
    entries = files.store.log()
    assert [entry.action for entry in entries] == ["store"] * 4
    assert {entry.changes["content"] for entry in entries} == {LINE}
    assert_journal_is_state(files.store)
    assert unverified(files.store.location) == []


def test_recall_finds_the_very_line(files: Files) -> None:
    for n in range(50):
        files.append("/log", f"The guest in room {n} ordered tea.\n")
    files.append("/log", "The guest in room 50 lost a cobalt umbrella.\n")
    (hit,) = files.store.recall("Who lost an umbrella?", namespace=files.namespace, k=1)
    assert hit.memory.content == "The guest in room 50 lost a cobalt umbrella.\n"
    assert path_of(hit.memory) == path_of(files.store.all(namespace=files.namespace)[0]) == "/log"


@pytest.mark.slow
def test_a_file_may_be_longer_than_any_record(files: Files) -> None:
    text = LINE * (MAX_CONTENT // len(LINE) + 100)
    files.write("/a", text)
    assert files.append("/a", text) == len(text.encode())
    assert files.read("/a") == 2 * text
    assert files.list()[0].size == 2 * len(text.encode())
    assert files.view("/a", (2, 2)) == f"     2\t{LINE[:-1]}"


def test_a_text_that_goes_on_from_what_is_there_leaves_that_as_it_is(files: Files) -> None:
    files.write("/log", LINE * 20)
    before, seq = records(files), files.store.log(limit=1)[0].seq
    files.write("/log", LINE * 20 + "one line more\n")
    assert records(files)[:-1] == before
    assert [entry.changes["content"] for entry in files.store.log(since=seq)] == ["one line more\n"]
    files.write("/log", LINE * 20 + "one line more\n")
    assert len(files.store.log(since=seq)) == 1


def test_a_file_written_anew_keeps_its_first_record_and_what_it_said(files: Files) -> None:
    made = files.write("/a", LINE * 20)
    assert files.write("/a", "brief").id == made.id
    assert (files.read("/a"), len(records(files))) == ("brief", 1)
    assert files.write("/a", "").id == made.id
    assert (files.read("/a"), files.exists("/a")) == ("", True)
    assert files.append("/a", "x") == 0
    assert files.read("/a") == "x"
    told = [each.content for each in files.store.audit("/a", namespace=files.namespace)]
    assert told == [(LINE * 20)[: made.content.rindex("\n") + 1], "brief", ""]
    assert_journal_is_state(files.store)


def test_an_append_can_be_undone(files: Files) -> None:
    files.append("/log", "one\n")
    files.append("/log", "two\n")
    files.store.undo(2)
    assert files.append("/log", "three\n") == 4
    assert files.read("/log") == "one\nthree\n"


def test_undoing_leaves_no_hole_in_a_file(files: Files) -> None:
    for text in ("one\n", "two\n", "three\n"):
        files.append("/log", text)
    for seq in (1, 2):
        with pytest.raises(ValidationError, match="a hole in the text at '/log'"):
            files.store.undo(seq)
    files.delete("/log")
    files.append("/log", "another\n")
    with pytest.raises(ValidationError, match="key '/log' is held"):
        files.store.undo(5)
    files.delete("/log")
    files.store.undo(5)
    assert files.read("/log") == "one\ntwo\nthree\n"


def test_a_file_is_read_and_written_again_as_it_was(files: Files) -> None:
    text = LINE * 300
    files.write("/a/b", text)
    files.store.snapshot("whole")
    files.append("/a/b", "more")
    files.delete("/a")
    past = files.as_of("whole")
    assert past.read("/a/b") == text
    assert (past.exists("/a/b"), files.exists("/a/b")) == (True, False)
    assert past.list("/a") == (FileEntry("/a/b", len(text.encode())),)
    with pytest.raises(ValidationError, match="the past cannot be changed"):
        past.delete("/a")
    files.write("/a/b", past.read("/a/b"))
    assert files.read("/a/b") == text


def test_what_stands_across_two_pieces_can_be_replaced(files: Files) -> None:
    for text in ("one\ntw", "o\nthree\n", "four\n"):
        files.append("/a", text)
    assert files.str_replace("/a", "two\nth", "2\n3").splitlines()[1:3] == [
        "     2\t2",
        "     3\t3ree",
    ]
    files.insert("/a", 3, "pi")
    assert files.read("/a") == "one\n2\n3ree\npi\nfour\n"


def test_an_edit_of_a_long_file_leaves_the_pieces_before_it(files: Files) -> None:
    files.write("/a", "".join(f"line {number}\n" for number in range(MAX_CHUNK_CHARACTERS)))
    before = files.store.all(namespace=files.namespace)
    files.str_replace("/a", f"line {MAX_CHUNK_CHARACTERS - 1}\n", "the end\n")
    after = files.store.all(namespace=files.namespace)
    assert len(after) == len(before) > 2
    assert after[:-1] == before[:-1]


def test_the_root_is_no_file_without_any_file(files: Files) -> None:
    with pytest.raises(IsAFolderError):
        files.read("/")


def test_a_long_file_moves_and_goes_as_one(files: Files) -> None:
    for path in ("/d/log", "/d/log2", "/d.log"):
        for _ in range(3):
            files.append(path, LINE)
    assert (files.rename("/d/log", "/e/log"), files.rename("/d", "/f")) == (1, 1)
    assert files.append("/e/log", "end") == 3 * len(LINE.encode())
    assert files.read("/e/log") == 3 * LINE + "end"
    assert (files.delete("/e"), files.delete("/f/log2")) == (1, 1)
    assert [entry.path for entry in files.list(depth=None)] == ["/d.log"]
    assert len(records(files)) == 3


@pytest.mark.parametrize("write", [Files.append, Files.write, Files.create])
def test_a_path_too_long_for_its_pieces_is_refused(
    files: Files, write: Callable[[Files, str, str], object]
) -> None:
    path = f"/{'x' * 1008}"
    write(files, path, "short")
    files.append(path, LINE * 20)
    for refused in (
        partial(write, files, f"{path}x", "short"),
        partial(files.rename, path, f"{path}x"),
    ):
        with pytest.raises(
            ValidationError, match="path is 1,010 characters long; the limit is 1,009"
        ):
            refused()
    files.append("/d/log", "short")
    with pytest.raises(ValidationError, match="path is 1,013 characters long"):
        files.rename("/d", path.replace("x", "y"))
    assert files.read(path) == "short" + LINE * 20


def test_a_range_is_found_in_a_piece_of_characters_of_four_bytes(files: Files) -> None:
    files.write("/a", "\U0001f99c" * MAX_CHUNK_CHARACTERS * 3)
    assert (
        files.read_range("/a", 8 * MAX_CHUNK_CHARACTERS - 4, 8 * MAX_CHUNK_CHARACTERS + 4)
        == "\U0001f99c" * 2
    )


def test_a_range_within_a_character_is_refused_and_one_beyond_the_end_is_empty(
    files: Files,
) -> None:
    files.append("/a", "aé")
    files.append("/a", "é")
    assert [files.read_range("/a", *span) for span in ((1, 5), (3, 99), (5, None), (3, 1))] == [
        *("éé", "é", "", "")
    ]
    for span in ((2, None), (0, 2), (4, 5)):
        with pytest.raises(UnicodeDecodeError):
            files.read_range("/a", *span)
    for wrong in ((-1, None), (0, -1), ("0", None)):
        with pytest.raises(ValidationError):
            files.read_range("/a", *wrong)


@pytest.mark.parametrize("write", [Files.append, Files.write])
def test_what_cannot_be_written_is_refused_and_changes_nothing(
    files: Files, write: Callable[[Files, str, str], object]
) -> None:
    files.append("/d/a", "x")
    refused: list[tuple[str, str, type[Exception]]] = [
        *(("/d", "y", PathTakenError), ("/d/a/b", "y", PathTakenError)),
        *(("/", "y", ValidationError), ("/d/a/", "y", ValidationError)),
        *(("/d/../a", "y", ValidationError), ("/d/%2e%2e", "y", ValidationError)),
        ("/d/a", LINE * 20 + "\ud800", ValidationError),
    ]
    for path, text, error in refused:
        with pytest.raises(error):
            write(files, path, text)
    for missing, error in (("/b", NotFoundError), ("/d", IsAFolderError)):
        with pytest.raises(error):
            files.read_range(missing, 0)
    assert len(files.store.log()) == 1


def appended(files: Files, name: str, _: object = None) -> list[tuple[int, str]]:
    lines = [f"{name} {n} é\n" for n in range(8)]
    return [(files.append("/log", line), line) for line in lines]


def assert_all_there(files: Files, told: list[tuple[int, str]]) -> None:
    """Check that the lines lie one after the other where they are said to."""
    assert files.read("/log") == "".join(line for _, line in sorted(told))
    for begin, line in told:
        assert files.read_range("/log", begin, begin + len(line.encode())) == line


def test_threads_lose_no_line_that_they_append(files: Files) -> None:
    with ThreadPoolExecutor(4) as threads:
        told = [each for part in threads.map(partial(appended, files), "abcd") for each in part]
    assert_all_there(files, told)


@forks
def test_processes_lose_no_line_that_they_append(files: Files) -> None:
    others = [Child(partial(appended, files, name)) for name in "xy"]
    told = appended(files, "z")
    assert_all_there(files, told + [each for other in others for each in other.result()])
    assert_journal_is_state(files.store)


def test_nobody_reads_half_of_what_is_written(files: Files) -> None:
    texts = [f"{n}\n" * MAX_CHUNK_CHARACTERS for n in (1, 2)]
    files.write("/a", texts[0])

    def read(_: int) -> bool:
        return files.read("/a") in texts

    with ThreadPoolExecutor(3) as threads:
        seen = threads.map(read, range(60))
        for n in range(10):
            files.write("/a", texts[n % 2])
        assert all(seen)


def test_nobody_reads_pieces_from_between_two_times_that_a_file_said_the_same(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (f"{n}\n" * MAX_CHUNK_CHARACTERS for n in (1, 2))
    files.write("/a", one)
    backend = engine_of(files.store).backend
    select = backend.select

    def changing(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(backend, "select", select)
        files.write("/a", other)
        found = select(*given, **named)
        files.write("/a", one)
        return found

    monkeypatch.setattr(backend, "select", changing)
    assert files.read("/a") == one
