"""Microsoft Agent Framework: a history provider, and a context provider that recalls.

    history = MemoryHistory(store, namespace="users/42")
    recall = MemoryRecall(store, namespace=Subtree("users/42"))
    agent = Agent(client=client, context_providers=[history, recall])
    await agent.run("Which pizza do I like?", session=agent.create_session())

The model is shown recalled memories in one run, and no history has them. The recall comes after
the history in the list, and leaves out the texts of the history. An agent without a history adds
the framework's ``InMemoryHistoryProvider`` behind the recall: better name the provider in front.

After a run that failed the memory has the user's words, without an answer; the history has none.

Runs on agent-framework-core 1.16 to 1.23.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from bethink import MessageLog
from bethink.adapting import (
    MAX_CONTENT,
    MAX_LABEL,
    Scope,
    Turn,
    check_namespace,
    finish_in_thread,
    integer,
    turn_key,
)

from .shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from .shared.erasing import erase_user
from .shared.opening import StoreOrPath, open_store
from .shared.recalling import Recalling
from .shared.subclassing import made_on, refuse_unknown
from .shared.texts import jsonable, present_values, storable, with_content
from .shared.turns import alone, aremember_turns, id_text, thread_name, turn

__all__ = ["MemoryHistory", "MemoryRecall", "erase_user"]

if TYPE_CHECKING:
    from agent_framework import AgentSession, Message, SessionContext
    from agent_framework import ContextProvider as _Context
    from agent_framework import HistoryProvider as _History
else:
    _Context = _History = object  # see `subclassing`

_SPEAKERS: Final = ("user", "assistant")
_ANSWERING: Final = ("assistant", "tool")
_NOTICE: Final = re.compile(
    r"please continue\.$|Continue working on the task\. If it is complete, say so\.$"
    r"|Progress so far:\n- |An evaluator reviewed your previous response and judged that "
    r"|You still have \d+ (?:open todo item|background task)\(s\) "
)
"""How texts begin that loops and workflows of Agent Framework write in the name of the user."""

_edited: Final = partial(with_content, name="contents", joint=" ")
_Identity = tuple[str, Any]


@made_on("agent-framework", "agent_framework", "HistoryProvider")
class MemoryHistory(_History):
    """The messages of each session, kept in a *store*; *options* are ``HistoryProvider``'s.

    Any text names a session, and no session sees the messages of another session. A run is shown
    the last *last* messages (default: all), from a user's message on. With *erase*, clearing a
    session leaves no byte of the messages. The *store* stays open.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str = "messages",
        source_id: str = "bethink_history",
        last: int | None = None,
        erase: bool = False,
        **options: Any,
    ) -> None:
        own = ("namespace", "last", "erase")
        refuse_unknown(options, [*own, *signature(super().__init__).parameters])
        super().__init__(source_id, **options)
        self.store = open_store(store)
        self.namespace = check_namespace(namespace)
        self.last = None if last is None else integer("last", last, 1)
        self.erase = erase

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, oldest first."""
        from agent_framework import Message

        said = await asyncio.to_thread(present_values, self._log(session_id), self.last, _edited)
        if self.last is not None:
            asked = (n for n, message in enumerate(said) if message["role"] == "user")
            said = said[next(asked, len(said)) :]
        return [Message.from_dict(dict(message)) for message in said]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Add *messages* to a session, all of them or none.

        Known messages at the beginning of *messages* are not added again: a conversation may be
        handed over whole with each question. The last turn of a conversation is new, even if said
        before. A message with a known id is known; a different text takes the place of the text.
        """
        log = self._log(session_id)
        await finish_in_thread(_append, log, _items(messages, log.namespace))

    async def clear(self, session_id: str | None) -> None:
        """Forget, or with ``erase`` erase, the messages of a session."""
        delete = self.store.erase if self.erase else self.store.forget
        await finish_in_thread(delete, namespace=self._log(session_id).namespace)

    def _log(self, session_id: str | None) -> MessageLog:
        session = id_text("session_id", "" if session_id is None else session_id)
        return MessageLog(self.store, session, namespace=self.namespace)


@made_on("agent-framework", "agent_framework", "ContextProvider")
class MemoryRecall(_Context):
    """Show the model the memories that the question recalls, and remember the words of each run.

    The best *k* memories of *namespace* that score at least *min_score*, and that are not shown
    anyway, are shown: as many as fit into *budget_tokens*, as *count_tokens* counts (default: an
    estimate). *min_share* is that of ``recall``. With *remember*, a namespace, the words of users
    and the model are stored there, once for each session: the question before a run, the answer
    after the run. A store that fails is logged, and the run goes on.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: Scope,
        remember: str | None = None,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
        source_id: str = "bethink_recall",
    ) -> None:
        super().__init__(source_id)
        self.store = open_store(store)
        self.remember = None if remember is None else check_namespace(remember)
        self._recalling = Recalling(
            self.store, namespace, k, min_score, budget_tokens, count_tokens, min_share
        )

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Show the memories that the last user message recalls, and remember the message."""
        from agent_framework import Message

        shown = [*context.get_messages(), *context.input_messages]
        asked = [message.text for message in context.input_messages if message.role == "user"]
        known = {message.text.strip() for message in shown}
        packed = await self._recalling.asafely(asked[-1] if asked else "", known)
        if packed.text:
            block = Message(role="user", contents=[packed.text])
            origins = sorted({hit.memory.thread for hit in packed.results if hit.memory.thread})
            context.extend_messages(self, [block], origin_session_ids=origins)
        await self._add(_given_turns(context.input_messages, agent), session)

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Remember the answer where ``remember`` says."""
        answers = context.response.messages if context.response else []
        asked = [turn for turn in _given_turns(context.input_messages, agent) if turn.is_new]
        turns = [_turn(message, agent, is_answer=True, is_new=True) for message in answers]
        question = [turn for turn in asked[-1:] if turn.id is not None]  # names the answer
        await self._add([*question, *filter(None, turns)], session)

    async def _add(self, turns: Sequence[Turn], session: AgentSession) -> None:
        if self.remember is None or not turns:
            return
        thread = thread_name(session.session_id)
        await aremember_turns(self.store, turns, namespace=self.remember, thread=thread)


def _given_turns(messages: Sequence[Message], agent: Any) -> list[Turn]:
    """Return the turns of a run's input: the questions at the end are new, the rest is old.

    A run that a loop goes on with has no new questions.
    """
    new = len(messages)
    while new and messages[new - 1].role == "user":
        new -= 1
    if any(_NOTICE.match(message.text) for message in messages[new:]):
        new = len(messages)
    turns = [
        _turn(
            message,
            agent,
            message.message_id if message.role == "user" else None,
            is_answer=message.role == "assistant",
            is_old=place < new,
            is_new=place >= new,
        )
        for place, message in enumerate(messages)
    ]
    return [turn for turn in turns if turn]


def _turn(message: Message, agent: Any, id: str | None = None, **marks: bool) -> Turn | None:
    """Return *message* as a turn; None if no user or model speaks, or if the model calls a tool."""
    is_call = any(each.type == "function_call" for each in message.contents)
    if is_call or message.role not in _SPEAKERS or not message.text.strip():
        return None
    if message.role == "user" and _NOTICE.match(message.text):
        return None
    default = getattr(agent, "name", None) if message.role == "assistant" else None
    return turn(message.text, _author(message, default), id, **marks)


def _author(message: Message, default: str | None = None) -> str:
    """Return who speaks; the framework calls an agent without a name "UnnamedAgent"."""
    name = None if message.author_name == "UnnamedAgent" else message.author_name
    return storable(str(name or default or message.role), MAX_LABEL)


def _append(log: MessageLog, items: Sequence[dict[str, Any]]) -> None:
    """Add the new messages among *items* to *log*; correct the known messages with other texts."""
    with alone(log.namespace):
        tail = [_identity(value) for value in log.values(2 * len(items) + 1)]
        known = _count_known(tail, [_identity(item["value"]) for item in items])
        log.append([item for n, item in enumerate(items) if not _is_held(log, item) and n >= known])


def _is_held(log: MessageLog, item: dict[str, Any]) -> bool:
    """Return whether *log* has, or ever had, the message with the id of *item*; correct a text."""
    id = item.get("id")
    if id is None:
        return False
    record = log.store.get(id)
    if record is not None and record.value["contents"] != item["value"]["contents"]:
        log.store.update(id, **{name: item[name] for name in ("content", "author", "value")})
    return record is not None or bool(log.store.log(id=id, limit=1))


def _count_known(known: Sequence[_Identity], given: Sequence[_Identity]) -> int:
    """Return how many messages at the beginning of *given* are *known*, the end of a history.

    Without ids a single turn is new, and so is the last turn where the rest leaves a choice.
    """
    if not known:
        return 0
    size, most = len(known), len(given)
    again = [n + size for n in range(most - size + 1) if given[n : n + size] == known]
    again += [n for n in range(min(size, most), 0, -1) if known[-n:] == given[:n]]
    answers = [role in _ANSWERING for role, _ in given]
    later = [n for n in range(1, most) if answers[n - 1] > answers[n]]  # where turns begin
    whole = [most] if most in again else []
    if whole and ((later and size == most) or any(isinstance(name, str) for _, name in given)):
        return most
    if not later:
        return 0
    shared = (n for n in again if n < most and any(answers[:n]))
    common = (
        n for n in reversed(later) if any(known[at : at + n] == given[:n] for at in range(size))
    )
    return next(chain(shared, whole, common), 0)


def _identity(message: Mapping[str, Any]) -> _Identity:
    """Return the role with the id of a message, or else with the contents."""
    id = message.get("message_id")
    return message["role"], message.get("contents") if id is None else id


def _items(messages: Sequence[Message], namespace: str) -> list[dict[str, Any]]:
    """Return *messages* as arguments of ``MemoryStore.store``, with ids for messages with ids."""
    named = Counter((message.role, message.message_id) for message in messages)
    items = []
    for message in messages:
        item = {"content": storable(message.text, MAX_CONTENT), "author": _author(message)}
        item["value"] = jsonable(message.to_dict())
        if message.message_id is not None and named[message.role, message.message_id] == 1:
            item["id"] = turn_key(namespace, f"{message.role} {message.message_id}")
        items.append(item)
    return items
