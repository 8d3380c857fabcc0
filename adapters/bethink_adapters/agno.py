"""Agno: a learning store that remembers what is said, and shows what a question recalls.

    memory = MemoryLearning(store)
    agent = Agent(model=model, db=db, learning=LearningMachine(custom_stores={"memory": memory}))
    agent.run("Which pizza do I like?", user_id="ann")

What is said is remembered as it is: no model is asked what to learn. Agno hands a question over
while it is answered, so an answer is remembered with the next turn, from the session's history. For
the last one, too, add ``post_hooks=[machine.capture_hook()]``: what is there stays once.

What is recalled stands in the system prompt. Agno keeps that with the run it was for, and shows it
to no other.

Runs on agno 2.8.4 to 3.1.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, Final

from bethink import MemoryRecord, MemoryStore, segment
from bethink.adapting import (
    MAX_LABEL,
    Packed,
    check_namespace,
    finish_in_thread,
    make_async,
    make_async_write,
)

from .shared.recalling import DEFAULT_BUDGET_TOKENS, DEFAULT_K, Recalling
from .shared.remembering import remember_new, turn
from .shared.texts import storable

_logger: Final = logging.getLogger(__name__)

_SPEAKERS: Final = ("user", "assistant")
_INSTRUCTIONS: Final = (
    "You have a long-term memory. Use `recall` to look up what is known before you ask, and "
    "`remember` to keep what will matter in later conversations."
)


class MemoryLearning:
    """What the users of agents said and were told, each in a namespace of their own.

    The best *k* memories that score at least *min_score* are shown: as many as fit into
    *budget_tokens*, as *count_tokens* counts them (default: an estimate). A run without a user
    neither recalls nor remembers, unless *per_user* is False: then all share *namespace*. Set
    *include_own* to False for agents with ``add_history_to_context``, which see anyway what was
    said in their session. *tools* gives the model ``recall`` and ``remember``.

    A store that fails raises; Agno logs it, and the run goes on.
    """

    learning_type: Final = "memory"
    schema: Final = MemoryRecord

    def __init__(
        self,
        store: MemoryStore,
        *,
        namespace: str = "agno",
        per_user: bool = True,
        include_own: bool = True,
        tools: bool = False,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
    ) -> None:
        self.store = store
        self.namespace = check_namespace(namespace)
        self.per_user = per_user
        self.include_own = include_own
        self.tools = tools
        self.was_updated = False
        self._recalling = Recalling(store, namespace, k, min_score, budget_tokens, count_tokens)
        self._is_told = False
        self._remembering = threading.Lock()  # Agno hands a turn over from two threads

    def namespace_of(self, user_id: str | None) -> str | None:
        """Return where the memories of a user are, None if there are none; no two share one."""
        if not self.per_user:
            return self.namespace
        if user_id is None:
            self._tell()
            return None
        return f"{self.namespace}/{segment(user_id)}"

    def recall(
        self,
        /,
        *,
        message: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        **kwargs: Any,
    ) -> Packed | None:
        """Return what *message* recalls of what is known to a user, None if nothing does."""
        place = self.namespace_of(user_id)
        if place is None or not message:
            return None
        own = {"thread": storable(session_id or "", MAX_LABEL)}
        where = None if self.include_own else {"$not": own}
        packed = self._recalling.block(message, {message.strip()}, namespace=place, where=where)
        return packed if packed.text else None

    def process(
        self,
        /,
        messages: Sequence[Any],
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Remember what is said in *messages* and not known yet; forgotten things stay so."""
        self.was_updated = False
        place = self.namespace_of(user_id)
        if place is None:
            return
        kept = [message for message in messages if _is_kept(message)]
        spoken = [(_field(message, "role"), _text(message)) for message in kept]
        turns = [
            turn(text, role, session_id) for role, text in spoken if text and role in _SPEAKERS
        ]
        with self._remembering:
            self.was_updated = bool(remember_new(self.store, turns, place))

    def build_context(self, data: Any) -> str:
        """Return what was recalled as one block, fenced as data."""
        return data.text if isinstance(data, Packed) else ""

    def instructions(self) -> str:
        """Tell the model about its tools, if it has them."""
        return _INSTRUCTIONS if self.tools else ""

    def get_tools(self, *, user_id: str | None = None, **kwargs: Any) -> list[Callable[[str], str]]:
        """Return the tools of a user's run; the model cannot choose whose memories they reach."""
        place = self.namespace_of(user_id) if self.tools else None
        if place is None:
            return []

        def recall(query: str) -> str:
            """Search the long-term memory for what is known about something."""
            return self._recalling.answer(query, namespace=place)

        def remember(content: str) -> str:
            """Keep one fact, in a sentence that makes sense by itself, in the long-term memory."""
            self.store.store(content, namespace=place)
            self.was_updated = True
            return "Remembered."

        return [recall, remember]

    async def aget_tools(self, **kwargs: Any) -> list[Callable[[str], Any]]:
        """Return what ``get_tools`` does; ``remember``, if cancelled, waits for its write."""
        tools = self.get_tools(**kwargs)
        return [_awaited(each) if each.__name__ == "remember" else each for each in tools]

    arecall = make_async(recall)
    aprocess = make_async_write(process)

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            _logger.warning("a run without a user_id neither recalls nor remembers anything")


def _awaited(tool: Callable[[str], str]) -> Callable[[str], Coroutine[Any, Any, str]]:
    @wraps(tool)
    async def awaited(content: str) -> str:
        return await finish_in_thread(tool, content)

    return awaited


def _field(message: object, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _is_kept(message: object) -> bool:
    """Tell whether Agno keeps a message, too: not what is for this request to the model only."""
    return _field(message, "add_to_agent_memory") is not False and not _field(message, "temporary")


def _text(message: object) -> str:
    """Return the words of a message, whether one text or parts."""
    content = _field(message, "content")
    if not isinstance(content, list):
        return content.strip() if isinstance(content, str) else ""
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
