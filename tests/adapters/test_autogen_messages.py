"""What AutoGen's contents and messages tell about themselves reaches the records."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("autogen_agentchat")

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.messages import HandoffMessage, MemoryQueryEvent, TextMessage
from autogen_agentchat.teams import Swarm
from autogen_core import Image
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import UserMessage
from PIL import Image as Picture

from bethink import EVERYWHERE, MemoryRecord, MemoryStore, ValidationError
from bethink_adapters.autogen import AgentMemory

from .autogen_runs import add, assistant, called, query
from .contract import FACT, QUESTION, SlowStore, cancel_in_write

TOLD = {"author": "Ann", "thread": "s1", "occurred_at": 1.7e9}


@pytest.fixture
def memory(store: MemoryStore) -> AgentMemory:
    return AgentMemory(store, namespace="default")


def content(text: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata=metadata)


def test_metadata_says_who_where_and_when(store: MemoryStore) -> None:
    memory = AgentMemory(store, namespace="default")
    asyncio.run(memory.add(content("The kiln is electric.", source_id="D1:1", **TOLD)))
    (record,) = store.all()
    assert {name: getattr(record, name) for name in TOLD} == TOLD
    assert record.metadata == {"source_id": "D1:1"}
    (found,) = asyncio.run(memory.query("kiln")).results
    assert found.metadata is not None
    assert found.metadata.items() >= {"source_id": "D1:1", **TOLD}.items()


def test_the_same_words_of_two_people_are_two_memories(store: MemoryStore) -> None:
    memory = AgentMemory(store, namespace="default")
    for author in ("Ann", "Bob", "Ann"):
        asyncio.run(memory.add(content("I like pizza.", author=author)))
    assert [record.author for record in store.all()] == ["Bob", "Ann"]


def test_content_added_again_later_is_the_newest_memory(store: MemoryStore) -> None:
    memory = AgentMemory(store, namespace="default")
    for city in ("Oslo", "Rome", "Oslo", "Oslo"):
        asyncio.run(memory.add(content(f"I live in {city}.")))
    assert [record.content[10:-1] for record in store.all()] == ["Rome", "Oslo"]
    assert len(store.all(state="superseded")) == 1


@pytest.mark.skipif("id" not in TextMessage.model_fields, reason="AutoGen 0.4 knows no ids")
def test_what_is_said_again_in_later_runs_is_recorded_again(store: MemoryStore) -> None:
    memory = AgentMemory(store, namespace="default")
    for city in ("Oslo", "Rome", "Oslo"):
        said = [("user", f"I live in {city}."), ("helper", "Noted.")]
        run = [TextMessage(content=text, source=source) for source, text in said]
        for _ in range(2):
            asyncio.run(memory.record(TaskResult(messages=run)))
    assert [record.content[10:-1] for record in store.all()][::2] == ["Oslo", "Rome", "Oslo"]


def test_outputs_of_code_and_tools_are_not_recorded(store: MemoryStore) -> None:
    said = [
        ("ann", "Run the test."),
        ("executor", "The script ran, then exited with an error (POSIX exit code: 1)\nIts output"),
        ("executor", "42"),
    ]
    run: list[Any] = [TextMessage(content=text, source=source) for source, text in said]
    assert (
        asyncio.run(AgentMemory(store, namespace="default").record(run, leave_out=["executor"]))
        == 1
    )
    assert asyncio.run(AgentMemory(store, namespace="other").record(run)) == 2


@pytest.mark.parametrize("asked", ["user", "clerk"])
def test_what_a_user_answers_to_a_hand_off_is_recorded(
    memory: AgentMemory, store: MemoryStore, asked: str
) -> None:
    answer = "The flight is LH 1234."
    handed = called(f"transfer_to_{asked}")
    agent, _ = assistant(handed, *["Booked."] * 3, memory=[], handoffs=[asked])
    clerk = UserProxyAgent("clerk", input_func=lambda prompt: answer)
    team = Swarm([agent, clerk], termination_condition=HandoffTermination("user"), max_turns=3)

    async def book() -> None:
        await memory.record(await team.run(task="Book my flight."))
        if asked == "user":
            told = HandoffMessage(content=answer, source="user", target="helper")
            await memory.record(await team.run(task=told))

    asyncio.run(book())
    assert [record.content for record in store.all()][:3] == ["Book my flight.", answer, "Booked."]


def test_what_fits_no_field_stays_in_the_metadata(store: MemoryStore) -> None:
    odd = {"author": ["Ann", "Bob"], "thread": "", "occurred_at": "noon"}
    asyncio.run(AgentMemory(store, namespace="default").add(content("We like pizza.", **odd)))
    assert store.all()[0].metadata == odd


@pytest.mark.parametrize("when", ["2024-05-01", 0])
def test_what_fits_no_field_comes_back_as_given(store: MemoryStore, when: Any) -> None:
    memory = AgentMemory(store, namespace="default")
    asyncio.run(memory.add(content("The kiln is electric.", occurred_at=when)))
    (found,) = asyncio.run(memory.query("kiln")).results
    assert (found.metadata or {})["occurred_at"] == when


def test_a_recorded_message_keeps_its_metadata(store: MemoryStore) -> None:
    message = TextMessage(content="I like pizza.", source="ann", metadata={"source_id": "D1:1"})
    asyncio.run(AgentMemory(store, namespace="default").record(TaskResult(messages=[message])))
    assert store.all()[0].metadata == {"source_id": "D1:1"}


def test_any_text_of_a_run_is_recorded(store: MemoryStore) -> None:
    odd = "pizza \udc80 " * 70_000
    message = TextMessage(content=odd, source=odd)
    memory = AgentMemory(store, namespace="default")
    for _ in range(2):
        asyncio.run(memory.record(TaskResult(messages=[message])))
    (record,) = store.all()
    assert record.content.startswith("pizza \N{REPLACEMENT CHARACTER} pizza")
    assert record.author == record.content[:1024]


def test_a_type_in_the_metadata_is_not_that_of_the_content(store: MemoryStore) -> None:
    memory = AgentMemory(store, namespace="default")
    asyncio.run(memory.add(content("The kiln is electric.", mime_type="application/pdf")))
    (found,) = asyncio.run(memory.query("kiln")).results
    assert (found.content, found.mime_type) == ("The kiln is electric.", "text/plain")


ABOUT = {"description": "a dump of the spare key"}
GIVEN: dict[str, MemoryContent] = {
    "text": content(FACT),
    "odd text": content("The spare key \udc80 is cobalt."),
    "book": content("The spare key is cobalt. " * 30_000),
    "markdown": MemoryContent(content="# Spare key", mime_type=MemoryMimeType.MARKDOWN),
    "dict": MemoryContent(content={"text": "spare key"}, mime_type=MemoryMimeType.JSON),
    "odd dict": MemoryContent(content={"spare key": "\udc80"}, mime_type=MemoryMimeType.JSON),
    "bytes": MemoryContent(content=b"\xff\0", mime_type="audio/ogg", metadata=ABOUT),
    "plain bytes": MemoryContent(content=b"hot", mime_type=MemoryMimeType.TEXT, metadata=ABOUT),
    "png": MemoryContent(content=b"\x89PNG", mime_type="image/png", metadata=ABOUT),
    "image": MemoryContent(
        content=Image(Picture.new("RGB", (2, 2))), mime_type=MemoryMimeType.IMAGE, metadata=ABOUT
    ),
}


def plain(given: MemoryContent) -> tuple[Any, ...]:
    """Return type and data of *given*; an image has no equality of its own."""
    data = given.content
    told = given.model_dump()["mime_type"]
    return told, type(data), data.to_base64() if isinstance(data, Image) else data


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_content_comes_back_as_from_the_memory_of_autogen(
    memory: AgentMemory, given: MemoryContent
) -> None:
    theirs = ListMemory()
    for each in (memory, theirs):
        add(each, given)
    (ours,) = query(memory, "spare key")
    assert plain(ours) == plain(query(theirs, "spare key")[0])
    assert "encoding" not in (ours.metadata or {})
    add(memory, given)
    assert memory.store.count(namespace=memory.namespace) == 1


@pytest.mark.parametrize("name", sorted(GIVEN.keys() - {"book"}))
def test_what_a_run_recalls_can_be_written_as_json(memory: AgentMemory, name: str) -> None:
    given = GIVEN[name]

    async def recalled() -> list[MemoryContent]:
        context = UnboundedChatCompletionContext()
        await context.add_message(UserMessage(content="Where is the spare key?", source="user"))
        return (await memory.update_context(context)).memories.results

    add(memory, given.model_copy(update={"metadata": {"odd": "\udc80", **(given.metadata or {})}}))
    results = asyncio.run(recalled())
    event = MemoryQueryEvent(content=results, source="helper")
    (again,) = MemoryQueryEvent.model_validate(json.loads(event.model_dump_json())).content
    (shown,) = results
    assert again.metadata == shown.metadata
    if isinstance(given.content, bytes):
        written = base64.b64encode(given.content).decode()
        assert (again.content, (again.metadata or {})["encoding"]) == (written, "base64")
    elif isinstance(given.content, Image):
        assert plain(shown) == plain(given)
    else:
        assert again.content == shown.content


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_text_is_passed_over(memory: AgentMemory, blank: str) -> None:
    add(memory, content(blank), FACT)
    assert [record.content for record in memory.store.all(namespace=EVERYWHERE)] == [FACT]


def test_any_author_and_thread_are_taken(memory: AgentMemory, store: MemoryStore) -> None:
    add(memory, content(FACT, author="Ann \udc80", thread="t" * 2000))
    (record,) = store.all()
    assert (record.author, record.thread) == ("Ann \N{REPLACEMENT CHARACTER}", "t" * 1024)


def test_the_values_of_other_programs_break_no_query(
    memory: AgentMemory, store: MemoryStore
) -> None:
    for value in ("no base64!", {"a": 1}, ["b"], None):
        store.store(FACT, value=value, metadata={"mime_type": "text/html"})
    assert {found.content for found in query(memory, QUESTION)} == {FACT}


def test_any_text_is_a_question(store: MemoryStore) -> None:
    memory = AgentMemory(store, namespace="default")
    asyncio.run(memory.add(content("The kiln is electric.")))
    (found,) = asyncio.run(memory.query("kiln \udc80 " * 90_000)).results
    assert found.content == "The kiln is electric."


def test_a_time_without_a_zone_is_utc(store: MemoryStore) -> None:
    memory, noon = AgentMemory(store, namespace="default"), datetime(2026, 5, 1, 12)
    asyncio.run(memory.add(content("The kiln is electric.", occurred_at=noon)))
    try:
        message = TextMessage(content="I like pizza.", source="ann", created_at=noon)
    except TypeError:  # AutoGen 0.4 knows no times
        message = TextMessage(content="I like pizza.", source="ann")
    asyncio.run(memory.record(TaskResult(messages=[message])))
    said = store.all()[0]
    assert said.occurred_at == noon.replace(tzinfo=UTC).timestamp()
    assert not hasattr(message, "created_at") or store.all()[1].occurred_at == said.occurred_at


def test_what_was_cleared_is_not_back_by_an_add_that_was_cancelled() -> None:
    async def clearing(slow: SlowStore) -> None:
        memory = AgentMemory(slow, namespace="default")
        await cancel_in_write(slow, memory.add(content("Pizza.")), memory.clear())

    with SlowStore() as slow:
        asyncio.run(clearing(slow))
        assert slow.count() == 0


class ForgetfulStore(MemoryStore):
    """A real store that a parallel call empties right after the next list."""

    is_next = False

    def all(self, *args: Any, **kwargs: Any) -> list[MemoryRecord]:
        found = super().all(*args, **kwargs)
        if self.is_next:
            self.is_next = False
            self.forget([record.id for record in found])
        return found


def test_what_a_parallel_call_takes_away_is_added_anew() -> None:
    with ForgetfulStore() as store:
        memory = AgentMemory(store, namespace="default")
        add(memory, content("Pizza.", said="once"))
        store.is_next = True
        add(memory, content("Pizza.", said="twice"))
        assert [each.metadata for each in store.all()] == [{"said": "twice"}]


@pytest.mark.parametrize(
    "given", ["What is it?", None, [{"content": "x"}], TextMessage(content="x", source="ann")]
)
def test_a_record_of_no_run_is_refused(store: MemoryStore, given: Any) -> None:
    memory = AgentMemory(store, namespace="ann")
    with pytest.raises(ValidationError, match="record takes a TaskResult or a list of messages"):
        asyncio.run(memory.record(given))
