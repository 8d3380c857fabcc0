"""A compacted store: moments from the cut on are as before, and everything earlier is gone."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bethink import (
    EVERYWHERE,
    CompactedError,
    Compaction,
    Files,
    HashEmbedder,
    MemoryStore,
    Merged,
    NotFoundError,
    ValidationError,
)
from bethink.adapting import foreign_record, import_foreign
from bethink.features import compaction

from ...stored import alter
from ..clock import Clock
from ..inside import engine_of
from .files.long_files import LINE

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
EMBEDDER = HashEmbedder(16)
KEY = b"sixteen bytes or more"
DAY = 86_400.0
VERBS = (
    *("store", "keyed", "keyed", "update", "move", "rekey", "forget", "restore", "archive"),
    *("touch", "relate", "unrelate", "vector", "erase", "snapshot", "undo", "back"),
)
Step = tuple[str, int, int]


@pytest.fixture(params=[None, KEY], ids=["plain", "keyed"])
def key(request: pytest.FixtureRequest) -> bytes | None:
    return request.param  # type: ignore[no-any-return]


def opened(location: str | Path = ":memory:", key: bytes | None = None) -> MemoryStore:
    ids = count(1)
    return MemoryStore(
        location,
        clock=Clock(),
        embedder=EMBEDDER,
        integrity_key=key,
        new_id=lambda: f"r{next(ids)}",
        durability="normal",
    )


@pytest.fixture
def store(key: bytes | None) -> Iterator[MemoryStore]:
    with opened(key=key) as store:
        yield store


def clock_of(store: MemoryStore) -> Clock:
    clock: Any = engine_of(store).clock
    return clock.args[0]  # type: ignore[no-any-return]


def do(store: MemoryStore, step: Step) -> None:
    """Take a step that depends on the state; a step that the state refuses changes nothing."""
    verb, one, two = step
    known = sorted(
        record.id
        for state in ("live", "forgotten", "superseded", "archived")
        for record in store.all(namespace=EVERYWHERE, state=state)
    )
    if verb == "back":
        clock_of(store).now -= 30
    clock_of(store).now += 100 * one
    a, b = (known[each % len(known)] if known else "none" for each in (one, two))
    verbs: dict[str, Callable[[], Any]] = {
        "store": lambda: store.store(f"note {one} {two}", tags=[str(one)], namespace=f"n{two % 2}"),
        "keyed": lambda: store.store(f"fact {one}", key=f"k{two % 2}", vectors={"v": [one, 1.0]}),
        "update": lambda: store.update(a, content=f"changed {two}"),
        "move": lambda: store.update(a, namespace=f"n{two % 3}"),
        "rekey": lambda: store.update(a, key=f"k{two % 3}", importance=two / 9),
        "forget": lambda: store.forget(a),
        "restore": lambda: store.restore(a),
        "archive": lambda: store.archive(a),
        "touch": lambda: store.recall("note fact", k=2, namespace=EVERYWHERE),
        "relate": lambda: store.relate(a, b, "about"),
        "unrelate": lambda: store.unrelate(a, b, "about"),
        "vector": lambda: store.update(a, vectors={"v": [two, 2.0]}),
        "erase": lambda: store.erase(a),
        "snapshot": lambda: store.snapshot(f"s{one}"),
        "undo": lambda: store.undo(engine_of(store).backend.head() - one % 3),
        "back": lambda: None,
    }
    with suppress(ValidationError, NotFoundError):
        verbs[verb]()


def seen(store: MemoryStore, cut: int, head: int) -> list[Any]:
    """Return all that the moments from *cut* to *head* show."""
    found: list[Any] = []
    for seq in range(cut, head + 1):
        past = store.as_of(seq)
        records = past.all(namespace=EVERYWHERE)
        found.append(records)
        found.append([past.related(record.id) for record in records])
        found.append(store.diff(seq, head, namespace=EVERYWHERE))
        query: Any = {"k": 9, "as_of": seq, "namespace": EVERYWHERE, "touch": False}
        found.append([hit.id for hit in store.recall("note 3", **query)])
        found.append([hit.id for hit in store.recall(None, vector=("v", [1.0, 1.0]), **query)])
    found.append([each for each in store.snapshots() if each.seq >= cut])
    found += [store.log(limit=None, since=cut)]
    return found


def whole(store: MemoryStore) -> None:
    assert store.verify().problems == ()
    copied = io.StringIO()
    store.export(copied)
    copied.seek(0)
    with MemoryStore(embedder=EMBEDDER) as other:
        other.import_(copied)
        assert other.verify().problems == ()
        assert other.all(namespace=EVERYWHERE) == store.all(namespace=EVERYWHERE)


steps = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 9), st.integers(0, 9)), max_size=25
)


@given(steps, steps, st.integers(0, 40), st.integers(0, 40), st.booleans())
@settings(max_examples=60, phases=PHASES)
def test_every_moment_from_the_cut_on_is_as_before(
    before: list[Step], after: list[Step], first: int, second: int, is_keyed: bool
) -> None:
    with opened(key=KEY if is_keyed else None) as store:
        for step in before:
            do(store, step)
        engine_of(store).flush()
        for until in sorted((first, second)):
            head = engine_of(store).backend.head()
            until = min(until, head)
            known = seen(store, until, head)
            done = store.compact(before=until)
            assert done.cut <= until
            assert seen(store, until, head)[:-1] == known[:-1]
            whole(store)
        for step in after:
            do(store, step)
        whole(store)
        store.compact(keep=0)
        whole(store)


def aged(store: MemoryStore) -> dict[str, str]:
    """Give the store a past; return the ids by name."""
    ids = {
        "kept": store.store("The kept whale").id,
        "gone": store.store("The forgotten parrot").id,
        "old": store.store("The office is in Lyon", key="office").id,
        "erased": store.store("The erased ferry").id,
    }
    store.update(ids["kept"], content="The kept dolphin")
    ids["new"] = store.store("The office is in Graz", key="office").id
    store.forget(ids["gone"])
    store.erase(ids["erased"])
    clock_of(store).now += DAY
    store.snapshot("then")
    clock_of(store).now += DAY
    store.update(ids["kept"], content="The kept porpoise")
    return ids


def test_what_ended_before_the_cut_is_gone(store: MemoryStore) -> None:
    ids = aged(store)
    done = store.compact(before="then")
    assert (done.records, done.cut) == (2, 8)
    assert [store.get(ids[name]) for name in ("gone", "old", "erased")] == [None] * 3
    assert [version.content for version in store.audit("office")] == ["The office is in Graz"]
    then = [record.content for record in store.as_of("then").all()]
    assert sorted(then) == ["The kept dolphin", "The office is in Graz"]
    assert [each.action for each in store.log()] == [
        "compact",
        "update",
        "snapshot",
        "erase",
        *["base"] * 3,
    ]
    assert store.verify().problems == ()


@pytest.mark.parametrize("moment", [2, 3.0, "1970-01-01T00:00:01Z"])
def test_a_moment_before_the_cut_names_the_cut(store: MemoryStore, moment: Any) -> None:
    aged(store)
    store.compact(before="then")
    for ask in (store.as_of, lambda when: store.recall("a whale", as_of=when), store.diff):
        with pytest.raises((CompactedError, ValidationError), match=r"cut|time before"):
            ask(moment)
    with pytest.raises(CompactedError, match="cut the history there"):
        store.undo(2)


def test_days_to_keep_are_counted_back_from_now(store: MemoryStore) -> None:
    aged(store)
    assert store.compact(keep=3).entries == 0
    assert store.compact(keep=1.5).cut == 8
    assert store.compact(keep=1.5).entries == store.compact(before=8).entries == 0
    assert [snapshot.name for snapshot in store.snapshots()] == ["then"]
    assert store.compact(keep=0).records == 1
    assert store.snapshots() == []


@pytest.mark.parametrize("arguments", [{}, {"before": 1, "keep": 1}, {"keep": -1}, {"before": 99}])
def test_a_wrong_argument_changes_nothing(store: MemoryStore, arguments: Any) -> None:
    store.store("a note")
    with pytest.raises(ValidationError):
        store.compact(**arguments)
    assert len(store.log()) == 1


def test_an_empty_store_has_nothing_to_cut(store: MemoryStore) -> None:
    assert store.compact(keep=0) == Compaction(0, 0.0, 0, 0, 0)


def test_the_work_goes_in_steps_and_tells_of_each(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "STEP_ENTRIES", 3)
    for n in range(9):
        store.store(f"room {n}", key="office")
    told: list[tuple[int, int | None]] = []
    head = engine_of(store).backend.head()
    assert store.compact(before=head, progress=lambda *each: told.append(each)).records == 8
    assert told == [*((done, head) for done in range(3, head, 3)), (head, head)]
    whole(store)

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    for n in range(9):
        store.store(f"desk {n}", key="desk")
    with pytest.raises(KeyboardInterrupt):
        store.compact(keep=0, progress=stop)
    whole(store)
    assert store.compact(keep=0).records == 8
    whole(store)
    assert len(store.all()) == 2


def test_a_second_store_on_the_file_goes_on(path: Path, key: bytes | None) -> None:
    with opened(path, key) as one, opened(path, key) as two:
        ids = aged(one)
        assert [hit.id for hit in two.recall("the kept porpoise", k=1)] == [ids["kept"]]
        one.update(ids["kept"], content="The kept narwhal")
        one.store("A manatee", id="late")
        one.compact(keep=0)
        assert [hit.content for hit in two.recall("narwhal", k=1)] == ["The kept narwhal"]
        assert [hit.content for hit in two.recall("manatee", k=1)] == ["A manatee"]
        two.update(ids["kept"], content="The kept beluga")
        assert two.verify().problems == one.verify().problems == ()


def test_no_byte_of_what_is_gone_is_left(path: Path, key: bytes | None) -> None:
    with opened(path, key) as store:
        aged(store)
        for n in range(300):
            store.store(f"chair number {n} is red", key="chair")
        size = path.stat().st_size
        done = store.compact(keep=0)
        assert path.stat().st_size < size / 2
        assert done.freed > 0
        data = path.read_bytes() + path.with_name(f"{path.name}-wal").read_bytes()
    for text in (b"Lyon", b"parrot", b"ferry", b"whale", b"dolphin", b"number 298"):
        assert text not in data
    assert b"porpoise" in data


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM journal WHERE seq IN (SELECT seq FROM journal WHERE action = 'base' LIMIT 1)",
        "UPDATE journal SET at = at + 1 WHERE action = 'base'",
        "UPDATE journal SET changes = replace(changes, 'kept', 'lost') WHERE action = 'base'",
        "UPDATE facts SET value = replace(value, '\"seq\":8', '\"seq\":7') WHERE name = 'cut'",
        "DELETE FROM facts WHERE name = 'cut'",
    ],
)
def test_a_change_of_what_was_compacted_is_found(path: Path, change: str) -> None:
    with opened(path) as store:
        aged(store)
        store.compact(before=8)
        assert store.verify().problems == ()
    alter(path, change)
    with opened(path) as store:
        assert store.verify().problems != ()


@pytest.mark.parametrize("change", ["DELETE FROM erased", "INSERT INTO erased VALUES (7)"])
def test_a_change_of_the_erased_ids_is_found(path: Path, change: str) -> None:
    with opened(path) as store:
        aged(store)
        store.compact(keep=0)
    alter(path, change)
    with opened(path) as store:
        (problem,) = store.verify().problems
        assert (problem.kind, problem.where) == ("fact", "cut")


def test_nothing_brings_an_erased_text_back(store: MemoryStore, tmp_path: Path) -> None:
    with MemoryStore(embedder=EMBEDDER) as old:
        for name in ("ferry", "lamp"):
            old.store(f"The erased {name}", id=name, key=name)
        old.relate("ferry", "lamp", "beside")
        old.store("The kept whale", id="kept")
        old.relate("lamp", "kept", "beside")
        old.export(tmp_path / "old.jsonl")
        store.merge_from(old)
        for erased in (["ferry"], ["lamp"]):  # the second in a journal that was cut before
            store.erase(erased)
            store.compact(keep=0)
            assert store.stats().states["erased"] == 0
            assert store.verify().problems == ()
        assert store.merge_from(old).erased == 2
        assert store.import_(tmp_path / "old.jsonl").erased == 2
        given = {"id": "ferry", "namespace": "default", "content": "The erased ferry"}
        assert import_foreign(store, [foreign_record(store, given)]).added == frozenset()
        assert [record.id for record in store.all()] == ["kept"]
        assert store.related("kept") == []


@pytest.mark.parametrize("erased", [[0], [1], [0, 1, 2]])
def test_a_text_with_an_erased_chunk_is_merged_as_before_compacting(erased: list[int]) -> None:
    def merged(compacts: bool) -> tuple[Merged, list[str]]:
        with opened() as old, opened() as store:
            Files(old).write("/memories/notes.md", LINE * 300)
            chunks = [record.id for record in old.all(namespace=EVERYWHERE)]
            store.merge_from(old)
            store.erase([chunks[place] for place in erased])
            if compacts:
                store.compact(keep=0)
            Files(old).insert("/memories/notes.md", 0, LINE)
            found = store.merge_from(old)
            return found, [record.content for record in store.all(namespace=EVERYWHERE)]

    assert merged(compacts=True) == merged(compacts=False)


def test_an_erased_memory_leaves_some_bytes(path: Path) -> None:
    with opened(path) as store:
        store.store_many(f"chair number {n}" for n in range(2_000))
        store.compact(keep=0)
        store.erase(namespace="default")
        store.compact(keep=0)
        few = store.stats().bytes
        store.store_many(f"chair number {n}" for n in range(2_000))
        store.erase(namespace="default")
        store.compact(keep=0)
        assert (store.stats().bytes - few) / 2_000 < 40


def test_the_outcomes_and_turns_of_the_present_stay(store: MemoryStore) -> None:
    id = store.store("Restart the server").id
    store.mark_useful(id)
    before = store.get(id)
    store.compact(keep=0)
    assert store.get(id) == before
    assert store.outcomes(id) == []
    store.mark_useful(id)
    assert len(store.outcomes(id)) == 1


def test_an_undo_works_after_the_cut(store: MemoryStore) -> None:
    id = store.store("one").id
    store.update(id, content="two")
    store.compact(before=1)
    assert store.undo(2).content == "one"
    with pytest.raises(CompactedError):
        store.undo(1)


def test_a_moment_held_from_before_the_cut_is_refused(store: MemoryStore) -> None:
    files = Files(store)
    files.write("/plan", "one")
    id = store.store("one", key="k").id
    past, old = store.as_of(2), files.as_of(2)
    store.store("two", key="k")
    files.write("/plan", "two")
    store.compact(keep=0)
    reads: list[Callable[[], object]] = [
        *(past.all, past.count, past.namespaces, lambda: past.get(id)),
        *(lambda: past.get(key="k"), lambda: past.related(id), lambda: old.read("/plan")),
    ]
    for read in reads:
        with pytest.raises(CompactedError, match="entry 2 lies before"):
            read()


def test_an_erasing_after_the_cut_takes_the_accesses_along(store: MemoryStore) -> None:
    id = store.store("one").id
    store.update(id, content="two")
    store.compact(keep=0)
    store.touch(id)
    store.snapshot("touched")  # writes the access
    store.erase(id)
    assert store.verify().problems == ()
    assert store.stats().access_rows == 0
