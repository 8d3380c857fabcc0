"""What one memory has to do with another, now, then and after one of them is gone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bethink import (
    AsyncMemoryStore,
    MemoryRecord,
    MemoryStore,
    NotFoundError,
    Past,
    Relation,
    ValidationError,
)
from bethink.features.links import Direction

from ..clock import Clock
from ..storage.replay import assert_journal_is_state, unverified


@pytest.fixture
def two(store: MemoryStore) -> list[MemoryRecord]:
    return store.store_many(
        [{"content": "the bug", "id": "bug"}, {"content": "a fix", "id": "fix"}]
    )


def seen(store: MemoryStore | Past, id: str, **asked: Any) -> list[tuple[str, str, str]]:
    """Return the relations of a record as direction, kind and the other's id."""
    found = store.related(id, **asked)
    return [(each.direction, each.kind, each.memory.id) for each in found]


@pytest.mark.usefixtures("two")
def test_a_link_is_seen_from_both_ends(store: MemoryStore) -> None:
    assert store.relate("fix", "bug", "fixes")
    assert seen(store, "fix") == [("out", "fixes", "bug")]
    assert seen(store, "bug") == [("in", "fixes", "fix")]
    (relation,) = store.related("bug")
    entry = store.log()[0]
    assert relation == Relation(store.get("fix"), "fixes", "in", entry.seq, entry.at)  # type: ignore[arg-type]


@pytest.mark.usefixtures("two")
def test_every_relate_is_one_entry_and_leaves_the_records_alone(store: MemoryStore) -> None:
    before = store.all()
    store.relate("fix", "bug", "fixes")
    store.unrelate("fix", "bug", "fixes")
    assert [(each.action, each.id, each.namespace, each.changes) for each in store.log()[:2]] == [
        ("unrelate", "fix", "default", {"kind": "fixes", "target": "bug"}),
        ("relate", "fix", "default", {"kind": "fixes", "target": "bug"}),
    ]
    assert len(store.log()) == 4
    assert store.all() == before
    assert_journal_is_state(store)


@pytest.mark.usefixtures("two")
def test_a_link_that_holds_is_not_made_twice(store: MemoryStore) -> None:
    assert store.relate("fix", "bug", "fixes")
    head = len(store.log())
    assert not store.relate("fix", "bug", "fixes")
    assert not store.unrelate("fix", "bug", "mentions")
    assert not store.unrelate("bug", "fix", "fixes")
    assert len(store.log()) == head
    assert store.unrelate("fix", "bug", "fixes")
    assert not store.unrelate("fix", "bug", "fixes")
    assert seen(store, "fix") == []
    assert store.relate("fix", "bug", "fixes")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [("out", "x", "b"), ("in", "y", "b"), ("in", "x", "c")]),
        ({"direction": "out"}, [("out", "x", "b")]),
        ({"direction": "in"}, [("in", "y", "b"), ("in", "x", "c")]),
        ({"kind": "x"}, [("out", "x", "b"), ("in", "x", "c")]),
        ({"kind": "x", "direction": "in"}, [("in", "x", "c")]),
        ({"kind": "z"}, []),
    ],
)
def test_relations_are_chosen_by_kind_and_direction(
    store: MemoryStore, asked: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    store.store_many({"content": "x", "id": id, "namespace": id} for id in "abc")
    for source, target, kind in ("abx", "bay", "cax", "bcx"):
        store.relate(source, target, kind)
    assert seen(store, "a", **asked) == expected


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("hide", "show"),
    [
        (lambda store, id: store.forget(id), lambda store, id: store.restore(id)),
        (lambda store, id: store.archive(id), lambda store, id: store.unarchive(id)),
    ],
    ids=["forgotten", "archived"],
)
@pytest.mark.parametrize("end", ["bug", "fix"])
def test_a_link_shows_while_both_ends_are_live(
    store: MemoryStore, hide: Callable[..., int], show: Callable[..., int], end: str
) -> None:
    store.relate("fix", "bug", "fixes")
    hide(store, end)
    assert seen(store, "fix") == seen(store, "bug") == []
    with pytest.raises(NotFoundError):
        store.relate("bug", "fix", "broken by")
    show(store, end)
    assert seen(store, "bug") == [("in", "fixes", "fix")]
    hide(store, end)
    assert store.unrelate("fix", "bug", "fixes")
    show(store, end)
    assert seen(store, "bug") == []


REPLACED: dict[str, Callable[[MemoryStore], object]] = {
    "key": lambda store: store.store("Ann likes coffee", key="drink"),
    "supersedes": lambda store: store.store("Ann likes coffee", supersedes="old"),
    "merge": lambda store: store.consolidate(),
}


@pytest.mark.parametrize("how", REPLACED)
def test_links_of_a_replaced_memory_are_hidden_until_undo(store: MemoryStore, how: str) -> None:
    key = "drink" if how == "key" else None
    store.store("Ann likes the tea", id="older")
    store.store("Ann likes tea", id="old", key=key)
    store.store("the shop", id="shop")
    store.relate("shop", "old", "sells")
    before = store.log(limit=1)[0]
    REPLACED[how](store)
    assert seen(store, "shop") == seen(store, "old") == []
    assert seen(store.as_of(before), "shop") == [("out", "sells", "old")]
    store.undo(store.log(limit=1)[0])
    assert seen(store, "old") == [("in", "sells", "shop")]


def test_an_update_keeps_the_links(store: MemoryStore) -> None:
    store.store_many([{"content": "tea", "id": "a", "key": "drink"}, {"content": "x", "id": "b"}])
    store.relate("b", "a", "sells")
    store.update("a", content="coffee")
    assert seen(store, "b") == [("out", "sells", "a")]


def test_what_has_expired_is_not_related(clock: Clock) -> None:
    with MemoryStore(clock=clock) as store:
        store.store("x", id="a", expires_at=clock.now + 10)
        store.store("y", id="b")
        store.relate("b", "a", "x")
        clock.now += 10
        assert seen(store, "a") == seen(store, "b") == []
        with pytest.raises(NotFoundError):
            store.relate("b", "a", "y")


@pytest.mark.usefixtures("two")
def test_an_unknown_record_has_no_links(store: MemoryStore) -> None:
    for call in (
        lambda: store.relate("fix", "none", "x"),
        lambda: store.relate("none", "fix", "x"),
        lambda: store.unrelate("fix", "none", "x"),
        lambda: store.unrelate("none", "fix", "x"),
        lambda: store.related("none"),
        lambda: store.as_of(1).related("fix"),
    ):
        with pytest.raises(NotFoundError):
            call()
    assert len(store.log()) == 2


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    "given", [("bug", "bug", "x"), ("", "bug", "x"), ("fix", "bug", " "), ("fix", "bug", "x" * 65),
              ("fix", "bug", None), ("fix", 3, "x"), ("fix", "bug", "\ud800"),
              ("fix", "bug", "x\0y"), ("fix\0", "bug", "x")]
)  # fmt: skip
def test_a_wrong_link_is_refused(store: MemoryStore, given: Any) -> None:
    for verb in (store.relate, store.unrelate):
        with pytest.raises(ValidationError):
            verb(*given)
    assert len(store.log()) == 2


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("asked", [{"direction": "up"}, {"kind": ""}, {"kind": 3}])
def test_a_wrong_question_is_refused(store: MemoryStore, asked: Any) -> None:
    with pytest.raises(ValidationError):
        store.related("bug", **asked)


@pytest.mark.usefixtures("two")
def test_the_past_has_the_links_of_its_moment(store: MemoryStore) -> None:
    store.relate("fix", "bug", "fixes")
    store.forget("bug")
    store.restore("bug")
    store.unrelate("fix", "bug", "fixes")
    store.update("fix", content="another fix")
    links = [("out", "fixes", "bug")]
    moments = [seen(store.as_of(seq), "fix") for seq in range(2, 8)]
    assert moments == [[], links, [], links, [], []]
    (then,) = store.as_of(5).related("bug")
    assert then.memory.content == "a fix"
    assert (then.memory.updated_at, then.seq) == (store.as_of(2).get("fix").updated_at, 3)  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_past_of_a_record_does_not_hang_on_its_links(clock: Clock) -> None:
    with MemoryStore(clock=clock) as store:
        store.store_many({"content": "x", "id": f"{n}"} for n in range(300))
        clock.now += 1
        for n in range(1, 300):
            store.relate("0", f"{n}", "x")
        clock.now += 1
        store.update("0", content="y")
        store.erase([f"{n}" for n in range(1, 300)])
        then = store.as_of(500).get("0")
        assert then is not None
        assert (then.content, then.updated_at) == ("x", 1000.0)


@pytest.mark.usefixtures("two")
def test_links_are_undone_and_done_again(store: MemoryStore) -> None:
    store.relate("fix", "bug", "fixes")
    assert store.undo(3) == store.get("fix")
    assert seen(store, "bug") == []
    assert store.log()[0].changes == {"kind": "fixes", "target": "bug", "undoes": 3}
    with pytest.raises(ValidationError, match="entry 3 cannot be undone: the link changed"):
        store.undo(3)
    store.undo(4)
    assert seen(store, "bug") == [("in", "fixes", "fix")]
    assert_journal_is_state(store)


@pytest.mark.parametrize("end", ["a", "b"])
def test_erasing_an_end_ends_the_link_everywhere(tmp_path: Path, end: str) -> None:
    path, secret = tmp_path / "links.db", "bcdfghjklmnp"
    other = "ab".replace(end, "")
    with MemoryStore(path, durability="normal") as store:
        store.store_many({"content": "x", "id": id} for id in "abc")
        for kind in (secret, f"{secret}2", "kept"):
            store.relate("a", "b", kind)
        store.unrelate("a", "b", secret)
        store.undo(7)
        store.relate(other, "c", "stays")
        store.update(other, content="more")
        store.erase(end)
        assert seen(store, other) == [("out", "stays", "c")]
        assert seen(store.as_of(6), other) == seen(store, end) == []
        assert store.as_of(6).get(other).content == "x"  # type: ignore[union-attr]
        assert [entry.changes for entry in store.log() if entry.seq in range(4, 9)] == [{}] * 5
        with pytest.raises(ValidationError, match="entry 4 told has been erased"):
            store.undo(4)
        with pytest.raises(NotFoundError):
            store.unrelate("a", "b", "kept")
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert secret.encode() not in files
    assert unverified(path) == []


def test_random_links_are_what_a_set_of_them_says(tmp_path: Path) -> None:
    dice, ids = random.Random(3), "abcde"
    held: dict[tuple[str, str, str], None] = {}
    states = {}
    with MemoryStore(tmp_path / "x.db", durability="normal") as store:
        store.store_many({"content": "x", "id": id} for id in ids)
        for _ in range(60):
            source, target = dice.sample(ids, 2)
            link = (source, target, dice.choice("xy"))
            if dice.random() < 0.6:
                assert store.relate(*link) is (link not in held)
                held.setdefault(link)
            else:
                assert store.unrelate(*link) is (link in held)
                held.pop(link, None)
            states[store.log(limit=1)[0].seq] = list(held)
        for seq, links in states.items():
            past = store.as_of(seq)
            for id in ids:
                both: list[tuple[Direction, Any]] = [
                    ("out", [(kind, b) for a, b, kind in links if a == id]),
                    ("in", [(kind, a) for a, b, kind in links if b == id]),
                ]
                for direction, expected in both:
                    found = [pair[1:] for pair in seen(past, id, direction=direction)]
                    assert found == expected


def test_links_can_be_awaited() -> None:
    async def live() -> None:
        async with AsyncMemoryStore() as store:
            await store.store_many({"content": "x", "id": id} for id in "ab")
            assert await store.relate("a", "b", "x")
            past = await store.as_of(3)
            assert await store.unrelate("a", "b", "x")
            assert await store.related("a") == []
            assert [each.memory.id for each in await past.related("a")] == ["b"]

    asyncio.run(live())
