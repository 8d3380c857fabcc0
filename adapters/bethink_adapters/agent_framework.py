"""Microsoft Agent Framework: a history provider, and a context provider that recalls.

    history = MemoryHistory(store, namespace="users/42")
    recall = MemoryRecall(store, namespace=Subtree("users/42"))
    agent = Agent(client=client, context_providers=[history, recall])
    await agent.run("Which pizza do I like?", session=agent.create_session())

What was recalled is shown to the model in one run and is in no history. The recall comes after the
history in the list, so that it leaves out what the history shows anyway. An agent with no history
adds the framework's ``InMemoryHistoryProvider`` behind the recall: better name it in front.

Runs on agent-framework-core 1.16 to 1.23.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Self

from bethink import MemoryStore, MessageLog
from bethink.adapting import MAX_CONTENT, MAX_LABEL, Scope, check_namespace, finish_in_thread

from .shared.extras import needs
from .shared.recalling import DEFAULT_BUDGET_TOKENS, DEFAULT_K, Recalling
from .shared.remembering import remember_new, turn
from .shared.subclassing import on_base
from .shared.texts import jsonable, storable

if TYPE_CHECKING:
    from agent_framework import AgentSession, Message, SessionContext
    from agent_framework import ContextProvider as _Context
    from agent_framework import HistoryProvider as _History
else:
    _Context = _History = object  # see `subclassing`

_logger: Final = logging.getLogger(__name__)

_SPEAKERS: Final = ("user", "assistant")


class MemoryHistory(_History):
    """The messages of each session, kept in a *store*; *options* are ``HistoryProvider``'s.

    Any text names a session, and no session sees another's messages. The *store* stays open.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make one that passes for the framework's own."""
        with needs("agent-framework-core", "agent-framework"):
            from agent_framework import HistoryProvider

        return object.__new__(on_base(cls, HistoryProvider))

    def __init__(
        self,
        store: MemoryStore,
        *,
        namespace: str = "messages",
        source_id: str = "bethink_history",
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self.store = store
        self.namespace = check_namespace(namespace)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, oldest first."""
        from agent_framework import Message

        records = await asyncio.to_thread(self._log(session_id).messages)
        return [Message.from_dict(dict(record.value)) for record in records]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Add *messages* to a session, all of them or none.

        Those that it ends with already are not added again: a conversation may be handed over whole
        with each question. A lone question is, unless it has an id.
        """
        items = [_item(message) | {"value": jsonable(message.to_dict())} for message in messages]
        await finish_in_thread(_append, self._log(session_id), items)

    async def clear(self, session_id: str | None) -> None:
        """Forget the messages of a session."""
        await finish_in_thread(self._log(session_id).clear)

    def _log(self, session_id: str | None) -> MessageLog:
        return MessageLog(self.store, session_id or "", namespace=self.namespace)


class MemoryRecall(_Context):
    """Show the model what its question recalls, and remember what was said.

    The best *k* memories of *namespace* that score at least *min_score*, and that are not shown
    anyway, are shown: as many as fit into *budget_tokens*, as *count_tokens* counts them (default:
    an estimate). With *remember*, a namespace, what users and the model say is stored there after a
    run, once for each session. A store that fails is logged, and the run goes on.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make one that passes for the framework's own."""
        with needs("agent-framework-core", "agent-framework"):
            from agent_framework import ContextProvider

        return object.__new__(on_base(cls, ContextProvider))

    def __init__(
        self,
        store: MemoryStore,
        *,
        namespace: Scope = "default",
        remember: str | None = None,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
        source_id: str = "bethink_recall",
    ) -> None:
        super().__init__(source_id)
        self.store = store
        self.remember = None if remember is None else check_namespace(remember)
        self._recalling = Recalling(store, namespace, k, min_score, budget_tokens, count_tokens)

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add what the last user message recalls to what the model is shown."""
        from agent_framework import Message

        said = [*context.get_messages(), *context.input_messages]
        asked = [message.text for message in context.input_messages if message.role == "user"]
        known = {message.text.strip() for message in said}
        packed = await self._recalling.asafely(asked[-1] if asked else "", known)
        if packed.text:
            block = Message(role="user", contents=[packed.text])
            threads = {hit.memory.thread for hit in packed.results} - {None}
            origins = sorted(str(thread) for thread in threads)
            context.extend_messages(self, [block], origin_session_ids=origins)

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Remember what was said and answered, where ``remember`` says."""
        if self.remember is None:
            return
        answered = context.response.messages if context.response else []
        turns = [
            turn(message.text, message.role, session.session_id) | _item(message)
            for message in [*context.input_messages, *answered]
            if message.role in _SPEAKERS and message.text.strip()
        ]
        try:
            await finish_in_thread(remember_new, self.store, turns, self.remember)
        except Exception:
            _logger.exception("what was said could not be remembered; the run goes on")


def _append(log: MessageLog, items: Sequence[Mapping[str, Any]]) -> None:
    """Add those of *items* that come after the whole *log*, or else after what it ends with."""
    known = [_identity(record.value) for record in log.messages(len(items))]
    given = [_identity(item["value"]) for item in items]
    size = len(known)
    wholes = (n + size for n in range(len(given) - size + 1) if given[n : n + size] == known)
    ends = (n for n in range(size, 0, -1) if known[-n:] == given[:n])
    again = next(chain(wholes, ends), 0)
    if again == 1 and _is_bare_question(items[0]["value"]):
        again = 0
    log.append(items[again:])


def _identity(message: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what tells a message from others: its id, or else who says what."""
    id = message.get("message_id")
    return (message["role"], message.get("contents")) if id is None else (id,)


def _is_bare_question(message: Mapping[str, Any]) -> bool:
    return message["role"] == "user" and message.get("message_id") is None


def _item(message: Message) -> dict[str, Any]:
    """Return what a message says, and who said it, as arguments of ``MemoryStore.store``."""
    author = str(message.author_name or message.role)
    return {
        "content": storable(message.text, MAX_CONTENT),
        "author": storable(author, MAX_LABEL),
    }
