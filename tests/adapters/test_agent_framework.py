"""History and recall against Microsoft Agent Framework itself, with a scripted client."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("agent_framework")

from agent_framework import (
    Agent,
    AgentLoopMiddleware,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
    ResponseStream,
    TodoItem,
    TodoProvider,
    todos_remaining_message,
)

from bethink import MemoryStore, Subtree, ValidationError, segment
from bethink.features.packing.layout import INTRODUCTION
from bethink_adapters.agent_framework import MemoryHistory, MemoryRecall, erase_user

from .contract import (
    QUESTION,
    AdapterContract,
    GatedStore,
    SlowStore,
    cancel_at_gate,
    cancel_in_write,
    place,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent_framework_chat.py"
FAILURE = "raise"


class Scripted:
    """A chat client that answers *reply*, or raises for `FAILURE`, and notes the messages."""

    def __init__(self, reply: str = "Noted.") -> None:
        self.additional_properties: dict[str, Any] = {}
        self.reply = reply
        self.prompts: list[list[str]] = []

    async def get_response(
        self, messages: Sequence[Message], *, stream: bool = False, **kwargs: Any
    ) -> ChatResponse:
        self.prompts.append([message.text for message in messages])
        if self.reply == FAILURE:
            raise ConnectionError
        return ChatResponse(messages=[Message(role="assistant", contents=[self.reply])])


def run(
    text: Any, session_id: str, *providers: Any, reply: str = "Noted.", name: str | None = "helper"
) -> list[str]:
    """Run one turn of a session with a new agent; return the texts the model was shown."""
    client = Scripted(reply)
    scripted: Any = client
    agent: Any = Agent(client=scripted, name=name, context_providers=providers)
    asyncio.run(agent.run(text, session=AgentSession(session_id=session_id)))
    return client.prompts[-1]


def kept(history: MemoryHistory, session_id: str | None) -> list[Message]:
    return asyncio.run(history.get_messages(session_id))


def test_they_pass_for_the_frameworks_own(store: MemoryStore) -> None:
    assert isinstance(MemoryHistory(store), HistoryProvider)
    assert isinstance(MemoryRecall(store, namespace="default"), ContextProvider)


def test_the_second_run_sees_the_first(store: MemoryStore) -> None:
    run("I am Ann.", "s", MemoryHistory(store), reply="Hello Ann.")
    assert run("Who am I?", "s", MemoryHistory(store)) == ["I am Ann.", "Hello Ann.", "Who am I?"]
    assert run("Who am I?", "other", MemoryHistory(store)) == ["Who am I?"]


def test_messages_come_back_as_they_went_in(store: MemoryStore) -> None:
    call = Content.from_function_call(call_id="c", name="weather", arguments={"city": "Zürich"})
    said = [
        Message(role="user", contents=["Wetter?"], author_name="Ann"),
        Message(role="assistant", contents=[call]),
        Message(role="tool", contents=[Content.from_function_result(call_id="c", result="rain")]),
    ]
    history = MemoryHistory(store)
    asyncio.run(history.save_messages("s", said))
    assert [each.to_dict() for each in kept(history, "s")] == [each.to_dict() for each in said]
    told = store.all(namespace=f"messages/{segment('s')}")
    assert [(each.content, each.author) for each in told] == [
        ("Wetter?", "Ann"),
        ("", "assistant"),
        ("", "tool"),
    ]


def test_a_conversation_that_is_handed_over_whole_is_kept_once(store: MemoryStore) -> None:
    history, told = MemoryHistory(store), list[Message]()
    for question in ("Who am I?", "Am I Ann?", "Who am I?"):
        told.append(Message(role="user", contents=[question]))
        run(told, "s", history, reply=f"You ask: {question}")
        told = kept(history, "s")
    assert [message.text for message in told] == [
        *("Who am I?", "You ask: Who am I?", "Am I Ann?", "You ask: Am I Ann?"),
        *("Who am I?", "You ask: Who am I?"),
    ]


def test_a_conversation_that_begins_before_the_history_is_kept_once(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    run("Who am I?", "s", history, reply="Ann.")
    run([Message("system", ["Be kind."]), *kept(history, "s"), "Am I Ann?"], "s", history)
    told = ["Who am I?", "Ann.", "Am I Ann?", "Noted."]
    assert [message.text for message in kept(history, "s")] == told


@pytest.mark.parametrize(
    ("first", "given", "kept_then"),
    [
        ("aBcD", "xYaBcD", "aBcD"),
        ("xYaBcD", "aBcDeF", "xYaBcDeF"),
        ("aBcD", "xYaBcDeF", "aBcDeF"),
        ("A", "Ab", "Ab"),
        ("abCdE", "abCdE", "abCdE"),  # several turns again
        ("abC", "abC", "abCabC"),  # a single turn said again
        ("xYabC", "bC", "xYabCbC"),
        ("aB", "xaB", "aBxaB"),
        ("ab", "bc", "abbc"),
        ("A", "AB", "AAB"),
        ("aBcD", "xYzW", "aBcDxYzW"),  # nothing in common
        ("aBcD", "aBcE", "aBcDcE"),  # the conversation went on differently
        ("aBcDeF", "aBgH", "aBcDeFgH"),
        ("aBcD", "aXcD", "aBcDaXcD"),
    ],
)
def test_what_a_history_and_what_is_given_share_is_kept_once(
    store: MemoryStore, first: str, given: str, kept_then: str
) -> None:
    """A capital stands for what the assistant says."""
    history = MemoryHistory(store)
    for told in (first, given):
        said = [Message("assistant" if it.isupper() else "user", [it]) for it in told]
        asyncio.run(history.save_messages("s", said))
    assert "".join(message.text for message in kept(history, "s")) == kept_then


def test_what_json_cannot_hold_loses_no_turn(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    odd = Message("user", ["Hi."], additional_properties={"score": math.nan, "at": {1: math.inf}})
    run([odd], "s", history)
    first, _ = kept(history, "s")
    assert first.additional_properties == {"score": "NaN", "at": {"1": "Infinity"}}


def test_a_question_may_be_asked_again(store: MemoryStore) -> None:
    history = MemoryHistory(store, store_outputs=False)
    for _ in range(2):
        run("And now?", "s", history)
    asked = [Message(role="user", contents=["And now?"], message_id="7")]
    for given in (asked, asked, []):
        asyncio.run(history.save_messages("s", given))
    assert [message.message_id for message in kept(history, "s")] == [None, None, "7"]


class Streaming(BaseChatClient):
    """A chat client that streams *replies*; each message has an id if *ids*."""

    def __init__(self, replies: Sequence[str], ids: bool) -> None:
        super().__init__()
        self.replies = list(enumerate(replies))
        self.ids = ids

    def _inner_get_response(self, **kwargs: Any) -> Any:
        number, text = self.replies.pop(0)

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            for part in text.partition(" "):
                yield ChatResponseUpdate(
                    role="assistant",
                    contents=[Content.from_text(part)],
                    message_id=f"answer {number}" if self.ids else None,
                )

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_run_may_have_several_questions_said_before_or_not(
    store: MemoryStore, ids: bool, streamed: bool
) -> None:
    history = MemoryHistory(store)
    runs = [
        *(("Hi.", "Ok."), ("My flight is BA117.", "It leaves at nine.", "Ok.")),
        *(("Ok.", "When?", "Ok."), ("Ok.", "When?", "Ok."), ("When?", "Ok."), ("Ok.", "Ok.")),
    ]
    client = Streaming([reply for *_, reply in runs], ids)

    async def stream(asked: list[Message]) -> None:
        agent: Any = Agent(client=client, context_providers=[history])
        answer = agent.run(asked, session=AgentSession(session_id="s"), stream=True)
        assert [update.text async for update in answer]
        await answer.get_final_response()

    for number, (*texts, reply) in enumerate(runs):
        asked = [
            Message("user", [text], message_id=f"{number} {n}" if ids else None)
            for n, text in enumerate(texts)
        ]
        if streamed:
            asyncio.run(stream(asked))
        else:
            run(asked, "s", history, reply=reply)
    assert told_in(history) == " ".join(text for texts in runs for text in texts)


def test_a_history_keeps_runs_with_a_recalled_block(store: MemoryStore) -> None:
    store.store("Ann likes pizza.", namespace="users/ann")
    recall = MemoryRecall(store, namespace="users/ann")
    history = MemoryHistory(store, store_context_messages=True)
    for text in ("Hello.", "Which pizza does Ann like?", "Bye."):
        run(text, "s", recall, history)
    told = told_in(history)
    assert all(text in told for text in ("Hello.", "Which pizza does Ann like?", "Bye."))
    assert told.count("Noted.") == 3


def tell(history: MemoryHistory, *said: str, id: str | None = None) -> None:
    """Save messages of a user and an assistant by turns; the first has the *id*."""
    roles = ("user", "assistant")
    messages = [Message(roles[n % 2], [text]) for n, text in enumerate(said)]
    messages[0].message_id = id
    asyncio.run(history.save_messages("s", messages))


def told_in(history: MemoryHistory) -> str:
    return " ".join(message.text for message in kept(history, "s"))


def test_a_turn_said_again_is_kept_again(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    for _ in range(3):
        tell(history, "yes", "ok")
    assert told_in(history) == "yes ok yes ok yes ok"
    tell(history, *["yes", "ok"] * 3, "Why?", "So.")
    assert told_in(history) == "yes ok yes ok yes ok Why? So."


def test_an_equal_turn_behind_the_whole_conversation_or_a_window_is_new(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    for pairs in (1, 2, 3, 2):
        tell(history, *["yes", "ok"] * pairs)
    assert told_in(history) == " ".join(["yes ok"] * 4)


def test_the_same_conversation_handed_over_again_adds_nothing(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    for _ in range(2):
        tell(history, "one?", "1", "two?", "2")
    assert told_in(history) == "one? 1 two? 2"


@pytest.mark.parametrize("id", [None, "q1"])
def test_a_conversation_saved_by_several_at_once_is_kept_once(tmp_path: Path, id: Any) -> None:
    with MemoryStore(tmp_path / "memory.db") as store, ThreadPoolExecutor(8) as pool:
        history = MemoryHistory(store)
        list(pool.map(lambda _: tell(history, "Hi.", "Hello.", "Bye.", id=id), range(8)))
        assert told_in(history) == "Hi. Hello. Bye."


def test_an_edited_message_takes_the_place_of_its_text(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    for code in ("1111", "2222", "2222"):
        tell(history, f"My code is {code}.", "Noted.", "And?", "Fine.", id="q1")
    tell(history, "Bye.", "Bye!")
    assert told_in(history) == "My code is 2222. Noted. And? Fine. Bye. Bye!"


def test_an_edit_in_the_store_changes_the_text_alone(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    image = Content.from_uri("https://example.org/graz.png", media_type="image/png")
    asked = Message("user", ["In", image, "Graz"], author_name="Ann", message_id="q1")
    asyncio.run(history.save_messages("s", [asked, Message("assistant", ["Noted."])]))
    whole = [message.to_dict() for message in kept(history, "s")]
    first = store.all(namespace="messages/s", limit=1)[0]
    store.update(first.id, content="In Lyon")
    edited = Message("user", ["In Lyon", image], author_name="Ann", message_id="q1")
    assert [each.to_dict() for each in kept(history, "s")] == [edited.to_dict(), whole[1]]
    store.undo(store.log(limit=1)[0])
    assert [each.to_dict() for each in kept(history, "s")] == whole


def test_one_id_of_several_messages_names_none(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    parts = [Message("assistant", [text], message_id="r") for text in ("Well,", "yes.")]
    asyncio.run(history.save_messages("s", [Message("user", ["Is it?"]), *parts]))
    assert told_in(history) == "Is it? Well, yes."


def test_an_erased_message_with_an_id_does_not_come_back(store: MemoryStore) -> None:
    history = MemoryHistory(store, erase=True)
    tell(history, "My PIN is 4711.", id="q1")
    asyncio.run(history.clear("s"))
    tell(history, "My PIN is 4711.", "Noted.", "Bye.", id="q1")
    assert "4711" not in told_in(history)
    assert told_in(history).endswith("Bye.")


def test_a_window_begins_with_a_message_of_a_user(store: MemoryStore) -> None:
    tell(MemoryHistory(store), "one?", "1", "two?", "2")
    windows = [told_in(MemoryHistory(store, last=last)) for last in (1, 2, 3, 4, 9)]
    assert windows == ["", "two? 2", "two? 2", "one? 1 two? 2", "one? 1 two? 2"]


def test_a_history_shows_no_question_of_a_run_that_failed(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    recall = MemoryRecall(store, namespace="default", remember="default")
    with pytest.raises(ConnectionError):
        run("My parrot is Quetzal.", "s", history, recall, reply=FAILURE)
    assert kept(history, "s") == []
    assert [(each.content, each.author) for each in store.all()] == [
        ("My parrot is Quetzal.", "user")
    ]


def test_a_turn_said_again_is_remembered_again(store: MemoryStore) -> None:
    recall = MemoryRecall(store, namespace="default", remember="default")
    for text in ("In Oslo.", "In Oslo.", "In Rome.", "In Oslo."):
        run(text, "s", recall)
    assert [each.content for each in store.all()][::2] == [
        "In Oslo.",
        "In Oslo.",
        "In Rome.",
        "In Oslo.",
    ]


def test_an_answer_made_anew_supersedes(store: MemoryStore) -> None:
    recall = MemoryRecall(store, namespace="default", remember="default")
    for question, reply in (("Two?", "3"), ("Two?", "2"), ("Three?", "4")):
        run([Message("user", [question], message_id="q")], "s", recall, reply=reply)
    assert [each.content for each in store.all()] == ["Three?", "4"]


def test_an_erased_turn_does_not_come_back_with_the_conversation(store: MemoryStore) -> None:
    recall = MemoryRecall(store, namespace="default", remember="default")
    run("My PIN is 4711.", "s", recall)
    store.erase(namespace="default")
    told = [Message("user", ["My PIN is 4711."]), Message("assistant", ["Noted."])]
    run([*told, Message("user", ["Bye."])], "s", recall, reply="Bye!")
    assert [each.content for each in store.all()] == ["Bye.", "Bye!"]


def test_a_session_can_be_cleared(store: MemoryStore) -> None:
    history = MemoryHistory(store)
    for session_id in ("s", None):
        asyncio.run(history.save_messages(session_id, [Message(role="user", contents=["Hi."])]))
    asyncio.run(history.clear("s"))
    assert (len(kept(history, "s")), len(kept(history, None))) == (0, 1)


def test_a_cancelled_save_does_not_overtake_a_clearing() -> None:
    async def clearing(slow: SlowStore) -> None:
        history = MemoryHistory(slow)
        save = history.save_messages("s", [Message(role="user", contents=["Old."])])
        await cancel_in_write(slow, save, history.clear("s"))

    with SlowStore() as slow:
        asyncio.run(clearing(slow))
        assert kept(MemoryHistory(slow), "s") == []


def test_the_options_of_the_framework_are_kept(store: MemoryStore) -> None:
    history = MemoryHistory(store, store_outputs=False)
    run("I am Ann.", "s", history)
    assert [message.role for message in kept(history, "s")] == ["user"]


def test_recalled_text_is_data_in_front_of_the_question(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.", namespace="users/ann", thread="monday")
    block, question = run("Which pizza?", "s", MemoryRecall(store, namespace="users/ann"))
    assert block.startswith(INTRODUCTION)
    assert "Ann likes pizza Margherita." in block
    assert question == "Which pizza?"


def test_where_a_memory_comes_from_is_told(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.", thread="monday")
    seen: list[Any] = []

    class Last(ContextProvider):
        async def before_run(self, *, context: Any, **kwargs: Any) -> None:
            seen.extend(message.additional_properties for message in context.get_messages())

    store.store("Ann likes pizza with olives.")
    run("Which pizza?", "s", MemoryRecall(store, namespace="default"), Last("last"))
    assert "monday" in json.dumps(seen)
    assert "None" not in json.dumps(seen)


def test_what_is_said_is_remembered_where_asked(store: MemoryStore) -> None:
    recall = MemoryRecall(store, namespace="users/ann", remember="users/ann")
    run("I always take my coffee with oat milk.", "monday", recall)
    shown = run("How do I take my coffee?", "tuesday", recall)
    assert "oat milk" in shown[0]
    told = [(each.author, each.thread) for each in store.all(namespace="users/ann")]
    assert told[:2] == [("user", "monday"), ("helper", "monday")]


@pytest.mark.parametrize(("name", "author"), [("helper", "helper"), (None, "assistant")])
def test_a_conversation_that_is_handed_over_again_is_remembered_once(
    store: MemoryStore, name: str | None, author: str
) -> None:
    recall = MemoryRecall(store, namespace="default", remember="users/ann")
    turns = [("user", "I am Ann."), ("assistant", "Noted."), ("user", "My cat is Tom.")]
    said = [Message(role=role, contents=[text]) for role, text in turns]
    run(said[:1], "monday", recall, name=name)
    run(said, "monday", recall, reply="A fine cat.", name=name)
    told = [(each.author, each.content) for each in store.all(namespace="users/ann")]
    assert told == [turns[0], (author, "Noted."), turns[2], (author, "A fine cat.")]


def test_what_a_history_in_front_shows_is_not_recalled(store: MemoryStore) -> None:
    recall = MemoryRecall(store, namespace="default", remember="default")
    client: Any = Scripted()
    agent: Any = Agent(client=client, context_providers=[InMemoryHistoryProvider(), recall])
    session = agent.create_session()
    for text in ("I take my coffee with oat milk.", "How do I take my coffee?"):
        asyncio.run(agent.run(text, session=session))
    assert len(store.all()) == 4
    assert ["oat milk" in text for text in client.prompts[-1]] == [True, False, False]


def test_what_is_said_in_many_sessions_leaves_room_for_the_rest(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    recall = MemoryRecall(store, namespace="default", remember="default")
    for number in range(9):
        shown = run("Which pizza do I like?", f"session {number}", recall, reply="Pizza? Any.")
        assert "Ann likes pizza Margherita." in shown[0]
        assert shown[0].count("Pizza? Any.") == (number > 0)


def test_instructions_are_not_remembered(store: MemoryStore) -> None:
    asked = [Message(role=role, contents=["Be kind."]) for role in ("system", "user")]
    run(asked, "monday", MemoryRecall(store, namespace="default", remember="users/ann"))
    assert [each.author for each in store.all(namespace="users/ann")] == ["user", "helper"]


@pytest.mark.filterwarnings("ignore:.*HARNESS")
@pytest.mark.parametrize("fresh", [False, True], ids=["session", "fresh"])
@pytest.mark.parametrize("message", [None, todos_remaining_message], ids=["default", "todos"])
def test_a_loop_that_goes_on_says_nothing_to_remember(
    store: MemoryStore, fresh: bool, message: Any
) -> None:
    recall = MemoryRecall(store, namespace="default", remember="users/ann")
    loop: Any = AgentLoopMiddleware(
        should_continue=lambda **_: True,
        next_message=message,
        max_iterations=3,
        fresh_context=fresh,
    )
    client: Any = Scripted("Still planning.")
    todos = TodoProvider()
    agent: Any = Agent(client=client, context_providers=[todos, recall], middleware=[loop])
    session = agent.create_session()
    items = [TodoItem(id=1, title="Book a hotel")]
    asyncio.run(todos.store.save_state(session, items, next_id=2, source_id=todos.source_id))
    asyncio.run(agent.run("Plan a trip to Graz.", session=session))
    said = [each.content for each in store.all(namespace="users/ann")]
    assert said == ["Plan a trip to Graz.", *["Still planning."] * 3]


def test_a_call_of_a_tool_says_nothing_to_remember(store: MemoryStore) -> None:
    call = Content.from_function_call(call_id="c", name="weather", arguments={})
    asked = [Message("user", ["Weather?"]), Message("assistant", ["I look it up.", call])]
    recall = MemoryRecall(store, namespace="default", remember="users/ann")
    run(asked, "monday", recall, reply="Rain.")
    told = [each.content for each in store.all(namespace="users/ann")]
    assert told == ["Weather?", "Rain."]


def test_a_failing_store_is_logged_and_the_run_goes_on(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.store("Ann likes pizza Margherita.")
    recall = MemoryRecall(store, namespace="default", remember="default")
    store.close()
    with caplog.at_level(logging.ERROR, "bethink_adapters"):
        assert run("Which pizza?", "s", recall) == ["Which pizza?"]
    assert [record.name.rpartition(".")[2] for record in caplog.records] == [
        "recalling",
        "turns",
        "turns",
    ]


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    with pytest.raises(ValidationError):
        MemoryRecall(store, namespace="default", k=0)
    with pytest.raises(ValidationError):
        MemoryRecall(store, namespace="default", remember="")
    with pytest.raises(ValidationError):
        MemoryHistory(store, namespace="")
    with pytest.raises(TypeError, match="'namespace'"):
        MemoryRecall(store)  # type: ignore[call-arg]


class TestContract(AdapterContract):
    """Each user has a running session and an earlier one; the recall looks in both."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "providers have no configuration beyond their arguments"
    }
    failure_is_loud = "the session is the conversation: an answer without it would be beside it"

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        history = MemoryHistory(store, namespace=place(user))
        recall = MemoryRecall(store, namespace=Subtree(place(user)))
        return "\n".join(run(text, "chat", history, recall, reply=reply))

    def ingest(self, store: MemoryStore, user: str) -> None:
        """Do nothing: the framework itself writes the session, once."""

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        history = MemoryHistory(store, namespace=place(user))
        asyncio.run(history.save_messages("earlier", [Message(role="user", contents=[text])]))

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        history = MemoryHistory(store, namespace=place(user))
        told = [message.text for name in ("earlier", "chat") for message in kept(history, name)]
        return told or [each.content for each in store.all(namespace=place(user))]

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespace=place(user))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        recall = MemoryRecall(store, namespace=Subtree(place(user)), remember=place(user))
        with pytest.raises(ConnectionError):
            run(text, "chat", recall, reply=FAILURE)
        return True

    def framework_history(self, store: MemoryStore, user: str) -> str:
        messages = kept(MemoryHistory(store, namespace=place(user)), "chat")
        return json.dumps([message.to_dict() for message in messages])

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        history = MemoryHistory(store, namespace=place(user))
        asyncio.run(cancel_at_gate(store, history.get_messages("earlier")))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        recall = MemoryRecall(
            store, namespace=Subtree(place(user)), budget_tokens=budget, count_tokens=counter
        )
        *added, _ = run(query, "new", recall)
        return "".join(added)


def test_a_cancelled_recall_leaves_the_store_usable(tmp_path: Path) -> None:
    with GatedStore(str(tmp_path / "memory.db")) as store:
        store.store("Ann likes pizza Margherita.")
        client: Any = Scripted()
        agent: Any = Agent(
            client=client, context_providers=[MemoryRecall(store, namespace="default")]
        )
        asyncio.run(cancel_at_gate(store, agent.run(QUESTION)))
        assert store.recall("pizza")


def test_the_example_remembers_across_sessions(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "- user: I always take my coffee with oat milk." in done.stdout
