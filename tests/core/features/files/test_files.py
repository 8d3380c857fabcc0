"""Virtual files: what they hold, who may change them at once, and how they come back."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bethink import (
    AsyncFiles,
    AsyncMemoryStore,
    FileEntry,
    Files,
    HashEmbedder,
    IsAFolderError,
    LineRangeError,
    MemoryStore,
    NotFoundError,
    OccurrenceError,
    PathTakenError,
    StoreClosedError,
    ValidationError,
)
from bethink.features.files import chunked_text, numbered
from bethink.model.fields import MAX_CONTENT

from ...storage.replay import assert_journal_is_state, unverified

BLANK = ("", " ", "\n", "\n\n\t", "\u2028")


@pytest.fixture
def store(path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(path, durability="normal", clock=lambda: 7.0) as store:
        yield store


@pytest.fixture
def files(store: MemoryStore) -> Files:
    return Files(store)


def texts(files: Files) -> dict[str, str]:
    entries = files.list(depth=None)
    return {entry.path: files.read(entry.path) for entry in entries if not entry.is_folder}


def names(entries: tuple[FileEntry, ...]) -> list[str]:
    return [entry.path + "/" * entry.is_folder for entry in entries]


@given(text=st.text() | st.sampled_from(BLANK))
def test_any_text_comes_back(text: str) -> None:
    with MemoryStore(embedder=HashEmbedder(16)) as store:
        files = Files(store)
        files.create("/a", text)
        assert files.read("/a") == text
        assert files.list()[0].size == len(text.encode())


def test_a_file_is_one_record_and_recall_finds_it(files: Files) -> None:
    made = files.create("notes/ann.md", "The parrot is called Pepe.\n")
    files.str_replace("/notes/ann.md", "Pepe", "Quetzal")
    record = files.store.get(namespace=files.namespace, key="/notes/ann.md")
    assert record is not None
    assert (record.id, record.value) == (made.id, None)
    hits = files.store.recall("What is the parrot called?", namespace=files.namespace)
    assert [hit.memory.content for hit in hits] == ["The parrot is called Quetzal.\n"]
    assert files.store.recall("Pepe", namespace=files.namespace, mode="keyword") == []


def test_an_edit_leaves_the_rest_of_the_record(files: Files) -> None:
    made = files.create("/a", "x")
    files.store.update(made.id, importance=0.9, tags=["t"], author="Ann")
    files.insert("/a", 1, "y")
    record = files.store.get(made.id)
    assert record is not None
    assert (record.importance, record.tags, record.author) == (0.9, ("t",), "Ann")


def test_a_file_may_become_blank_and_full_again(files: Files) -> None:
    made = files.create("/a", "parrot")
    files.str_replace("/a", "parrot", "\n")
    assert (files.read("/a"), files.view("/a")) == ("\n", "     1\t\n     2\t")
    assert files.store.recall("parrot", namespace=files.namespace) == []
    files.str_replace("/a", "\n", "")
    assert (files.read("/a"), files.exists("/a")) == ("", True)
    files.insert("/a", 0, "parrot")
    assert files.read("/a") == "parrot\n"
    assert files.store.recall("parrot", namespace=files.namespace)[0].memory.id == made.id
    assert_journal_is_state(files.store)


def test_the_history_of_a_file_can_be_asked_and_undone(files: Files) -> None:
    files.create("/a", "one")
    files.str_replace("/a", "one", "two")
    files.delete("/a")
    versions = files.store.audit("/a", namespace=files.namespace)
    assert [version.content for version in versions] == ["one", "two"]
    assert files.store.restore(versions[0].id) == 1
    assert files.read("/a") == "two"
    assert files.store.undo(2).content == "one"
    assert files.read("/a") == "one"
    past = files.store.as_of(2).get(namespace=files.namespace, key="/a")
    assert past is not None
    assert past.content == "two"


def test_a_file_restored_where_a_folder_is_now_stands_beside_it(files: Files) -> None:
    made = files.create("/a", "x")
    files.delete("/a")
    files.create("/a/b", "yy")
    files.store.restore(made.id)
    assert files.list() == (FileEntry("/a", 1), FileEntry("/a", 2, is_folder=True))
    assert (files.read("/a"), files.read("/a/b")) == ("x", "yy")
    assert files.rename("/a", "/c") == 2
    assert (files.delete("/c"), files.list()) == (2, ())


def test_every_change_is_one_journal_entry(files: Files) -> None:
    files.create("/d/a", "x")
    files.insert("/d/a", 0, "y")
    files.rename("/d", "/e")
    files.delete("/e")
    actions = [entry.action for entry in files.store.log()]
    assert actions == ["forget", "update", "update", "store"]
    assert_journal_is_state(files.store)
    assert unverified(files.store.location) == []


def test_namespaces_are_file_systems_of_their_own(files: Files) -> None:
    other = Files(files.store, "users/ann/files")
    files.create("/a", "x")
    files.store.store("no file", namespace="files")
    files.store.store("a fact", namespace="files", key="fact")
    assert not other.exists("/a")
    assert (other.list(), names(files.list(depth=None))) == ((), ["/a"])
    with pytest.raises(ValidationError):
        Files(files.store, "a//b")


def test_create_refuses_what_is_there(files: Files) -> None:
    files.create("/d/a", "x")
    for path, kind, at in (("/d/a", "file", "/d/a"), ("/d", "folder", "/d"),
                           ("/d/a/b/c", "file", "/d/a")):  # fmt: skip
        with pytest.raises(PathTakenError) as refused:
            files.create(path, "y")
        assert (refused.value.path, refused.value.kind) == (at, kind)
    assert texts(files) == {"/d/a": "x"}
    assert len(files.store.log()) == 1


def test_paths_that_look_the_same_are_the_same_file(files: Files) -> None:
    files.create("/cafe\u0301", "x")
    assert files.read("café") == "x"
    with pytest.raises(PathTakenError):
        files.create("/café", "y")
    files.create("/Café", "case counts")
    assert files.store.count(namespace="files") == 2


@pytest.mark.parametrize(
    "text", ["x" * (MAX_CONTENT + 1), " " * (MAX_CONTENT + 1), "\ud800", 7, None]
)
def test_what_cannot_be_stored_is_refused(files: Files, text: Any) -> None:
    files.create("/a", "old")
    for write in (
        lambda: files.create("/b", text),
        lambda: files.str_replace("/a", "old", text),
        lambda: files.insert("/a", 0, text),
    ):
        with pytest.raises(ValidationError):
            write()
    assert texts(files) == {"/a": "old"}


def test_an_edit_cannot_grow_a_file_beyond_the_limit(files: Files) -> None:
    files.create("/a", "x" * MAX_CONTENT)
    with pytest.raises(ValidationError, match="the limit is"):
        files.insert("/a", 1, "y")
    assert len(files.read("/a")) == MAX_CONTENT


@pytest.mark.parametrize(
    ("text", "old", "lines"),
    [
        ("a\nb\nab", "b", (2, 3)),
        ("a\nb", "c", ()),
        ("", "c", ()),
        ("aaa", "aa", (1, 1)),
        ("x\nx\nx", "x\nx", (1, 2)),
        ("hello\n", "Hello", ()),
    ],
)
def test_what_is_replaced_must_occur_exactly_once(
    files: Files, text: str, old: str, lines: tuple[int, ...]
) -> None:
    files.create("/a", text)
    with pytest.raises(OccurrenceError) as refused:
        files.str_replace("/a", old, "y")
    assert (refused.value.path, refused.value.old, refused.value.lines) == ("/a", old, lines)
    assert files.read("/a") == text


def test_looking_for_what_to_replace_takes_no_more_than_reading(files: Files) -> None:
    files.create("/a", "a" * MAX_CONTENT)
    with pytest.raises(OccurrenceError, match="occurs 2 times"):
        files.str_replace("/a", "a" * (MAX_CONTENT // 2), "b")
    with pytest.raises(OccurrenceError, match=r"1, 1, …\)") as refused:
        files.str_replace("/a", "a", "b")
    assert len(refused.value.lines) == MAX_CONTENT
    assert len(str(refused.value)) < 200


def test_nothing_cannot_be_replaced(files: Files) -> None:
    files.create("/a", "x")
    with pytest.raises(ValidationError, match="old must not be empty"):
        files.str_replace("/a", "", "y")


def test_edits_show_the_lines_around_them(files: Files) -> None:
    files.create("/a", "1\n2\n3\n4\n5\n6\n7")
    shown = files.str_replace("/a", "4", "four\nand a half")
    assert shown.split("\n") == [
        "     2\t2", "     3\t3", "     4\tfour", "     5\tand a half", "     6\t5", "     7\t6",
    ]  # fmt: skip
    assert files.insert("/a", 0, "0") == "     1\t0\n     2\t1\n     3\t2"
    assert files.str_replace("/a", "7\n", "") == "     7\t5\n     8\t6\n     9\t"


@pytest.mark.parametrize(
    ("before", "line", "text", "after"),
    [
        ("", 0, "x", "x\n"),
        ("a\nb", 0, "x", "x\na\nb\n"),
        ("a\nb", 1, "x\n", "a\nx\nb\n"),
        ("a\nb\n", 2, "x", "a\nb\nx\n"),
        ("a\n\n", 2, "x\n\ny", "a\n\nx\n\ny\n"),
        ("a\r\nb", 1, "", "a\r\n\nb\n"),
        ("a\u2028b\n", 1, "x", "a\u2028b\nx\n"),
        ("\n", 1, "x", "\nx\n"),
    ],
)
def test_insert_adds_whole_lines(
    files: Files, before: str, line: int, text: str, after: str
) -> None:
    files.create("/a", before)
    files.insert("/a", line, text)
    assert files.read("/a") == after


@pytest.mark.parametrize("line", [-1, 3, 10**30])
def test_insert_needs_a_line_of_the_file(files: Files, line: int) -> None:
    files.create("/a", "a\nb\n")
    with pytest.raises(LineRangeError) as refused:
        files.insert("/a", line, "x")
    assert (refused.value.line, refused.value.first, refused.value.last) == (line, 0, 2)
    assert files.read("/a") == "a\nb\n"


@pytest.mark.parametrize("line", [True, 1.0, "1", None])
def test_a_line_is_an_int(files: Files, line: Any) -> None:
    files.create("/a", "a\nb\n")
    with pytest.raises(ValidationError, match="must be an int"):
        files.insert("/a", line, "x")
    with pytest.raises(ValidationError, match="must be an int"):
        files.view("/a", (line, 2))


def test_a_view_numbers_the_lines() -> None:
    assert numbered("a\nb\r\n\u2028") == "     1\ta\n     2\tb\r\n     3\t\u2028"
    assert numbered("a\n") == "     1\ta\n     2\t"
    assert numbered("") == "     1\t"
    assert numbered("\n" * 10**5).endswith("\n100001\t")


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ((2, 3), "23"),
        ((2, None), "234"),
        ((2, -1), "234"),
        ((4, 4), "4"),
        ([1, 99], "1234"),
        (None, "1234"),
    ],
)
def test_a_view_shows_the_lines_asked_for(lines: Any, shown: str) -> None:
    assert numbered("1\n2\n3\n4", lines) == "\n".join(f"     {n}\t{n}" for n in shown)


@pytest.mark.parametrize(
    "lines", [(0, 2), (5, 9), (-1, 2), (3, 2), (2, -2), (1,), (1, 2, 3), "12", 7]
)
def test_lines_that_are_not_there_are_refused(lines: Any) -> None:
    with pytest.raises(ValidationError):
        numbered("1\n2\n3\n4", lines)


def test_a_folder_is_where_files_are(files: Files) -> None:
    for path in ("/b", "/a/y/z", "/a/x", "/a-b", "/a.b/c"):
        files.create(path, "é")
    assert names(files.list()) == ["/a/", "/a-b", "/a.b/", "/b"]
    assert names(files.list(depth=2)) == ["/a/", "/a/x", "/a/y/", "/a-b", "/a.b/", "/a.b/c", "/b"]
    assert files.list("/a/") == (FileEntry("/a/x", 2), FileEntry("/a/y", 2, is_folder=True))
    assert names(files.list("a", depth=None)) == ["/a/x", "/a/y/", "/a/y/z"]
    assert files.list()[0] == FileEntry("/a", 4, is_folder=True)
    assert [files.exists(path) for path in ("/", "/a", "/a/y/", "/a/y/z", "/a/z")] == [True] * 4 + [
        False
    ]
    files.delete("/a/y/z")
    assert not files.exists("/a/y")


@pytest.mark.parametrize("depth", [0, -1, "1", True])
def test_a_depth_counts_levels(files: Files, depth: Any) -> None:
    with pytest.raises(ValidationError):
        files.list(depth=depth)


def test_a_new_store_has_an_empty_root(files: Files) -> None:
    assert files.list() == ()
    assert files.store.log() == []


def test_what_is_missing_is_not_found(files: Files) -> None:
    files.create("/a", "x")
    for verb in (
        lambda: files.read("/b"),
        lambda: files.view("/b"),
        lambda: files.read("/a/b"),
        lambda: files.str_replace("/b", "x", "y"),
        lambda: files.insert("/b", 0, "y"),
        lambda: files.delete("/b"),
        lambda: files.rename("/b", "/c"),
        lambda: files.list("/b"),
        lambda: files.list("/a"),
    ):
        with pytest.raises(NotFoundError):
            verb()
    assert len(files.store.log()) == 1


@pytest.mark.parametrize("folder", ["/d", "/"])
def test_a_folder_is_no_file(files: Files, folder: str) -> None:
    files.create("/d/a", "x")
    for show in (files.read, files.view):
        with pytest.raises(IsAFolderError):
            show(folder)
    writes: list[Callable[[], object]] = [
        lambda: files.str_replace(folder, "x", "y"),
        lambda: files.insert(folder, 0, "y"),
        lambda: files.create("/new/", "x"),
        lambda: files.create("/", "x"),
    ]
    for write in writes:
        with pytest.raises(ValidationError):
            write()


def test_the_root_stays(files: Files) -> None:
    files.create("/a", "x")
    verbs: list[Callable[[], object]] = [
        lambda: files.delete("/"),
        lambda: files.rename("/", "/b"),
        lambda: files.rename("/a", "/"),
    ]
    for verb in verbs:
        with pytest.raises(ValidationError, match="root"):
            verb()
    assert texts(files) == {"/a": "x"}


def test_a_folder_is_deleted_with_all_below_and_nothing_beside(files: Files) -> None:
    for path in ("/d/a", "/d/e/f", "/d.md", "/d0", "/d-", "/dd/a"):
        files.create(path, path)
    assert files.delete("/d/") == 2
    assert sorted(texts(files)) == ["/d-", "/d.md", "/d0", "/dd/a"]
    files.create("/d", "now a file")
    assert files.delete("/d") == 1


def test_a_folder_moves_with_all_below_and_the_records_stay(files: Files) -> None:
    made = files.create("/d/a", "x")
    files.create("/d/e/d/f", "y")
    files.create("/dd", "z")
    assert files.rename("/d", "/new/place") == 2
    assert texts(files) == {"/new/place/a": "x", "/new/place/e/d/f": "y", "/dd": "z"}
    record = files.store.get(namespace=files.namespace, key="/new/place/a")
    assert record is not None
    assert record.id == made.id
    assert_journal_is_state(files.store)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("/d/a", "/b", PathTakenError),
        ("/d/a", "/d/a", PathTakenError),
        ("/d/a", "/d", PathTakenError),
        ("/b", "/d", PathTakenError),
        ("/d", "/b/c", PathTakenError),
        ("/d", "/d/e", ValidationError),
        ("/b", "/b/c", ValidationError),
        ("/d", "/" + "n" * 1023, ValidationError),
    ],
)
def test_a_rename_that_would_not_fit_changes_nothing(
    files: Files, old: str, new: str, error: type[Exception]
) -> None:
    files.create("/d/a", "x")
    files.create("/b", "y")
    with pytest.raises(error):
        files.rename(old, new)
    assert texts(files) == {"/d/a": "x", "/b": "y"}
    assert len(files.store.log()) == 2


def test_an_expired_file_is_gone_and_makes_room(path: Path) -> None:
    times = [7.0]
    with MemoryStore(path, durability="normal", clock=lambda: times[0]) as store:
        files = Files(store)
        for name in ("/a", "/d/b"):
            store.update(files.create(name, "x").id, expires_at=8.0)
        times[0] = 9.0
        assert not files.exists("/a")
        for verb in (lambda: files.delete("/a"), lambda: files.rename("/d", "/e"),
                     lambda: files.insert("/a", 0, "y")):  # fmt: skip
            with pytest.raises(NotFoundError):
                verb()
        files.create("/d", "now a file")
        files.create("/c", "y")
        files.rename("/c", "/a")
        assert texts(files) == {"/a": "y", "/d": "now a file"}


def test_an_expired_file_is_left_behind_and_not_counted(path: Path) -> None:
    times = [7.0]
    with MemoryStore(path, durability="normal", clock=lambda: times[0]) as store:
        files = Files(store)
        files.create("/d/a", "x")
        store.update(files.create("/d/b", "x").id, expires_at=8.0)
        times[0] = 9.0
        assert files.rename("/d", "/e") == 1
        assert files.delete("/e") == 1
        times[0] = 7.5
        assert texts(files) == {"/d/b": "x"}


def test_making_files_does_no_work_and_a_closed_store_has_none(store: MemoryStore) -> None:
    Files(store)
    store.close()
    files = Files(store)
    for verb in (
        lambda: files.read("/a"),
        lambda: files.exists("/a"),
        lambda: files.list(),
        lambda: files.create("/a", "x"),
        lambda: files.insert("/a", 0, "x"),
        lambda: files.delete("/a"),
        lambda: files.rename("/a", "/b"),
    ):
        with pytest.raises(StoreClosedError):
            verb()


def test_files_survive_reopening(path: Path) -> None:
    with MemoryStore(path) as store:
        Files(store).create("/a", "\n")
    with MemoryStore(path) as store:
        assert texts(Files(store)) == {"/a": "\n"}


VERBS = [name for name, _ in inspect.getmembers(Files, inspect.isfunction) if name[0] != "_"]


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_awaitable_with_the_same_signature(name: str) -> None:
    verb, awaitable = getattr(Files, name), getattr(AsyncFiles, name)
    assert inspect.iscoroutinefunction(awaitable)
    assert inspect.signature(awaitable) == inspect.signature(verb)


def test_the_awaitable_verbs_do_what_the_verbs_do() -> None:
    async def live() -> None:
        async with AsyncMemoryStore() as store:
            files = AsyncFiles(store, "f")
            await files.create("/a", "")
            await asyncio.gather(*(files.insert("/a", 0, str(n)) for n in range(5)))
            assert sorted((await files.read("/a")).split()) == list("01234")
            assert await files.rename("/a", "/b") == 1
            assert await AsyncFiles(store.sync, "f").exists("/b")
            assert await (await files.as_of(1)).read("/a") == ""
            assert files.sync.namespace == files.namespace == "f"

    asyncio.run(live())


PATHS = st.sampled_from(["/a", "/a/b", "/a/b/c", "/a.b", "/b", "/b/a", "/a0"])
TEXTS = st.sampled_from([*BLANK, "x", "x\ny", "y\nx\n", "xx", "xxéyyx\nzzé"])


class Model(RuleBasedStateMachine):
    """The same verbs on files and on a dict of texts."""

    def __init__(self) -> None:
        super().__init__()
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(chunked_text, "MAX_CHUNK_CHARACTERS", 4)
        self.store = MemoryStore(embedder=HashEmbedder(16))
        self.files = Files(self.store)
        self.texts: dict[str, str] = {}

    def teardown(self) -> None:
        self.patched.undo()
        assert_journal_is_state(self.store)
        self.store.close()

    def tree(self, path: str) -> list[str]:
        return [name for name in self.texts if name == path or name.startswith(f"{path}/")]

    def is_taken(self, path: str) -> bool:
        return bool(self.tree(path)) or any(path.startswith(f"{name}/") for name in self.texts)

    def can_be_written(self, path: str) -> bool:
        return path in self.texts or not self.is_taken(path)

    def attempt(self, allowed: bool, verb: Callable[[], object]) -> bool:
        if allowed:
            verb()
        else:
            with pytest.raises((ValidationError, NotFoundError)):
                verb()
        return allowed

    @rule(path=PATHS, text=TEXTS)
    def create(self, path: str, text: str) -> None:
        if self.attempt(not self.is_taken(path), lambda: self.files.create(path, text)):
            self.texts[path] = text

    @rule(path=PATHS, text=TEXTS)
    def append(self, path: str, text: str) -> None:
        if self.attempt(self.can_be_written(path), lambda: self.files.append(path, text)):
            self.texts[path] = self.texts.get(path, "") + text

    @rule(path=PATHS, text=TEXTS, more=st.booleans())
    def write(self, path: str, text: str, more: bool) -> None:
        whole = self.texts.get(path, "") * more + text
        if self.attempt(self.can_be_written(path), lambda: self.files.write(path, whole)):
            self.texts[path] = whole

    @rule(path=PATHS, old=st.sampled_from(["x", "y", "x\n", "\n"]), new=TEXTS)
    def str_replace(self, path: str, old: str, new: str) -> None:
        once = self.texts.get(path, "").count(old) == 1
        if self.attempt(once, lambda: self.files.str_replace(path, old, new)):
            self.texts[path] = self.texts[path].replace(old, new)

    @rule(path=PATHS, line=st.integers(0, 3), text=TEXTS)
    def insert(self, path: str, line: int, text: str) -> None:
        lines = self.texts.get(path, "").removesuffix("\n").split("\n")
        count = len(lines) if self.texts.get(path) else 0
        fits = path in self.texts and line <= count
        if self.attempt(fits, lambda: self.files.insert(path, line, text)):
            made = [*lines[:count][:line], text.removesuffix("\n"), *lines[:count][line:]]
            self.texts[path] = "\n".join(made) + "\n"

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        if self.attempt(bool(self.tree(path)), lambda: self.files.delete(path)):
            for name in self.tree(path):
                del self.texts[name]

    @rule(old=PATHS, new=PATHS)
    def rename(self, old: str, new: str) -> None:
        free = not new.startswith(f"{old}/") and not self.is_taken(new)
        if self.attempt(bool(self.tree(old)) and free, lambda: self.files.rename(old, new)):
            for name in self.tree(old):
                self.texts[new + name.removeprefix(old)] = self.texts.pop(name)

    @invariant()
    def the_files_are_the_texts(self) -> None:
        assert texts(self.files) == self.texts
        entries = self.files.list(depth=None)
        sizes = {entry.path: entry.size for entry in entries if not entry.is_folder}
        assert sizes == {path: len(text.encode()) for path, text in self.texts.items()}


Model.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
test_files_are_a_dict_of_texts = Model.TestCase
