"""Agno: a learning store that remembers what is said, and shows what a question recalls.

    memory = MemoryLearning(store)
    agent = Agent(model=model, db=db, learning=LearningMachine(custom_stores={"memory": memory}))
    agent.run("Which pizza do I like?", user_id="ann")
    memory.erase_user("ann")    # no byte stays

Words are remembered as said: no model decides about learning. Agno hands a question over during
the run, so an answer is remembered with the next turn, from the session's history; with
``post_hooks=[machine.capture_hook()]`` the last answer is, too. Known turns stay once. The user's
words of a run that failed are remembered. Mark examples among the ``additional_input`` of an agent
with ``add_to_agent_memory=False``: without the mark, examples count as words.

In a team, give the machine to the team alone: tasks that a leader writes for a member would count
as words of the user.

Recalled memories stand in the system prompt. Agno keeps the prompt with the run and shows the
prompt to no other run.

Runs on agno 2.8.4 to 3.1.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, Final

from bethink import MemoryRecord, segment
from bethink.adapting import (
    Packed,
    add_turns,
    check_namespace,
    finish_in_thread,
    make_async,
    make_async_write,
    suggesting,
)

from .shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from .shared.extras import require
from .shared.opening import StoreOrPath, open_store
from .shared.recalling import Recalling
from .shared.texts import plain_text
from .shared.turns import id_text, thread_name, turn

_logger: Final = logging.getLogger(__name__)

_SPEAKERS: Final = ("user", "assistant")
_NOTICE: Final = re.compile(
    r"The tool call above generated the attached media\.|Take note of the following content"
    r"|<current_task_state>\n.*",
    re.DOTALL,
)
"""The texts of Agno's own messages in the name of the user."""

_ADDED: Final = re.compile(
    r"\n\n(?:Use the following references from the knowledge base if it helps:\n<references>"
    r"|<additional context>)\n.*</(?:references|additional context)>$",
    re.DOTALL,
)
"""The knowledge and the dependencies that Agno adds to a user's words."""

_INSTRUCTIONS: Final = (
    "You have a long-term memory. Use `recall` to look up what is known before you ask, and "
    "`remember` to keep what will matter in later conversations."
)


@suggesting
class MemoryLearning:
    """What the users of agents said and were told, each user in a namespace below *namespace*.

    The best *k* memories that score at least *min_score* are shown: as many as fit into
    *budget_tokens*, as *count_tokens* counts (default: an estimate). *min_share* is that of
    ``recall``. A run without a user neither recalls nor remembers, unless *per_user* is False: then
    all users share *namespace*. Set *include_own* to False for agents with
    ``add_history_to_context``, whose model sees the session anyway. *tools* gives the model
    ``recall`` and ``remember``.

    A store that fails raises; Agno logs the error, and the run goes on.
    """

    learning_type: Final = "memory"
    schema: Final = MemoryRecord

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str = "agno",
        per_user: bool = True,
        include_own: bool = True,
        tools: bool = False,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
    ) -> None:
        require("agno", "agno.learn")
        self.store = open_store(store)
        self.namespace = check_namespace(namespace)
        self.per_user = per_user
        self.include_own = include_own
        self.tools = tools
        self.was_updated = False
        self._recalling = Recalling(
            self.store, namespace, k, min_score, budget_tokens, count_tokens, min_share
        )
        self._is_told = False

    def namespace_of(self, user_id: str | int | None) -> str | None:
        """Return the namespace of a user, None without memories; no two users share a namespace."""
        if not self.per_user:
            return self.namespace
        if user_id is None:
            if not self._is_told:
                self._is_told = True
                _logger.warning("a run without a user_id neither recalls nor remembers anything")
            return None
        return f"{self.namespace}/{segment(id_text('user_id', user_id))}"

    def recall(
        self,
        /,
        *,
        message: str | None = None,
        user_id: str | int | None = None,
        session_id: str | int | None = None,
        **kwargs: Any,
    ) -> Packed | None:
        """Return the memories of a user that *message* recalls, None without any."""
        place = self.namespace_of(user_id)
        if place is None or not message:
            return None
        own = {"thread": thread_name(session_id, "session_id") or thread_name("")}
        where = None if self.include_own else {"$not": own}
        packed = self._recalling.block(message, {message.strip()}, namespace=place, where=where)
        return packed if packed.text else None

    def process(
        self,
        /,
        messages: Sequence[Any],
        *,
        user_id: str | int | None = None,
        session_id: str | int | None = None,
        **kwargs: Any,
    ) -> None:
        """Remember the words of *messages* that are not known yet; forgotten turns stay away."""
        self.was_updated = False
        place = self.namespace_of(user_id)
        if place is None:
            return
        turns = [
            turn(
                _text(message),
                role,
                _field(message, "id"),
                is_answer=role == "assistant",
                is_old=bool(_field(message, "from_history")),
            )
            for message in messages
            if (role := _field(message, "role")) in _SPEAKERS and _is_kept(message)
        ]
        thread = thread_name(session_id, "session_id")
        self.was_updated = bool(add_turns(self.store, turns, namespace=place, thread=thread))

    def erase_user(self, user_id: str | int) -> int:
        """Erase all memories of a user, without a byte left; return the number of memories."""
        place = self.namespace_of(user_id)
        return 0 if place is None else self.store.erase(namespace=place)

    def build_context(self, data: Any) -> str:
        """Return the recalled memories as one block, fenced as data."""
        return data.text if isinstance(data, Packed) else ""

    def instructions(self) -> str:
        """Return the model's instructions for the tools, "" without tools."""
        return _INSTRUCTIONS if self.tools else ""

    def get_tools(
        self, *, user_id: str | int | None = None, **kwargs: Any
    ) -> list[Callable[[str], str]]:
        """Return the tools of a user's run, which reach the memories of the user alone."""
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
        """Return the tools of ``get_tools``; a cancelled ``remember`` waits for the write."""
        tools = self.get_tools(**kwargs)
        return [_awaited(each) if each.__name__ == "remember" else each for each in tools]

    arecall = make_async(recall)
    aprocess = make_async_write(process)
    aerase_user = make_async_write(erase_user)


def _awaited(tool: Callable[[str], str]) -> Callable[[str], Coroutine[Any, Any, str]]:
    @wraps(tool)
    async def awaited(content: str) -> str:
        return await finish_in_thread(tool, content)

    return awaited


def _field(message: object, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _is_kept(message: object) -> bool:
    """Return whether *message* is speech: no call of a tool, and not for a single request only."""
    is_passing = _field(message, "add_to_agent_memory") is False or _field(message, "temporary")
    return not is_passing and not _field(message, "tool_calls")


def _text(message: object) -> str:
    """Return the words of *message*, a text or a list of parts, without Agno's own words."""
    text = plain_text(_field(message, "content")).strip()
    if _field(message, "role") != "user":
        return text
    return "" if _NOTICE.fullmatch(text) else _ADDED.sub("", text)
