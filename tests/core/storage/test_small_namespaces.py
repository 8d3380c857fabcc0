"""Segments of many small namespaces: saved together for each subtree that is recalled."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bethink import EVERYWHERE, MemoryStore, Subtree
from bethink import index as resident
from bethink.index import keyword
from bethink.model.namespaces import Scope

from .test_starting import NOW, QUERIES, answers, fill, loaded, opened, rebuilt, spans, text

BLOCK = 16
SCOPES: tuple[Scope, ...] = (EVERYWHERE, Subtree("users"), Subtree("users/a"))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save and merge blocks of a few rows."""
    for module in (keyword, resident):
        monkeypatch.setattr(module, "BLOCK_DOCUMENTS", BLOCK)
        monkeypatch.setattr(module, "MERGED_BLOCKS", 4)
    monkeypatch.setattr(resident, "_MIN_SAVED_ROWS", 4)
    monkeypatch.setattr(resident, "_BATCH_ROWS", 4 * BLOCK)


def fill_users(store: MemoryStore, users: int, each: int = 3) -> None:
    for user in range(users):
        fill(store, each, user, namespace=f"users/{user}")


def names(path: Path) -> set[str]:
    return {name for name, *_ in spans(path)}


@pytest.mark.parametrize("scope", [EVERYWHERE, Subtree("users")], ids=repr)
def test_all_are_opened_from_segments_the_second_time(path: Path, scope: Scope) -> None:
    with opened(path) as store:
        fill_users(store, 20)
        fill(store, 3, namespace="default")
        first = answers(store, scope)
    with opened(path) as store:
        assert len(loaded(store, scope).unindexed) < BLOCK
        assert answers(store, scope) == first == rebuilt(path, scope)
    assert names(path) == {"*" if scope is EVERYWHERE else "users/*"}


def test_few_memories_and_single_namespaces_are_not_saved(path: Path) -> None:
    with opened(path) as store:
        fill_users(store, 5)
        answers(store, EVERYWHERE)
        answers(store, "users/1")
    assert names(path) == set()


def test_later_memories_are_added_in_segments_that_merge(path: Path) -> None:
    for _ in range(30):
        with opened(path) as store:
            fill_users(store, 8)
            answers(store, EVERYWHERE)
    assert len(spans(path)) < 30 * 24 / BLOCK
    with opened(path) as store:
        assert loaded(store, EVERYWHERE).unindexed == ()
        assert answers(store, EVERYWHERE) == rebuilt(path, EVERYWHERE)


def test_a_namespace_that_grows_leaves_the_common_segments(path: Path) -> None:
    with opened(path) as store:
        fill_users(store, 20)
        answers(store, EVERYWHERE)
        fill(store, 3 * BLOCK, 100, namespace="users/1")
    assert names(path) == {"*", "users/1"}
    with opened(path) as store:
        assert answers(store, EVERYWHERE) == rebuilt(path, EVERYWHERE)
        ids = [each.id for each in store.all(namespace="users/1")]
        store.forget(ids[0])
        assert ids[0] not in {hit.id for hit in store.recall("a whale", namespace=EVERYWHERE)}
        store.erase(ids[1])  # takes the segments of users/1 along
        assert answers(store, EVERYWHERE) == rebuilt(path, EVERYWHERE)
    with opened(path) as store:
        assert answers(store, EVERYWHERE) == rebuilt(path, EVERYWHERE)


def test_an_erased_word_is_in_no_common_segment(path: Path) -> None:
    with opened(path) as store:
        fill_users(store, 20)
        id = store.store("the codeword zyxwvu", namespace="users/a/b").id
        for scope in SCOPES:
            answers(store, scope)
        fill_users(store, 20)
    with opened(path) as store:
        answers(store, EVERYWHERE)
    assert b"zyxwvu" in path.read_bytes()
    with opened(path) as store:
        store.erase(id)
    assert not any(b"zyxwvu" in file.read_bytes() for file in path.parent.iterdir())
    with opened(path) as store:
        assert answers(store, EVERYWHERE) == rebuilt(path, EVERYWHERE)


def test_threads_of_different_namespaces_stay_apart(path: Path) -> None:
    with opened(path) as store:
        for user in range(12):
            store.store("where is the whale?", namespace=f"users/{user}", thread="talk")
            store.store("in room 4", namespace=f"users/{user}", thread="talk")
        first = answers(store, EVERYWHERE)
    with opened(path) as store:
        assert answers(store, EVERYWHERE) == first
        assert store.recall("whale", namespace=EVERYWHERE, k=50, touch=False)
        index = store.recall("room", namespace="users/3", k=2, touch=False)
        assert {hit.memory.namespace for hit in index} == {"users/3"}


@pytest.mark.parametrize("damage", ["data = zeroblob(length(data))", "checksum = checksum + 1"])
def test_damaged_common_segments_are_made_anew(path: Path, damage: str) -> None:
    with opened(path) as store:
        fill_users(store, 30)
        answers(store, EVERYWHERE)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE segments SET {damage} WHERE first > 1")
        connection.commit()
    with opened(path) as store:
        assert store.verify().problems
        assert answers(store, EVERYWHERE) == rebuilt(path, EVERYWHERE)
        assert store.verify().problems == ()
    with opened(path) as store:
        assert len(loaded(store, EVERYWHERE).unindexed) < BLOCK


def test_a_moment_is_opened_from_common_segments(path: Path) -> None:
    with opened(path) as store:
        fill_users(store, 20)
        before = answers(store, EVERYWHERE)
        seq = store.log(limit=1)[0].seq
        for each in store.all(namespace="users/1"):
            store.update(each.id, content="nothing of the kind", namespace="users/2")
        fill(store, 3 * BLOCK, namespace="users/3")
        answers(store, EVERYWHERE)
    with opened(path) as store:
        found = store.recall(QUERIES[0], k=500, namespace=EVERYWHERE, now=NOW, as_of=seq)
        assert [(hit.id, round(hit.score, 9)) for hit in found] == before[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_any_history_answers_as_the_rows_do(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    spaces = ["default", "users/a", "users/a/b", "users/b", *(f"users/{n}" for n in range(6))]
    for round in range(8):
        with opened(path) as store:
            for number in range(chance.randrange(30)):
                everyone = store.all(namespace=EVERYWHERE)
                one = chance.choice(everyone).id if everyone else ""
                match chance.choice(("store", "many", "update", "move", "forget", "erase")):
                    case "many":
                        fill(store, 2 * BLOCK, number, namespace=chance.choice(spaces[:3]))
                    case "update" if one:
                        store.update(one, content=text(chance.randrange(99)))
                    case "move" if one:
                        store.update(one, namespace=chance.choice(spaces))
                    case "forget" if one:
                        store.forget(one)
                    case "erase" if one and chance.random() < 0.3:
                        store.erase(one)
                    case _:
                        store.store(text(round + number), namespace=chance.choice(spaces))
            for scope in chance.sample(SCOPES, 2):
                assert answers(store, scope) == rebuilt(path, scope)
    with opened(path) as store:
        assert store.verify().problems == ()
