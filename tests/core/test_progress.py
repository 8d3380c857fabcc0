"""Progress of long verbs: what is told, and what an error of the function leaves."""

import asyncio
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bethink import AsyncMemoryStore, HashEmbedder, MemoryStore, StorageError, ValidationError

TEXTS = [f"{chr(97 + number % 26)}{number} is the name of plan {number}" for number in range(300)]


class Stopped(Exception):
    pass


def stop(done: int, total: int | None) -> None:
    raise Stopped


OPENED = ExitStack()


@pytest.fixture(autouse=True)
def closed_stores() -> Iterator[None]:
    """Close every store that ``new`` has opened."""
    yield
    OPENED.close()


def new() -> MemoryStore:
    return OPENED.enter_context(MemoryStore(embedder=HashEmbedder(64)))


def filled() -> MemoryStore:
    store = new()
    store.store_many(TEXTS)
    return store


def exported() -> io.StringIO:
    file = io.StringIO()
    filled().export(file)
    file.seek(0)
    return file


VERBS: dict[str, tuple[Callable[[], MemoryStore], Callable[..., Any]]] = {
    "store_many": (new, lambda store, **given: store.store_many(TEXTS, **given)),
    "import_": (new, lambda store, **given: store.import_(exported(), **given)),
    "merge_from": (new, lambda store, **given: store.merge_from(filled(), **given)),
    "export": (filled, lambda store, **given: store.export(io.StringIO(), **given)),
    "consolidate": (filled, lambda store, **given: store.consolidate(**given)),
    "verify": (filled, lambda store, **given: store.verify(**given)),
    "reembed": (filled, lambda store, **given: store.reembed(HashEmbedder(96), **given)),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_function_gets_a_rising_count_up_to_the_total(verb: str) -> None:
    make, call = VERBS[verb]
    told: list[tuple[int, int]] = []
    call(make(), progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} == {told[-1][0]}
    assert len(told) > 1


@pytest.mark.parametrize("verb", VERBS)
def test_an_error_of_the_function_changes_nothing(verb: str) -> None:
    make, call = VERBS[verb]
    store = make()
    before, embedder = store.log(), store.embedder
    with pytest.raises(Stopped):
        call(store, progress=stop)
    assert (store.log(), store.embedder) == (before, embedder)
    call(store)


def test_a_function_that_writes_inside_of_a_write_is_refused_and_changes_nothing() -> None:
    store = new()
    with pytest.raises(StorageError, match="inside of a write"):
        store.merge_from(filled(), progress=lambda *_: store.store("a note"))
    assert store.log() == []
    store.store("a write goes on")


def test_an_error_of_the_function_leaves_no_exported_file(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        filled().export(tmp_path / "all.jsonl", progress=stop)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [7, "bar"])
def test_a_wrong_progress_is_named(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="progress must be a function"):
        new().store_many(TEXTS, progress=wrong)


def test_a_bar_without_tqdm_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ValidationError, match="tqdm"):
        new().store_many(TEXTS, progress=True)


def test_awaitable_verbs_tell_too() -> None:
    told: list[int] = []
    store = AsyncMemoryStore.wrap(new())
    asyncio.run(store.merge_from(filled(), progress=lambda done, _: told.append(done)))
    assert told[-1] == len(TEXTS)
