"""Work grows with what is asked for, not with the age or the size of the file: counts, no times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import EVERYWHERE, HashEmbedder, MemoryStore, Subtree, ValidationError
from bethink.features import history
from bethink.storage.sql import inspection
from bethink.storage.sql.authenticator import NO_AUTH

from ...stored import alter
from ..clock import Clock
from ..inside import connections_of

EMBEDDER = HashEmbedder(16)


def count_calls(patch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    """Return a list that gets the arguments of every call of a function of *module*."""
    calls: list[Any] = []
    real = getattr(module, name)

    def counted(*args: Any, **given: Any) -> Any:
        calls.append(args)
        return real(*args, **given)

    patch.setattr(module, name, counted)
    return calls


def test_verify_reads_each_entry_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, times = Clock(), 600
    with MemoryStore(embedder=EMBEDDER, clock=clock) as store:
        ids = [store.store(f"note {n}").id for n in range(4)]
        for n in range(times):
            clock.now += 61  # pending accesses are due after a minute
            store.touch(ids)
            store.update(ids[n % 4], content=f"changed {n}")
        touches = [entry for entry in store.log(limit=None) if entry.action == "touch"]
        assert len(touches) > 256
        read = count_calls(monkeypatch, inspection, "to_changes")
        assert store.verify().problems == ()
        assert len(read) <= len(store.log(limit=None))


@pytest.mark.parametrize("text", ["{", '{"accesses": {"a": [1]}}', '{"accesses": 3}', '["a"]', ""])
def test_a_touch_that_cannot_be_read_is_a_problem(path: Path, text: str) -> None:
    clock = Clock()
    with MemoryStore(path, embedder=EMBEDDER, clock=clock) as store:
        store.store("a note", id="a")
        store.touch("a")
    alter(path, f"UPDATE journal SET changes = '{text}' WHERE action = 'touch'")
    with MemoryStore(path, embedder=EMBEDDER, clock=clock) as store:
        where = {(problem.kind, problem.where) for problem in store.verify().problems}
    assert where == {("journal", "entry 2"), ("record", "a")}


def test_the_longest_vector_is_found_and_a_longer_vector_is_refused() -> None:
    longest = np.ones(131_072)
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store("near", vectors={"own": longest})
        store.store("far", vectors={"own": -longest})
        assert [hit.content for hit in store.recall(None, vector=("own", longest))] == ["near"]
        for refused in (
            lambda vector: store.store("x", vectors={"longer": vector}),
            lambda vector: store.recall(None, vector=("longer", vector)),
        ):
            with pytest.raises(ValidationError, match="at most 131,072 numbers"):
                refused(np.ones(131_073))


def test_an_audit_with_a_limit_reads_the_last_holders_of_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        first = store.store("room 0", key="office")
        store.update(first.id, key="old office")
        for n in range(1, 60):
            last = store.store(f"room {n}", key="office")
        store.forget(last.id)
        store.update(first.id, key="office", content="room 60")
        every = store.audit("office")
        read = count_calls(monkeypatch, history, "_versions")
        for limit in (0, 1, 2, 10, 61, 100):
            assert store.audit("office", limit=limit) == every[max(0, len(every) - limit) :]
        assert store.audit("office", as_of=20, limit=3) == store.audit("office", as_of=20)[-3:]
        del read[:]
        store.audit("office", limit=3)
        assert len(read) <= 20


def test_a_limit_of_versions_is_a_number_from_0() -> None:
    with (
        MemoryStore(embedder=EMBEDDER) as store,
        pytest.raises(ValidationError, match="limit must be"),
    ):
        store.audit("office", limit=-1)


def test_the_log_of_a_large_batch_shrinks(path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    with MemoryStore(path, embedder=HashEmbedder(4096), durability="normal") as store:
        store.store_many(f"note {n}" for n in range(1500))
        largest = log.stat().st_size
        store.store("a note")
        assert log.stat().st_size <= 1 << 24 < largest


LANGUAGES: Any = [
    {"metadata.lang": "de"},
    {"metadata.lang": {"$in": ["de", "fr"]}},
    {"metadata.lang": {"$exists": True}},
    {"$not": {"metadata.lang": "en"}},
]


def speaking(*languages: str) -> Iterator[dict[str, Any]]:
    return ({"content": "a note", "metadata": {"lang": each}} for each in languages)


@pytest.mark.parametrize("where", LANGUAGES)
def test_a_list_with_a_limit_stops_there(where: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store_many(speaking(*["de", "en"] * 500))
        read = count_calls(monkeypatch, NO_AUTH, "to_record")
        assert len(store.all(where=where, limit=10)) == 10
        assert len(read) <= 60


@pytest.mark.parametrize("where", [*LANGUAGES[:2], {"metadata.lang": {"$exists": False}}])
def test_a_rare_value_in_json_is_found_without_a_look_at_the_rest(
    where: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store_many(speaking(*["en"] * 500))
        store.store("the German note", metadata={"lang": "de"})
        store.store("the note without a language")
        read = count_calls(monkeypatch, NO_AUTH, "to_record")
        assert len(store.all(where=where, limit=10)) == len(read) == 1


@pytest.mark.parametrize("where", LANGUAGES)
def test_a_filter_reads_the_fields_of_the_filter_alone(
    where: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store_many(speaking(*["de", "en"] * 50))
        passing = store.all(where=where)
        read = count_calls(monkeypatch, NO_AUTH, "to_record")
        assert store.count(where=where) == len(passing)
        assert read == []


def test_a_filter_too_deep_for_sql_may_name_no_field() -> None:
    where: Any = {}
    for _ in range(12):
        where = {"$and": [where]}
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store("a note")
        assert store.count(where=where) == 1


@pytest.mark.parametrize("many", [100, 1000])
def test_a_small_subtree_is_loaded_without_a_look_at_the_rest(many: int) -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store_many(
            {"content": f"note {n}", "namespace": f"users/{n}/notes"} for n in range(many)
        )
        steps: list[int] = []
        connection = connections_of(store)._writer  # no public name counts the steps of SQLite
        connection.set_progress_handler(lambda: steps.append(1), 100)
        assert len(store.recall("note", namespace=Subtree("users/7"), touch=False)) == 1
        connection.set_progress_handler(None, 0)
    assert len(steps) < 20


def test_the_export_of_a_namespace_reads_the_entries_of_its_records_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store_many({"content": f"note {n}", "namespace": f"of/{n % 50}"} for n in range(500))
        read = count_calls(monkeypatch, NO_AUTH, "to_entry")
        assert store.export(tmp_path / "one.jsonl", namespace="of/7") == 10
    assert len(read) == 2 * 10


@pytest.mark.parametrize("many", [100, 2000])
def test_the_newest_of_all_namespaces_are_found_without_a_look_at_the_rest(many: int) -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        ids = [
            record.id
            for record in store.store_many(
                {"content": f"note {n}", "namespace": f"users/{n % 50}"} for n in range(many)
            )
        ]
        for id in (ids[0], ids[-5], ids[7]):
            store.update(id, content=f"changed {id}")
        store.forget(ids[-3])
        newest = store.all(namespace=EVERYWHERE)[::-1]
        steps: list[int] = []
        connection = connections_of(store)._writer  # no public name counts the steps of SQLite
        connection.set_progress_handler(lambda: steps.append(1), 100)
        found = store.all(namespace=EVERYWHERE, order="newest", limit=4, offset=3)
        connection.set_progress_handler(None, 0)
        assert found == newest[3:7]
        assert len(steps) < 60
        few = store.all(namespace=EVERYWHERE, order="newest", limit=9, where={"category": "none"})
        assert few == []
