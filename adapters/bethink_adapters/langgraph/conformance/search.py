"""Search by an index configuration: the right behaviour of a store with vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from .opening import NS, Contract, keys

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

WORDS = ("red", "green", "blue", "car", "apple", "house", "sky", "sea")


def embed(texts: list[str]) -> list[list[float]]:
    """Count the known words of each text: cosines can be computed by hand.

    The last number keeps every vector from being zero.
    """
    return [[*(float(text.split().count(word)) for word in WORDS), 0.01] for text in texts]


def cosine(one: str, other: str) -> float:
    """Return the cosine of two texts."""
    a, b = embed([one, other])
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


class SearchContract(Contract):
    """The behaviour of a store opened with ``index={"dims", "embed", "fields"}``."""

    def indexed(self, *fields: str) -> Any:
        """Open a store that searches by *fields*."""
        index = {"dims": len(WORDS) + 1, "embed": embed, "fields": list(fields)}
        return self.open(index=index)

    def test_the_nearest_comes_first_with_its_cosine(self) -> None:
        with self.indexed("text") as store:
            texts = {"a": "red car", "b": "red red apple", "c": "blue sky", "d": "green house"}
            for key, text in texts.items():
                store.put(NS, key, {"text": text})
            found = store.search(NS, query="red apple")
        assert keys(found[:2]) == ["b", "a"]
        assert len(found) == 4
        assert [item.score for item in found] == [
            pytest.approx(cosine("red apple", texts[item.key]), abs=1e-3) for item in found
        ]

    def test_the_best_of_several_vectors_counts(self) -> None:
        with self.indexed("title", "parts[*].text") as store:
            parts = [{"text": text} for text in ("blue sky", "blue sea", "blue house")]
            store.put(NS, "many", {"title": "green", "parts": parts})
            store.put(NS, "two", {"title": "red", "parts": [{"text": "blue"}]})
            store.put(NS, "one", {"title": "blue car"})
            assert keys(store.search(NS, query="blue", limit=2)) == ["two", "many"]
            assert sorted(keys(store.search(NS, query="blue sea sky", limit=3))) == [
                *("many", "one", "two")
            ]

    def test_pages_continue_each_other(self) -> None:
        with self.indexed("text", "more") as store:
            for number in range(20):
                text = " ".join(["red"] * number + ["car"])
                store.put(NS, f"{number:02d}", {"text": text, "more": f"{text} sea"})
            store.put(NS, "plain", {"text": "red"}, index=False)
            whole = keys(store.search(NS, query="red", limit=100))
            pages = [store.search(NS, query="red", limit=4, offset=4 * n) for n in range(7)]
        assert [key for page in pages for key in keys(page)] == whole
        assert whole == [*(f"{number:02d}" for number in range(19, -1, -1)), "plain"]

    def test_what_has_no_vector_comes_last(self) -> None:
        with self.indexed("text") as store:
            store.put(NS, "far", {"text": "blue sky"})
            for number in range(5):
                store.put(NS, f"none{number}", {"text": "red"}, index=False)
            store.put(NS, "near", {"text": "red"})
            found = store.search(NS, query="red")
            pages = [store.search(NS, query="red", limit=2, offset=2 * n) for n in range(4)]
        assert keys(found)[:2] == ["near", "far"]
        assert [item.score for item in found[2:]] == [None] * 5
        assert sorted(key for page in pages for key in keys(page)) == sorted(keys(found))

    def test_the_same_text_may_stand_twice(self) -> None:
        from langgraph.store.base import PutOp

        with self.indexed("title", "text") as store:
            same = {"title": "red car", "text": "red car"}
            store.batch([PutOp(NS, "a", same), PutOp(NS, "b", same)])
            assert sorted(keys(store.search(NS, query="red"))) == ["a", "b"]

    def test_an_update_leaves_no_old_vector(self) -> None:
        with self.indexed("title", "text") as store:
            store.put(NS, "k", {"title": "blue", "text": "red car"})
            store.put(NS, "k", {"title": "blue"})
            (item,) = store.search(NS, query="red car")
            assert item.score == pytest.approx(cosine("red car", "blue"), abs=1e-3)
            store.put(NS, "k", {"title": "blue"}, index=False)
            (item,) = store.search(NS, query="blue")
            assert item.score is None

    def test_a_put_may_name_its_own_fields(self) -> None:
        with self.indexed("title") as store:
            value = {"title": "blue", "deep": {"list": [{"text": "red"}, {"text": "green"}]}}
            store.put(NS, "own", value, index=["deep.list[*].text"])
            store.put(NS, "configured", value)
            found = store.search(NS, query="green")
        assert keys(found) == ["own", "configured"]
        assert found[0].score == pytest.approx(1.0, abs=1e-3)
        assert found[1].score == pytest.approx(cosine("green", "blue"), abs=1e-3)

    def test_the_whole_value_is_searched_without_fields(self) -> None:
        with self.open(index={"dims": len(WORDS) + 1, "embed": embed}) as store:
            store.put(NS, "a", {"note": " red car "})
            store.put(NS, "b", {"note": " blue sky "})
            assert keys(store.search(NS, query="red car")) == ["a", "b"]

    def test_filters_come_before_the_ranking(self) -> None:
        with self.indexed("text") as store:
            for number in range(30):
                store.put(NS, f"red{number}", {"text": "red", "kind": "x"})
            store.put(NS, "blue", {"text": "blue", "kind": "y"})
            assert keys(store.search(NS, query="red", filter={"kind": "y"})) == ["blue"]
            assert len(store.search(NS, query="red", filter={"kind": "x"}, limit=30)) == 30

    def test_other_namespaces_do_not_push_items_out(self) -> None:
        with self.indexed("text") as store:
            for number in range(30):
                store.put(("users", "bob"), str(number), {"text": "red car"})
            store.put(NS, "k", {"text": "blue sky"})
            found = store.search(NS, query="red car", limit=3)
        assert [(item.namespace, item.key) for item in found] == [(NS, "k")]

    def test_an_empty_query_lists(self, store: BaseStore) -> None:
        store.put(NS, "k", {"text": "red"})
        assert keys(store.search(NS, query="")) == ["k"]
