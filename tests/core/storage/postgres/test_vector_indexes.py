"""Approximate vector indexes: answers without an index in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest

from bethink import (
    EVERYWHERE,
    DecayProduct,
    HashEmbedder,
    MemoryStore,
    RecallResult,
    Shards,
    StorageError,
    ValidationError,
)
from bethink.storage.postgres import vector_indexes

from ...inside import engine_of
from .server import fresh_location, shared_url

DAY = 86_400.0
NOW = 1_000 * DAY
WORDS = ["ferry", "pier", "tea", "mate", "night", "morning", "train", "bridge", "river", "boat"]
TEXTS = [f"{a} and {b} by the {c}" for a in WORDS for b in WORDS for c in WORDS[:4] if a != b]


@pytest.fixture
def location() -> str:
    with psycopg.connect(shared_url(), autocommit=True) as connection:
        known = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        if connection.execute(known).fetchone() is None:
            pytest.skip("the server has no pgvector")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return fresh_location()


def opened(location: str) -> MemoryStore:
    return MemoryStore(location, embedder=HashEmbedder(32), clock=lambda: NOW)


@pytest.fixture
def store(location: str) -> Iterator[MemoryStore]:
    with opened(location) as store:
        store.store_many(
            {
                "content": text,
                "id": f"m{number}",
                "importance": 0.1 + number % 9 / 10,
                "occurred_at": NOW - number % 30 * DAY,
            }
            for number, text in enumerate(TEXTS)
        )
        yield store


def semantic(store: MemoryStore, query: str, **options: Any) -> list[RecallResult]:
    return store.recall(query, k=8, mode="semantic", **{"touch": False, **options})


def tables(location: str) -> dict[str, int]:
    """Return the number of rows by the table of a vector index."""
    url, _, schema = location.partition("?schema=")
    listed = "SELECT tablename::text FROM pg_tables WHERE schemaname = %s AND tablename ~ '^near'"
    with psycopg.connect(url) as connection:
        names = [name for (name,) in connection.execute(listed, (schema,)).fetchall()]
        return {
            name: len(connection.execute(f"SELECT row FROM {schema}.{name}").fetchall())
            for name in names
        }


def test_an_approximate_recall_finds_what_an_exact_recall_finds(
    store: MemoryStore, location: str
) -> None:
    seen = list[int]()
    assert store.build_vector_index(progress=lambda done, _: seen.append(done)) == len(TEXTS)
    assert seen[-1] == len(TEXTS)
    queries = ["the ferry at night", "tea by the river", "mate and pier"]
    exact = [semantic(store, query) for query in queries]
    with opened(location) as fresh:
        found = [semantic(fresh, query, approximate=True) for query in queries]
        assert engine_of(fresh).index.nbytes == 0
    assert found == exact
    assert found[0][0].explain().approximate
    assert not exact[0][0].explain().approximate
    assert found[0][0].memory.content


def test_what_changed_after_the_building_counts(store: MemoryStore) -> None:
    store.build_vector_index()
    best = semantic(store, "the ferry at night", approximate=True)[0].id
    store.update(best, content="something else entirely")
    store.forget(semantic(store, "tea by the river", approximate=True)[0].id)
    store.store("the ferry at night", id="newer")
    store.update("m9", importance=1.0)
    assert semantic(store, "the ferry at night", approximate=True)[0].id == "newer"
    for query in ("the ferry at night", "tea by the river", "something else", "pier"):
        assert semantic(store, query, approximate=True) == semantic(store, query)
    assert store.build_vector_index() == len(TEXTS)
    assert semantic(store, "pier", approximate=True) == semantic(store, "pier")


def test_a_folded_index_orders_by_decay(store: MemoryStore, monkeypatch: Any) -> None:
    monkeypatch.setattr("bethink.features.vector_indexes._LEAST_NEARBY", 20)
    decay = DecayProduct(0.3)
    store.build_vector_index(rate=0.3)
    for query in ("the ferry at night", "tea by the river"):
        exact = semantic(store, query, ranking=decay)
        found = semantic(store, query, ranking=decay, approximate=True)
        assert [each.id for each in found[:5]] == [each.id for each in exact[:5]]


def test_a_recall_counts_accesses(store: MemoryStore, location: str) -> None:
    store.build_vector_index()
    id = semantic(store, "tea", approximate=True, touch=True)[0].id
    again = semantic(store, "tea", approximate=True)[0]
    assert (again.id, again.memory.access_count) == (id, 1)
    store.snapshot("written")
    with opened(location) as other:
        found = other.get(id)
        assert found is not None
        assert found.access_count == 1


def test_an_erased_vector_leaves_the_index_at_once(store: MemoryStore, location: str) -> None:
    store.build_vector_index()
    store.update("m3", content="other words")
    store.erase("m3")
    ((table, count),) = tables(location).items()
    assert count == len(TEXTS) - 1
    url, _, schema = location.partition("?schema=")
    with psycopg.connect(url) as connection:
        held = connection.execute(f"SELECT count(*) FROM {schema}.{table} WHERE ordinal = 4")
        assert held.fetchone() == (0,)
    assert store.count() == len(TEXTS) - 1


def test_what_leaves_with_the_history_leaves_the_index(store: MemoryStore, location: str) -> None:
    store.build_vector_index()
    store.forget("m3")
    store.update("m5", content="other words")
    store.store("the last entry stays")
    assert store.compact(keep=0).records == 1
    assert list(tables(location).values()) == [len(TEXTS) - 2]
    assert semantic(store, "other words", approximate=True)[0].id == "m5"


def test_what_is_erased_during_the_building_is_not_in_the_index(
    store: MemoryStore, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = vector_indexes.PostgresVectorIndexes._switch

    def erase_before(indexes: Any, *arguments: Any) -> Any:
        store.erase("m3")
        return switch(indexes, *arguments)

    monkeypatch.setattr(vector_indexes.PostgresVectorIndexes, "_switch", erase_before)
    store.build_vector_index()
    assert list(tables(location).values()) == [len(TEXTS) - 1]


def test_an_index_takes_the_place_of_the_former(
    store: MemoryStore, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    store.build_vector_index()
    store.store("one more")
    with monkeypatch.context() as patched:
        patched.setattr(vector_indexes.PostgresVectorIndexes, "_switch", fail)
        with pytest.raises(KeyboardInterrupt):
            store.build_vector_index()
    assert len(tables(location)) == 2  # the new table without a note
    assert semantic(store, "one more", approximate=True)[0].content == "one more"
    store.store("and another")
    assert store.build_vector_index() == len(TEXTS) + 2
    assert len(tables(location)) == 1
    store.store("beside", namespace="second")
    assert store.build_vector_index("second") == 1
    assert len(tables(location)) == 2
    assert store.drop_vector_index("second")
    assert not store.drop_vector_index("second")
    assert store.drop_vector_index()
    assert tables(location) == {}
    with pytest.raises(ValidationError, match="'default' has no vector index"):
        semantic(store, "tea", approximate=True)


def test_an_index_that_is_broken_off_leaves_no_vector(
    store: MemoryStore, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(vector_indexes, "granted_rights", fail)
    with pytest.raises(KeyboardInterrupt):
        store.build_vector_index()
    assert tables(location) == {}


def test_an_index_is_built_again_without_a_write_in_between(
    store: MemoryStore, location: str
) -> None:
    store.build_vector_index()
    (former,) = tables(location)
    assert store.build_vector_index(rate=0.3) == len(TEXTS)
    assert former not in tables(location)
    assert list(tables(location).values()) == [len(TEXTS)]
    found = semantic(store, "tea", ranking=DecayProduct(0.3), approximate=True)
    assert found == semantic(store, "tea", ranking=DecayProduct(0.3))


def test_an_index_of_another_embedder_is_not_used(store: MemoryStore) -> None:
    store.build_vector_index()
    store.reembed(HashEmbedder(24))
    with pytest.raises(ValidationError, match="no vector index"):
        semantic(store, "tea", approximate=True)
    store.build_vector_index()
    assert semantic(store, "tea", approximate=True) == semantic(store, "tea")


def test_more_than_the_index_can_do_is_refused(store: MemoryStore) -> None:
    store.build_vector_index()
    ask = partial(store.recall, approximate=True, mode="semantic")
    refused: list[Callable[[], object]] = [
        lambda: ask("tea", mode="hybrid"),
        lambda: ask("tea", namespace=EVERYWHERE),
        lambda: ask("tea", where={"author": "ann"}),
        lambda: ask("tea", trusted=["ann"]),
        lambda: ask("tea", vector=("mine", [1.0])),
        lambda: ask("tea", as_of=1),
        lambda: ask(None),
    ]
    for call in refused:
        with pytest.raises(ValidationError, match="an approximate recall takes"):
            call()
    with pytest.raises(ValidationError, match="at most 1,000"):
        ask("tea", k=1_001)
    with pytest.raises(ValidationError, match="approximate must be"):
        store.recall("tea", approximate="yes")  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="rate must lie in"):
        store.build_vector_index(rate=-1)
    assert ask(" ") == []


def test_only_a_database_with_pgvector_has_indexes(location: str) -> None:
    with opened(":memory:") as file:
        file.store("tea")
        with pytest.raises(ValidationError, match="needs a Postgres database"):
            file.build_vector_index()
        with pytest.raises(ValidationError, match="no vector index"):
            semantic(file, "tea", approximate=True)
    url = location.partition("?")[0]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS without_vectors")
        connection.execute("CREATE DATABASE without_vectors")
    with opened(f"{url.rpartition('/')[0]}/without_vectors") as plain:
        plain.store("tea")
        with pytest.raises(StorageError, match="CREATE EXTENSION vector"):
            plain.build_vector_index()


@pytest.mark.parametrize("role", ["early_app", "late_app"])
def test_roles_that_write_may_recall_and_erase(
    store: MemoryStore, location: str, role: str
) -> None:
    with psycopg.connect(shared_url(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
    backend: Any = engine_of(store).backend
    steps = [lambda: backend.grant(role, "write"), store.build_vector_index]
    for step in steps if role == "early_app" else reversed(steps):
        step()
    with opened(location.replace("postgres@", f"{role}@")) as app:
        assert semantic(app, "tea", approximate=True) == semantic(store, "tea")
        app.erase("m3")
        with pytest.raises(StorageError, match="permission denied"):
            app.build_vector_index()
        with pytest.raises(StorageError, match="must be owner"):
            app.drop_vector_index()
        assert semantic(app, "tea", approximate=True) == semantic(store, "tea")
    assert list(tables(location).values()) == [len(TEXTS) - 1]


@pytest.mark.parametrize("role", ["early_tenant", "late_tenant"])
def test_a_tenant_recalls_and_erases_beside_the_indexes_of_others(location: str, role: str) -> None:
    with psycopg.connect(shared_url(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
    with opened(location) as store:
        backend: Any = engine_of(store).backend
        for name in ("ann", "bob"):
            store.store(f"tea of {name}", id=name, namespace=f"users/{name}")
        if role == "early_tenant":
            backend.grant(role, "tenant")
        for name in ("ann", "bob"):
            assert store.build_vector_index(f"users/{name}") == 1
        if role == "late_tenant":
            backend.grant(role, "tenant")
    own = location.replace("postgres@", f"{role}@")
    url, _, schema = own.partition("?schema=")
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('bethink.tenant', 'users/ann', FALSE)")
        counts = [f"SELECT count(*) FROM {schema}.{name}" for name in tables(location)]
        assert sorted(connection.execute(each).fetchall() for each in counts) == [[(0,)], [(1,)]]
    with opened(f"{own}&tenant=users/ann") as tenant:
        found = semantic(tenant, "tea", namespace="users/ann", approximate=True)
        assert [each.id for each in found] == ["ann"]
        assert tenant.erase("ann") == 1
    assert sorted(tables(location).values()) == [0, 1]


def test_a_shard_loses_its_indexes_when_it_moves(location: str) -> None:
    url = location.partition("?")[0]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS near_b")
        connection.execute("CREATE DATABASE near_b")
    servers = {"a": url, "b": f"{url.rpartition('/')[0]}/near_b"}
    with Shards(servers, schema="near", count=1, embedder=HashEmbedder(32)) as shards:
        store = shards.store_for("users/ann")
        store.store("tea", namespace="users/ann")
        store.build_vector_index("users/ann")
        assert shards.move(0, "b")
        with pytest.raises(ValidationError, match="no vector index"):
            semantic(store, "tea", namespace="users/ann", approximate=True)
        assert store.erase(namespace="users/ann") == 1
