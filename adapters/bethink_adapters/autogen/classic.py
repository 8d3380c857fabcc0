"""AutoGen 0.2, and AG2 before 1.0: a capability to recall before a reply and remember the chat.

    memory = MemoryCapability(store, namespace="users/42")
    memory.add_to_agent(agent)
    user.initiate_chat(agent, message="Which pizza do I like?")
    erase_user(store, namespace="users/42")    # no byte stays

The recalled block stands in front of the last user message while the agent replies; no agent's
``chat_messages`` hold the block. After a failed reply, the memory has the words that the agent
heard, without half an answer. The hooks of AutoGen 0.2 are synchronous: an agent that replies in an
event loop keeps the loop waiting for the store.

Runs on pyautogen 0.2.35 to 0.9, ag2 0.9 to 0.14 and autogen 0.14.1, all imported as ``autogen``.
Importing the module imports no ``autogen``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from bethink.adapting import (
    Scope,
    Turn,
    check_namespace,
    function,
    label,
    rough_tokens,
    suggesting,
)

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.erasing import erase_user
from ..shared.extras import require
from ..shared.opening import StoreOrPath, open_store
from ..shared.recalling import Recalling
from ..shared.texts import plain_text
from ..shared.turns import remember_turns, thread_name, turn

__all__ = ["MemoryCapability", "erase_user"]

_ROLES: Final = ("user", "assistant")
# Texts that AutoGen writes for an agent: outputs of code, hand-offs, blocked calls, the end.
_AUTOMATIC: Final = re.compile(
    r"exitcode: -?\d+ \(execution (?:succeeded|failed)\)\nCode output:.*"
    r"|\[Handing off to .+\]|\[FUNCTION_HANDOFF\] - Reply from function .*"
    r"|LLM call blocked by safeguard|USER INTERRUPTED|Error running group chat: .*|TERMINATE",
    re.DOTALL,
)
_CARRYOVER: Final = "\nContext: \n"
"""The line between a message and the carryover, the results of earlier chats."""


@suggesting
class MemoryCapability:
    """Show an agent memories for the last question and the task, and remember the chat.

    The agent sees the best *k* memories of *scope* (default: *namespace*) with a score of at least
    *min_score*, as many as fit into *budget_tokens*, as *count_tokens* counts the tokens (default:
    an estimate). *min_share* is that of ``recall``. Texts in the conversation are not shown again.
    Fences of code in the block are shown as ``~~~``, for no agent executes code between ``~~~``; an
    agent that looks for code to execute gets the messages without the block.

    The messages of a chat are remembered in *namespace* before the agent replies and when the agent
    sends a message, each message once; with *remember* False no message is remembered. *thread*
    names the conversation (default: a new name for each object). A failing store is logged, and the
    chat goes on. Bad settings raise ``ValidationError``.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str,
        scope: Scope | None = None,
        thread: str | None = None,
        remember: bool = True,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
    ) -> None:
        count = function("count_tokens", rough_tokens if count_tokens is None else count_tokens)
        require("autogen-classic", "autogen")
        self.store = open_store(store)
        self.namespace = check_namespace(namespace)
        self.thread = uuid4().hex if thread is None else label("thread", thread)
        self.remember = remember
        self._recalling = Recalling(
            self.store,
            self.namespace if scope is None else scope,
            k,
            min_score,
            budget_tokens,
            lambda text: count(_without_code(text)),
            min_share,
        )

    def add_to_agent(self, agent: Any) -> None:
        """Let *agent*, a ``ConversableAgent``, recall and remember."""
        if self.remember:
            agent.register_hook(
                "process_all_messages_before_reply", functools.partial(self._remember_heard, agent)
            )
            agent.register_hook("process_message_before_send", self.sent)
        agent.register_hook("process_all_messages_before_reply", self.shown)
        for reply in [each["reply_func"] for each in agent._reply_func_list]:
            if "code_execution_reply" in getattr(reply, "__name__", ""):
                agent.replace_reply_func(reply, _without_blocks(reply))

    def shown(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return *messages* with a block of recalled memories before the last user message.

        The queries are the last user message and, in a group, the task: the last message of the
        first speaker.
        """
        asked = [at for at, message in enumerate(messages) if _is_question(message)]
        if not asked:
            return messages
        first, last = messages[asked[0]], messages[asked[-1]]
        task = next(
            messages[at] for at in reversed(asked) if messages[at].get("name") == first.get("name")
        )
        packed = self._recalling.safely(
            [_text(last), _text(task)], {_text(message).strip() for message in messages}
        )
        if not packed.text:
            return messages
        block = _Block(role="user", content=_without_code(packed.text))
        return [*messages[: asked[-1]], block, *messages[asked[-1] :]]

    def sent(self, sender: Any, message: Any, recipient: Any, silent: bool) -> Any:
        """Remember *message* and the chat before *message*; return *message* unchanged."""
        reply = dict(message) if isinstance(message, Mapping) else {"content": message}
        said = sender.chat_messages.get(recipient, ())
        self._remember(sender, recipient, [*said, {"name": sender.name, **reply}])
        return message

    def _remember_heard(self, agent: Any, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Remember the chat of *agent* that ends with *messages*; return *messages* unchanged."""
        for other, said in agent.chat_messages.items():
            if said and messages and said[-1] is messages[-1]:
                self._remember(agent, other, said)
        return messages

    def _remember(self, agent: Any, other: Any, said: Sequence[Mapping[str, Any]]) -> None:
        """Remember the new messages among *said*, the chat of *agent* and *other*."""
        managers = [each.name for each in (agent, other) if hasattr(each, "groupchat")]
        chat = ["group", *managers] if managers else sorted([agent.name, other.name])
        thread = thread_name("\n".join([self.thread, *chat]))
        remember_turns(self.store, self._turns(said), namespace=self.namespace, thread=thread)

    def _turns(self, messages: Sequence[Mapping[str, Any]]) -> Iterator[Turn]:
        """Yield the turns among *messages*; only the last message may be new."""
        for message in messages:
            role = message.get("role", "assistant")
            text = _text(message)
            if role in _ROLES and not _AUTOMATIC.fullmatch(text.strip()):
                author, is_old = str(message.get("name") or role), message is not messages[-1]
                yield turn(text, author, is_old=is_old, thread=self.thread)


class _Block(dict[str, Any]):
    """A message with recalled memories."""


def _without_blocks(reply: Callable[..., Any]) -> Callable[..., Any]:
    """Return *reply*, a reply function, as a function that gets the messages without blocks."""

    @functools.wraps(reply)
    def to_said(agent: Any, messages: Any = None, *args: Any, **options: Any) -> Any:
        said = messages and [each for each in messages if not isinstance(each, _Block)]
        return reply(agent, said, *args, **options)

    return to_said


def _is_question(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user" and not _AUTOMATIC.fullmatch(_text(message).strip())


def _text(message: Mapping[str, Any]) -> str:
    """Return the texts of a message, without pictures, calls and the carryover."""
    return plain_text(message.get("content")).partition(_CARRYOVER)[0]


def _without_code(block: str) -> str:
    return block.replace("```", "~~~")
