"""The messages for a model: the block of memories among the messages, the queries, the texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import LLMMessage

# The note of a HeadAndTailChatCompletionContext, by "System", in place of skipped messages.
_SKIPPED: Final = re.compile(r"Skipped \d+ messages\.")
# The text of an agent that hands over, unless the Handoff has a message of its own.
HANDED_OFF: Final = re.compile(r"Transferred to (.+), adopting the role of \1 immediately\.")


class ContextView:
    """A view of a model context: returns blocks among the messages, without storing the blocks."""

    def __init__(self, context: ChatCompletionContext) -> None:
        self.get_stored = context.get_messages
        self.blocks: dict[str, LLMMessage] = {}

    @classmethod
    def of(cls, context: ChatCompletionContext) -> ContextView:
        """Return the view of *context*; the first call replaces ``context.get_messages``."""
        view = getattr(context.get_messages, "__self__", None)
        if not isinstance(view, cls):
            view = cls(context)
            context.get_messages = view.get_messages  # type: ignore[method-assign]
        return view

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages of the context with the blocks."""
        messages = list(await self.get_stored())
        if messages:
            for block in self.blocks.values():
                show(block, messages)
        return messages


def show(block: LLMMessage, messages: list[LLMMessage]) -> None:
    """Put *block* in front of the last user message; a system message goes to the top."""
    messages.insert(0 if block.type == "SystemMessage" else _last_user_index(messages), block)


def _last_user_index(messages: Sequence[LLMMessage]) -> int:
    """Return the index of the last user message, 0 without a user message."""
    places = (at for at in reversed(range(len(messages))) if _is_user_message(messages[at]))
    return next(places, 0)


def _is_user_message(message: LLMMessage) -> bool:
    """Return whether *message* is a user's, and no note of AutoGen on a skip or a hand-off.

    After a hand-off, the earlier question is still the question.
    """
    if message.type != "UserMessage":
        return False
    if message.source == "user":
        return True
    note = _SKIPPED if message.source == "System" else HANDED_OFF
    return not note.fullmatch(str(message.content))


def recall_queries(messages: Sequence[LLMMessage], results: Sequence[str] = ()) -> list[str]:
    """Return the queries of a turn: the last user message followed by *results*, and the task.

    In a team, the last user message comes from a colleague. The task is the last message of the
    source "user", or without a source "user", the last message of the first speaker.
    """
    users = [message for message in messages if _is_user_message(message)]
    sources = [message.source for message in users if message.type == "UserMessage"]
    asker = "user" if "user" in sources else next(iter(sources), None)
    task = [message for message in users if getattr(message, "source", None) == asker]
    asked = [next(texts(found[-1].content)) for found in (users, task) if found]
    return ["\n".join([*asked[:1], *results]).strip(), *(text.strip() for text in asked[1:])]


def results_since(messages: Sequence[LLMMessage]) -> list[str]:
    """Return the results of tools since the last user message."""
    since = messages[_last_user_index(messages) :]
    results = [message for message in since if message.type == "FunctionExecutionResultMessage"]
    return [text for message in results for text in texts(message.content)]


def all_texts(messages: Sequence[LLMMessage]) -> set[str]:
    """Return every text of *messages*, stripped."""
    return {text.strip() for message in messages for text in texts(message.content)}


def texts(content: Any) -> Iterator[str]:
    """Yield the texts of a message's content: all strings joined, then each tool result."""
    if isinstance(content, str):
        yield content
    else:
        yield "\n".join(part for part in content if isinstance(part, str))
        yield from (part.content for part in content if hasattr(part, "call_id"))
