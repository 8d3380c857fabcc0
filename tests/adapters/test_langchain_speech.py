"""What the memory of an agent of LangChain 1 takes for said: once, in order, and corrected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware")

from langchain.agents import create_agent, middleware
from langchain.agents.middleware import AgentMiddleware, PIIMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bethink import MemoryStore
from bethink_adapters.langchain import MemoryMiddleware

from .contract import FACT, QUESTION
from .langchain_agents import CALLS, CONFIG, Model, asked, calling, contents

# LangChain silences itself by ``catch_warnings``, which threads undo for one another.
pytestmark = pytest.mark.filterwarnings("ignore:Direct attribute assignment to ModelRequest")


@pytest.fixture
def known(store: MemoryStore) -> MemoryStore:
    store.store(FACT)
    return store


def test_a_summary_is_not_something_said(store: MemoryStore) -> None:
    memory = MemoryMiddleware(store, namespace="default")
    summary = HumanMessage("A summary.", id="1", additional_kwargs={"lc_source": "summarization"})
    said = [
        summary,
        HumanMessage("Hi.", id="2"),
        HumanMessage("You?", id="3"),
        AIMessage("Hello.", id="4"),
    ]
    memory.after_agent({"messages": said}, None)
    assert [each.content for each in store.all()] == ["Hi.", "You?", "Hello."]


def test_the_last_turn_is_remembered_and_not_what_was_said_before(store: MemoryStore) -> None:
    before = [
        *(HumanMessage("I was born in Kiel."), AIMessage("Noted.")),
        *(HumanMessage("I moved to Graz."), AIMessage("Noted, too.")),
    ]
    agent: Any = create_agent(
        Model(replies=["In May."]), middleware=[MemoryMiddleware(store, namespace="default")]
    )
    agent.invoke({"messages": [*before, HumanMessage("Hi."), HumanMessage("When did I move?")]})
    assert [each.content for each in store.all()] == ["Hi.", "When did I move?", "In May."]


def test_a_run_in_which_no_human_spoke_is_remembered(store: MemoryStore) -> None:
    agent: Any = create_agent(
        Model(replies=["Good morning."]), middleware=[MemoryMiddleware(store, namespace="default")]
    )
    agent.invoke({"messages": [SystemMessage("Greet the user.")]})
    assert [(each.author, each.content) for each in store.all()] == [("ai", "Good morning.")]


class Compacting(AgentMiddleware):
    """Put a summary in the place of all but the last two messages."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if len(state["messages"]) < 3:
            return None
        summary = HumanMessage("A summary.", additional_kwargs={"lc_source": "summarization"})
        return {"messages": [RemoveMessage("__remove_all__"), summary, *state["messages"][-2:]]}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_summary_takes_away_is_remembered(store: MemoryStore, call: str) -> None:
    @tool
    def look(at: str) -> str:
        """Look at something."""
        return "seen"

    for order in (list, reversed):
        model = Model(replies=[calling("look", at="a"), "Done."])
        both: Any = list(order([MemoryMiddleware(store, namespace="default"), Compacting()]))
        agent: Any = create_agent(model, [look], middleware=both)
        CALLS[call](agent, asked("I was born in Kiel."), {})
        assert [record.content for record in store.all()] == ["I was born in Kiel.", "Done."]
        store.forget(namespace="default")


@pytest.mark.parametrize("order", [list, reversed])
def test_what_is_redacted_before_the_model_reads_it_is_not_stored(
    store: MemoryStore, order: Callable[[Any], Any]
) -> None:
    @tool
    def look(at: str) -> str:
        """Look at something."""
        return "seen"

    model = Model(replies=[calling("look", at="a"), "Done."])
    before = order(
        [MemoryMiddleware(store, namespace="default"), PIIMiddleware("email", strategy="redact")]
    )
    agent: Any = create_agent(model, [look], middleware=[*before, Compacting()])
    agent.invoke(asked("I am ann@example.com"))
    said = [record.content for record in store.all()]
    assert said == ["I am [REDACTED_EMAIL]", "Done."]


def test_a_summary_is_not_asked(store: MemoryStore) -> None:
    store.store("The harbour of Kiel is closed on Sunday")
    summary = HumanMessage("Weather.", additional_kwargs={"lc_source": "summarization"})
    said = {"messages": [HumanMessage("When is the harbour of Kiel closed?"), summary]}
    (shown,) = (
        text
        for text in MemoryMiddleware(store, namespace="default").before_agent(said, None).values()
        if "Kiel" in text
    )
    assert "closed on Sunday" in shown


def test_ids_count_within_their_thread_only(store: MemoryStore) -> None:
    agent: Any = create_agent(
        Model(replies=["Hi."]), middleware=[MemoryMiddleware(store, namespace="default")]
    )
    turns = ("monday", "1", "I am Ann."), ("tuesday", "1", "I am Bob."), ("tuesday", "2", "Ah.")
    for thread, id, text in turns:
        said = {"messages": [HumanMessage(text, id=id)]}
        agent.invoke(said, {"configurable": {"thread_id": thread}})
    kept = store.all(where={"author": "human"})
    assert [each.content for each in kept] == ["I am Ann.", "I am Bob.", "Ah."]


def test_a_finished_run_is_stored_once_and_what_was_forgotten_stays_so(store: MemoryStore) -> None:
    memory = MemoryMiddleware(store, namespace="default")
    state = {"messages": [HumanMessage("Yes.", id="1"), AIMessage("Yes.", id="2")]}
    for _ in range(2):
        memory.after_agent(state, None)
    assert [each.author for each in store.all()] == ["human", "ai"]
    store.forget(namespace="default")
    memory.after_agent(state, None)
    assert store.count() == 0
    memory.after_agent({"messages": [HumanMessage("Yes.", id="3")]}, None)
    assert store.count() == 1


def test_neither_a_call_of_a_tool_nor_an_empty_answer_is_stored(store: MemoryStore) -> None:
    call = AIMessage("Let me look.", tool_calls=calling("look").tool_calls)
    said = [HumanMessage("Well?"), call, AIMessage(" ")]
    MemoryMiddleware(store, namespace="default").after_agent({"messages": said}, None)
    assert [each.content for each in store.all()] == ["Well?"]


# -- what counts as said


class Noticing(AgentMiddleware):
    """Add a hidden human message before the model, and end with a notice after it."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"messages": [HumanMessage("Mind the rules.")]}

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"messages": [AIMessage("Model call limits exceeded.")]}


@pytest.mark.parametrize("order", [list, reversed])
@pytest.mark.parametrize("call", CALLS)
def test_words_of_the_framework_are_not_remembered(
    store: MemoryStore, call: str, order: Callable[[Any], Any]
) -> None:
    both = list(order([MemoryMiddleware(store, namespace="default"), Noticing()]))
    agent: Any = create_agent(Model(replies=["Noted."]), middleware=both)
    CALLS[call](agent, asked("I was born in Kiel."), CONFIG)
    assert contents(store) == ["I was born in Kiel.", "Noted."]


@pytest.mark.parametrize("order", [list, reversed])
def test_a_limit_of_calls_is_no_memory(store: MemoryStore, order: Callable[[Any], Any]) -> None:
    limit = middleware.ModelCallLimitMiddleware(run_limit=1)
    both: Any = list(order([MemoryMiddleware(store, namespace="default"), limit]))
    agent: Any = create_agent(Model(replies=[calling("remember_it")]), [noting], middleware=both)
    agent.invoke(asked("I was born in Kiel."))
    assert contents(store) == ["I was born in Kiel."]


@tool("remember_it")
def noting() -> str:
    """Note something."""
    return "noted"


@pytest.mark.parametrize("order", [list, reversed])
def test_the_text_of_an_error_is_no_memory(store: MemoryStore, order: Callable[[Any], Any]) -> None:
    retrying: Any = getattr(middleware, "ModelRetryMiddleware", None)
    if retrying is None:
        pytest.skip("this LangChain has no retries")
    retry = retrying(max_retries=1, on_failure="continue", initial_delay=0.0, jitter=False)
    both = list(order([MemoryMiddleware(store, namespace="default"), retry]))
    agent: Any = create_agent(Model(replies=[ZeroDivisionError("half")]), middleware=both)
    agent.invoke(asked("I was born in Kiel."))
    assert contents(store) == ["I was born in Kiel."]


@pytest.mark.parametrize(
    "hidden",
    [
        HumanMessage("Be quick.", additional_kwargs={"lc_source": "reminder"}),
        HumanMessage("Be quick.", additional_kwargs={"hide_from_ui": True}),
        HumanMessage("Be quick.", id="do-not-render-1"),
        HumanMessage("Be quick.", response_metadata={"hidden": True}),
    ],
)
def test_a_hidden_message_is_neither_asked_nor_remembered(
    known: MemoryStore, hidden: HumanMessage
) -> None:
    model = Model(replies=["There."])
    agent: Any = create_agent(model, middleware=[MemoryMiddleware(known, namespace="default")])
    agent.invoke({"messages": [HumanMessage(QUESTION), hidden]})
    assert "cobalt" in model.prompt
    assert contents(known) == [FACT, QUESTION, "There."]


def test_the_models_own_ids_count_whatever_they_are(store: MemoryStore) -> None:
    memory = MemoryMiddleware(store, namespace="default")
    id = "0daf962f-a275-4a3c-839a-047854645532"
    for number, told in enumerate(({}, {"model_name": "echo"})):
        answer = AIMessage(f"Answer {number}.", id=id, response_metadata=told)
        memory.after_agent({"messages": [HumanMessage("Hi.", id="1"), answer]}, None)
    assert contents(store) == ["Hi.", "Answer 1."]


# -- corrections


@pytest.mark.parametrize("call", CALLS)
def test_an_edited_question_and_an_answer_made_anew_supersede(
    store: MemoryStore, call: str
) -> None:
    model = Model(replies=["It is 1111.", "It is 2222.", "Two, two, two, two."])
    agent: Any = create_agent(
        model,
        middleware=[MemoryMiddleware(store, namespace="default")],
        checkpointer=InMemorySaver(),
    )
    asked_first: Any = {"messages": [HumanMessage("My locker code is 1111.", id="q1")]}
    CALLS[call](agent, asked_first, CONFIG)
    before = next(
        each for each in agent.get_state_history(CONFIG) if len(each.values["messages"]) == 1
    )
    edited = {"messages": [HumanMessage("My locker code is 2222.", id="q1")]}
    fork = agent.update_state(before.config, edited, as_node="__start__")
    CALLS[call](agent, None, fork)
    assert contents(store) == ["My locker code is 2222.", "It is 2222."]
    CALLS[call](agent, None, fork)
    assert contents(store) == ["My locker code is 2222.", "Two, two, two, two."]
    (question, _) = store.all()
    told = [each.content for each in store.audit(str(question.key))]
    assert told == ["My locker code is 1111.", "My locker code is 2222."]


def talked(store: MemoryStore) -> tuple[Any, dict[int, Any]]:
    """Return an agent after two turns, and the configs of checkpoints by number of messages."""
    agent: Any = create_agent(
        Model(replies=["One.", "Two.", "Three.", "Four."]),
        middleware=[MemoryMiddleware(store, namespace="default")],
        checkpointer=InMemorySaver(),
    )
    for text in ("My name is Ann.", "My code is 1111."):
        agent.invoke(asked(text), CONFIG)
    states = agent.get_state_history(CONFIG)
    return agent, {len(each.values.get("messages", ())): each.config for each in states}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("length", "text", "left"),
    [
        (0, "My name is Eve.", ["My code is 1111.", "Two."]),
        (2, "My code is 2222.", ["My name is Ann.", "One."]),
    ],
)
def test_a_question_in_a_new_branch_supersedes(
    store: MemoryStore, call: str, length: int, text: str, left: list[str]
) -> None:
    agent, configs = talked(store)
    CALLS[call](agent, asked(text), configs[length])
    assert sorted(contents(store)) == sorted([*left, text, "Three."])
    answering = next(each for each in agent.get_state_history(CONFIG) if each.next == ("model",))
    CALLS[call](agent, None, answering.config)
    assert sorted(contents(store)) == sorted([*left, text, "Four."])


def test_a_branch_that_was_interrupted_stays_one_question(store: MemoryStore) -> None:
    ask = middleware.HumanInTheLoopMiddleware(interrupt_on={"remember_it": True})
    agent: Any = create_agent(
        Model(replies=["One.", calling("remember_it"), "Two."]),
        [noting],
        middleware=[MemoryMiddleware(store, namespace="default"), ask],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(asked("My name is Ann."), CONFIG)
    (*_, first) = agent.get_state_history(CONFIG)
    agent.invoke(asked("My name is Eve."), first.config)
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    assert sorted(contents(store)) == ["My name is Eve.", "Two."]


def test_a_question_after_the_last_checkpoint_is_new(store: MemoryStore) -> None:
    agent, configs = talked(store)
    agent.invoke(asked("I like jazz."), configs[4])
    assert len(contents(store)) == 6


def test_questions_to_an_agent_inside_a_tool_are_all_kept(store: MemoryStore) -> None:
    memory = MemoryMiddleware(store, namespace="default")
    cook: Any = create_agent(Model(replies=["Basil.", "Yeast."]), middleware=[memory])

    def ask_cook(question: str) -> str:
        """Ask the cook."""
        return str(cook.invoke(asked(question))["messages"][-1].content)

    questions = ["What is on top?", "What is in the dough?"]
    calls = [calling("ask_cook", question=each) for each in questions]
    agent: Any = create_agent(
        Model(replies=["Hello.", *calls, "Basil and yeast."]),
        [ask_cook],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(asked("Hello."), CONFIG)
    agent.invoke(asked("What is on a pizza?"), agent.get_state(CONFIG).config)
    assert contents(store) == [questions[0], "Basil.", questions[1], "Yeast."]


def test_parallel_questions_of_a_thread_are_all_kept(store: MemoryStore) -> None:
    agent: Any = create_agent(
        Model(replies=["Noted."]),
        middleware=[MemoryMiddleware(store, namespace="default")],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(asked("Hello."), CONFIG)

    async def ask() -> None:
        await asyncio.gather(*(agent.ainvoke(asked(f"Fact {n}."), CONFIG) for n in range(5)))

    asyncio.run(ask())
    assert {f"Fact {n}." for n in range(5)} <= set(contents(store))


def test_a_text_said_again_is_the_newest_memory(store: MemoryStore) -> None:
    agent: Any = create_agent(
        Model(replies=["Noted."]),
        middleware=[MemoryMiddleware(store, namespace="default")],
        checkpointer=InMemorySaver(),
    )
    for city in ("Oslo", "Rome", "Oslo"):
        agent.invoke(asked(f"I live in {city} now."), CONFIG)
    homes = [text.split()[3] for text in contents(store) if "live" in text]
    assert homes == ["Oslo", "Rome", "Oslo"]


@pytest.mark.parametrize("call", CALLS)
def test_of_a_failed_run_the_question_is_kept_once(store: MemoryStore, call: str) -> None:
    model = Model(replies=[ZeroDivisionError(), "Noted."])
    agent: Any = create_agent(
        model,
        middleware=[MemoryMiddleware(store, namespace="default")],
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(ZeroDivisionError):
        CALLS[call](agent, asked("I was born in Kiel."), CONFIG)
    assert contents(store) == ["I was born in Kiel."]
    CALLS[call](agent, None, CONFIG)
    assert contents(store) == ["I was born in Kiel.", "Noted."]


def test_a_question_sent_again_after_a_failed_run_is_kept_once(store: MemoryStore) -> None:
    agent: Any = create_agent(
        Model(replies=[ZeroDivisionError(), "Noted."]),
        middleware=[MemoryMiddleware(store, namespace="default")],
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(ZeroDivisionError):
        agent.invoke(asked("I was born in Kiel."), CONFIG)
    for _ in range(2):
        agent.invoke(asked("I was born in Kiel."), CONFIG)
    said = ["I was born in Kiel.", "Noted."]
    assert contents(store) == 2 * said


@pytest.mark.parametrize("thread", ["", " ", "\n", "%", "用户", "\udc80", "a" * 2000])
def test_any_text_names_a_thread(store: MemoryStore, thread: str) -> None:
    agent: Any = create_agent(
        Model(replies=["Noted."]), middleware=[MemoryMiddleware(store, namespace="default")]
    )
    for name in (thread, f"{thread}b"):
        said = {"messages": [HumanMessage("I was born in Kiel.", id="1")]}
        agent.invoke(said, {"configurable": {"thread_id": name}})
    assert contents(store) == 2 * ["I was born in Kiel.", "Noted."]


def test_thoughts_are_not_remembered(store: MemoryStore) -> None:
    thoughts: Any = [
        {"type": "thinking", "thinking": "A city, then."},
        {"type": "reasoning", "reasoning": "By the sea."},
        {"type": "text", "text": "Noted."},
    ]
    agent: Any = create_agent(
        Model(replies=[AIMessage(thoughts)]),
        middleware=[MemoryMiddleware(store, namespace="default")],
    )
    agent.invoke(asked("I was born in Kiel."))
    assert contents(store) == ["I was born in Kiel.", "Noted."]


@pytest.mark.parametrize("deletion", ["erase", "forget"])
@pytest.mark.parametrize("others", [[], [Compacting()]], ids=["alone", "compacting"])
@pytest.mark.parametrize("call", CALLS)
def test_a_run_brings_back_nothing_that_was_deleted_meanwhile(
    store: MemoryStore, call: str, others: list[AgentMiddleware], deletion: str
) -> None:
    @tool
    def delete() -> str:
        """Delete all memories."""
        getattr(store, deletion)(namespace="default")
        return "deleted"

    model = Model(replies=[calling("delete"), "Your parrot is Quetzal.", "It is sunny."])
    both = [MemoryMiddleware(store, namespace="default"), *others]
    agent: Any = create_agent(model, [delete], middleware=both, checkpointer=InMemorySaver())
    CALLS[call](agent, asked("My parrot is Quetzal."), CONFIG)
    assert contents(store) == []
    CALLS[call](agent, asked("How is the weather?"), CONFIG)
    assert contents(store) == ["How is the weather?", "It is sunny."]
