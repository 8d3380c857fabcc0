"""Sessions and recall against the OpenAI Agents SDK itself, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("agents.memory")

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool
from agents.memory import Session, SessionSettings
from agents.run_internal import session_persistence
from agents.testing import ScriptedModel, assistant_message, function_call

from bethink import ArgumentError, MemoryStore, StoreClosedError, Subtree, ValidationError
from bethink.features.packing.layout import INTRODUCTION
from bethink_adapters.openai_agents import MemorySession, erase_user, recall_filter

from .contract import (
    QUESTION,
    AdapterContract,
    GatedStore,
    SlowStore,
    cancel_at_gate,
    cancel_in_write,
    place,
)

resumes = hasattr(session_persistence, "resume_pending_session_write")
EXAMPLE = Path(__file__).parents[2] / "examples" / "openai_agents_chat.py"


def run(text: Any, model: ScriptedModel, session: Session | None = None, **config: Any) -> str:
    """Run one turn; return what the agent answers."""
    agent = Agent(name="helper", model=model)
    config = {"tracing_disabled": True} | config
    result = asyncio.run(Runner.run(agent, text, session=session, run_config=RunConfig(**config)))
    return str(result.final_output)


def scripted(*replies: str) -> ScriptedModel:
    return ScriptedModel([[assistant_message(reply)] for reply in replies])


def prompt_of(model: ScriptedModel) -> str:
    return json.dumps(model.calls[-1].input, ensure_ascii=False)


def said(session: MemorySession) -> list[Any]:
    return asyncio.run(session.get_items())


# -- the session


def test_it_passes_for_a_session(store: MemoryStore) -> None:
    assert isinstance(MemorySession(store, "s"), Session)


def test_a_whole_number_names_a_session(store: MemoryStore) -> None:
    asyncio.run(MemorySession(store, 7).add_items([{"role": "user", "content": "I am Ann."}]))
    assert said(MemorySession(store, "7"))
    with pytest.raises(ValidationError, match="session_id must be a str or an int, not float"):
        MemorySession(store, 7.5)  # type: ignore[arg-type]


def test_the_second_run_sees_the_first(store: MemoryStore) -> None:
    session, model = MemorySession(store, "s"), scripted("Hello Ann.", "Ann.")
    run("I am Ann.", model, session)
    assert run("Who am I?", model, session) == "Ann."
    assert [item.get("role") for item in model.calls[-1].input] == ["user", "assistant", "user"]


def test_items_come_back_as_they_went_in(store: MemoryStore) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}
    items: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": "Wie wird das Wetter, 明日?"}]},
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "…"},
        call,
        {"type": "function_call_output", "call_id": "c1", "output": "rain \udc80"},
        {"type": "reasoning", "id": "r2", "content": [{"type": "reasoning_text", "text": "Hm"}]},
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]},
    ]
    session = MemorySession(store, "s")
    asyncio.run(session.add_items(items))
    assert said(session) == items
    assert [record.content for record in session.log.messages()] == [
        "Wie wird das Wetter, 明日?",
        "",
        "",
        "",
        "",
        "",
        "I will not.",
    ]
    found = store.recall("Wetter in May", namespace=session.log.namespace, k=9)
    assert {hit.memory.content for hit in found} == {"Wie wird das Wetter, 明日?", "I will not."}


IMAGE = {"type": "input_image", "image_url": "data:,"}
CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}


def answer(*parts: Any) -> dict[str, Any]:
    """Return an answer of the model as the SDK writes answers."""
    return {"type": "message", "id": "m1", "role": "assistant", "content": list(parts)}


def spoken(**part: Any) -> dict[str, Any]:
    return answer({"type": "output_text", "logprobs": [], **part})


@pytest.mark.parametrize(
    ("item", "edited"),
    [
        ({"role": "user", "content": "In Graz"}, {"role": "user", "content": "In Lyon"}),
        (
            {"role": "user", "content": [IMAGE, *({"type": "input_text", "text": "Graz"},) * 2]},
            {"role": "user", "content": [IMAGE, {"type": "input_text", "text": "In Lyon"}]},
        ),
        (
            spoken(text="In Graz", annotations=[{"type": "url_citation", "start_index": 3}]),
            spoken(text="In Lyon", annotations=[]),
        ),
        (
            answer({"type": "output_text", "text": "In"}, {"type": "refusal", "refusal": "Graz"}),
            answer({"type": "output_text", "text": "In Lyon"}),
        ),
        (
            answer({"type": "refusal", "refusal": "Not in Graz"}),
            answer({"type": "refusal", "refusal": "In Lyon"}),
        ),
        (CALL, CALL),
    ],
)
def test_an_edited_item_comes_back_as_edited(store: MemoryStore, item: Any, edited: Any) -> None:
    session = MemorySession(store, "s")
    items: list[Any] = [item, CALL]
    asyncio.run(session.add_items(items))
    first = session.log.messages()[0]
    store.update(first.id, content="In Lyon")
    assert said(session) == [edited, CALL]
    store.undo(store.log(limit=1)[0])
    assert said(session) == items
    store.update(first.id, content="In Lyon")
    assert asyncio.run(session.pop_item()) == CALL
    assert asyncio.run(session.pop_item()) == edited


def test_a_tool_that_returns_a_book_is_kept_whole(store: MemoryStore) -> None:
    book = "many words " * 60_000
    session = MemorySession(store, "s")
    asyncio.run(
        session.add_items([{"type": "function_call_output", "call_id": "c", "output": book}])
    )
    assert said(session)[0]["output"] == book


def test_a_run_with_tools_is_kept_in_order(store: MemoryStore) -> None:
    @function_tool
    def weather() -> str:
        return "rain"

    model = ScriptedModel(
        [[function_call("weather", {}, call_id="c1")], [assistant_message("Take an umbrella.")]]
    )
    agent = Agent(name="helper", model=model, tools=[weather])
    session = MemorySession(store, "s")
    asyncio.run(
        Runner.run(agent, "Weather?", session=session, run_config=RunConfig(tracing_disabled=True))
    )
    kinds = [item.get("type", item.get("role")) for item in said(session)]
    assert kinds == ["user", "function_call", "function_call_output", "message"]
    assert [each.author for each in session.log.messages()] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_nothing_overtakes_a_write_that_is_cancelled() -> None:
    async def written(slow: SlowStore) -> list[Any]:
        session = MemorySession(slow, "s")
        items: Any = [[{"role": "user", "content": text}] for text in "ab"]
        await cancel_in_write(slow, *map(session.add_items, items))
        return await session.get_items(None)

    with SlowStore() as slow:
        assert [each["content"] for each in asyncio.run(written(slow))] == ["a", "b"]


def test_the_settings_limit_what_a_run_is_shown(store: MemoryStore) -> None:
    session = MemorySession(store, "s", session_settings={"limit": 1})
    asyncio.run(session.add_items([{"role": "user", "content": text} for text in "abc"]))
    assert [item["content"] for item in said(session)] == ["c"]
    assert len(asyncio.run(session.get_items(limit=2))) == 2
    assert asyncio.run(session.get_items(limit=-1)) == []
    assert MemorySession(store, "t", session_settings=SessionSettings(limit=4)).session_settings


CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "rain"}
TURN: list[Any] = [
    {"role": "user", "content": "Weather?"},
    CALL,
    RESULT,
    {"role": "assistant", "content": "Rain."},
]


@pytest.mark.parametrize("limit", [None, 0, 1, 2, 3, 5, 8, 9])
def test_a_limit_gives_the_newest_items_as_the_sdk_does(
    store: MemoryStore, limit: int | None
) -> None:
    async def window(session: Session) -> list[Any]:
        await session.add_items(TURN * 2)
        return await session.get_items(limit)

    ours, theirs = MemorySession(store, "s"), SQLiteSession("s")
    with closing(theirs):
        assert asyncio.run(window(ours)) == asyncio.run(window(theirs))


def test_a_result_without_its_call_does_not_reach_the_model(store: MemoryStore) -> None:
    session, model = MemorySession(store, "s"), scripted("Bring an umbrella.")
    asyncio.run(session.add_items(TURN))
    run("And now?", model, session, session_settings=SessionSettings(limit=2))
    assert [item["content"] for item in model.calls[-1].input] == ["Rain.", "And now?"]


class LosesItsAnswer(MemorySession):
    """A session on a line that breaks once: before a write, or after the write."""

    breaks = ""

    async def add_items(self, items: list[Any]) -> None:
        broken, self.breaks = self.breaks, ""
        if broken != "before":
            await super().add_items(items)
        if broken:
            raise ConnectionError


@pytest.mark.skipif(not resumes, reason="this SDK does not write again what was pending")
@pytest.mark.parametrize("breaks", ["before", "after"])
def test_a_resumed_run_keeps_the_result_of_a_tool_once(store: MemoryStore, breaks: str) -> None:
    @function_tool
    def bill() -> str:
        return "40 EUR"

    @function_tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    async def paid() -> list[Any]:
        calls = [[function_call(name, {}, call_id=name)] for name in ("bill", "pay")]
        model = ScriptedModel([*calls, [assistant_message("Paid.")]])
        agent: Agent[Any] = Agent(name="helper", model=model, tools=[bill, pay])
        session = LosesItsAnswer(store, "s")
        config = RunConfig(tracing_disabled=True)
        paused = await Runner.run(agent, "Pay the bill.", session=session, run_config=config)
        state = paused.to_state()
        state.approve(paused.interruptions[0])
        session.breaks = breaks
        with pytest.raises(ConnectionError):
            await Runner.run(agent, state, session=session, run_config=config)
        await Runner.run(agent, state, session=session, run_config=config)
        return await session.get_items()

    results = [item["call_id"] for item in asyncio.run(paid()) if "output" in item]
    assert results == ["bill", "pay"]


def test_parallel_takers_never_get_the_same_item(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        items: list[Any] = [{"role": "user", "content": str(number)} for number in range(24)]
        asyncio.run(MemorySession(store, "s").add_items(items))

        async def take() -> list[Any]:
            session = MemorySession(store, "s")
            return await asyncio.gather(*(session.pop_item() for _ in range(14)))

        with ThreadPoolExecutor(2) as pool:
            takers = [pool.submit(asyncio.run, take()) for _ in range(2)]
        taken = [item for taker in takers for item in taker.result() if item]
        numbers = sorted(int(item["content"]) for item in taken)
        assert numbers == list(range(24))


def test_a_cleared_session_can_leave_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        for name, erase in (("s", True), ("t", False)):
            session = MemorySession(store, name, erase=erase)
            asyncio.run(session.add_items([{"role": "user", "content": f"secret of {name}"}]))
            asyncio.run(session.clear_session())
            assert said(session) == []
    assert b"secret of s" not in path.read_bytes()
    assert b"secret of t" in path.read_bytes()


def test_unknown_settings_are_refused(store: MemoryStore) -> None:
    with pytest.raises(ArgumentError, match="Unknown session settings: limitt"):
        MemorySession(store, "s", session_settings={"limitt": 1})


def test_what_cannot_be_kept_is_refused_whole(store: MemoryStore) -> None:
    session = MemorySession(store, "s")
    bad: list[Any] = [{"role": "user", "content": "fine"}, {"role": "user", "content": object()}]
    with pytest.raises(ValidationError):
        asyncio.run(session.add_items(bad))
    assert said(session) == []


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"role": "user", "content": "fine"}, "items must be a list of messages, not dict"),
        ("fine", "items must be a list of messages, not str"),
        (None, "items must be a list of messages, not NoneType"),
        (["fine"], "an item must be a mapping, not str"),
    ],
)
def test_what_is_no_list_of_items_is_answered_with_the_remedy(
    store: MemoryStore, given: Any, remedy: str
) -> None:
    session = MemorySession(store, "s")
    with pytest.raises(ValidationError, match=remedy):
        asyncio.run(session.add_items(given))
    assert said(session) == []


# -- recall


def test_recalled_text_is_data_in_front_of_the_question(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.", namespace="users/ann")
    model = scripted("Margherita.")
    run("Which pizza?", model, call_model_input_filter=recall_filter(store, namespace="users/ann"))
    block, question = (str(item["content"]) for item in model.calls[-1].input)
    assert block.startswith(INTRODUCTION)
    assert "Ann likes pizza Margherita." in block
    assert question == "Which pizza?"


def test_what_the_conversation_holds_in_parts_is_not_shown(store: MemoryStore) -> None:
    session, model = MemorySession(store, "s"), scripted("Noted.", "Under the mat.")
    recall = recall_filter(store, namespace=Subtree("messages"))
    told = [{"type": "input_text", "text": text} for text in ("My key is hidden.", "Under a mat. ")]
    run([{"role": "user", "content": told}], model, session, call_model_input_filter=recall)
    run("Where is my key?", model, session, call_model_input_filter=recall)
    assert INTRODUCTION not in prompt_of(model)


def test_the_instructions_stay_beside_what_is_recalled(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    model = scripted("Margherita.")
    agent = Agent(name="helper", instructions="Be brief.", model=model)
    config = RunConfig(
        call_model_input_filter=recall_filter(store, namespace="default"), tracing_disabled=True
    )
    asyncio.run(Runner.run(agent, "Which pizza?", run_config=config))
    assert model.calls[-1].system_instructions == "Be brief."
    assert "Margherita" in prompt_of(model)


def handed(store: MemoryStore, asked: Any, waiters: int) -> list[Any]:
    """Return what the last of some *waiters* is shown; each agent hands over a folded history."""
    agent = Agent(name="waiter0", model=(model := scripted("Margherita.")))
    for number in range(waiters):
        over = function_call(f"transfer_to_waiter{number}", {}, call_id=f"c{number}")
        agent = Agent(name=f"waiter{number + 1}", model=ScriptedModel([[over]]), handoffs=[agent])
    config = RunConfig(
        nest_handoff_history=True,
        call_model_input_filter=recall_filter(store, namespace="default"),
        tracing_disabled=True,
    )
    asyncio.run(Runner.run(agent, asked, run_config=config))
    return list(model.calls[-1].input)


@pytest.mark.parametrize("waiters", [1, 2])
@pytest.mark.parametrize(
    "asked",
    [
        "Which pizza?",
        "Hello.\nWhich pizza?",
        [{"role": "user", "content": [{"type": "input_text", "text": "Which pizza?"}]}],
        [*TURN, {"role": "user", "content": "Which pizza?"}],
    ],
)
def test_a_question_in_the_history_of_a_handoff_recalls(
    store: MemoryStore, asked: Any, waiters: int
) -> None:
    store.store("Ann likes pizza Margherita.")
    block, history = handed(store, asked, waiters)
    assert block["role"] == "user"
    assert "Margherita" in block["content"]
    assert history["role"] == "assistant"


def test_what_the_history_of_a_handoff_says_is_not_shown(store: MemoryStore) -> None:
    store.store("Which pizza?")
    assert len(handed(store, "Which pizza?", 2)) == 1


def test_the_namespace_may_come_from_the_context(store: MemoryStore) -> None:
    for user in ("ann", "bob"):
        store.store(f"The pizza of {user}.", namespace=f"users/{user}")
    model = scripted("yes")
    chosen = recall_filter(store, namespace=lambda data: f"users/{data.context}")
    asyncio.run(
        Runner.run(
            Agent(name="helper", model=model),
            "Which pizza?",
            context="bob",
            run_config=RunConfig(call_model_input_filter=chosen, tracing_disabled=True),
        )
    )
    assert "The pizza of bob." in prompt_of(model)
    assert "ann" not in prompt_of(model)


def test_a_context_without_a_namespace_reads_no_other(store: MemoryStore) -> None:
    store.store("The pizza of everybody.")
    nowhere: Any = attrgetter("context")
    model = scripted("yes")
    with pytest.raises(ValidationError, match="namespace must not be None"):
        run("Which pizza?", model, call_model_input_filter=recall_filter(store, namespace=nowhere))
    assert not model.calls


def test_a_question_without_words_recalls_nothing(store: MemoryStore) -> None:
    store.store("Anything.")
    model = scripted("yes")
    run(" ", model, call_model_input_filter=recall_filter(store, namespace="default"))
    assert len(model.calls[-1].input) == 1


def test_a_failing_store_recalls_nothing_and_is_logged(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.store("Ann likes pizza Margherita.")
    store.close()
    model, recall = scripted("I do not know."), recall_filter(store, namespace="default")
    with caplog.at_level(logging.ERROR, "bethink_adapters"):
        answer = run("Which pizza?", model, call_model_input_filter=recall)
    assert answer == "I do not know."
    assert "Margherita" not in prompt_of(model)
    assert [record.name for record in caplog.records] == ["bethink_adapters.shared.recalling"]


def test_wrong_settings_are_refused_at_once(store: MemoryStore) -> None:
    with pytest.raises(ValidationError):
        recall_filter(store, namespace="default", k=0)
    with pytest.raises(ValidationError):
        recall_filter(store, namespace="default", budget_tokens=-1)
    with pytest.raises(TypeError, match="'namespace'"):
        recall_filter(store)  # type: ignore[call-arg]


class TestContract(AdapterContract):
    """Each user has a running chat and an earlier one; the filter recalls from both."""

    not_applicable: ClassVar[Mapping[str, str]] = {"dump": "a session is named by its arguments"}
    failure_is_loud = "the session is the conversation: an answer without it would be beside it"

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        model = scripted(reply)
        recall = recall_filter(store, namespace=Subtree(place(user)))
        run(text, model, self.session(store, user, "chat"), call_model_input_filter=recall)
        return prompt_of(model)

    def session(self, store: MemoryStore, user: str, name: str) -> MemorySession:
        return MemorySession(store, name, namespace=place(user))

    def ingest(self, store: MemoryStore, user: str) -> None:
        """Do nothing: the runner itself writes the session, once."""

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        earlier = self.session(store, user, "earlier")
        asyncio.run(earlier.add_items([{"role": "user", "content": text}]))

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        items = (said(self.session(store, user, name)) for name in ("earlier", "chat"))
        return [str(item["content"]) for each in items for item in each]

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespace=place(user))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        with pytest.raises(ConnectionError):
            run(text, ScriptedModel([ConnectionError()]), self.session(store, user, "chat"))
        return True

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return json.dumps(said(self.session(store, user, "chat")))

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        asyncio.run(cancel_at_gate(store, self.session(store, user, "earlier").get_items()))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        model = scripted("There.")
        recall = recall_filter(
            store, namespace=Subtree(place(user)), budget_tokens=budget, count_tokens=counter
        )
        run(query, model, call_model_input_filter=recall)
        *added, _ = model.calls[-1].input
        return "".join(str(item["content"]) for item in added)


def test_a_cancelled_run_of_the_filter_leaves_the_store_usable(tmp_path: Path) -> None:
    with GatedStore(str(tmp_path / "memory.db")) as store:
        store.store("Ann likes pizza Margherita.")
        agent = Agent(name="helper", model=scripted("yes"))
        config = RunConfig(
            call_model_input_filter=recall_filter(store, namespace="default"), tracing_disabled=True
        )
        asyncio.run(cancel_at_gate(store, Runner.run(agent, QUESTION, run_config=config)))
        assert store.recall("pizza")
    with pytest.raises(StoreClosedError):
        store.recall("pizza")


def test_the_example_remembers_across_sessions(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "- user: I always take my coffee with oat milk." in done.stdout
    assert "It answers: With oat milk" in done.stdout
