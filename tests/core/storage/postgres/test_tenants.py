"""Row security: the server itself hides what belongs to other tenants."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from bethink import (
    EVERYWHERE,
    HashEmbedder,
    MemoryStore,
    NotFoundError,
    RateLimitError,
    StorageError,
    Subtree,
    ValidationError,
)
from bethink.features.outcomes import MAX_FAILURES_PER_HOUR
from bethink.index import _MIN_SAVED_ROWS as MIN_SAVED_ROWS
from bethink.storage import migrate_database
from bethink.storage.postgres.schema import TABLES
from bethink.storage.sql import backend as backends
from bethink.storage.sql import journal_reader as readers
from bethink.storage.sql import loading, where, writer

from .server import fresh_location, shared_url
from .test_pooler import PROGRAM, pooler_port

FOREIGN: Final = "zebra"
"""A word of the other tenant alone."""

OTHER_VERBS: Final = """
    archive archive_to backup build_vector_index close closed compact consolidate drift embedder
    erase expire for_source forget import_ location mark_useful mark_useless merge_from
    record_outcome reembed reinforce relate repair resolve restore roll_up snapshot store
    store_many touch unarchive undo unrelate update verify drop_vector_index
"""
"""The verbs that write, or need the whole store; ``backup`` copies by an export."""


def opened(location: str) -> MemoryStore:
    numbers = count(1)
    return MemoryStore(location, embedder=HashEmbedder(16), clock=lambda: 100.0 + next(numbers) / 8)


def at(role: str, location: str, tenant: str | None = None) -> str:
    """Return *location* for a role and a tenant."""
    own = "" if tenant is None else f"&tenant={tenant}"
    return location.replace("//postgres@", f"//{role}@") + own


@pytest.fixture
def location() -> str:
    """Return the location of a new store where the role "one_tenant" is bound to a tenant."""
    place = fresh_location()
    with psycopg.connect(shared_url(), autocommit=True) as connection:
        for role in ("one_tenant", "all_tenants"):
            found = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,))
            if found.fetchone() is None:
                connection.execute(f"CREATE ROLE {role} LOGIN")
    migrate_database(place, writers=["all_tenants"], tenant_writers=["one_tenant"])
    return place


def tell(store: MemoryStore, namespace: str, word: str) -> list[str]:
    """Store, change and link memories with *word*; return the ids."""
    first, second, third = store.store_many(
        [
            {"content": f"Ann saw a {word}", "key": "animal", "vectors": {"mine": [1.0, 2.0]}},
            {"content": f"the {word} eats grass", "tags": [word]},
            {"content": f"a {word} is striped", "author": word},
        ],
        namespace=namespace,
    )
    store.relate(first.id, second.id, word)
    store.snapshot(word)
    store.update(second.id, key=word)
    store.update(first.id, content=f"Ann saw one {word} today", vectors={"mine": [2.0, 1.0]})
    store.forget(third.id)
    store.record_outcome(second.id, "worked", session=word)
    store.store(f"Ann saw many a {word}", key="animal", namespace=namespace)
    store.recall(word, namespace=EVERYWHERE)
    store.touch([second.id])
    store.store_many(
        [f"{word} number {n}" for n in range(MIN_SAVED_ROWS)], namespace=f"{namespace}/more"
    )
    return [first.id, second.id, third.id]


def read_all(store: MemoryStore, ids: list[str]) -> dict[str, Any]:
    """Return the answer of every public verb that reads, by verb."""
    moment = store.log(limit=1)[0].at
    exported = io.StringIO()
    store.export(exported)
    past = store.as_of(moment)
    return {
        "all": [
            store.all(namespace=EVERYWHERE, state=state)
            for state in ("live", "superseded", "archived", "forgotten", "expired")
        ],
        "as_of": [
            past.all(namespace=EVERYWHERE),
            store.recall(FOREIGN, namespace=EVERYWHERE, as_of=moment),
        ],
        "audit": store.audit("animal", namespace="users/2"),
        "conflicts": store.conflicts(namespace=EVERYWHERE),
        "count": store.count(namespace=Subtree("users/2")),
        "diff": store.diff(0, moment, namespace=EVERYWHERE),
        "dimension": store.dimension("mine"),
        "entry": [told(partial(store.entry, n)) for n in range(1, moment_number(store) + 1)],
        "export": exported.getvalue(),
        "get": [store.get(id) for id in ids] + [store.get(key="animal", namespace="users/2")],
        "get_many": store.get_many(ids),
        "log": store.log(limit=None),
        "namespaces": store.namespaces(),
        "outcomes": [told(partial(store.outcomes, id)) for id in ids],
        "pack": store.pack(FOREIGN, budget_tokens=500, namespace=EVERYWHERE),
        "recall": [
            store.recall(FOREIGN, namespace=EVERYWHERE, mode=mode, k=50)
            for mode in ("hybrid", "keyword", "semantic")
        ],
        "related": [told(partial(store.related, id)) for id in ids],
        "snapshots": store.snapshots(),
        "stats": store.stats(namespace=EVERYWHERE),
        "vectors": [store.vectors(ids, "mine"), store.vectors(ids)],
        "why_not": [store.why_not(id, FOREIGN, namespace=EVERYWHERE) for id in ids],
    }


def moment_number(store: MemoryStore) -> int:
    return store.log(limit=1)[0].seq


def told(ask: Callable[[], Any]) -> Any:
    """Return the answer, None for what is not found."""
    try:
        return ask()
    except NotFoundError:
        return None


@pytest.mark.parametrize("own_conditions", [True, False], ids=["conditions", "policies alone"])
def test_no_read_returns_a_row_of_another_tenant(
    location: str, own_conditions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opened(at("one_tenant", location, "users/2"))) as other:
        hidden = tell(other, "users/2", FOREIGN)
        assert FOREIGN in str(read_all(other, hidden))
    with closing(opened(at("one_tenant", location, "users/1"))) as store:
        own = tell(store, "users/1", "horse")
        if not own_conditions:
            monkeypatch.setattr(backends, "scope_sql", lambda scope: ("TRUE", ()))
            monkeypatch.setattr(backends, "scopes_sql", lambda scopes: ("TRUE", ()))
            monkeypatch.setattr(readers, "scope_sql", lambda scope: ("TRUE", ()))
            monkeypatch.setattr(loading, "scope_sql", lambda scope: ("TRUE", ()))
            monkeypatch.setattr(where, "scope_sql", lambda scope: ("TRUE", ()))
    with closing(opened(at("one_tenant", location, "users/1"))) as store:
        found = read_all(store, [*own, *hidden])
    public = {name for name in dir(MemoryStore) if not name.startswith("_")}
    assert {*found, *OTHER_VERBS.split()} == public
    for verb, answer in found.items():
        shown = str(answer).replace(f"query={FOREIGN!r}", "")
        assert FOREIGN not in shown, verb
        assert "users/2" not in shown, verb
    assert found["get_many"][3:] == [None, None, None]
    assert [each.reason for each in found["why_not"][3:]] == ["unknown"] * 3
    assert found["vectors"][0].keys() <= set(own)
    assert "horse" in str(found)


def test_every_row_with_data_is_of_one_tenant(location: str) -> None:
    for number, word in ((1, "horse"), (2, FOREIGN)):
        with closing(opened(at("one_tenant", location, f"users/{number}"))) as store:
            tell(store, f"users/{number}", word)
    url, _, schema = location.partition("?schema=")
    shared = {"facts", "clock_steps", "erased"}  # of no memory, or known by a digest only
    for table in sorted({*TABLES} - shared):
        seen = []
        for role, tenant in (
            ("one_tenant", "users/1"),
            ("one_tenant", "users/2"),
            ("one_tenant", ""),
            ("all_tenants", ""),
        ):
            with psycopg.connect(at(role, url)) as connection:
                connection.execute("SELECT set_config('bethink.tenant', %s, FALSE)", (tenant,))
                found = connection.execute(f"SELECT t::text FROM {schema}.{table} t").fetchall()
                seen.append({text for (text,) in found})
        first, second, nobody, everything = seen
        assert first, table
        assert second, table
        assert not first & second, table
        assert (nobody, everything) == (set(), first | second), table


def test_a_tenant_changes_nothing_of_another(location: str) -> None:
    with closing(opened(at("one_tenant", location, "users/2"))) as other:
        hidden = tell(other, "users/2", FOREIGN)
        before = other.log(limit=None)
        with closing(opened(at("one_tenant", location, "users/1"))) as store:
            mine = store.store("mine", namespace="users/1").id
            for write in (
                lambda: store.update(hidden[0], content="other"),
                lambda: store.forget(hidden[1]),
                lambda: store.erase([hidden[1]]),
                lambda: store.relate(mine, hidden[1], "knows"),
                lambda: store.restore([hidden[2]]),
                lambda: store.record_outcome(hidden[1], "failed"),
            ):
                with pytest.raises(NotFoundError):
                    write()
            for namespace in ("users/2", "users/2/more", "users", "users/11", "default"):
                with pytest.raises(ValidationError, match="outside of the tenant 'users/1'"):
                    store.store("other", namespace=namespace)
            with pytest.raises(ValidationError, match="outside of the tenant"):
                store.update(mine, namespace="users/2")
            assert store.forget(namespace=EVERYWHERE) == 1
        assert other.log(limit=None) == before
    with closing(opened(location)) as owner:
        assert owner.verify().ok


def test_a_role_that_sees_every_tenant_is_bound_to_none(location: str) -> None:
    with psycopg.connect(location.partition("?")[0], autocommit=True) as connection:
        if not connection.execute("SELECT FROM pg_roles WHERE rolname = 'heir'").fetchone():
            connection.execute("CREATE ROLE heir LOGIN IN ROLE postgres")
        for role in ("postgres", "heir"):
            with pytest.raises(StorageError, match=f"the role {role} sees every tenant"):
                migrate_database(location, tenant_writers=[role])
        granted = "SELECT count(*) FROM information_schema.role_table_grants WHERE grantee = 'heir'"
        assert connection.execute(granted).fetchone() == (0,)


def test_roles_may_use_the_tables_that_an_upgrade_adds(location: str) -> None:
    _, _, schema = location.partition("?schema=")
    with psycopg.connect(location.partition("?")[0], autocommit=True) as connection:
        connection.execute(f"DROP TABLE {schema}.erased")
        connection.execute(f"UPDATE {schema}.bethink SET version = 1")
    with pytest.raises(StorageError, match="of an older version, and the role all_tenants"):
        opened(at("all_tenants", location))
    migrate_database(location)
    with closing(opened(":memory:")) as old:
        ids = [record.id for record in old.store_many(["a horse", "a cow"], namespace="users/1")]
        with closing(opened(at("all_tenants", location))) as store:
            store.merge_from(old)
            store.erase(ids)
            store.compact(keep=0)
        with closing(opened(at("one_tenant", location, "users/1"))) as store:
            assert store.merge_from(old).erased == 2
    with (
        psycopg.connect(at("one_tenant", location.partition("?")[0])) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(f"DELETE FROM {schema}.erased")


def test_a_tenant_gets_the_answers_of_a_store_of_its_own(location: str) -> None:
    numbers = {"file": count(1), "tenant": count(1)}

    def alike(location: str, name: str) -> MemoryStore:
        return MemoryStore(
            location,
            embedder=HashEmbedder(16),
            clock=lambda: 100.0,
            new_id=lambda: f"{next(numbers[name]):04d}",
        )

    with (
        closing(alike(":memory:", "file")) as alone,
        closing(alike(at("one_tenant", location, "users/1"), "tenant")) as store,
        closing(opened(at("one_tenant", location, "users/10"))) as other,
    ):
        for word in ("horse", "cow"):
            for each in (alone, store):
                tell(each, "users/1", word)
            other.store(f"a {FOREIGN} for {word}", namespace="users/10")
        asked: list[Callable[[MemoryStore], Any]] = [
            lambda each: each.recall("a striped horse", namespace=EVERYWHERE, k=9),
            lambda each: each.recall("cow", namespace=Subtree("users"), k=9, where={"tags": "cow"}),
            lambda each: each.recall("horse", namespace="users/1", k=9, as_of="cow"),
            lambda each: each.as_of("horse").all(namespace=EVERYWHERE),
            lambda each: each.diff("horse", "cow", namespace=EVERYWHERE).to_dict()["added"],
            lambda each: [
                (at.id, at.content, at.ended_by) for at in each.audit("animal", namespace="users/1")
            ],
            lambda each: each.namespaces(),
            lambda each: each.conflicts(namespace=EVERYWHERE),
        ]
        for ask in asked:
            assert ask(store) == ask(alone)


def test_a_tenant_behind_a_pooler_erases(location: str) -> None:
    place = at("one_tenant", location, "users/1") + "&pooler=transaction"
    with closing(opened(place)) as store:
        erased = store.store("Ann drinks tea", namespace="users/1")
        assert store.erase([erased.id]) == 1
        assert store.erase([erased.id]) == 0


def test_a_tenant_behind_a_pooler_counts_accesses(location: str) -> None:
    place = at("one_tenant", location, "users/1") + "&pooler=transaction"
    with closing(opened(place)) as store:
        id = store.store("Ann drinks tea", namespace="users/1").id
        store.recall("tea", namespace="users/1")
    with closing(opened(location)) as whole:
        found = whole.get(id)
        assert found is not None
        assert found.access_count == 1


def test_erased_words_leave_the_index_of_all_tenants_too(location: str) -> None:
    with (
        closing(opened(at("all_tenants", location))) as whole,
        closing(opened(at("one_tenant", location, "users/1"))) as store,
    ):
        (first, *_) = store.store_many(
            [f"{FOREIGN} {n}" for n in range(MIN_SAVED_ROWS)], namespace="users/1/more"
        )
        whole.store_many([{"content": f"word {n}", "namespace": f"users/{n}"} for n in range(200)])
        for scope in (EVERYWHERE, Subtree("users")):
            whole.recall("word", namespace=scope)
        store.erase([each.id for each in store.all(namespace=EVERYWHERE)])
        assert whole.recall(FOREIGN, namespace=EVERYWHERE, mode="keyword") == []
        url, _, schema = location.partition("?schema=")
        with psycopg.connect(url) as connection:
            for table in ("records", "journal", "segments", "vectors", "departures"):
                rows = str(connection.execute(f"SELECT t::text FROM {schema}.{table} t").fetchall())
                assert FOREIGN.encode().hex() not in rows, table
                assert FOREIGN not in rows, table
        assert first.id not in str(whole.all(namespace=EVERYWHERE))
    with closing(opened(location)) as owner:
        assert owner.verify().ok


def test_what_needs_the_whole_store_is_refused(location: str) -> None:
    with closing(opened(at("one_tenant", location, "users/1"))) as store:
        tell(store, "users/1", "horse")
        for ask in (
            store.verify,
            store.repair,
            lambda: store.compact(before="horse"),
            lambda: store.reembed(HashEmbedder(32)),
        ):
            with pytest.raises(ValidationError, match="a tenant sees a part of the store"):
                ask()


def test_a_tenant_takes_the_memories_along_with_all_history(location: str, tmp_path: Path) -> None:
    with (
        closing(opened(at("one_tenant", location, "users/1"))) as store,
        closing(opened(at("one_tenant", location, "users/2"))) as other,
    ):
        for each, number, word in ((other, 2, FOREIGN), (store, 1, "horse"), (other, 2, "cow")):
            tell(each, f"users/{number}", word)
        changed = store.store("a mare", namespace="users/1")
        store.update(changed.id, importance=0.9)
        other.store("between", namespace="users/2")
        store.undo(store.log(limit=1)[0])
        store.backup(tmp_path / "copy.db")
        with MemoryStore(tmp_path / "copy.db") as copy:
            assert copy.verify().ok
            assert copy.namespaces() == store.namespaces()
            assert copy.all(namespace=EVERYWHERE) == store.all(namespace=EVERYWHERE)
            assert [each.action for each in copy.log(limit=None)] == [
                each.action for each in store.log(limit=None)
            ]
            (undone,) = (each for each in copy.log(limit=None) if "undoes" in each.changes)
            assert copy.entry(undone.changes["undoes"]).changes["importance"] == 0.9
            assert [each.name for each in copy.snapshots()] == ["horse"]
        moved = store.archive_to(tmp_path / "old.db", namespace=Subtree("users/1"))
        assert (moved.changed, store.namespaces()) == (0, {})
        assert other.namespaces().keys() == {"users/2", "users/2/more"}
    with closing(opened(location)) as owner:
        owner.backup(tmp_path / "whole.db")
        owner.compact(keep=0)
        assert owner.verify().ok
    with MemoryStore(tmp_path / "whole.db") as whole:
        assert whole.verify().ok
        assert whole.namespaces().keys() == {"users/2", "users/2/more"}


def test_the_number_of_a_hidden_entry_names_the_moment_of_the_entry_before(location: str) -> None:
    with (
        closing(opened(at("one_tenant", location, "users/1"))) as store,
        closing(opened(at("one_tenant", location, "users/2"))) as other,
    ):
        brief = store.store("brief", namespace="users/1", expires_at=1e9)
        stored = store.log(limit=1)[0].at
        other.store("hidden", namespace="users/2")
        hidden = other.log(limit=1)[0]
        past = store.as_of(hidden.seq)
        assert (past.at, past.all(namespace=EVERYWHERE)) == (stored, [brief])


def test_a_dimension_of_another_tenants_vectors_stays(location: str) -> None:
    with (
        closing(opened(at("one_tenant", location, "users/2"))) as other,
        closing(opened(at("one_tenant", location, "users/1"))) as store,
    ):
        kept = other.store("kept", namespace="users/2", vectors={"mine": [1.0, 2.0]})
        with pytest.raises(ValidationError, match="2"):
            store.store("mine", namespace="users/1", vectors={"mine": [1.0, 2.0, 3.0]})
        assert other.vectors([kept.id], "mine")[kept.id].tolist() == [1.0, 2.0]


def test_accesses_of_all_tenants_are_thinned_by_the_owner_alone(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "EXACT_ENTRIES", 4)

    def use(store: MemoryStore, id: str) -> None:
        for _ in range(12):
            store.touch([id])
            store._engine.flush()  # each touch an entry

    with (
        closing(opened(at("one_tenant", location, "users/1"))) as first,
        closing(opened(at("one_tenant", location, "users/2"))) as second,
        closing(opened(at("all_tenants", location))) as whole,
    ):
        ids = [
            store.store("one", namespace=f"users/{number}").id
            for number, store in enumerate((first, second), 1)
        ]
        use(first, ids[0])
        use(second, ids[1])
        assert len(first.log(limit=None)) == len(second.log(limit=None)) == 13
        use(whole, ids[0])
        counts = [store.get(id) for store, id in zip((first, second), ids, strict=True)]
        assert [each and each.access_count for each in counts] == [24, 12]
        assert {} in [each.changes for each in second.log(limit=None)]  # thinned
    with closing(opened(location)) as owner:
        assert owner.verify().ok


def test_limits_of_outcomes_are_of_one_tenant(location: str) -> None:
    with (
        closing(opened(at("one_tenant", location, "users/1"))) as first,
        closing(opened(at("one_tenant", location, "users/2"))) as second,
    ):
        for number, store in enumerate((first, second), 1):
            id = store.store("one", namespace=f"users/{number}").id
            for _ in range(MAX_FAILURES_PER_HOUR):
                store.record_outcome(id, "failed", session="agent")
            with pytest.raises(RateLimitError, match="agent"):
                store.record_outcome(id, "failed", session="agent")


def test_roles_and_tenants_must_fit(location: str) -> None:
    with pytest.raises(
        StorageError, match=r"the role one_tenant sees one tenant only; add \?tenant="
    ):
        opened(at("one_tenant", location))
    for role in ("all_tenants", "postgres"):
        with pytest.raises(StorageError, match=f"the role {role} sees every tenant"):
            opened(at(role, location, "users/1"))
    with pytest.raises(ValidationError, match="namespace"):
        opened(at("one_tenant", location, "users//1"))
    with closing(opened(at("all_tenants", location))) as whole:
        whole.store("seen by all but tenants", namespace="a")
        assert whole.count(namespace="a") == 1
    with psycopg.connect(at("one_tenant", shared_url()), autocommit=True) as connection:
        schema = location.partition("?schema=")[2]
        assert connection.execute(f"SELECT FROM {schema}.records").fetchall() == []
        for view in ("memories", "history"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT FROM {schema}.{view}")


def test_owner_of_the_tables_is_no_tenant() -> None:
    place = at("owner_of_tables", fresh_location())
    with psycopg.connect(shared_url(), autocommit=True) as connection:
        connection.execute("CREATE ROLE owner_of_tables LOGIN")
        connection.execute("GRANT CREATE ON DATABASE postgres TO owner_of_tables")
    with pytest.raises(StorageError, match="the role owner_of_tables sees every tenant"):
        migrate_database(place, tenant_writers=["owner_of_tables"])
    with pytest.raises(StorageError, match="the role owner_of_tables sees every tenant"):
        opened(f"{place}&tenant=users/1")
    with closing(opened(place)) as whole:
        assert whole.store("seen by all", namespace="users/2") in whole.all(namespace="users/2")


@pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")
def test_tenants_share_the_connections_of_a_pooler(location: str) -> None:
    server = location.rpartition(":")[2].partition("/")[0]
    pooled = location.replace(f":{server}/", f":{pooler_port(int(server))}/")
    places = [at("one_tenant", pooled, f"users/{n}") + "&pooler=transaction" for n in (1, 2, 3)]
    stores = [opened(place) for place in places]
    for _ in range(3):
        for number, store in enumerate(stores, 1):
            store.store(f"word {number}", namespace=f"users/{number}")
            assert store.namespaces().keys() == {f"users/{number}"}
            found = store.recall("word", namespace=EVERYWHERE, k=9)
            assert {each.content for each in found} == {f"word {number}"}
    for store in stores:
        store.close()


def test_the_last_change_is_the_tenants_own(location: str) -> None:
    with closing(opened(at("one_tenant", location, "users/1"))) as store:
        assert store.stats().last_change is None
        store.store("Ann drinks tea", namespace="users/1")
        changed = store.stats().last_change
        assert changed == store.log(limit=1)[0].at
        with closing(opened(at("one_tenant", location, "users/2"))) as other:
            other.store("Bob drinks mate", namespace="users/2")
        assert store.stats().last_change == changed


def test_an_id_or_a_name_that_is_taken_is_refused_whoever_has_it(location: str) -> None:
    with opened(location) as whole:
        whole.store("taken", namespace="users/2", id="r1")
        whole.snapshot("monday")
    with opened(at("one_tenant", location, "users/1")) as own:
        own.store("mine", namespace="users/1", id="r2")
        for id in ("r1", "r2"):
            with pytest.raises(ValidationError, match="a record with the id exists already"):
                own.store("mine", namespace="users/1", id=id)
        own.snapshot("tuesday")
        for name in ("monday", "tuesday"):
            with pytest.raises(ValidationError, match="a snapshot with the name exists already"):
                own.snapshot(name)
        assert own.count(namespace="users/1") == 1
