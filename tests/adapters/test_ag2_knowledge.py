"""The knowledge of agents of AG2 itself, with its scripted model, beside its own store."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ag2.assembly")

from ag2 import Agent, KnowledgeConfig
from ag2.events import ToolCallEvent
from ag2.knowledge import (
    EventLogWriter,
    KnowledgeStore,
    MemoryKnowledgeStore,
    NoopChangeSubscription,
)
from ag2.network import Hub, HubClient, LocalLink, Passport, Resume
from ag2.testing import TestConfig
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import MemoryStore, ValidationError
from bethink.features.files import path_of
from bethink_adapters.ag2 import BethinkKnowledgeStore

from .contract import SlowFiles, SlowStore, cancel_in_write

EXAMPLE = Path(__file__).parents[2] / "examples" / "ag2_knowledge.py"
APPENDING = """
import asyncio, sys
from bethink import MemoryStore
from bethink_adapters.ag2 import BethinkKnowledgeStore

async def main(location, name):
    with MemoryStore(location) as store:
        files = BethinkKnowledgeStore(store)
        for n in range(20):
            line = f"{name} {n} é\\n"
            print(await files.append("/log/wal.jsonl", line), line, end="")

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def location(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture
def store(location: str) -> Iterator[MemoryStore]:
    with MemoryStore(location, durability="normal") as store:
        yield store


@pytest.fixture
def files(store: MemoryStore) -> BethinkKnowledgeStore:
    return BethinkKnowledgeStore(store)


def asked(files: KnowledgeStore, *replies: str | ToolCallEvent, times: int = 1) -> Any:
    """Ask an agent with this knowledge *times* in one conversation; return the last reply."""

    async def ask() -> Any:
        agent = Agent("ann", config=TestConfig(*replies), knowledge=KnowledgeConfig(store=files))
        reply = await agent.ask("Where is the cobalt flowerpot?")
        for _ in range(times - 1):
            reply = await reply.ask("And then?")
        return reply

    return asyncio.run(ask())


# -- as AG2's own store does


PATHS = st.sampled_from(["/a", "a/", "//log//x.jsonl", "/log/y", "/log", "/memory/b/c.md", "/", ""])
TEXTS = st.sampled_from(["", "é", "x\n", "\n", "line\n" * 300, "ü" * 1025])
CALLS = st.one_of(
    st.tuples(st.sampled_from(["write", "append"]), PATHS, TEXTS),
    st.tuples(st.sampled_from(["read", "list", "delete"]), PATHS),
    st.tuples(st.just("read_range"), PATHS, st.integers(0, 9), st.none() | st.integers(0, 2000)),
)


async def outcome(files: KnowledgeStore, verb: str, *arguments: Any) -> Any:
    try:
        return await getattr(files, verb)(*arguments)
    except UnicodeDecodeError:
        return "within a character"


def is_taken(path: str, known: Sequence[str]) -> bool:
    """Tell whether a file and a folder would have one place, as AG2's store in memory allows."""
    name = "/" + "/".join(filter(None, path.split("/")))
    return name == "/" or any(
        f"{one}/".startswith(f"{other}/")
        for each in known
        for one, other in ((name, each), (each, name))
        if one != other
    )


@settings(max_examples=60)
@given(calls=st.lists(CALLS, max_size=12))
def test_the_answers_are_those_of_the_store_that_ag2_ships(calls: list[tuple[Any, ...]]) -> None:
    async def compare(ours: KnowledgeStore, theirs: MemoryKnowledgeStore) -> None:
        for verb, path, *rest in calls:
            if verb in ("write", "append") and is_taken(path, list(theirs._data)):
                with pytest.raises(ValidationError):
                    await getattr(ours, verb)(path, *rest)
            else:
                told = await outcome(ours, verb, path, *rest)
                assert told == await outcome(theirs, verb, path, *rest), (verb, path)
            if path.strip("/"):
                assert await ours.exists(path) == await theirs.exists(path)

    with MemoryStore() as store:
        asyncio.run(compare(BethinkKnowledgeStore(store), MemoryKnowledgeStore()))


def test_it_is_a_knowledge_store_that_has_to_be_polled(files: BethinkKnowledgeStore) -> None:
    async def subscribe() -> None:
        changes = await files.on_change("/", asyncio.sleep)  # type: ignore[arg-type]
        assert isinstance(changes, NoopChangeSubscription)
        await changes.close()

    assert isinstance(files, KnowledgeStore)
    asyncio.run(subscribe())


@pytest.mark.parametrize(
    "path", ["/../x", "/a/./b", "/%2e%2e/x", "/a\\b", "/a\0", "/\u202ex", "/ a"]
)
def test_a_path_that_leads_out_is_refused(files: BethinkKnowledgeStore, path: str) -> None:
    async def try_all() -> None:
        for call in (files.write(path, "x"), files.append(path, "x"), files.read(path),
                     files.delete(path), files.read_range(path, 0)):  # fmt: skip
            with pytest.raises(ValidationError):
                await call

    asyncio.run(try_all())
    assert files.files.store.log() == []


# -- in agents


def test_an_agent_logs_what_was_said_and_recall_finds_it(
    store: MemoryStore, files: BethinkKnowledgeStore
) -> None:
    reply = asked(files, "On the sill.", "Water it.", times=2)
    path = f"/log/{reply.context.stream.id}.jsonl"
    (hit,) = store.recall("Where is the flowerpot?", namespace="knowledge", k=1)
    assert path_of(hit.memory) == path
    logged = asyncio.run(EventLogWriter(files).load(reply.context.stream.id))
    texts = [part.content for each in logged for part in getattr(each, "parts", [each])]
    assert texts == ["Where is the cobalt flowerpot?", "On the sill.", "And then?", "Water it."]


def test_a_log_that_grows_writes_only_what_came(
    store: MemoryStore, files: BethinkKnowledgeStore
) -> None:
    asked(files, *("A long answer. " * 100 for _ in range(6)), times=6)
    entries = store.log(limit=None)
    written = sum(len(str(entry.changes.get("content", ""))) for entry in entries)
    there = sum(len(record.content) for record in store.all(namespace="knowledge"))
    assert there < written < 1.5 * there


def test_the_model_reads_and_writes_its_files(files: BethinkKnowledgeStore) -> None:
    note = {"action": "write", "path": "memory/working.md", "content": "Ann likes tea."}
    asked(files, ToolCallEvent("knowledge", arguments=json.dumps(note)), "Noted.")
    assert asyncio.run(files.read("/memory/working.md")) == "Ann likes tea."
    assert asyncio.run(files.list("/memory")) == ["SKILL.md", "working.md"]


def test_namespaces_know_nothing_of_each_other(store: MemoryStore) -> None:
    async def write() -> None:
        ann, bob = (BethinkKnowledgeStore(store, namespace=f"users/{name}") for name in "ab")
        await ann.append("/log/x", "Ann's line.\n")
        assert (await bob.read("/log/x"), await bob.list("/"), await bob.exists("/log")) == (
            *(None, []),
            False,
        )
        await bob.delete("/")
        assert await ann.read("/log/x") == "Ann's line.\n"
        await ann.delete("/")
        assert await ann.list() == []

    asyncio.run(write())


def test_a_network_of_agents_goes_on_from_its_log(
    store: MemoryStore, files: BethinkKnowledgeStore
) -> None:
    async def main() -> None:
        hub = await Hub.open(files)
        client = HubClient(LocalLink(hub), hub=hub)
        ann, _ = [
            await client.register(
                Agent(name, config=TestConfig("Aye.")), Passport(name=name), Resume()
            )
            for name in ("ann", "bob")
        ]
        channel = await ann.open(type="conversation", target="bob")
        await channel.send("Where is the cobalt flowerpot?")
        said = await hub.read_wal(channel.channel_id)
        await hub.close()
        hub = await Hub.open(files)
        assert (await hub.read_wal(channel.channel_id))[: len(said)] == said != []
        await hub.close()
        (hit,) = store.recall("flowerpot", namespace="knowledge", k=1)
        assert path_of(hit.memory) == f"/channels/{channel.channel_id}/wal.jsonl"

    asyncio.run(main())


# -- at once, and much


def assert_all_there(text: str, told: Sequence[tuple[int, str]]) -> None:
    """Check that the lines lie one after the other where they are said to."""
    assert text == "".join(line for _, line in sorted(told))
    for begin, line in told:
        assert text.encode()[begin:].startswith(line.encode())


def test_twenty_tasks_lose_no_line(files: BethinkKnowledgeStore) -> None:
    async def append(n: int) -> list[tuple[int, str]]:
        lines = [f"task {n} {m} é\n" for m in range(5)]
        return [(await files.append("/log/wal.jsonl", line), line) for line in lines]

    async def main() -> None:
        parts = await asyncio.gather(*map(append, range(20)))
        text = await files.read("/log/wal.jsonl")
        assert_all_there(text or "", [each for part in parts for each in part])

    asyncio.run(main())


def test_processes_lose_no_line(files: BethinkKnowledgeStore, location: str) -> None:
    command = [sys.executable, "-c", APPENDING, location]
    others = [subprocess.Popen([*command, name], stdout=subprocess.PIPE) for name in "xy"]
    printed = [other.communicate()[0].decode() for other in others]
    assert [other.returncode for other in others] == [0, 0]
    lines = [line.split(" ", 1) for part in printed for line in part.splitlines(keepends=True)]
    text = asyncio.run(files.read("/log/wal.jsonl"))
    assert len(lines) == 40
    assert_all_there(text or "", [(int(begin), line) for begin, line in lines])


def test_a_log_may_be_longer_than_any_record(
    store: MemoryStore, files: BethinkKnowledgeStore
) -> None:
    line = (
        json.dumps({"type": "message", "text": "Nothing of note happened on deck. " * 200}) + "\n"
    )

    async def main() -> None:
        ends = [await files.append("/log/wal.jsonl", line) for _ in range(90)]
        assert ends == [n * len(line) for n in range(90)]
        told = await files.append("/log/wal.jsonl", '{"text": "A cobalt whale was seen."}\n')
        assert told > 600_000
        assert "whale" in await files.read_range("/log/wal.jsonl", told)
        assert len(await files.read("/log/wal.jsonl") or "") == told + 37

    asyncio.run(main())
    (hit,) = store.recall("Who saw a whale?", namespace="knowledge", k=1)
    assert hit.memory.content == '{"text": "A cobalt whale was seen."}\n'


def test_a_cancelled_append_is_waited_for() -> None:
    async def appending(slow: SlowStore) -> str | None:
        files = BethinkKnowledgeStore(slow)
        files.files = SlowFiles(slow)
        await cancel_in_write(slow, files.append("/log/x", "old "), files.append("/log/x", "new"))
        return await files.read("/log/x")

    with SlowStore() as slow:
        assert asyncio.run(appending(slow)) == "old new"


def test_the_example_finds_the_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("Found: Her sister Bea is allergic to hazelnuts.\n")
