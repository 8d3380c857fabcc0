"""Calls that are interrupted: the store goes on, and its index is that of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, MemoryStore, Subtree
from bethink.index.columns import Columns
from bethink.index.field_columns import FieldColumns
from bethink.index.keyword import KeywordIndex

from ..stored import assert_unlocked
from .inside import connections_of
from .storage.replay import assert_journal_is_state
from .test_reliability import NOW, SCOPES, opened, settle


@pytest.fixture
def store(path: Path) -> Iterator[MemoryStore]:
    with opened(path) as store:
        store.store("one", id="r1", key="k")
        yield store


class Late:
    """Stands for *real*, and interrupts once: as soon as call number *when* of *name* is done."""

    def __init__(self, real: Any, name: str, when: int) -> None:
        self.real = real
        self.name = name
        self.left = when

    def __getattr__(self, name: str) -> Any:
        return self.call if name == self.name else getattr(self.real, name)

    def call(self, *arguments: Any, **options: Any) -> Any:
        result = getattr(self.real, self.name)(*arguments, **options)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return result


def assert_as_read_anew(store: MemoryStore, path: Path) -> None:
    settle(store)
    assert_journal_is_state(store)
    with opened(path) as again:
        for scope in SCOPES:
            asked: dict[str, Any] = {"namespace": scope, "k": 99, "now": NOW, "touch": False}
            assert store.recall("more", **asked) == again.recall("more", **asked)


@pytest.mark.parametrize("part", [("_writer", "execute"), ("_write_lock", "acquire")], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.store("one more", key="k"),
        lambda store: store.recall("one more", namespace=Subtree("a")),
        lambda store: store.count(namespace=EVERYWHERE),
    ],
    ids=["store", "recall", "count"],
)
def test_a_store_goes_on_when_it_was_interrupted(
    store: MemoryStore,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: tuple[str, str],
    call: Callable[[MemoryStore], object],
) -> None:
    connections, (attribute, name) = connections_of(store), part
    for when in count(1):
        store.store("from elsewhere", namespace="a/b")
        late = Late(getattr(connections, attribute), name, when)
        with suppress(KeyboardInterrupt), monkeypatch.context() as patch:
            patch.setattr(connections, attribute, late)
            if attribute == "_write_lock":
                patch.setattr(connections._group_commit, "lock", late)
            call(store)
        if late.left > 0:
            break
        assert_unlocked(path)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(store.store, "two more", key="l").result(timeout=60)
    assert when > 1
    assert connections._group_commit._waiting == 0  # or every later commit would wait for a moment
    assert_as_read_anew(store, path)


@pytest.mark.parametrize(
    "step", [(KeywordIndex, "extend"), (Columns, "append"), (FieldColumns, "append")], ids=str
)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()], ids=repr)
def test_an_index_that_took_in_half_of_a_write_is_read_anew(
    store: MemoryStore,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: tuple[type, str],
    error: BaseException,
) -> None:
    for scope in SCOPES:
        store.recall("more", namespace=scope)
    real = getattr(*step)

    def half(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(*step, half)
        with pytest.raises(type(error)):
            store.store("one more", key="k")
    store.store("two more", namespace="a/b")
    assert_as_read_anew(store, path)
