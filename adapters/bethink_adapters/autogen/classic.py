"""AutoGen 0.2, and AG2 before 1.0: a capability that recalls before a reply and remembers after it.

    memory = MemoryCapability(store, namespace="users/42")
    memory.add_to_agent(agent)
    user.initiate_chat(agent, message="Which pizza do I like?")

What was recalled stands in front of the last user message while the agent replies, and nowhere
else: no agent's ``chat_messages`` hold it. Hooks of this AutoGen are synchronous: an agent that
replies in an event loop keeps it waiting for the store.

Runs on pyautogen 0.2.35 to 0.9, ag2 0.9 to 0.14 and autogen 0.14.1, which are all imported as
``autogen``; nothing of it is imported here.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from bethink import MemoryStore
from bethink.adapting import MAX_LABEL, Scope, check_namespace, function, label, rough_tokens

from ..shared.recalling import DEFAULT_BUDGET_TOKENS, DEFAULT_K, Recalling
from ..shared.remembering import remember_new, turn
from ..shared.texts import storable

__all__ = ["MemoryCapability"]

_logger: Final = logging.getLogger(__name__)
_SPOKEN: Final = ("user", "assistant")
# What agents write by themselves when they ran code, or hand over.
_WRITTEN: Final = re.compile(
    r"exitcode: -?\d+ \(execution (?:succeeded|failed)\)\nCode output: .*|\[Handing off to .+\]",
    re.DOTALL,
)


class MemoryCapability:
    """Show an agent what its last question recalls, and remember what it hears and says.

    The best *k* memories of *scope* (default: *namespace*) that score at least *min_score*, and
    that the conversation does not hold already, are shown: as many as fit into *budget_tokens*, as
    *count_tokens* counts them (default: an estimate). Fences of code in them are shown as ``~~~``,
    which no agent takes for code to execute; where an agent looks for code, they do not count.

    When the agent sends a message, that and what came before it in this chat is remembered in
    *namespace*, each text once in the conversation called *thread* (default: one for each object);
    with *remember* False nothing is. A store that fails is logged, and the chat goes on.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        namespace: str = "default",
        scope: Scope | None = None,
        thread: str | None = None,
        remember: bool = True,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
    ) -> None:
        count = function("count_tokens", rough_tokens if count_tokens is None else count_tokens)
        self.store = store
        self.namespace = check_namespace(namespace)
        self.thread = uuid4().hex if thread is None else label("thread", thread)
        self.remember = remember
        self._recalling = Recalling(
            store,
            self.namespace if scope is None else scope,
            k,
            min_score,
            budget_tokens,
            lambda text: count(_without_code(text)),
        )

    def add_to_agent(self, agent: Any) -> None:
        """Let *agent*, a ``ConversableAgent``, recall and remember."""
        agent.register_hook("process_all_messages_before_reply", self.shown)
        for reply in [each["reply_func"] for each in agent._reply_func_list]:
            if "code_execution_reply" in getattr(reply, "__name__", ""):
                agent.replace_reply_func(reply, _without_blocks(reply))
        if self.remember:
            agent.register_hook("process_message_before_send", self.sent)

    def shown(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return *messages* with what the last user message recalls in front of it."""
        places = (at for at in reversed(range(len(messages))) if _asks(messages[at]))
        place = next(places, None)
        if place is None:
            return messages
        query = _text(messages[place])
        packed = self._recalling.safely(query, {_text(message).strip() for message in messages})
        if not packed.text:
            return messages
        block = _Block(role="user", content=_without_code(packed.text))
        return [*messages[:place], block, *messages[place:]]

    def sent(self, sender: Any, message: Any, recipient: Any, silent: bool) -> Any:
        """Remember *message* and what was said before it; return it as it is."""
        try:
            reply = dict(message) if isinstance(message, Mapping) else {"content": message}
            spoken = [*sender.chat_messages.get(recipient, ()), {"name": sender.name, **reply}]
            remember_new(self.store, self._turns(spoken), self.namespace)
        except Exception:
            _logger.exception("what was said could not be remembered; the chat goes on")
        return message

    def _turns(self, messages: Sequence[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
        for message in messages:
            role = message.get("role", "assistant")
            if (
                role in _SPOKEN
                and (text := _text(message)).strip()
                and not _WRITTEN.fullmatch(text)
            ):
                author = storable(str(message.get("name") or role), MAX_LABEL)
                yield turn(text, author, self.thread)


class _Block(dict[str, Any]):
    """A message with what was recalled."""


def _without_blocks(reply: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reply function *reply* such that it sees no block."""

    @functools.wraps(reply)
    def to_said(agent: Any, messages: Any = None, *args: Any, **options: Any) -> Any:
        said = messages and [each for each in messages if not isinstance(each, _Block)]
        return reply(agent, said, *args, **options)

    return to_said


def _asks(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user" and not _WRITTEN.fullmatch(_text(message))


def _text(message: Mapping[str, Any]) -> str:
    """Return the texts of a message, without pictures and calls."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    told = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return "\n".join(text for text in told if isinstance(text, str))


def _without_code(block: str) -> str:
    return block.replace("```", "~~~")
