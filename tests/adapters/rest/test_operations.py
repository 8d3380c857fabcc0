"""The operations beside those on memories, each called once and more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response

from bethink import MemoryStore

from .serving import ALL, ANN, READER, TWO, Client, client_of


def test_searches_answer_as_the_verbs_do(client: Client, store: MemoryStore) -> None:
    http = client()
    own = store.store("Use tabs in Go", category="style")
    other = store.store("The port is 80", namespace="work/net")
    hit = http.post("/v1/recall", json={"query": "tabs"}).json()["items"][0]
    assert hit["memory"] == own.to_dict()
    assert hit["score"] == pytest.approx(sum(hit["explanation"]["contributions"].values()))
    below = {"query": "port", "namespace": "work", "subtree": True, "where": {"category": None}}
    [found] = http.post("/v1/recall", json=below).json()["items"]
    assert found["memory"]["id"] == other.id
    early = {"query": "port", "as_of": "#1"}
    assert http.post("/v1/recall", json=early).json() == {"items": []}
    assert "Use tabs" in http.post("/v1/pack", json={"query": "tabs"}).json()["text"]
    assert "Use tabs" in http.get("/v1/context").json()["text"]
    why = http.post(f"/v1/memories/{own.id}/why", json={"query": "tabs", "k": 0}).json()
    assert why["reason"] == "outranked"


def test_near_duplicates_of_a_text_and_of_a_memory(client: Client, store: MemoryStore) -> None:
    texts = "Use tabs in Go", "use tabs in Go!", "Use 4 tabs in Go", "The port is 80"
    one, other, *_ = store.store_many(list(texts))
    far = store.store("Use tabs in Go", namespace="users/ann")
    http = client()
    asked = {"content": "Use tabs in Go", "namespace": "default"}
    assert similar(http.post("/v1/similar", json=asked)) == [one.id, other.id]
    path = f"/v1/memories/{one.id}/similar"
    assert similar(http.get(path)) == [far.id, other.id]
    assert similar(http.get(f"{path}?namespace=default")) == [other.id]
    assert similar(client(ANN).post("/v1/similar", json={"content": one.content})) == [far.id]
    assert client(ANN).get(path).status_code == 404


def similar(reply: Response) -> list[str]:
    items = reply.json()["items"]
    assert all(0.92 <= each["similarity"] <= 1 for each in items)
    return [each["memory"]["id"] for each in items]


def test_unknown_moment_is_not_found(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store("one")
    for moment in ("%2399", "never", "-1e13"):
        assert http.get(f"/v1/memories?as_of={moment}").status_code == 404


def test_conflict_is_listed_and_resolved(client: Client, store: MemoryStore) -> None:
    http = client()
    older = store.store("The port is 80")
    newer = store.store("The port is 90")
    [found] = http.get("/v1/conflicts").json()["items"]
    assert (found["older"]["id"], found["newer"]["id"]) == (older.id, newer.id)
    body = {"keep": newer.id, "drop": [older.id], "reason": "moved"}
    assert http.post("/v1/resolve", json=body).json() == {"count": 1}
    assert http.get("/v1/conflicts").json() == {"items": []}


def test_duplicates_are_told_before_they_are_merged(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store_many(["Use tabs in Go", "use tabs in Go"])
    assert len(http.post("/v1/consolidate", json={}).json()["items"]) == 1
    assert store.count() == 2
    http.post("/v1/consolidate", json={"dry_run": False})
    assert store.count() == 1


def test_outcomes_and_relations_are_kept(client: Client, store: MemoryStore) -> None:
    http = client()
    one, two = (each.id for each in store.store_many(["one", "two"]))
    assert http.post(f"/v1/memories/{one}/outcomes", json={"outcome": "worked"}).is_success
    assert http.post("/v1/outcomes", json={"ids": [one, two], "outcome": "useful"}).is_success
    told = http.get(f"/v1/memories/{one}/outcomes").json()["items"]
    assert [each["action"] for each in told] == ["worked", "useful"]
    link = {"target": two, "kind": "fixes"}
    assert http.put(f"/v1/memories/{one}/relations", json=link).json() == {"changed": True}
    assert http.put(f"/v1/memories/{one}/relations", json=link).json() == {"changed": False}
    [related] = http.get(f"/v1/memories/{two}/relations").json()["items"]
    assert (related["direction"], related["memory"]["id"]) == ("in", one)
    gone = http.delete(f"/v1/memories/{one}/relations", params=link)
    assert gone.json() == {"changed": True}


@pytest.mark.parametrize("body", [{}, {"where": {"category": "old"}}, {"namespace": "default"}])
def test_a_filter_forgets_live_memories_only_and_ids_forget_hidden_ones(
    client: Client, store: MemoryStore, body: dict[str, Any]
) -> None:
    http = client()
    first, second, third = (
        each.id for each in store.store_many(["one", "two", "three"], category="old")
    )
    store.archive(first)
    newest = store.store("four", supersedes=second, category="old").id

    def forget(asked: dict[str, Any]) -> int:
        told = http.post("/v1/forget", json=asked).json()
        sure = {**asked, "dry_run": False, "confirm": told["confirm"]}
        done = http.post("/v1/forget", json=sure).json()["count"]
        assert done == told["count"]
        return int(done)

    assert forget(body) == 2
    assert {each.id for each in store.all(state="forgotten")} == {third, newest}
    assert forget({**body, "ids": [first, second]}) == 2
    assert store.all(state="archived") == store.all(state="superseded") == []


def test_bulk_removal_takes_two_steps(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store_many(["one", "two"], category="old")
    kept = store.store("three")
    body = {"where": {"category": "old"}}
    for verb in ("forget", "erase"):
        told = http.post(f"/v1/{verb}", json=body).json()
        assert (told["count"], told["dry_run"]) == (2, True)
        sure = {**body, "dry_run": False}
        assert http.post(f"/v1/{verb}", json=sure).status_code == 409
        done = http.post(f"/v1/{verb}", json={**sure, "confirm": told["confirm"]}).json()
        assert (done["count"], done["confirm"]) == (2, None)
    assert [each.id for each in store.all()] == [kept.id]
    stale = http.post("/v1/forget", json={}).json()["confirm"]
    store.store("four")
    assert http.post("/v1/forget", json={"dry_run": False, "confirm": stale}).status_code == 409


@pytest.mark.parametrize(
    ("verb", "back", "state"),
    [("forget", "restore", "forgotten"), ("archive", "unarchive", "archived")],
)
def test_many_memories_are_hidden_and_brought_back(
    client: Client, store: MemoryStore, verb: str, back: str, state: Any
) -> None:
    http = client()
    ids = sorted(each.id for each in store.store_many(["one", "two", "three"]))
    before = store.all()
    assert confirmed(http, verb, {"ids": ids[:2]}) == 2
    assert sorted(each.id for each in store.all(state=state)) == ids[:2]
    assert confirmed(http, verb, {"ids": ids[:2]}) == 0
    assert confirmed(http, back, {}) == 2
    assert [each.content for each in store.all()] == [each.content for each in before]


def test_many_memories_are_tagged(client: Client, store: MemoryStore) -> None:
    http = client()
    records = store.store_many([{"content": "one", "tags": ["a", "b"]}, {"content": "two"}])
    ids = [each.id for each in records]
    body = {"ids": ids, "add": ["c", "a"], "remove": ["b"]}
    assert confirmed(http, "tags", body) == 2
    assert [each.tags for each in map(store.get, ids) if each] == [("a", "c"), ("c", "a")]
    assert confirmed(http, "tags", body) == 0
    told = http.post("/v1/tags", json={**body, "add": ["d"]}).json()
    other = {**body, "add": ["e"], "dry_run": False, "confirm": told["confirm"]}
    assert http.post("/v1/tags", json=other).status_code == 409
    assert confirmed(http, "tags", {"where": {"tags": {"$contains": "c"}}, "remove": ["c"]}) == 2
    assert http.post("/v1/tags", json={"ids": ids, "add": [""]}).status_code == 422


def test_a_key_that_is_taken_stops_a_restoring_of_many(client: Client, store: MemoryStore) -> None:
    http = client()
    gone = store.store("9:00", key="standup").id
    other = store.store("ferry").id
    store.forget([gone, other])
    store.store("10:00", key="standup")
    told = http.post("/v1/restore", json={"ids": [gone, other]}).json()
    sure = {"ids": [gone, other], "dry_run": False, "confirm": told["confirm"]}
    assert http.post("/v1/restore", json=sure).status_code == 409
    assert [each.content for each in store.all()] == ["10:00"]


def confirmed(http: Any, verb: str, body: dict[str, Any]) -> int:
    """Return the number of memories that ``verb`` changed after a dry run of the same number."""
    told = http.post(f"/v1/{verb}", json=body).json()
    sure = {**body, "dry_run": False, "confirm": told["confirm"]}
    done = http.post(f"/v1/{verb}", json=sure).json()
    assert done["count"] == told["count"]
    return int(done["count"])


def test_tidy_forgets_what_has_expired(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store("gone", expires_at=store.clock() - 1)
    told = http.post("/v1/tidy", json={}).json()
    assert (told["expired"], told["dry_run"]) == (1, True)
    body = {"dry_run": False, "confirm": told["confirm"]}
    assert http.post("/v1/tidy", json=body).json()["expired"] == 1
    assert http.post("/v1/tidy", json={"retention": 1}).json()["expired"] == 0


def test_history_is_compacted_after_a_dry_run(client: Client, store: MemoryStore) -> None:
    http = client()
    for number in range(4):
        store.store(f"The port is {number}", key="port")
    assert http.post("/v1/compact", json={}).status_code == 422
    assert http.post("/v1/compact", json={"before": "#3", "keep": 1}).status_code == 422
    told = http.post("/v1/compact", json={"before": "#3"}).json()
    assert (told["cut"], told["dry_run"], len(store.log())) == (3, True, 7)
    sure = {"before": "#3", "dry_run": False}
    assert http.post("/v1/compact", json=sure).status_code == 409
    done = http.post("/v1/compact", json=sure | {"confirm": told["confirm"]}).json()
    assert (done["entries"], done["records"]) == (told["entries"], told["records"])
    assert [each.action for each in store.log()][-1] == "base"


def test_past_is_told_and_undone(client: Client, store: MemoryStore) -> None:
    http = client()
    record = store.store("The port is 80", key="port", vectors={"v": [1.0, 2.0]})
    assert http.post("/v1/snapshots", json={"name": "before"}).status_code == 201
    assert http.post("/v1/snapshots", json={"name": "before"}).status_code == 409
    assert [each["name"] for each in http.get("/v1/snapshots").json()["items"]] == ["before"]
    store.update(record.id, importance=0.9)
    [entry, *_] = http.get(f"/v1/memories/{record.id}/history").json()["items"]
    assert entry["changes"]["importance"] == 0.9
    [change] = http.get("/v1/diff?since=before").json()["changed"]
    assert (change["before"]["importance"], change["after"]["importance"]) == (0.5, 0.9)
    assert http.post("/v1/undo", json={"seq": entry["seq"]}).json()["importance"] == 0.5
    assert http.post("/v1/undo", json={"seq": 99}).status_code == 404
    assert [each["seq"] for each in http.get("/v1/log?since=3").json()["items"]] == [4]
    [version] = http.get("/v1/facts/port").json()["items"]
    assert version["id"] == record.id
    assert http.get("/v1/facts/none").status_code == 404
    vector = http.get(f"/v1/memories/{record.id}/vectors?name=v").json()
    assert vector == {"vector": [1.0, 2.0]}


def test_thread_is_appended_read_and_cleared(client: Client, store: MemoryStore) -> None:
    http = client()
    says = [{"value": {"role": "user", "n": n}, "content": f"turn {n}"} for n in range(3)]
    for _ in range(2):
        http.post("/v1/threads/a b", json={"messages": says}, headers={"Idempotency-Key": "k"})
    assert http.get("/v1/threads").json() == {"items": ["a b"]}
    read = http.get("/v1/threads/a b?last=2").json()["items"]
    assert [each["value"]["n"] for each in read] == [1, 2]
    assert http.delete("/v1/threads/a b").json() == {"count": 3}
    assert http.get("/v1/threads/a b").json() == {"items": []}


def test_a_message_is_any_value_but_null(client: Client) -> None:
    http = client()
    values = [[1, {"n": 2}], "", 0, False, 1.5, {}]
    says = {"messages": [{"value": each} for each in values]}
    assert http.post("/v1/threads/t", json=says).status_code == 201
    read = http.get("/v1/threads/t").json()["items"]
    assert [each["value"] for each in read] == values
    assert http.post("/v1/threads/t", json={"messages": [{"value": None}]}).status_code == 422


def test_threads_and_facts_have_any_name(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store("The port is 80", key="net/port")
    assert len(http.get("/v1/facts/net%2Fport").json()["items"]) == 1
    says = {"messages": [{"value": {"n": 1}}]}
    assert http.post("/v1/threads/users%2Fann%2F1", json=says).status_code == 201
    assert http.get("/v1/threads").json() == {"items": ["users/ann/1"]}
    assert http.delete("/v1/threads/users%2Fann%2F1").json() == {"count": 1}


def test_export_comes_back_by_import_and_file_by_merge(client: Client, store: MemoryStore) -> None:
    store.store("Use tabs in Go")
    lines = client().get("/v1/export")
    assert lines.headers["content-type"].startswith("application/jsonl")
    with MemoryStore() as empty:
        there = client_of(empty)
        assert there.post("/v1/import", content=lines.content).json()["added"] == 1
        assert there.post("/v1/import", content=b"damaged").status_code == 409
        assert there.post("/v1/merge", content=b"damaged").status_code == 409
        assert [each.content for each in empty.all()] == ["Use tabs in Go"]
    small = client(max_upload=10)
    assert small.post("/v1/import", content=lines.content).status_code == 413


def test_file_is_merged(client: Client, store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with MemoryStore(path) as other:
        other.store("from elsewhere")
    assert client().post("/v1/merge", content=path.read_bytes()).json()["added"] == 1
    assert [each.content for each in store.all()] == ["from elsewhere"]


def test_state_of_file_and_server_is_told(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store("one")
    assert http.get("/v1/stats").json()["states"]["live"] == 1
    assert http.get("/v1/stats").json()["location"] == ""
    assert http.get("/v1/namespaces").json() == {"namespaces": {"default": 1}}
    assert http.post("/v1/verify").json() == {"problems": []}
    assert http.post("/v1/repair").json() == {"mended": [], "left": []}
    text = http.get("/metrics").text
    assert 'bethink_memories{state="live"} 1' in text
    assert 'bethink_requests_total{method="GET",status="200"} 3' in text


def test_summary_counts_what_a_token_sees(client: Client, store: MemoryStore) -> None:
    store.store("a", namespace="users/bob", category="fact")
    store.store("b", namespace="users/ann")
    gone = store.store("c", namespace="users/ann/work")
    store.archive(gone.id)
    told = store.stats().to_dict()
    whole = client().get("/v1/summary").json()
    assert {**whole, **whole["file"]} == told | {"file": whole["file"]}
    for token, query in ((ANN, ""), (ALL, "?namespace=users/ann&subtree=true")):
        found = client(token).get(f"/v1/summary{query}").json()
        assert (found["states"]["live"], found["states"]["archived"]) == (1, 1)
        assert found["namespaces"] == {"users/ann": 1}
        assert (found["file"] is None) is (token is ANN)


def test_tokens_tell_what_they_allow(client: Client) -> None:
    told = [client(token).get("/v1/token").json() for token in (ALL, READER, ANN)]
    assert [(each["namespaces"], each["read_only"]) for each in told] == [
        ([], False),
        ([], True),
        (["users/ann"], False),
    ]


def test_tools_of_agents_work_over_the_same_store(client: Client, store: MemoryStore) -> None:
    http = client()
    store.store("Use tabs in Go")
    call = {"name": "memory_recall", "arguments": {"query": "tabs"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    assert "Use tabs in Go" in http.post("/mcp", json=message).text
    assert http.get("/mcp").status_code == 405


def test_agents_of_a_token_with_two_namespaces_work_in_both_and_nowhere_else(
    store: MemoryStore,
) -> None:
    hidden = store.store("The safe opens with heliotrope", namespace="bank", key="safe")
    http = client_of(store, TWO)

    def call(tool: str, **arguments: Any) -> str:
        params = {"name": f"memory_{tool}", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return http.post("/mcp", json=message).text

    for place in ("users/ann/notes", "team"):
        call("store", content=f"The safe of {place}", namespace=place)
    call("store", content="The safe of nobody")
    assert "not found" in call("store", content="The safe of Bob", namespace="users/bob")
    assert store.namespaces() == {"bank": 1, "team": 2, "users/ann/notes": 1}
    for tool in ("recall", "list", "context", "history"):
        assert "heliotrope" not in call(tool, **({"query": "safe"} if tool == "recall" else {}))
    assert all(f"of {place}" in call("recall", query="safe") for place in ("team", "users"))
    for place, shown in (("users", 1), ("team", 2), ("bank", 0)):
        assert call("recall", query="safe", namespace=place).count("(id ") == shown
    for tool, more in (("get", {}), ("forget", {}), ("outcome", {"outcome": "worked"})):
        assert "heliotrope" not in call(tool, ids=[hidden.id], **more)
    assert store.get(hidden.id) == hidden


def test_the_map_puts_like_memories_close_together(store: MemoryStore) -> None:
    rooms = [f"The meeting room {n} is on the second floor" for n in range(4)]
    food = [f"Ann likes pizza with olives and cheese {n}" for n in range(4)]
    store.store_many(rooms + food, namespace="map")
    with client_of(store) as http:
        answer = http.get("/v1/map", params={"namespace": "map"})
        again = http.get("/v1/map", params={"namespace": "map"})
    told = answer.json()
    assert again.json() == told
    places = {each["content"]: each["x"] for each in told["items"]}
    assert set(places) == {*rooms, *food}
    assert all(-1 <= each[axis] <= 1 for each in told["items"] for axis in "xy")
    assert 1 >= told["shares"][0] >= told["shares"][1] > 0
    sides = {sum(places[text] > 0 for text in texts) for texts in (rooms, food)}
    assert sides == {0, 4}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_map_of_few_memories_is_a_map(store: MemoryStore, count: int) -> None:
    store.store_many(["The same text"] * count, namespace="map")
    with client_of(store) as http:
        told = http.get("/v1/map", params={"namespace": "map"}).json()
    assert [(each["x"], each["y"]) for each in told["items"]] == [(0.0, 0.0)] * count
