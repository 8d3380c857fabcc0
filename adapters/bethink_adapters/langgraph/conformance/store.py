"""Items, batches, namespaces and filters: the right behaviour of every store."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from .opening import NS, Contract, keys

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

LABELS = ("a", "A", "ab", "a/b", "a%2Fb", "a\\b", "a b", " a", "a ", "%", "/", "*", "?", "[a]", "_",
          "'", '"', "a\n", "ä", "a\u0308", "用户", "🦊", "default", "None")  # fmt: skip

DOCUMENTS: dict[str, dict[str, Any]] = {
    "one": {"n": 1, "day": "2026-01-31", "on": True, "list": ["x", "y"], "user": {"name": "Ann"}},
    "nine": {"n": 9, "day": "2026-02-01", "on": False, "list": ["x"], "user": {"name": "Bob"}},
    "ten": {"n": 10.0, "day": "2025-12-31", "on": 1, "list": [], "user": {"name": "Ann", "age": 5}},
    "none": {"other": None, "user.name": "Cid"},
}
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"n": 1}, {"one"}),
    ({"n": {"$eq": 9}}, {"nine"}),
    ({"n": 10}, {"ten"}),
    ({"n": "1"}, set()),
    ({"n": {"$gt": 1}}, {"nine", "ten"}),
    ({"n": {"$gte": 9}}, {"nine", "ten"}),
    ({"n": {"$lt": 10}}, {"one", "nine"}),
    ({"n": {"$lte": 9.0}}, {"one", "nine"}),
    ({"n": {"$gt": 1, "$lt": 10}}, {"nine"}),
    ({"n": {"$gt": 1}, "on": False}, {"nine"}),
    ({"n": {"$ne": 1}}, {"nine", "ten"}),
    ({"n": {"$gt": "0"}}, set()),
    ({"day": {"$gt": "2026-01-01"}}, {"one", "nine"}),
    ({"day": {"$lte": "2026-01-31"}}, {"one", "ten"}),
    ({"on": True}, {"one"}),
    ({"on": 1}, {"ten"}),
    ({"list": ["x"]}, {"nine"}),
    ({"list": {"$eq": ["x", "y"]}}, {"one"}),
    ({"list": {"$ne": ["x"]}}, {"one", "ten"}),
    ({"user": {"name": "Ann"}}, {"one", "ten"}),
    ({"user": {"name": "Ann", "age": {"$gt": 4}}}, {"ten"}),
    ({"user": {"$eq": {"name": "Bob"}}}, {"nine"}),
    ({"user.name": "Ann"}, {"one", "ten"}),
    ({"user.age": {"$gte": 5}}, {"ten"}),
    ({"user.name": "Cid"}, {"none"}),
    ({"nobody": {"$gt": 0}}, set()),
    ({}, {"one", "nine", "ten", "none"}),
]
VALUES: dict[str, dict[str, Any]] = {
    "empty": {},
    "null": {"a": None},
    "nested": {"a": [1, {"b": "ä🦊\x00"}], "n": 1.5, "": True},
    "large": {"n": 2**70},
}
HOSTILE = ("n') OR 1=1 --", 'n" OR "1"="1', "n'; DROP TABLE store; --", "$.n", "n\x00", "")


class StoreContract(Contract):
    """The behaviour of every store."""

    # -- items

    @pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
    def test_a_value_comes_back_as_it_was(self, store: BaseStore, value: dict[str, Any]) -> None:
        store.put(NS, "k", value)
        item = store.get(NS, "k")
        assert item is not None
        assert (item.namespace, item.key, item.value) == (NS, "k", value)

    def test_what_is_not_there_is_none(self, store: BaseStore) -> None:
        store.put(NS, "k", {"a": 1})
        assert store.get(NS, "other") is None
        assert store.get((*NS, "below"), "k") is None
        assert store.get(NS[:1], "k") is None

    @pytest.mark.parametrize("key", ["", " ", "a/b", "%", "k\x00", "k\n", "ключ", "🦊" * 50])
    def test_any_text_is_a_key(self, store: BaseStore, key: str) -> None:
        store.put(NS, "k", {"of": "another"})
        store.put(NS, key, {"of": key})
        item = store.get(NS, key)
        assert item is not None
        assert (item.key, item.value) == (key, {"of": key})
        assert sorted(keys(store.search(NS))) == sorted([key, "k"])

    def test_changing_what_was_put_or_returned_changes_nothing(self, store: BaseStore) -> None:
        value = {"list": [1]}
        store.put(NS, "k", value)
        value["list"].append(2)
        for item in (store.get(NS, "k"), *store.search(NS)):
            assert item is not None
            assert item.value == {"list": [1]}
            item.value["list"].append(3)
        assert store.search(NS)[0].value == {"list": [1]}

    def test_what_is_no_json_is_refused_or_kept(self, store: BaseStore) -> None:
        when = datetime(2026, 1, 1, tzinfo=UTC)
        try:
            store.put(NS, "k", {"when": when})
        except (TypeError, ValueError):
            assert store.get(NS, "k") is None
            return
        item = store.get(NS, "k")
        assert item is not None
        assert item.value in ({"when": when}, {"when": when.isoformat()})

    def test_an_update_keeps_when_it_was_created(self, store: BaseStore) -> None:
        store.put(NS, "k", {"n": 1})
        first = store.get(NS, "k")
        store.put(NS, "k", {"n": 2})
        second = store.get(NS, "k")
        assert first is not None
        assert second is not None
        assert second.created_at == first.created_at
        assert second.updated_at >= first.updated_at
        assert second.updated_at.tzinfo is not None

    def test_a_deleted_item_is_gone(self, store: BaseStore) -> None:
        store.put(NS, "k", {"n": 1})
        store.delete(NS, "k")
        store.delete(NS, "k")
        assert store.get(NS, "k") is None
        assert store.search(NS) == []

    # -- search without a query

    def test_the_latest_put_comes_first(self, store: BaseStore) -> None:
        for key in ("a", "b", "c", "a"):
            store.put(NS, key, {"n": 1})
        assert keys(store.search(NS)) == ["a", "c", "b"]

    def test_pages_hold_each_item_once(self, store: BaseStore) -> None:
        for number in range(7):
            store.put(NS, str(number), {"n": number, "odd": number % 2})
        pages = [store.search(NS, limit=3, offset=offset) for offset in (0, 3, 6, 9)]
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        assert sorted(key for page in pages for key in keys(page)) == list("0123456")
        assert len(store.search(NS, filter={"odd": 1}, limit=2, offset=2)) == 1
        assert store.search(NS, limit=0) == []

    @pytest.mark.parametrize("bound", ["limit", "offset"])
    def test_negative_bounds_are_refused(self, store: BaseStore, bound: str) -> None:
        store.put(NS, "k", {"n": 1})
        with pytest.raises(ValueError, match=bound):
            store.search(NS, **{bound: -1})  # type: ignore[arg-type]

    def test_a_query_needs_no_index(self, store: BaseStore) -> None:
        store.put(NS, "k", {"text": "The spare key lies under the flowerpot."})
        assert keys(store.search(NS, query="Where does the spare key lie?")) == ["k"]

    @pytest.mark.parametrize(("filter", "expected"), FILTERS, ids=[str(f) for f, _ in FILTERS])
    def test_filters(self, store: BaseStore, filter: dict[str, Any], expected: set[str]) -> None:
        for key, value in DOCUMENTS.items():
            store.put(NS, key, value)
        assert set(keys(store.search(NS, filter=filter))) == expected

    @pytest.mark.parametrize("key", HOSTILE)
    def test_a_hostile_filter_finds_nothing(self, store: BaseStore, key: str) -> None:
        store.put(NS, "k", {"n": 1})
        with suppress(ValueError):
            assert store.search(NS, filter={key: "x"}) == []
        assert store.get(NS, "k") is not None

    def test_an_unknown_operator_is_refused(self, store: BaseStore) -> None:
        store.put(NS, "k", {"n": 1})
        with pytest.raises(ValueError, match="like"):
            store.search(NS, filter={"n": {"$like": "1"}})

    # -- batches

    def test_a_batch_reads_what_was_there_before_it(self, store: BaseStore) -> None:
        from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

        store.put(NS, "old", {"n": 1})
        results = store.batch(
            [
                PutOp(NS, "new", {"n": 2}),
                GetOp(NS, "new"),
                PutOp(NS, "old", None),
                GetOp(NS, "old"),
                SearchOp(NS),
                PutOp(("teams",), "k", {"n": 3}),
                ListNamespacesOp(),
            ]
        )
        assert [results[n] for n in (0, 1, 2, 5)] == [None] * 4
        assert results[3] == store_item(results[4])
        assert results[6] == [NS]
        assert sorted(keys(store.search(()))) == ["k", "new"]

    def test_the_last_put_of_a_batch_counts(self, store: BaseStore) -> None:
        from langgraph.store.base import PutOp

        ops = [PutOp(NS, key, value) for key, value in
               (("a", {"n": 1}), ("a", {"n": 2}), ("b", {"n": 1}), ("b", None),
                ("c", None), ("c", {"n": 3}))]  # fmt: skip
        assert store.batch(ops) == [None] * 6
        assert {item.key: item.value["n"] for item in store.search(NS)} == {"a": 2, "c": 3}

    @pytest.mark.parametrize(
        "namespace", [("a.b",), ("a", ""), ("a", 1), ()], ids=["dot", "empty", "number", "none"]
    )
    def test_one_bad_put_and_nothing_is_written(self, store: BaseStore, namespace: Any) -> None:
        from langgraph.store.base import PutOp

        with pytest.raises(ValueError, match="amespace"):
            store.batch([PutOp(NS, "k", {"n": 1}), PutOp(namespace, "k", {"n": 2})])
        assert store.search(()) == []

    def test_a_batch_may_be_awaited(self, store: BaseStore) -> None:
        async def live() -> list[str]:
            await store.aput(NS, "a", {"n": 1})
            await store.aput(NS, "b", {"n": 2})
            await store.adelete(NS, "a")
            item = await store.aget(NS, "b")
            assert item is not None
            assert await store.alist_namespaces() == [NS]
            return keys(await store.asearch(NS[:1], filter={"n": item.value["n"]}))

        assert asyncio.run(live()) == ["b"]

    def test_threads_lose_nothing(self, store: BaseStore) -> None:
        def fill(user: int) -> None:
            for number in range(5):
                store.put(("users", str(user)), str(number), {"n": number})
                store.search(("users",), limit=3)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(fill, range(8)))
        assert len(store.search((), limit=100)) == 40
        assert len(store.list_namespaces()) == 8

    # -- namespaces

    def test_labels_are_matched_as_they_are(self, store: BaseStore) -> None:
        for label in LABELS:
            store.put(("x", label), "k", {"of": label})
        assert [store.search(("x", label))[0].value["of"] for label in LABELS] == list(LABELS)
        assert [len(store.search(("x", label))) for label in LABELS] == [1] * len(LABELS)
        listed = store.list_namespaces(prefix=("x",), limit=100)
        assert listed == sorted(("x", label) for label in LABELS)

    def test_a_prefix_is_whole_labels(self, store: BaseStore) -> None:
        for namespace in (("a",), ("a", "b"), ("ab",), ("b", "a")):
            store.put(namespace, "k", {"n": 1})
        assert {item.namespace for item in store.search(("a",))} == {("a",), ("a", "b")}
        assert len(store.search(())) == 4
        assert store.list_namespaces(prefix=("a",)) == [("a",), ("a", "b")]
        assert store.list_namespaces(suffix=("a",)) == [("a",), ("b", "a")]

    def test_namespaces_are_listed_by_depth_and_pattern(self, store: BaseStore) -> None:
        for path in ("a/x/1", "a/x/2", "a/y/1", "b/x/1", "b"):
            store.put(tuple(path.split("/")), "k", {"n": 1})
        assert store.list_namespaces(max_depth=2) == [("a", "x"), ("a", "y"), ("b",), ("b", "x")]
        assert store.list_namespaces(prefix=("*", "x"), suffix=("1",)) == [
            ("a", "x", "1"),
            ("b", "x", "1"),
        ]
        assert store.list_namespaces(prefix=("b", "*")) == [("b", "x", "1")]
        assert store.list_namespaces(limit=2, offset=1) == [("a", "x", "2"), ("a", "y", "1")]

    def test_only_namespaces_with_items_are_listed(self, store: BaseStore) -> None:
        store.put(NS, "k", {"n": 1})
        store.delete(NS, "k")
        store.get(("never",), "k")
        store.search(("neither",))
        assert store.list_namespaces() == []


def store_item(found: Any) -> Any:
    """Return the single found item as ``get`` does."""
    from langgraph.store.base import Item

    (item,) = found
    return Item(
        value=item.value,
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )
