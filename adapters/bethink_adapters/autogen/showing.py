"""What was recalled, among the messages a model is shown: where it goes, and what it leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import LLMMessage

# What a HeadAndTailChatCompletionContext puts, as a message of "System", where it leaves some out.
_SKIPPED: Final = re.compile(r"Skipped \d+ messages\.")
# What an agent says as it hands over, unless its Handoff has a message of its own.
_HANDED: Final = re.compile(r"Transferred to (.+), adopting the role of \1 immediately\.")


class ContextView:
    """A model context with blocks shown in what it returns, but not stored in it."""

    def __init__(self, context: ChatCompletionContext) -> None:
        self.stored = context.get_messages
        self.blocks: dict[str, LLMMessage] = {}

    @classmethod
    def of(cls, context: ChatCompletionContext) -> ContextView:
        """Return the view of *context*, put in place the first time."""
        view = getattr(context.get_messages, "__self__", None)
        if not isinstance(view, cls):
            view = cls(context)
            context.get_messages = view.get_messages  # type: ignore[method-assign]
        return view

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages of the context with the blocks among them."""
        messages = list(await self.stored())
        if messages:
            for block in self.blocks.values():
                show(block, messages)
        return messages


def show(block: LLMMessage, messages: list[LLMMessage]) -> None:
    """Put *block* in front of the last user message; a system message goes to the top."""
    messages.insert(0 if block.type == "SystemMessage" else _asked_at(messages), block)


def _asked_at(messages: Sequence[LLMMessage]) -> int:
    """Return where the last user message stands; 0 where there is none."""
    places = (at for at in reversed(range(len(messages))) if _of_a_user(messages[at]))
    return next(places, 0)


def _of_a_user(message: LLMMessage) -> bool:
    """Tell whether *message* is a user's, and not AutoGen's own note.

    One stands in place of messages that a context skipped, one where an agent hands over: who takes
    over is still asked what was asked before.
    """
    if message.type != "UserMessage":
        return False
    if message.source == "user":
        return True
    note = _SKIPPED if message.source == "System" else _HANDED
    return not note.fullmatch(str(message.content))


def question(messages: Sequence[LLMMessage]) -> str:
    """Return the text of the last user message."""
    users = filter(_of_a_user, reversed(messages))
    return next((next(texts(user.content)) for user in users), "").strip()


def question_and_results(messages: Sequence[LLMMessage]) -> str:
    """Return the text of the last user message, and what tools have returned since."""
    since = messages[_asked_at(messages) :]
    results = [message for message in since if message.type == "FunctionExecutionResultMessage"]
    told = [text for message in results for text in texts(message.content)]
    return "\n".join([question(messages), *told]).strip()


def said(messages: Sequence[LLMMessage]) -> set[str]:
    """Return every text that the model sees anyway."""
    return {text.strip() for message in messages for text in texts(message.content)}


def texts(content: Any) -> Iterator[str]:
    """Yield the texts of a message's content: all strings as one, then each tool result."""
    if isinstance(content, str):
        yield content
    else:
        yield "\n".join(part for part in content if isinstance(part, str))
        yield from (part.content for part in content if hasattr(part, "call_id"))
