"""A store comes out as lines and in again as what it was, with all its past, or not at all."""

from __future__ import annotations

import asyncio
import errno
import gzip
import hashlib
import io
import json
import os
import stat
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import (
    EVERYWHERE,
    AsyncMemoryStore,
    CorruptStoreError,
    HashEmbedder,
    MemoryStore,
    NotABethinkFileError,
    SchemaTooNewError,
    StorageError,
    Subtree,
    ValidationError,
)

from ...clock import Clock
from ...pair import ASKED, SPACES, Pair
from ...storage.replay import table, unverified
from ...test_states import RecordTrace
from ...twin import assert_same

EMBEDDER = HashEmbedder(16)


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(path, clock=clock, embedder=EMBEDDER, durability="normal") as store:
        yield store


def exported(store: MemoryStore, **chosen: Any) -> str:
    """Return what *store* exports."""
    target = io.StringIO()
    store.export(target, **chosen)
    return target.getvalue()


def imported(text: str, **options: Any) -> MemoryStore:
    """Return a new store that took in *text*."""
    store = MemoryStore(**{"embedder": EMBEDDER, **options})
    store.import_(io.StringIO(text))
    return store


def lived(folder: Path, seed: int, operations: int = 60) -> tuple[MemoryStore, Pair]:
    """Return a store with a random past, links and all, and who lived it."""
    pair = Pair(folder / f"{seed}.db")
    RecordTrace(pair, seed).live(operations)
    pair.close()
    store = MemoryStore(pair.path, embedder=EMBEDDER, clock=lambda: pair.now, durability="normal")
    live = store.all(namespace=EVERYWHERE)
    for one, other in pairwise(live):
        store.relate(one.id, other.id, "follows")
    for one, other in list(pairwise(live))[::2]:
        store.unrelate(one.id, other.id, "follows")
    if live:
        store.erase(live[0].id)
    return store, pair


def with_checksum(lines: list[str]) -> str:
    """Return *lines*, the last one made to vouch for the others."""
    body = "".join(f"{line}\n" for line in lines[:-1])
    return body + json.dumps({"end": {"sha256": hashlib.sha256(body.encode()).hexdigest()}}) + "\n"


def changed(text: str, number: int, change: Callable[[Any], object]) -> str:
    """Return *text* with line *number* changed, as if it had been written so."""
    lines = text.splitlines()
    line = json.loads(lines[number - 1])
    change(line)
    lines[number - 1] = json.dumps(line)
    return with_checksum(lines)


def assert_same_past(store: MemoryStore, copy: MemoryStore, pair: Pair) -> None:
    """Check that both show the same at every moment, and tell the same of every record."""
    head = store.log(limit=1)[0].seq
    for seq in range(head + 1):
        one, other = store.as_of(seq), copy.as_of(seq)
        assert other.all(namespace=EVERYWHERE) == one.all(namespace=EVERYWHERE)
    for seq in range(head % 5, head + 1, 5):
        one, other = store.as_of(seq), copy.as_of(seq)
        assert [other.get(id) for id in pair.ids] == [one.get(id) for id in pair.ids]
        assert [other.related(id) for id in pair.ids[:3] if other.get(id)] == [
            one.related(id) for id in pair.ids[:3] if one.get(id)
        ]
    for seq in range(0, head + 1, 15):
        for asked in ASKED:
            asked = asked.at(pair.now)
            assert_same(asked.of(copy, as_of=seq), asked.of(store, as_of=seq))
    for namespace in SPACES:
        for key in ("k", "theme", "n"):
            assert copy.audit(key, namespace=namespace) == store.audit(key, namespace=namespace)
    known = set(pair.ids) & table(store).keys()
    assert {id: copy.outcomes(id) for id in known} == {id: store.outcomes(id) for id in known}
    assert copy.snapshots() == store.snapshots()


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
@settings(max_examples=8, deadline=None)
def test_what_comes_in_is_what_went_out(seed: int) -> None:
    with TemporaryDirectory() as folder:
        store, pair = lived(Path(folder), seed)
        text, path = exported(store), Path(folder) / "copy.db"
        with store, imported(text, location=path, clock=lambda: pair.now) as copy:
            assert exported(copy) == text
            assert_same_past(store, copy, pair)
            assert table(copy) == table(store)
        assert unverified(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, b"k" * 32])
def test_a_copy_verifies_with_a_key_or_without(tmp_path: Path, key: bytes | None) -> None:
    store, pair = lived(tmp_path, 4)
    copy = {"location": tmp_path / "copy.db", "integrity_key": key, "clock": lambda: pair.now}
    with store, imported(exported(store), **copy) as again:
        assert again.verify().ok
        assert exported(again) == exported(store)
        assert again.store("it goes on").content == "it goes on"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_part_is_as_if_the_rest_had_never_been(tmp_path: Path, seed: int) -> None:
    scope = Subtree("a")
    store, pair = lived(tmp_path, seed)
    with store, imported(exported(store, namespace=scope), clock=lambda: pair.now) as part:
        assert exported(part) == exported(store, namespace=scope)
        assert part.all(namespace=EVERYWHERE) == store.all(namespace=scope)
        ours = table(part)
        assert ours == {id: each for id, each in table(store).items() if id in ours}
        assert {each.namespace for each in ours.values()} <= {"a", "a/b"}
        for snapshot in store.snapshots():
            then = store.as_of(snapshot.name).all(namespace=EVERYWHERE)
            assert part.as_of(snapshot.name).all(namespace=EVERYWHERE) == [
                record for record in then if record.id in ours
            ]


def test_a_filter_chooses_among_all_states(store: MemoryStore) -> None:
    kept, other = store.store_many([{"content": "one", "author": "Ann"}, "secret"])
    store.forget(kept.id)
    text = exported(store, where={"author": "Ann"})
    assert "secret" not in text
    with imported(text) as copy:
        assert copy.count() == 0
        assert copy.restore(kept.id) == 1
    assert store.export(io.BytesIO(), where={"author": "Ben"}) == 0
    assert store.export(io.BytesIO()) == 2
    assert other.id not in text


def test_an_undoing_still_names_what_it_undid(store: MemoryStore) -> None:
    store.store("other", namespace="b")
    mine = store.store("mine")
    store.update(mine.id, importance=0.9)
    store.undo(3)
    with imported(exported(store, namespace="default")) as copy:
        assert copy.log(limit=1)[0].changes["undoes"] == 2


def test_a_part_tells_no_access_of_what_is_left_out(store: MemoryStore) -> None:
    mine, other = store.store("mine"), store.store("other", namespace="b")
    store.touch([mine.id, other.id])
    assert other.id not in exported(store, namespace="default")


def test_a_part_tells_no_link_to_what_was_erased_elsewhere(store: MemoryStore) -> None:
    mine, other = store.store("mine"), store.store("other", namespace="b")
    store.relate(mine.id, other.id, "fixes")
    store.relate(other.id, mine.id, "about")
    store.erase(other.id)
    for scope in ("default", "b", EVERYWHERE):
        with imported(exported(store, namespace=scope)) as copy:
            assert copy.verify().problems == ()


def test_accesses_that_wait_go_out_too(store: MemoryStore) -> None:
    record = store.store("counted")
    store.touch(record.id)
    with imported(exported(store)) as copy:
        found = copy.get(record.id)
    assert found is not None
    assert (found.access_count, found.last_accessed_at) == (1, 1000.0)


def test_another_embedder_makes_its_own_vectors(store: MemoryStore, clock: Clock) -> None:
    store.store_many(["the cat sleeps", "a dog runs", {"content": "", "value": 1}])
    store.update(store.all()[0].id, content="the red cat sleeps")
    text, other = exported(store), HashEmbedder(24)
    twin = MemoryStore(embedder=other, clock=clock)
    twin.store_many(["the red cat sleeps", "a dog runs"])
    with imported(text, embedder=other, clock=clock) as copy, twin:
        assert [hit.score for hit in copy.recall("red cat", mode="semantic")] == [
            hit.score for hit in twin.recall("red cat", mode="semantic")
        ]
        assert json.loads(exported(copy).splitlines()[0])["embedder"] == other.name


@pytest.mark.slow
def test_a_recalling_store_that_was_empty_finds_what_came(store: MemoryStore) -> None:
    store.store_many([f"number {n}" for n in range(700)], namespace="a")
    with MemoryStore(embedder=EMBEDDER) as copy:
        assert copy.recall("number 7", namespace=EVERYWHERE) == []
        copy.import_(io.StringIO(exported(store)))
        assert copy.recall("number 7", namespace=EVERYWHERE)[0].memory.content == "number 7"
        assert copy.store("number 701", namespace="a").created_at > 0


def _data() -> bytes:
    with MemoryStore(embedder=EMBEDDER, clock=Clock()) as store:
        one, two, _ = store.store_many(
            ["one", {"content": "two", "key": "k"}, {"content": "three"}]
        )
        store.store("another two", key="k", vectors={"mine": [1, 2]})
        store.touch(one.id)
        store.relate(one.id, store.all()[-1].id, "follows")
        store.snapshot("then")
        store.erase(two.id)
        return exported(store).encode()


DATA = _data()


@pytest.mark.parametrize("cut", range(0, 100, 7))
def test_a_cut_file_is_refused_and_nothing_written(cut: int) -> None:
    with MemoryStore(embedder=EMBEDDER) as copy:
        with pytest.raises(StorageError, match=r"line [\d,]+ "):
            copy.import_(io.BytesIO(DATA[: len(DATA) * cut // 100]))
        assert (copy.log(), copy.snapshots()) == ([], [])
        assert copy.import_(io.BytesIO(DATA)).added == 4


@pytest.mark.slow
@given(place=st.integers(0, len(DATA) - 2), byte=st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_refused(place: int, byte: int) -> None:
    damaged = bytearray(DATA)
    if damaged[place] == byte:
        return
    damaged[place] = byte
    with MemoryStore(embedder=EMBEDDER) as copy:
        with pytest.raises(StorageError, match="line"):
            copy.import_(io.BytesIO(bytes(damaged)))
        assert copy.log() == []


def test_an_export_to_a_full_disk_leaves_nothing(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    store.store("one")
    with pytest.raises(StorageError, match="No space left"):
        store.export(tmp_path / "out" / "all.jsonl")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "change", "reason"),
    [
        (2, lambda line: line["record"].update(content="forged"), "another record"),
        (2, lambda line: line["record"].update(importance=7), "importance"),
        (2, lambda line: line["record"].update(state="new"), "state"),
        (2, lambda line: line["record"].pop("namespace"), "without 'namespace'"),
        (2, lambda line: line["record"].update(colour="red"), "unknown field 'colour'"),
        (2, lambda line: line.update(vector="AAAA"), "line 2 holds"),
        (2, lambda line: line.update(vector="AAAAAA=="), "1 dimensions, not 16"),
        (2, lambda line: line.update(vector="AADAfw=="), "a vector that is none"),
        (2, lambda line: line.update(record=[]), "not what follows here: record"),
        (4, lambda line: line["entry"].update(at="noon"), "at must be Unix seconds"),
        (4, lambda line: line["entry"].pop("moved"), "lacks 'moved'"),
        (4, lambda line: line["entry"].update(changes=[1]), "what it tells makes no sense"),
        (4, lambda line: line["entry"]["changes"].update(undoes="x"), "makes no sense"),
        (4, lambda line: line["entry"]["changes"].update(reason=1e999), "4 holds .* number"),
        (4, lambda line: line["entry"].update(action="update"), "before it is stored"),
        (4, lambda line: line["entry"].update(id="x"), "and not of 'x'"),
        (4, lambda line: line.update(vectors={"v": 1}), "line 4 holds"),
        (6, lambda line: line["entry"]["changes"].update(accesses={"x": 1}), "line 6 holds"),
        (7, lambda line: line["snapshot"].update(name=" "), "line 7 holds"),
        (8, lambda line: line["entry"]["changes"].pop("name"), "line 8 lacks 'name'"),
    ],
)
def test_what_was_never_exported_is_refused(
    store: MemoryStore, number: int, change: Callable[[Any], object], reason: str
) -> None:
    first, _ = store.store_many(["one", "two"])
    store.touch(first.id)
    store.snapshot("now")
    forged = changed(exported(store), number, change)
    with MemoryStore(embedder=EMBEDDER) as copy:
        with pytest.raises(CorruptStoreError, match=reason) as caught:
            copy.import_(io.StringIO(forged))
        assert str(caught.value).startswith("line")
        assert (copy.log(), copy.snapshots()) == ([], [])


def test_what_is_no_export_or_a_newer_one_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    text = exported(store)
    for other in ("", "{}", "\ud800", "SQLite format 3", '{"format": "other"}\n', "[]\n", '"x"'):
        with pytest.raises(NotABethinkFileError, match="not the header of a bethink export"):
            store.import_(io.StringIO(other))
    with pytest.raises(SchemaTooNewError, match="newer bethink"):
        store.import_(io.StringIO(changed(text, 1, lambda line: line.update(version=2))))
    with pytest.raises(CorruptStoreError, match="line 1 lacks 'records'"):
        store.import_(io.StringIO(changed(text, 1, lambda line: line.pop("records"))))
    with pytest.raises(CorruptStoreError, match="line 1 holds what cannot be: embedder"):
        store.import_(io.StringIO(text.replace('"embedder":"', '"embedder":"\ud800')))
    with pytest.raises(CorruptStoreError, match="line 2 is not the last one"):
        store.import_(io.StringIO(text + "{}"))
    with pytest.raises(StorageError, match=r"none\.jsonl: No such file"):
        store.import_(tmp_path / "none.jsonl")
    for wrong in (None, 3, ["x"]):
        with pytest.raises(ValidationError, match="a path or a file"):
            store.import_(wrong)  # type: ignore[arg-type]
        with pytest.raises(ValidationError, match="a path or a file"):
            store.export(wrong)  # type: ignore[arg-type]


def test_a_line_may_be_so_long(store: MemoryStore) -> None:
    store.store("long " * 1000)
    text = exported(store)
    with MemoryStore(embedder=EMBEDDER) as copy:
        with pytest.raises(CorruptStoreError, match="line 2 is longer than 4,000 bytes"):
            copy.import_(io.StringIO(text), max_line=4000)
        assert copy.import_(io.StringIO(text), max_line=8000).added == 1


def test_a_file_is_there_whole_or_not_at_all(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out" / "all.jsonl"
    store.store("one")
    assert store.export(target) == 1
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    whole = target.read_bytes()
    monkeypatch.setattr("bethink.features.transfer.exporter.entry_line", _broken)
    with pytest.raises(RuntimeError, match="midway"):
        store.export(target)
    assert target.read_bytes() == whole
    assert [path.name for path in target.parent.iterdir()] == ["all.jsonl"]


def _broken(*_: object) -> str:
    raise RuntimeError("midway")


@pytest.mark.parametrize("verb", ["export", "backup", "import_"])
def test_a_url_is_no_path_of_a_file(verb: str) -> None:
    with MemoryStore() as store, pytest.raises(ValidationError, match="not a URL") as refused:
        getattr(store, verb)("postgresql://ann:s3cret@db/memories")
    assert "s3cret" not in str(refused.value)


def test_a_store_is_not_exported_over_itself(store: MemoryStore, path: Path) -> None:
    record = store.store("one")
    for wrong in (path, path.parent):
        with pytest.raises(ValidationError, match=r"the store itself|a folder"):
            store.export(wrong)
    assert store.get(record.id) == record


def test_an_export_replaces_an_export_and_no_other_file(
    store: MemoryStore, path: Path, tmp_path: Path
) -> None:
    store.store("one")
    other, target = tmp_path / "other.db", tmp_path / "memories.jsonl"
    MemoryStore(other).close()
    (tmp_path / "notes.txt").write_text("precious")
    for wrong in (other, tmp_path / "notes.txt", Path(f"{path}-wal")):
        before = wrong.read_bytes()
        with pytest.raises(ValidationError, match="of another kind"):
            store.export(wrong)
        assert wrong.read_bytes() == before
    target.touch()
    for content in ("two", "three"):
        store.store(content)
        store.export(target)
    assert "three" in target.read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_neither_replaced_by_an_export_nor_imported(
    store: MemoryStore, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValidationError, match="a pipe or a device"):
        store.export(pipe)
    with pytest.raises(StorageError, match="a pipe or a device"):
        store.import_(pipe)
    assert pipe.is_fifo()


def test_files_of_text_and_of_bytes_hold_the_same(store: MemoryStore, tmp_path: Path) -> None:
    store.store("naïve 記憶 \u2028 \U0001f98a", metadata={"lone": "\udc80"})
    data = exported(store).encode()
    with gzip.open(tmp_path / "text.gz", "wt", encoding="utf-8", newline="\r\n") as text:
        store.export(text)
    with gzip.open(tmp_path / "bytes.gz", "wb") as raw:
        store.export(raw)
    for name, mode in (("bytes.gz", "rb"), ("text.gz", "rb"), ("text.gz", "rt")):
        encoding = "utf-8" if mode == "rt" else None
        source = gzip.open(tmp_path / name, mode, encoding=encoding)  # noqa: SIM115
        with source, MemoryStore(embedder=EMBEDDER) as copy:
            copy.import_(source)
            assert exported(copy).encode() == data


def test_an_export_with_a_byte_order_mark_and_line_ends_of_windows_is_whole(
    store: MemoryStore,
) -> None:
    store.store("one line")
    data = exported(store).encode()
    with MemoryStore(embedder=EMBEDDER) as copy:
        copy.import_(io.BytesIO(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")))
        assert exported(copy).encode() == data


class _Writing(io.StringIO):
    """A file that does something before every line."""

    def __init__(self, doing: Callable[[], object]) -> None:
        super().__init__()
        self.doing = doing

    def write(self, text: str) -> int:
        self.doing()
        return super().write(text)


def test_others_read_and_write_while_it_goes_out(store: MemoryStore) -> None:
    store.store_many(["one", "two"])
    before = exported(store)
    during = _Writing(lambda: (store.store("more"), store.count(), store.recall("one")))
    assert store.export(during) == 2
    assert during.getvalue() == before
    assert store.count() > 2


@pytest.mark.slow
def test_memory_does_not_grow_with_the_store(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "all.jsonl"
    store.store_many([{"content": str(n), "metadata": {"x": "x" * 7500}} for n in range(1000)])
    for name, small in (
        ("keyword.BLOCK_DOCUMENTS", 32),
        ("BLOCK_DOCUMENTS", 32),
        ("_BATCH_ROWS", 256),
    ):
        monkeypatch.setattr(f"bethink.index.{name}", small)
    with MemoryStore(tmp_path / "copy.db", embedder=EMBEDDER) as copy:
        tracemalloc.start()
        try:
            store.export(target)
            copy.import_(target)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert target.stat().st_size > 15_000_000
    assert peak < 6_000_000


def test_a_store_that_holds_something_merges_the_records(store: MemoryStore, clock: Clock) -> None:
    theirs = store.store("theirs", key="k")
    text = exported(store)
    with MemoryStore(embedder=EMBEDDER, clock=clock) as other:
        ours = other.store("ours")
        merged = other.import_(io.StringIO(text))
        assert (merged.added, merged.same) == (1, 0)
        assert other.all() == [ours, theirs]
        assert other.import_(io.StringIO(text)).same == 1
        with pytest.raises(CorruptStoreError):
            other.import_(io.StringIO(text[:-5]))


def test_a_store_that_has_only_a_snapshot_keeps_it(store: MemoryStore) -> None:
    record = store.store("one")
    store.snapshot("now")
    with MemoryStore(embedder=EMBEDDER) as other:
        other.snapshot("now")
        assert other.import_(io.StringIO(exported(store))).added == 1
        assert (other.all(), other.as_of("now").all()) == ([record], [])


async def _both_ways(path: Path) -> int:
    async with AsyncMemoryStore(embedder=EMBEDDER) as store, AsyncMemoryStore() as copy:
        await store.store("one")
        await store.export(path)
        return (await copy.import_(path)).added


def test_it_can_be_awaited(tmp_path: Path) -> None:
    assert asyncio.run(_both_ways(tmp_path / "all.jsonl")) == 1


def test_a_compacted_link_of_a_moved_memory_arrives(store: MemoryStore, tmp_path: Path) -> None:
    source, target = store.store("one"), store.store("two")
    store.relate(source.id, target.id, "fixes")
    store.update(source.id, namespace="moved")
    store.compact(keep=0)
    store.export(tmp_path / "out.jsonl")
    with MemoryStore(embedder=store.embedder) as copy:
        copy.import_(tmp_path / "out.jsonl")
        assert [each.memory for each in copy.related(source.id)] == [target]
        copy.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "out.jsonl").read_text()
