"""Memories over HTTP: store, read, change, forget, list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from bethink import MemoryStore
from bethink.model.filters import COLUMNS, ORDERINGS, RELATIONS
from bethink.model.records import Common
from bethink.testing import FrozenClock
from bethink_adapters.rest import filters, models

from .serving import ANN, Client, client_of


def test_stored_memory_is_read_back_with_tag_and_place(client: Client) -> None:
    http = client()
    made = http.post("/v1/memories", json={"content": "Use tabs in Go", "tags": ["style"]})
    assert made.status_code == 201
    read = http.get(made.headers["location"])
    assert read.json()["tags"] == ["style"]
    assert read.headers["etag"] == made.headers["etag"]
    assert read.headers["cache-control"] == "no-store"


def test_unchanged_memory_is_not_sent_again(client: Client, store: MemoryStore) -> None:
    http = client()
    record = store.store("Use tabs in Go")
    tag = http.get(f"/v1/memories/{record.id}").headers["etag"]
    again = http.get(f"/v1/memories/{record.id}", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    store.update(record.id, importance=0.9)
    assert http.get(f"/v1/memories/{record.id}", headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", W/{}', "*"])
def test_a_tag_of_a_proxy_is_compared_weakly(client: Client, store: MemoryStore, form: str) -> None:
    http = client()
    address = f"/v1/memories/{store.store('one').id}"
    tag = http.get(address).headers["etag"]
    assert http.get(address, headers={"If-None-Match": form.format(tag)}).status_code == 304
    assert http.get(address, headers={"If-None-Match": 'W/"other"'}).status_code == 200
    weak = {"If-Match": f"W/{tag}"}
    assert http.patch(address, json={"importance": 0.9}, headers=weak).status_code == 412


def test_one_of_many_updates_of_a_version_succeeds(client: Client, store: MemoryStore) -> None:
    http = client()
    record = store.store("The port is 80")
    tag = http.get(f"/v1/memories/{record.id}").headers["etag"]

    def change(number: int) -> int:
        return http.patch(
            f"/v1/memories/{record.id}",
            json={"content": f"The port is {number}"},
            headers={"If-Match": tag},
        ).status_code

    with ThreadPoolExecutor(8) as pool:
        found = sorted(pool.map(change, range(8)))
    assert found == [200] + [412] * 7
    assert len(store.log(id=record.id)) == 2


def test_memory_changed_since_is_not_forgotten(client: Client, store: MemoryStore) -> None:
    http = client()
    record = store.store("The port is 80")
    tag = http.get(f"/v1/memories/{record.id}").headers["etag"]
    store.update(record.id, content="The port is 90")
    address = f"/v1/memories/{record.id}"
    assert http.delete(address, headers={"If-Match": tag}).status_code == 412
    tag = http.get(address).headers["etag"]
    assert http.delete(address, headers={"If-Match": tag}).status_code == 204
    assert http.get(address).status_code == 404
    assert http.post(f"{address}/restore").json() == {"count": 1}


def test_accesses_leave_the_tag_alone(client: Client, store: MemoryStore) -> None:
    http = client()
    record = store.store("The port is 80")
    tag = http.get(f"/v1/memories/{record.id}").headers["etag"]
    store.touch(record.id)
    assert http.get(f"/v1/memories/{record.id}").headers["etag"] == tag


def test_repeated_key_stores_once_also_after_a_restart(client: Client, store: MemoryStore) -> None:
    headers = {"Idempotency-Key": "a1"}
    body = {"content": "Use tabs in Go"}
    first = client().post("/v1/memories", json=body, headers=headers)
    again = client().post("/v1/memories", json=body, headers=headers)
    assert first.json() == again.json()
    assert store.count() == 1
    other = client().post("/v1/memories", json={"content": "Else"}, headers=headers)
    assert other.status_code == 409


def test_repeated_key_counts_an_outcome_once(client: Client, store: MemoryStore) -> None:
    http = client()
    id = store.store("Use tabs in Go").id
    for _ in range(2):
        reply = http.post(
            f"/v1/memories/{id}/outcomes",
            json={"outcome": "worked"},
            headers={"Idempotency-Key": "b2"},
        )
        assert reply.json()["outcome"] == 0.2
    assert len(store.outcomes(id)) == 1
    changed = http.post(
        f"/v1/memories/{id}/outcomes",
        json={"outcome": "failed"},
        headers={"Idempotency-Key": "b2"},
    )
    assert changed.status_code == 409


def test_repeated_key_changes_and_forgets_once(client: Client, store: MemoryStore) -> None:
    """A repetition after a lost answer is no second change, so If-Match holds once."""
    http = client()
    id = store.store("The port is 80").id
    tag = http.get(f"/v1/memories/{id}").headers["etag"]
    for key, method, status in (("c", "PATCH", 200), ("d", "DELETE", 204)):
        headers = {"Idempotency-Key": key, "If-Match": tag}
        for _ in range(2):
            reply = http.request(
                method,
                f"/v1/memories/{id}",
                headers=headers,
                json={"importance": 0.9} if method == "PATCH" else None,
            )
            assert reply.status_code == status
        tag = reply.headers.get("etag", "")
    assert [each.action for each in store.log()] == ["forget", "update", "store"]


def test_batch_is_stored_whole_or_not_at_all(client: Client, store: MemoryStore) -> None:
    http = client()
    items = [{"content": "one", "id": None}, {"content": "two", "namespace": "users/ann"}]
    made = http.post("/v1/memories/batch", json={"items": items}, headers={"Idempotency-Key": "k"})
    again = client().post(
        "/v1/memories/batch", json={"items": items}, headers={"Idempotency-Key": "k"}
    )
    assert made.json() == again.json()
    ids = [each["id"] for each in made.json()["items"]]
    assert ids == sorted(ids)
    gone = {"items": [{"content": "three"}], "forget": ["none"]}
    assert http.post("/v1/memories/batch", json=gone).status_code == 404
    assert store.namespaces() == {"default": 1, "users/ann": 1}


def test_memories_are_read_by_ids_and_counted(client: Client, store: MemoryStore) -> None:
    http = client()
    one = store.store("one", namespace="users/ann", category="fact")
    two = store.store("two", namespace="users/bob")
    asked = {"ids": [two.id, "none", one.id]}
    assert http.post("/v1/get", json=asked).json()["items"] == [two.to_dict(), None, one.to_dict()]
    assert client(ANN).post("/v1/get", json=asked).json()["items"] == [None, None, one.to_dict()]
    assert http.post("/v1/get", json=asked | {"as_of": "#1"}).json()["items"][0] is None
    for query, count in (("", 2), ('?where={"category":"fact"}', 1), ("?as_of=%231", 1)):
        assert http.get(f"/v1/count{query}").json() == {"count": count}
    assert http.get("/v1/count?namespace=users&subtree=true").json() == {"count": 2}
    assert client(ANN).get("/v1/count").json() == {"count": 1}


def test_pages_hold_each_memory_once_while_others_write(tmp_path: Path) -> None:
    """Of 2,400 memories none is missed or repeated; none of 200 newcomers is shown."""
    with MemoryStore(tmp_path / "m.db") as store, MemoryStore(tmp_path / "m.db") as other:
        stored = store.store_many([f"memory {number}" for number in range(2_400)])
        http, seen = client_of(store), list[str]()
        for number, page in enumerate(pages(http, limit=40)):
            seen += [each["id"] for each in page]
            if number < 50:
                other.store_many([f"late {number} {each}" for each in range(4)])
                other.forget([stored[number].id, stored[-number - 1].id])
        assert seen == [each.id for each in reversed(stored)]
        assert store.count() == 2_400 + 200 - 100
        lines = http.get("/v1/memories.jsonl").text.splitlines()
        shown = [each["id"] for page in pages(http, limit=40) for each in page]
        assert [json.loads(line)["id"] for line in lines] == shown
        assert shown == [each.id for each in store.all(order="newest")]


def test_pages_hold_each_memory_once_while_memories_expire() -> None:
    """Memory 2 is gone before the first page, memory 0 expires between the pages."""
    clock = FrozenClock()
    with MemoryStore(clock=clock) as store:
        for number in range(6):
            expires_at = {2: clock() + 5, 0: clock() + 15}.get(number)
            store.store(f"memory {number}", expires_at=expires_at)
        clock.advance(10)
        found = pages(client_of(store), limit=2)
        first = next(found)
        clock.advance(10)
        shown = [each["content"] for page in (first, *found) for each in page]
        assert shown == [f"memory {number}" for number in (5, 4, 3, 1, 0)]


def pages(http: TestClient, **query: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the memories of each page of a listing."""
    page = http.get("/v1/memories", params=query).json()
    yield page["items"]
    while page["next"] is not None:
        page = http.get("/v1/memories", params=query | {"cursor": page["next"]}).json()
        yield page["items"]


@pytest.mark.parametrize("state", ["superseded", "archived", "forgotten"])
def test_hidden_memories_come_on_pages(client: Client, store: MemoryStore, state: str) -> None:
    http = client()
    old = store.store_many(["one", "two", "three"])
    if state == "superseded":
        for each in old:
            store.store(f"new {each.content}", supersedes=each.id)
    else:
        (store.archive if state == "archived" else store.forget)([each.id for each in old])
    query: dict[str, Any] = {"state": state, "order": "oldest", "limit": 2}
    first = http.get("/v1/memories", params=query).json()
    second = http.get("/v1/memories", params={**query, "cursor": first["next"]}).json()
    found = [each["content"] for each in (*first["items"], *second["items"])]
    assert (found, second["next"]) == (["one", "two", "three"], None)


def test_a_listing_begins_at_an_offset(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store_many(["one", "two", "three", "four"])
    page = http.get("/v1/memories?order=oldest&limit=2&offset=1").json()
    assert [each["content"] for each in page["items"]] == ["two", "three"]
    following = {"order": "oldest", "limit": 2, "cursor": page["next"]}
    [last] = http.get("/v1/memories", params=following).json()["items"]
    assert last["content"] == "four"


def test_a_listing_filters_by_a_part_of_the_text(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store_many(["The ferry leaves at six", "The bus waits"])
    where = '{"content": {"$contains_any": ["Ferry", "ferry"]}}'
    for query in ("", "&as_of=%232"):
        [found] = http.get(f"/v1/memories?where={where}{query}").json()["items"]
        assert found["content"] == "The ferry leaves at six"
    assert http.get(f"/v1/count?where={where}").json() == {"count": 1}


def test_cursor_of_a_different_listing_is_not_found(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store_many(["one", "two", "three"])
    cursor = http.get("/v1/memories?limit=1").json()["next"]
    assert http.get(f"/v1/memories?cursor={cursor}").status_code == 200
    assert http.get(f"/v1/memories?order=oldest&cursor={cursor}").status_code == 404
    assert http.get("/v1/memories?cursor=x").status_code == 404


def test_listing_filters_by_field_state_and_moment(client: Client, store: MemoryStore) -> None:
    http = client()
    old = store.store("old", tags=["a"])
    store.archive(old.id)
    store.store("new", category="decision")

    def listed(query: str) -> list[str]:
        return [each["content"] for each in http.get(f"/v1/memories?{query}").json()["items"]]

    assert listed("") == ["new"]
    assert listed("state=archived") == ["old"]
    assert listed("as_of=%231") == ["old"]
    assert listed('where={"category":{"$in":["decision"]}}') == ["new"]
    assert listed('where={"$not":{"category":"decision"}}') == []
    assert http.get('/v1/memories?where={"nope":1}').status_code == 422


SEARCHES = ("$contains", "$contains_any")
NO_RELATIONS = {
    *(("tags", order) for order in ORDERINGS),
    *((field, find) for field in ("importance", "occurred_at") for find in SEARCHES),
}


# Inner module: the names of the fields are stated there alone.
def test_every_field_of_a_memory_is_taken() -> None:
    assert set(models.Common.model_fields) == Common.__annotations__.keys() - {"namespace"}
    assert set(filters.Where.model_fields) == {*COLUMNS, "tags", "every", "some", "opposite"}


# Inner module: the names of the operators are stated there alone.
@pytest.mark.parametrize(
    ("field", "operator"),
    [
        (field, operator)
        for field in ("author", "importance", "occurred_at", "tags", "metadata.n")
        for operator in (*RELATIONS, "$not")
        if (field, operator) not in NO_RELATIONS
    ],
)
def test_every_operator_of_a_filter_is_taken(
    client: Client, store: MemoryStore, field: str, operator: str
) -> None:
    http = client()
    for number in range(3):
        store.store(
            f"note {number}",
            author=f"a{number}",
            importance=number / 2,
            occurred_at=float(number),
            tags=[f"t{number}"],
            metadata={"n": number},
        )
    operands = {"author": "a1", "importance": 0.5, "occurred_at": 1.0, "tags": "t1"}
    operand = True if operator == "$exists" else operands.get(field, 1)
    if operator in ("$in", "$nin", "$contains_any"):
        operand = [operand]
    wheres = [{field: {operator: operand}}]
    if operator == "$not":
        inner = "$contains" if field == "tags" else "$gt"
        wheres.append({field: {operator: {inner: operands.get(field, 1)}}})
    for where in wheres:
        answer = http.get("/v1/memories", params={"where": json.dumps(where)})
        assert answer.status_code == 200, answer.text
        found = [each["id"] for each in answer.json()["items"]]
        assert found == [each.id for each in store.all(where=where, order="newest")]


@pytest.mark.parametrize(
    "where",
    [
        {"value": [1, {"n": 2}]},
        {"value.n": []},
        {"value.n": {}},
        {"metadata.at": {"port": 1}},
        {"metadata.at": {"$eq": {"port": 1}}},
        {"metadata.at": {"$not": {"port": 1}}},
        {"value.n": {"$not": []}},
        {"value": {"$in": [[1, {"n": 2}], 2**53 + 1]}},
        {"value": {"$contains": {"n": 2}}},
        {"value": 2**53 + 1},
        {"tags": ["a", "b"]},
        {"$or": [{"value": {"$ne": []}}, {"tags": []}]},
    ],
)
def test_a_filter_takes_any_value(client: Client, store: MemoryStore, where: Any) -> None:
    values: list[Any] = [[1, {"n": 2}], {"n": []}, {"n": {}}, 2**53, 2**53 + 1, None]
    for number, value in enumerate(values):
        tags, at = ["a", "b"][:number], {"port": number}
        store.store(f"note {number}", value=value, tags=tags, metadata={"at": at})
    http = client()
    answer = http.get("/v1/memories", params={"where": json.dumps(where)})
    assert answer.status_code == 200, answer.text
    found = [each["id"] for each in answer.json()["items"]]
    assert found == [each.id for each in store.all(where=where, order="newest")]
    assert 0 < len(found) < len(values)


def test_memory_is_archived_unarchived_and_reinforced(client: Client, store: MemoryStore) -> None:
    http = client()
    address = f"/v1/memories/{store.store('Use tabs').id}"
    assert http.post(f"{address}/archive").json() == {"count": 1}
    assert http.post(f"{address}/unarchive").json() == {"count": 1}
    assert http.post(f"{address}/reinforce", json={"amount": 0.2}).json()["importance"] == 0.7


def test_writes_of_another_process_are_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as served, MemoryStore(path) as other:
        http = client_of(served)
        assert http.post("/v1/recall", json={"query": "tabs"}).json() == {"items": []}
        other.store("Use tabs in Go")
        hits = http.post("/v1/recall", json={"query": "tabs"}).json()["items"]
        assert [hit["memory"]["content"] for hit in hits] == ["Use tabs in Go"]


@pytest.mark.parametrize("id", ["Ā ?#", "a/b", "a/history", "/", "%2F", "a%2Fb+c"])
def test_any_id_makes_an_address(client: Client, id: str) -> None:
    http = client()
    made = http.post("/v1/memories", json={"content": "named", "id": id})
    assert made.status_code == 201
    address = made.headers["location"]
    assert http.get(address).json()["id"] == id
    assert http.patch(address, json={"importance": 0.9}).json()["importance"] == 0.9
    assert len(http.get(f"{address}/history").json()["items"]) == 2
    assert http.delete(address).status_code == 204
    assert http.get(address).json()["instance"] == address


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"importance": {"$foo": 1}}, "unknown operator '$foo'; known: $eq, $ne"),
        ({"author": {"eq": "Ann"}}, "unknown operator 'eq'; use '$eq'"),
        ({"$and": [{"metadata.a": {"$ge": 1}}]}, "unknown operator '$ge'"),
        ({"occurred_at": {"$after": 1}}, "unknown operator '$after'"),
    ],
)
def test_an_unknown_operator_is_named(client: Client, where: dict[str, Any], said: str) -> None:
    reply = client().post("/v1/recall", json={"query": "tea", "where": where})
    assert reply.status_code == 422
    assert said in reply.json()["detail"]
