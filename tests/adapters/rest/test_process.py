"""A server in a process of its own: events, resuming, stopping, and being killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from bethink import MemoryStore
from bethink_adapters.rest.settings import MAX_STREAMS

from .process import served


def events(reply: httpx.Response) -> Iterator[dict[str, Any]]:
    """Yield the data of each event as it comes."""
    for line in reply.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_stream_tells_changes_of_all_processes_and_resumes_without_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with served(tmp_path) as server, server.client() as http, MemoryStore(path) as other:
        with http.stream("GET", "/v1/events", params={"since": 0}) as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            stream = events(reply)
            first = other.store("told by another process")
            assert next(stream)["id"] == first.id
            made = http.post("/v1/memories", json={"content": "by the server"})
            last = next(stream)
            assert (last["id"], last["action"]) == (made.json()["id"], "store")
            assert last.keys() == {"seq", "at", "id", "namespace", "action"}
        missed = [other.store(f"missed {number}").id for number in range(3)]
        headers = {"Last-Event-ID": str(last["seq"])}
        with http.stream("GET", "/v1/events", headers=headers) as reply:
            stream = events(reply)
            assert [next(stream)["id"] for _ in missed] == missed


def test_many_readers_hear_of_every_change_and_one_more_is_refused(tmp_path: Path) -> None:
    heard = list[int]()
    with served(tmp_path) as server:
        ready = threading.Barrier(MAX_STREAMS + 1)

        def listen() -> None:
            with server.client() as http, http.stream("GET", "/v1/events?since=0") as reply:
                ready.wait(30)
                stream = events(reply)
                heard.append(sum(next(stream)["seq"] for _ in range(20)))

        threads = [threading.Thread(target=listen) for _ in range(MAX_STREAMS)]
        for each in threads:
            each.start()
        ready.wait(30)
        with server.client() as http:
            refused = http.get("/v1/events?since=0")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            for number in range(20):
                http.post("/v1/memories", json={"content": f"memory {number}"})
        for each in threads:
            each.join(30)
    assert heard == [sum(range(1, 21))] * MAX_STREAMS


def test_killed_server_has_lost_nothing_acknowledged(tmp_path: Path) -> None:
    acknowledged = list[str]()
    with served(tmp_path) as server:
        enough = threading.Event()

        def store() -> None:
            with server.client() as http:
                try:
                    while True:
                        reply = http.post("/v1/memories", json={"content": "said"})
                        acknowledged.append(reply.json()["id"])
                        if len(acknowledged) > 60:
                            enough.set()
                except httpx.TransportError:
                    return

        threads = [threading.Thread(target=store) for _ in range(4)]
        for each in threads:
            each.start()
        assert enough.wait(60)
        server.process.kill()
        for each in threads:
            each.join(30)
    with MemoryStore(tmp_path / "m.db") as kept:
        assert None not in kept.get_many(acknowledged)
        assert kept.verify().ok


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_stopped_server_ends_its_streams_and_leaves_well(
    tmp_path: Path, sent: signal.Signals
) -> None:
    with served(tmp_path) as server, server.client() as http:
        made = http.post("/v1/memories", json={"content": "kept"}).json()
        http.post("/v1/recall", json={"query": "kept", "touch": True})
        with http.stream("GET", "/v1/events?since=0") as reply:
            stream = events(reply)
            next(stream)
            server.process.send_signal(sent)
            assert list(stream) == []
        try:
            server.process.wait(20)
        except subprocess.TimeoutExpired:
            raise AssertionError("the server did not stop") from None
        assert server.process.returncode == 0
    assert not (tmp_path / "m.db-wal").exists()
    with MemoryStore(tmp_path / "m.db") as store:
        assert store[made["id"]].access_count == 1


def test_read_only_server_refuses_writes(tmp_path: Path) -> None:
    with served(tmp_path, "--read-only") as server, server.client() as http:
        assert http.post("/v1/memories", json={"content": "x"}).status_code == 403
        assert http.post("/v1/recall", json={"query": "x"}).json() == {"items": []}


def test_browser_opens_with_the_token_in_the_fragment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    os.mkfifo(opened)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with served(tmp_path, "--open") as server:
        assert opened.read_text().strip() == f"{server.address}#token={server.token}"
