"""The memory service against Google ADK itself, with a scripted model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import unicodedata
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import pytest

pytest.importorskip("google.adk.memory")

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.adk.workflow import Workflow
from google.genai.types import Content, FunctionCall, Part, Transcription
from pydantic import PrivateAttr

from bethink import EVERYWHERE, MemoryStore, ValidationError
from bethink_adapters.google_adk import MemoryService

from .contract import AdapterContract, GatedStore, SlowStore, cancel_at_gate, cancel_in_write

pytestmark = pytest.mark.filterwarnings("ignore")

needs_rewinds = pytest.mark.skipif(
    "rewind_before_invocation_id" not in EventActions.model_fields, reason="rewinds came later"
)
needs_node_paths = pytest.mark.skipif(
    version("google-adk").split(".")[:2] in [["2", str(minor)] for minor in range(11)],
    reason="inputs of nodes got paths in 2.11",
)
EXAMPLE = Path(__file__).parents[2] / "examples" / "google_adk_agent.py"


class Scripted(BaseLlm):
    """A model that always answers the same and notes what it is asked."""

    model: str = "scripted"
    reply: str = ""
    _prompts: list[str] = PrivateAttr(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        told = str(llm_request.config.system_instruction)  # where ADK 2.0 shows memories
        self._prompts.append("\n".join([told, *(part.text or "" for part in parts)]))
        if self.reply == "!":
            raise RuntimeError("no network")
        yield LlmResponse(content=Content(role="model", parts=[Part(text=self.reply)]))


def said(text: str, id: str = "e1", author: str = "user", at: float = 5.0, **more: Any) -> Event:
    content = Content(role="user", parts=[Part(text=text)])
    return Event(id=id, author=author, timestamp=at, content=content, invocation_id="i", **more)


def session(*events: Event, id: str = "s1", app: str = "app", user: str = "ann") -> Session:
    return Session(id=id, app_name=app, user_id=user, events=list(events), last_update_time=1.0)


def taken_in(store: MemoryStore, *sessions: Session) -> MemoryService:
    service = MemoryService(store)
    for each in sessions:
        asyncio.run(service.add_session_to_memory(each))
    return service


def found(
    service: MemoryService, query: str, app: str = "app", user: str = "ann"
) -> list[MemoryEntry]:
    answer = asyncio.run(service.search_memory(app_name=app, user_id=user, query=query))
    return list(answer.memories)


def texts(entries: Sequence[MemoryEntry]) -> list[str]:
    return [part.text or "" for entry in entries for part in entry.content.parts or []]


def test_it_passes_for_a_memory_service(store: MemoryStore) -> None:
    assert isinstance(MemoryService(store), BaseMemoryService)


def test_what_a_session_said_is_found_with_its_author_and_time(store: MemoryStore) -> None:
    service = taken_in(store, session(said("I like to code in Python.", at=86400.0)))
    (entry,) = found(service, "python")
    assert texts([entry]) == ["I like to code in Python."]
    assert (entry.id, entry.author) == ("e1", "user")
    assert entry.timestamp == "1970-01-02T00:00:00+00:00"


def test_events_that_say_nothing_are_left_out(store: MemoryStore) -> None:
    silent = Event(id="e2", author="user", timestamp=1.0, invocation_id="i")
    called = Event(
        id="e3",
        author="model",
        timestamp=1.0,
        invocation_id="i",
        content=Content(parts=[Part(function_call=FunctionCall(name="f", args={}))]),
    )
    thought = said("Hm, Python.", "e4")
    assert thought.content
    assert thought.content.parts
    thought.content.parts[0].thought = True
    service = taken_in(store, session(said("Python."), silent, called, thought))
    assert [entry.id for entry in found(service, "Python")] == ["e1"]


def test_what_was_heard_is_taken_in_by_who_said_it(store: MemoryStore) -> None:
    def heard(id: str, **words: Any) -> Event:
        return Event(id=id, author="helper", timestamp=5.0, invocation_id="i", **words)

    question, answer = "What is my parrot called?", "Quetzal, you said."
    talk = session(
        heard("e1", input_transcription=Transcription(text=question, finished=True)),
        heard("e2", output_transcription=Transcription(text="Quet"), partial=True),
        heard("e3", output_transcription=Transcription(text=answer, finished=True)),
        heard("e4", output_transcription=Transcription()),
    )
    entries = found(taken_in(store, talk), "parrot Quetzal")
    assert store.count(namespace=EVERYWHERE) == 2
    told = {entry.author: texts([entry]) for entry in entries}
    assert told == {"user": [question], "helper": [answer]}


def test_a_session_may_be_taken_in_again_and_again(store: MemoryStore) -> None:
    first, second = said("My parrot is called Quetzal."), said("It eats seeds.", "e2")
    service = taken_in(store, session(first), session(first, second), session(first, second))
    assert store.count(namespace=EVERYWHERE) == 2
    asyncio.run(service.add_events_to_memory(app_name="app", user_id="ann", events=[first]))
    assert store.count(namespace=EVERYWHERE) == 2


def test_what_was_deleted_is_not_taken_in_again(store: MemoryStore) -> None:
    talk = session(said("My pin is 1234."))
    service = taken_in(store, talk)
    where: Any = {"app_name": "app", "user_id": "ann"}
    asyncio.run(service.delete_memory(**where, memory_id="e1"))
    asyncio.run(service.delete_memory(**where, memory_id="unknown"))
    asyncio.run(service.delete_memory(**where))
    asyncio.run(service.add_session_to_memory(talk))
    assert found(service, "pin") == []


def test_memories_of_ones_own_are_kept_and_replaced_by_id(store: MemoryStore) -> None:
    service = MemoryService(store)
    for number, text in enumerate(("Ann takes milk.", "Ann takes oat milk.")):
        entry = MemoryEntry(
            id="milk",
            content=Content(parts=[Part(text=text)]),
            author="ann",
            timestamp=f"2026-0{number + 1}-01T12:00:00+02:00",
            custom_metadata={"n": number},
        )
        other = {"source": "form", "n": -1}
        asyncio.run(
            service.add_memory(
                app_name="app", user_id="ann", memories=[entry], custom_metadata=other
            )
        )
    (kept,) = found(service, "milk")
    assert texts([kept]) == ["Ann takes oat milk."]
    assert kept.timestamp == "2026-02-01T10:00:00+00:00"
    assert kept.custom_metadata == {"n": 1, "source": "form"}


def test_the_id_that_a_search_gave_replaces_a_memory(store: MemoryStore) -> None:
    service, id = MemoryService(store), None
    for text in ("Ann takes milk.", "Ann takes oat milk."):
        entry = MemoryEntry(id=id, content=Content(parts=[Part(text=text)]))
        asyncio.run(service.add_memory(app_name="app", user_id="ann", memories=[entry]))
        (kept,) = found(service, "milk")
        id = kept.id
    assert texts([kept]) == ["Ann takes oat milk."]


@pytest.mark.parametrize("by_event", [True, False])
def test_times_and_uuids_in_metadata_become_texts(store: MemoryStore, by_event: bool) -> None:
    service, at = MemoryService(store), datetime(2026, 3, 1, 9, tzinfo=UTC)
    given: dict[str, Any] = {"at": at, "ids": [UUID(int=7)]}
    if by_event:
        event = said("Ann takes oat milk.")
        writing = service.add_events_to_memory(
            app_name="app", user_id="ann", events=[event], custom_metadata=given
        )
    else:
        content = Content(parts=[Part(text="Ann takes oat milk.")])
        entry = MemoryEntry(content=content, custom_metadata=given)
        writing = service.add_memory(app_name="app", user_id="ann", memories=[entry])
    asyncio.run(writing)
    (kept,) = found(service, "milk")
    assert kept.custom_metadata == {"at": at.isoformat(), "ids": [str(UUID(int=7))]}


def test_deleting_a_memory_without_an_id_deletes_nothing(store: MemoryStore) -> None:
    service = MemoryService(store)
    store.store("Ann takes milk.", namespace=service.namespace_of("app", "ann"))
    asyncio.run(service.delete_memory(app_name="app", user_id="ann"))
    assert found(service, "milk")


def test_a_cancelled_call_does_not_bring_back_what_was_deleted() -> None:
    async def deleting(slow: SlowStore) -> None:
        memory = MemoryService(slow)
        ann: Any = {"app_name": "app", "user_id": "ann"}
        entry = MemoryEntry(id="1", content=Content(parts=[Part(text="Old.")]))
        add = memory.add_memory(**ann, memories=[entry])
        await cancel_in_write(slow, add, memory.delete_memory(**ann, memory_id="1"))

    with SlowStore() as slow:
        asyncio.run(deleting(slow))
        assert not slow.count(namespace=EVERYWHERE)


def test_a_memory_whose_time_is_no_iso_time_is_remembered(store: MemoryStore) -> None:
    service = MemoryService(store)
    entries = [
        MemoryEntry(content=Content(parts=[Part(text=f"Oat milk, {told}.")]), timestamp=told)
        for told in ("last Tuesday", "", "0001-01-01T00:00:00+14:00")
    ]
    asyncio.run(service.add_memory(app_name="app", user_id="ann", memories=entries))
    assert len(found(service, "oat milk")) == 3


def test_a_memory_beyond_the_calendar_is_found_without_a_time(store: MemoryStore) -> None:
    service = MemoryService(store)
    store.store("Oat milk.", namespace=service.namespace_of("app", "ann"), occurred_at=1e12)
    (entry,) = found(service, "oat milk")
    assert entry.timestamp is None


def test_a_search_returns_words_alone(store: MemoryStore) -> None:
    event = said("My parrot.")
    assert event.content
    assert event.content.parts
    event.content.parts += [
        Part(text="She asks about parrots.", thought=True),
        Part(function_call=FunctionCall(name="parrots", args={})),
        Part.from_bytes(data=b"\x89PNG" * 10_000, mime_type="image/png"),
    ]
    (entry,) = found(taken_in(store, session(event)), "parrot")
    assert entry.content == Content(role="user", parts=[Part(text="My parrot.")])
    assert len(repr(store.all(namespace=EVERYWHERE))) < 2_000


def test_partial_events_are_no_memories_and_a_later_state_supersedes(store: MemoryStore) -> None:
    service = MemoryService(store)
    for text, partial in (
        *(("The", True), ("The parrot", None), ("The parrot eats mango.", False)),
        ("The parrot eats mango.", False),
    ):
        event = said(text, "e1", author="helper", partial=partial)
        add = service.add_events_to_memory(
            app_name="app", user_id="ann", events=[event], session_id="s1"
        )
        asyncio.run(add)
    assert texts(found(service, "parrot")) == ["The parrot eats mango."]
    assert store.count(namespace=EVERYWHERE, where={}) == 1


def test_one_event_id_in_two_sessions_is_two_memories(store: MemoryStore) -> None:
    one, other = session(said("My cat.")), session(said("My dog."), id="s2")
    assert len(found(taken_in(store, one, other), "my cat dog")) == 2


@pytest.mark.parametrize("id", ["", " ", "\n", "用户", "x" * 3000])
def test_any_text_is_the_id_of_an_event_and_of_a_session(store: MemoryStore, id: str) -> None:
    talk = session(said("My cat.", id), said("My dog.", id + "2" if id else ""), id=id)
    service = taken_in(store, talk, talk)
    assert sorted(texts(found(service, "my cat dog"))) == ["My cat.", "My dog."]


def rewound(to: str, at: float) -> Event:
    actions = EventActions(rewind_before_invocation_id=to)
    return Event(id="r", author="user", timestamp=at, invocation_id="rewinding", actions=actions)


def turn(number: int, text: str) -> Event:
    event = said(text, f"e{number}", at=float(number))
    event.invocation_id = f"i{number}"
    return event


@needs_rewinds
@pytest.mark.parametrize("whole", [True, False])
def test_rewound_turns_are_forgotten(store: MemoryStore, whole: bool) -> None:
    first, second = turn(1, "My cat."), turn(2, "My dog.")
    service = taken_in(store, session(first, second))
    again = [rewound("i2", 3.0), turn(4, "My bird.")]
    new = [first, second, *again] if whole else again
    for _ in range(2):
        asyncio.run(service.add_session_to_memory(session(*new)))
    assert sorted(texts(found(service, "my cat dog bird"))) == ["My bird.", "My cat."]


@needs_rewinds
@pytest.mark.parametrize("given", [[1, 3], [1], []], ids=["all", "some", "none"])
def test_a_rewind_without_a_session_forgets_the_rewound_turns_alone(
    store: MemoryStore, given: list[int]
) -> None:
    service = MemoryService(store)
    place: dict[str, Any] = {"app_name": "app", "user_id": "ann"}
    events = [turn(n, f"My {pet}.") for n, pet in enumerate(("cat", "dog", "bird", "cow", "hen"))]
    for unnamed in events[2:]:
        unnamed.invocation_id = ""

    async def add() -> None:
        for event in events:
            await service.add_events_to_memory(**place, events=[event])
        entry = MemoryEntry(content=Content(parts=[Part(text="My fish.")]), timestamp="2001-01-01")
        await service.add_memory(**place, memories=[entry])
        rewinding = [*(events[n] for n in given), rewound("i1", 3e9)]
        await service.add_events_to_memory(**place, events=rewinding)

    asyncio.run(add())
    gone = {"My dog.", *(f"My {pet}." for pet in ["cow"] if 3 in given)}
    kept = {*(f"My {pet}." for pet in ("cat", "bird", "cow", "hen", "fish"))} - gone
    assert {record.content for record in store.all(namespace="adk/app/ann")} == kept


def test_a_text_that_was_said_often_takes_one_place(store: MemoryStore) -> None:
    often = [session(said("I want to order a pizza.", id=f"e{n}"), id=f"s{n}") for n in range(12)]
    milk = session(said("No cheese on a pizza, I am allergic to milk.", id="m"), id="m")
    entries = texts(found(taken_in(store, milk, *often), "Please order a pizza for me"))
    assert [text[:6] for text in entries] == ["I want", "No che"]


@needs_rewinds
def test_a_rewind_to_an_erased_turn_forgets_the_later_turns(store: MemoryStore) -> None:
    events = [turn(1, "My cat."), turn(2, "My dog."), turn(3, "My bird.")]
    service = taken_in(store, session(*events))
    store.erase(namespace=EVERYWHERE, where={"occurred_at": 2.0})
    asyncio.run(service.add_session_to_memory(session(*events, rewound("i2", 4.0))))
    assert texts(found(service, "my cat dog bird")) == ["My cat."]


@needs_rewinds
def test_a_turn_that_the_runner_rewound_is_forgotten(store: MemoryStore) -> None:
    memory, sessions = MemoryService(store), InMemorySessionService()
    agent = LlmAgent(name="helper", model=Scripted(reply="Noted."))
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memory)

    async def talk() -> None:
        for text in ("My cat is grey.", "My dog is black."):
            await runner.run_debug(text, user_id="ann", session_id="s", quiet=True)
        where: Any = {"app_name": "app", "user_id": "ann", "session_id": "s"}
        held = await sessions.get_session(**where)
        assert held
        await memory.add_session_to_memory(held)
        last = [event for event in held.events if event.author == "user"][-1]
        await runner.rewind_async(
            user_id="ann", session_id="s", rewind_before_invocation_id=last.invocation_id
        )
        held = await sessions.get_session(**where)
        assert held
        await memory.add_session_to_memory(held)

    asyncio.run(talk())
    kept = store.all(namespace=EVERYWHERE)
    assert [record.content for record in kept] == ["My cat is grey.", "Noted."]


@pytest.mark.parametrize("erase", [False, True])
def test_deleting_forgets_or_erases_as_the_service_is_told(tmp_path: Path, erase: bool) -> None:
    path = tmp_path / "memory.db"
    talk = session(said("My pin is 4711."))
    with MemoryStore(path) as store:
        service = MemoryService(store, erase=erase)
        asyncio.run(service.add_session_to_memory(talk))
        delete = service.delete_memory(app_name="app", user_id="ann", memory_id="e1")
        asyncio.run(delete)
        asyncio.run(service.add_session_to_memory(talk))
        assert found(service, "pin") == []
    assert (b"4711" in path.read_bytes()) is not erase


def test_what_others_store_about_a_user_is_found_by_its_text(store: MemoryStore) -> None:
    service = MemoryService(store)
    place = service.namespace_of("app", "ann")
    store.store("Ann likes tea.", value={"drink": "tea"}, namespace=place)
    store.store("Ann likes green tea.", value={}, namespace=place)
    memories = found(service, "tea")
    assert sorted(texts(memories)) == ["Ann likes green tea.", "Ann likes tea."]
    for each in memories:
        asyncio.run(service.delete_memory(app_name="app", user_id="ann", memory_id=each.id))
    assert found(service, "tea") == []


def test_what_was_corrected_in_the_store_is_found_as_corrected(store: MemoryStore) -> None:
    service = taken_in(store, session(said("My parrot is called Polly.")))
    (record,) = store.all(namespace=EVERYWHERE)
    store.update(record.id, content="My parrot is called Quetzal.")
    assert texts(found(service, "parrot")) == ["My parrot is called Quetzal."]


def test_no_two_users_of_no_two_apps_share_a_namespace(store: MemoryStore) -> None:
    service = taken_in(store, session(said("A secret."), app="app/other-user", user="user"))
    assert found(service, "secret", "app", "other-user/user") == []
    assert texts(found(service, "secret", "app/other-user", "user")) == ["A secret."]


def test_the_more_words_the_better(store: MemoryStore) -> None:
    told = ("The deploy is ready.", "Ready.", "The deploy status is ready.")
    events = [said(text, f"e{number}") for number, text in enumerate(told)]
    assert texts(found(taken_in(store, session(*events)), "deploy status ready")) == [
        "The deploy status is ready.",
        "The deploy is ready.",
        "Ready.",
    ]


def test_a_word_that_is_everywhere_does_not_return_everything(store: MemoryStore) -> None:
    events = [said(f"note {number} about work", f"e{number}") for number in range(20)]
    events.append(said("the backlog note about work", "backlog"))
    service = taken_in(store, session(*events))
    assert len(found(service, "note about the backlog")) == 10
    assert found(service, "note about the backlog")[0].id == "backlog"


def test_a_query_of_nothing_finds_nothing(store: MemoryStore) -> None:
    service = taken_in(store, session(said("Anything.")))
    assert found(service, "") == found(service, " ") == found(service, "nonexistent") == []


@pytest.mark.parametrize("query", ["parrot \ud83e", "parrot " * 80_000], ids=["broken", "long"])
def test_any_text_is_a_query(store: MemoryStore, query: str) -> None:
    service = taken_in(store, session(said("My parrot is called Quetzal.")))
    assert texts(found(service, query)) == ["My parrot is called Quetzal."]


MIXED = "私はPythonでADKを使っています"
CAFE = "私はCaféでADKを使っています"


@pytest.mark.parametrize(
    ("text", "query", "is_found"),
    [
        ("私の名前は太郎です", "太郎", True),
        ("私の名前は太郎です", "天気", False),
        ("我喜欢机器学习", "机器学习", True),
        ("我喜欢机器学习", "天气预报", False),
        ("제 이름은 민수입니다", "민수입니다", True),
        ("Меня зовут Алексей", "Алексей", True),
        ("太郎 works at ABC Corp", "太郎", True),
        ("太郎 works at ABC Corp", "ABC", True),
        (MIXED, "Python", True),
        (MIXED, "adk", True),
        ("我用Python写代码", "python", True),
        (MIXED, "使って", True),
        (MIXED, "Java", False),
        ("I like to code in Python.", "thon", False),
        (MIXED, "thon", False),
        (unicodedata.normalize("NFD", CAFE), "Café", True),
        (unicodedata.normalize("NFD", CAFE), "café", True),
        (unicodedata.normalize("NFD", CAFE), "Ruby", False),
        (unicodedata.normalize("NFD", "Meet at the Café"), "Café", True),
        ("Meet at the Café", unicodedata.normalize("NFD", "Café"), True),
        (unicodedata.normalize("NFD", "プログラミングを学ぶ"), "プログラミング", True),
        (unicodedata.normalize("NFD", "제 이름은 민수입니다"), "민수입니다", True),
    ],
)
def test_every_script_is_searched(
    store: MemoryStore, text: str, query: str, is_found: bool
) -> None:
    assert bool(found(taken_in(store, session(said(text))), query)) is is_found


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    with pytest.raises(ValidationError):
        MemoryService(store, k=0)
    with pytest.raises(ValidationError):
        MemoryService(store, namespace="")


@needs_node_paths
def test_what_a_workflow_hands_to_a_node_is_no_word_of_the_user(store: MemoryStore) -> None:
    async def take_in(callback_context: Any) -> None:
        await callback_context.add_session_to_memory()

    writer = LlmAgent(name="writer", model=Scripted(reply="Cats purr."))
    editor = LlmAgent(name="editor", model=Scripted(reply="Fine."), after_agent_callback=take_in)
    flow = Workflow(name="flow", edges=[("START", writer), (writer, editor)])
    memory, sessions = MemoryService(store), InMemorySessionService()
    app = App(name="app", root_agent=flow)
    runner = Runner(app=app, session_service=sessions, memory_service=memory)
    asyncio.run(runner.run_debug("Write on cats.", user_id="ann", session_id="s1", quiet=True))
    told = [(each.author, each.content) for each in store.all(namespace=EVERYWHERE)]
    assert told == [("user", "Write on cats."), ("writer", "Cats purr."), ("editor", "Fine.")]


def test_an_agent_may_take_its_session_in_after_each_turn(store: MemoryStore) -> None:
    async def remember(callback_context: Any) -> None:
        await callback_context.add_session_to_memory()

    model = Scripted(reply="Noted.")
    agent = LlmAgent(name="helper", model=model, after_agent_callback=remember)
    memory, sessions = MemoryService(store), InMemorySessionService()
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memory)
    for day in ("monday", "monday", "tuesday"):
        asyncio.run(runner.run_debug("It rains.", user_id="ann", session_id=day, quiet=True))
    kept = store.all(namespace=memory.namespace_of("app", "ann"))
    assert [(each.author, each.thread) for each in kept] == [
        (author, day) for day in ("monday", "monday", "tuesday") for author in ("user", "helper")
    ]


class TestContract(AdapterContract):
    """Every turn is a session of its own: what was said before comes from memory alone."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "a service has no configuration beyond its arguments",
        "budget": "ADK's own tool writes the block; k bounds it",
    }
    failure_logger = ""  # ADK 2.0 writes to the root logger

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        model = Scripted(reply=reply)
        agent = LlmAgent(name="helper", model=model, tools=[preload_memory_tool])
        sessions = InMemorySessionService()
        runner = Runner(
            app_name="app",
            agent=agent,
            session_service=sessions,
            memory_service=MemoryService(store),
        )

        async def turn() -> None:
            talk = await sessions.create_session(app_name="app", user_id=user)
            message = Content(role="user", parts=[Part(text=text)])
            try:
                async for _ in runner.run_async(
                    user_id=user, session_id=talk.id, new_message=message
                ):
                    pass
            finally:
                done = await sessions.get_session(app_name="app", user_id=user, session_id=talk.id)
                self.__dict__.setdefault("talks", {}).setdefault(user, []).append(done)

        asyncio.run(turn())
        return model._prompts[-1]

    def ingest(self, store: MemoryStore, user: str) -> None:
        asyncio.run(MemoryService(store).add_session_to_memory(self.__dict__["talks"][user][-1]))

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        entry = MemoryEntry(content=Content(parts=[Part(text=text)]))
        service = MemoryService(store)
        asyncio.run(service.add_memory(app_name="app", user_id=user, memories=[entry]))

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        return texts(found(MemoryService(store), query, user=user))

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return asyncio.run(MemoryService(store).erase_user(app_name="app", user_id=user))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        with pytest.raises(RuntimeError, match="no network"):
            self.run(store, user, text, "!")
        self.ingest(store, user)
        return True

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return "\n".join(talk.model_dump_json() for talk in self.__dict__["talks"][user])

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        search = MemoryService(store).search_memory(app_name="app", user_id=user, query=query)
        asyncio.run(cancel_at_gate(store, search))


def test_the_example_remembers_across_sessions(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "user: I always take my coffee with oat milk." in done.stdout
