"""The conversations against Pydantic AI itself, and against its own store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pydantic_ai.conversation_store")

from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, ImageUrl
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SpeechPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bethink import EVERYWHERE, MemoryStore, NotFoundError, ValidationError, segment
from bethink_adapters.pydantic_ai import MemoryConversations, MemoryRecall, erase_user

from .contract import AdapterContract, GatedStore, SlowStore, cancel_at_gate, cancel_in_write

now = asyncio.run


def asked(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(text)])


def save(
    kept: ConversationStore, name: str, *texts: str, scope: str | None = None
) -> list[ConversationEntry]:
    """Add *texts* to a conversation, new or not."""

    async def saved() -> list[ConversationEntry]:
        conversation = await kept.load(name) or Conversation(conversation_id=name)
        conversation.messages += [asked(text) for text in texts]
        return await kept.save(conversation, scope=scope)

    return now(saved())


def said(kept: ConversationStore, name: str, limit: int | None = None) -> list[str] | None:
    loaded = now(kept.load(name, limit=limit))
    return None if loaded is None else [words(message) for message in loaded.messages]


def words(message: ModelMessage) -> str:
    return "".join(str(getattr(part, "content", "")) for part in message.parts)


def contents(store: MemoryStore) -> list[str]:
    return [record.content for record in store.all(namespace=EVERYWHERE) if record.content]


def test_it_passes_for_the_frameworks_own(store: MemoryStore) -> None:
    assert isinstance(MemoryConversations(store), ConversationStore)
    with pytest.raises(ValidationError):
        MemoryConversations(store, namespace="")


def test_a_saved_conversation_goes_on(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    assert said(kept, "c") is None
    save(kept, "c", "one", "two")
    save(kept, "c", "three")
    assert said(kept, "c") == ["one", "two", "three"]
    assert said(kept, "c", limit=2) == ["two", "three"]
    assert sorted(contents(store)) == ["one", "three", "two"]


def test_messages_come_back_as_they_went_in(store: MemoryStore) -> None:
    sound = BinaryContent(b"RIFF\xff", media_type="audio/wav")
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(["Wetter in Zürich?", sound])], instructions="Short."),
        ModelResponse(parts=[ToolCallPart("weather", {"city": "Zürich"}, tool_call_id="1")]),
        ModelRequest(parts=[ToolReturnPart("weather", {"rain": [1.5, None]}, tool_call_id="1")]),
        ModelResponse(parts=[TextPart("It rains.")]),
        ModelRequest(parts=[SpeechPart(speaker="user", transcript="Und morgen?")]),
        ModelResponse(parts=[SpeechPart(speaker="assistant", transcript="Sonne.")]),
        ModelRequest(parts=[SpeechPart(speaker="user", audio=sound)]),
    ]
    kept = MemoryConversations(store)
    now(kept.save(Conversation(conversation_id="c", messages=list(messages))))
    loaded = now(kept.load("c"))
    assert loaded is not None
    assert loaded.messages == messages
    told = [(each.content, each.author) for each in store.all(namespace=kept.namespace_of())]
    assert told == [
        ("Wetter in Zürich?", "user"),
        ("", None),
        ("", None),
        ("It rains.", "assistant"),
        ("Und morgen?", "user"),
        ("Sonne.", "assistant"),
        ("", None),
    ]


def edit(store: MemoryStore, was: str, content: str) -> None:
    """Give the message with the words *was* the words *content*."""
    (record,) = (each for each in store.all(namespace=EVERYWHERE) if each.content == was)
    store.update(record.id, content=content)


def test_an_edited_message_comes_back_as_edited(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    image = ImageUrl("https://example.org/graz.png")
    call = ToolCallPart("look", {"at": 1}, tool_call_id="c1")
    given: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(["In", image, "Graz"])]),
        ModelResponse(parts=[TextPart("Noted."), call, TextPart("So.")]),
        asked("And?"),
    ]
    now(kept.save(Conversation(conversation_id="c", messages=list(given))))
    edit(store, "In\nGraz", "In Lyon")
    edit(store, "Noted.\nSo.", "Done.")
    loaded = now(kept.load("c"))
    assert loaded is not None
    prompt, answer, last = loaded.messages
    assert prompt.parts[0].content == ["In Lyon", image]  # type: ignore[union-attr]
    assert answer.parts == [TextPart("Done."), call]
    assert last == given[2]
    edit(store, "In Lyon", "In\nGraz")
    edit(store, "Done.", "Noted.\nSo.")
    again = now(kept.load("c"))
    assert again is not None
    assert again.messages == given


def test_an_edited_spoken_message_comes_back_without_the_sound(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    sound = BinaryContent(b"RIFF\xff", media_type="audio/wav")
    given: list[ModelMessage] = [
        ModelRequest(parts=[SpeechPart(speaker="user", transcript="In Graz", audio=sound)]),
        ModelResponse(parts=[SpeechPart(speaker="assistant", transcript="Noted.", audio=sound)]),
    ]
    now(kept.save(Conversation(conversation_id="c", messages=list(given))))
    edit(store, "In Graz", "In Lyon")
    loaded = now(kept.load("c"))
    assert loaded is not None
    prompt, reply = loaded.messages
    assert prompt.parts == [SpeechPart(speaker="user", transcript="In Lyon")]
    assert reply == given[1]


@pytest.mark.parametrize("text", ["\udc80", "In Rome \ud83d.", "\udfffOslo"])
def test_a_lone_surrogate_comes_back(store: MemoryStore, text: str) -> None:
    messages: list[ModelMessage] = [
        asked(text),
        ModelResponse(parts=[ToolCallPart("find", {"path": text}, tool_call_id="1")]),
        ModelRequest(parts=[ToolReturnPart("find", {"found": [text]}, tool_call_id="1")]),
        ModelResponse(parts=[TextPart(text)]),
    ]
    kept = MemoryConversations(store)
    now(kept.save(Conversation(conversation_id="c", messages=list(messages)), scope="ann"))
    loaded = now(kept.load("c"))
    assert loaded is not None
    assert loaded.messages == messages
    shown = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert contents(store) == [shown, shown]


def test_what_a_run_waits_for_and_used_is_kept(store: MemoryStore) -> None:
    model = FunctionModel(lambda messages, info: ModelResponse(parts=[ToolCallPart("buy", {})]))
    agent: Agent[None, Any] = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def buy() -> str:
        raise NotImplementedError

    kept = MemoryConversations(store)
    result = now(agent.run("Buy it.", conversation=Conversation(conversation_id="c")))
    now(kept.save(result))
    loaded = now(kept.load("c"))
    assert loaded is not None
    assert loaded.usage == result.usage
    assert loaded.deferred_tool_requests == result.output
    assert loaded.revision == result.conversation.revision


def test_who_comes_second_is_told(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    save(kept, "c", "one")
    first, second = now(kept.load("c")), now(kept.load("c"))
    assert first is not None
    assert second is not None
    first.messages.append(asked("two"))
    second.messages.append(asked("other"))
    now(kept.save(first))
    for late in (second, Conversation(conversation_id="c", messages=[asked("new")])):
        with pytest.raises(ConversationConflict):
            now(kept.save(late))
    assert said(kept, "c") == ["one", "two"]
    assert "other" not in contents(store)


@pytest.mark.parametrize("known", [False, True])
def test_of_two_that_write_at_once_one_is_told(tmp_path: Path, known: bool) -> None:
    """The other one writes after the first has read what is there, as another process could."""
    with MemoryStore(tmp_path / "m.db") as one, MemoryStore(tmp_path / "m.db") as two:
        if known:
            save(MemoryConversations(two), "c", "earlier")

        class Overtaken(MemoryConversations):
            def _head_item(self, *args: Any) -> dict[str, Any]:
                item = super()._head_item(*args)
                save(MemoryConversations(two), "c", "theirs")
                return item

        with pytest.raises(ConversationConflict):
            save(Overtaken(one), "c", "mine")
        assert contents(one)[-1] == "theirs"
        assert "mine" not in contents(one)


def test_a_fork_and_a_deletion_at_once_lose_nothing(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db") as one, MemoryStore(tmp_path / "m.db") as two:
        forks = (f"f{number}" for number in count())

        class Overtaken(MemoryConversations):
            def _unshared_ids(self, head: Any) -> list[str]:
                found = super()._unshared_ids(head)
                if next(forks) == "f0":
                    now(MemoryConversations(two).fork("c", new_conversation_id="fork"))
                return found

        kept = Overtaken(one)
        save(kept, "c", "one", "two")
        record = now(kept.read_record("c"))
        assert record is not None
        now(kept.delete_record("c", expected_revision=record.revision))
        assert said(kept, "c") is None
        assert said(kept, "fork") == ["one", "two"]


def test_a_fork_of_what_was_deleted_meanwhile_is_a_conflict(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    *_, last = save(kept, "c", "one")
    now(kept.delete("c"))
    fork = ConversationRecord(conversation_id="fork", head_id=last.id, forked_from="c")
    with pytest.raises(ConversationConflict):
        now(kept.write_record(fork, expected_revision=None))
    with pytest.raises(LookupError):
        now(kept.read_entry(last.id))


def test_deleting_forgets_what_nobody_shares(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    save(kept, "c", "one", "two")
    now(kept.fork("c", at=1, new_conversation_id="fork"))
    save(kept, "fork", "three")
    now(kept.delete("c"))
    assert sorted(contents(store)) == ["one", "three"]
    assert said(kept, "fork") == ["one", "three"]
    now(kept.delete("fork"))
    assert contents(store) == []
    assert now(kept.list_conversations()) == []


def test_what_cannot_be_stored_is_no_conflict(store: MemoryStore) -> None:
    with pytest.raises(ValidationError):
        save(MemoryConversations(store), "c", "one", scope="x" * 10_000)


def test_a_conversation_with_a_gap_is_not_read_but_can_be_deleted(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    _, two, _ = save(kept, "c", "one", "two", "three")
    (gone,) = (each for each in store.all(namespace=kept.namespace_of()) if "two" in each.content)
    store.forget(gone.id)
    with pytest.raises(NotFoundError, match=two.id):
        now(kept.load("c"))
    now(kept.delete("c"))
    assert contents(store) == ["one"]


def test_a_cancelled_save_does_not_overtake_a_deletion() -> None:
    async def deleting(slow: SlowStore) -> None:
        kept, conversation = MemoryConversations(slow), Conversation(conversation_id="c")
        conversation.messages += [asked("Old.")]
        await cancel_in_write(slow, kept.save(conversation), kept.delete("c"))

    with SlowStore() as slow:
        now(deleting(slow))
        assert contents(slow) == []


def test_deleting_a_fork_leaves_what_it_came_from(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    save(kept, "c", "one", "two")
    now(kept.fork("c", new_conversation_id="fork"))
    save(kept, "fork", "three")
    now(kept.delete("fork"))
    assert said(kept, "c") == ["one", "two"]
    assert sorted(contents(store)) == ["one", "two"]


def test_any_text_names_a_conversation(store: MemoryStore) -> None:
    kept, names = MemoryConversations(store), ["", " ", "\u3000", "%20", "\ud800", "a/b"]
    for name in names:
        save(kept, name, f"in {name!r}")
    assert [said(kept, name) for name in names] == [[f"in {name!r}"] for name in names]


@pytest.mark.parametrize("name", [None, 5])
def test_what_names_no_conversation_is_refused_by_name(store: MemoryStore, name: Any) -> None:
    with pytest.raises(ValidationError, match="conversation_id must be a str, not"):
        now(MemoryConversations(store).load(name))


def test_a_deleted_conversation_may_begin_again(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    for text in ("one", "two", "three"):
        save(kept, "c", text)
        assert said(kept, "c") == [text]
        old = now(kept.load("c"))
        assert old is not None
        now(kept.delete("c"))
        with pytest.raises(ConversationConflict):
            now(kept.save(old))


def test_conversations_are_listed_by_scope(store: MemoryStore) -> None:
    kept = MemoryConversations(store)
    for name, scope in (("a", "ann"), ("b", "bob"), ("c", "ann"), ("d", None), ("e", "")):
        save(kept, name, f"I am in {name}.", scope=scope)
    save(kept, "a", "Again.", scope="ann")

    def listed(**asked: Any) -> list[str]:
        return [record.conversation_id for record in now(kept.list_conversations(**asked))]

    assert listed() == ["a", "e", "d", "c", "b"]
    assert listed(limit=2) == ["a", "e"]
    assert listed(scope="ann") == ["a", "c"]
    assert listed(scope="") == ["e"]
    assert now(kept.load("a", scope="bob")) is None
    of_ann = store.all(namespace=kept.namespace_of("ann"))
    assert [each.content for each in of_ann] == ["I am in a.", "I am in c.", "Again."]


def test_stores_of_two_namespaces_share_nothing(store: MemoryStore) -> None:
    mine, yours = MemoryConversations(store), MemoryConversations(store, namespace="other")
    (entry,) = save(mine, "c", "one")
    assert said(yours, "c") is None
    with pytest.raises(LookupError):
        now(yours.read_entry(entry.id))


steps = st.lists(
    st.tuples(st.sampled_from(("say", "rewrite", "branch", "fork", "delete")), st.integers(0, 3)),
    max_size=12,
)


@given(steps)
def test_it_does_what_the_frameworks_own_store_does(taken: list[tuple[str, int]]) -> None:
    with MemoryStore() as store:
        ours, theirs = MemoryConversations(store), InMemoryConversationStore()
        for number, (step, which) in enumerate(taken):
            for kept in (ours, theirs):
                now(take(kept, step, f"c{which}", number))
        names = {record.conversation_id for record in now(theirs.list_conversations())}
        assert {record.conversation_id for record in now(ours.list_conversations())} == names
        for name in names:
            assert said(ours, name) == said(theirs, name)
        assert store.count(namespace=ours.namespace_of()) == len(theirs._entries)


async def take(kept: ConversationStore, step: str, name: str, number: int) -> None:
    """Do one thing to a conversation; forks are of it, under a name of their own."""
    loaded = await kept.load(name)
    if loaded is None or step == "say":
        loaded = loaded or Conversation(conversation_id=name)
        loaded.messages.append(asked(f"said {number}"))
        await kept.save(loaded)
    elif step == "rewrite":
        loaded.messages[:1] = [asked(f"rewritten {number}")]
        await kept.save(loaded)
    elif step == "branch":
        at = min(number % 2, len(loaded.messages))
        await kept.branch(name, at=at, expected_revision=loaded.revision)
    elif step == "fork":
        new = f"c{number % 4}"
        if await kept.load(new) is None:
            await kept.fork(name, at=min(1, len(loaded.messages)), new_conversation_id=new)
    else:
        await kept.delete(name)


class TestContract(AdapterContract):
    """Each user is a scope with a running conversation and an earlier one; both are recalled."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "a store of conversations has no configuration beyond its arguments",
        "budget": "a conversation is not cut; the capability has a budget",
        "failed run": "a run that failed is not saved: its question does not stay open",
    }
    failure_is_loud = "the conversation is what the run goes on from"

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        prompts: list[str] = []

        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            prompts.append("\n".join(words(message) for message in messages))
            return ModelResponse(parts=[TextPart(reply)])

        kept = MemoryConversations(store)
        recall = MemoryRecall(store, namespace=kept.namespace_of(user))
        agent = Agent(FunctionModel(answer), capabilities=[recall])

        async def turn() -> None:
            name = f"chat of {segment(user)}"
            conversation = await kept.load(name) or Conversation(conversation_id=name)
            await kept.save(await agent.run(text, conversation=conversation), scope=user)

        now(turn())
        return prompts[-1]

    def ingest(self, store: MemoryStore, user: str) -> None:
        """Do nothing: a save again of the same revision is a conflict."""

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        save(MemoryConversations(store), f"earlier of {segment(user)}", text, scope=user)

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        kept = MemoryConversations(store)
        records = now(kept.list_conversations(scope=user))
        return [text for record in records for text in said(kept, record.conversation_id) or ()]

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, user)

    def framework_history(self, store: MemoryStore, user: str) -> str:
        loaded = now(MemoryConversations(store).load(f"chat of {segment(user)}", scope=user))
        assert loaded is not None
        return ModelMessagesTypeAdapter.dump_json(loaded.messages).decode()

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        call = MemoryConversations(store).list_conversations(scope=user)
        now(cancel_at_gate(store, call))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str | None:
        return None
