"""The words of users and models in a conversation, apart from the framework's own.

Summaries, hidden messages, calls and results of tools, and the notices of middleware (limits,
texts of errors) are no speech. A notice is an AI message with an id of LangGraph's making: an
answer has an id of the model's run or of the provider, or tells of the response.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ..shared.texts import plain_text

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

_HIDING: Final = ("lc_source", "hidden", "is_hidden", "hide", "hide_from_ui", "internal")
_HIDDEN_ID: Final = "do-not-render-"


def is_shown(message: AnyMessage) -> bool:
    """Return whether *message* is part of the conversation: no summary, and not hidden."""
    told = (
        message.additional_kwargs,
        message.response_metadata,
        getattr(message, "metadata", None),
    )
    marks = [each for each in told if isinstance(each, dict)]
    hidden = any(each.get(name) for each in marks for name in _HIDING)
    return not hidden and not str(message.id or "").startswith(_HIDDEN_ID)


def last_turn(messages: Sequence[AnyMessage], given: Collection[str] = ()) -> list[AnyMessage]:
    """Return the last human messages and the models' answers.

    Of the human messages with an id, only those *given* to the run count, if any are. A text sent
    twice without an answer between, as after a failed run, counts once.
    """
    shown = [each for each in messages if is_shown(each) and _was_given(each, given)]
    start = len(shown)
    while start and shown[start - 1].type != "human":
        start -= 1
    while start and shown[start - 1].type == "human":
        start -= 1
    said = [each for each in shown[start:] if _is_said(each)]
    pairs = zip([None, *said], said, strict=False)
    return [each for before, each in pairs if not _is_sent_again(before, each)]


def preceding(messages: Sequence[AnyMessage]) -> dict[str, str]:
    """Return, by the id of each human message, the id of the message before; "" without an id."""
    pairs = zip([None, *messages], messages, strict=False)
    return {
        each.id: (before.id or "") if before is not None else ""
        for before, each in pairs
        if each.type == "human" and each.id
    }


def _was_given(message: AnyMessage, given: Collection[str]) -> bool:
    return message.type != "human" or not given or message.id is None or message.id in given


def _is_sent_again(before: AnyMessage | None, message: AnyMessage) -> bool:
    if before is None or not before.type == message.type == "human":
        return False
    return plain_text(before.content) == plain_text(message.content)


def _is_said(message: AnyMessage) -> bool:
    if not plain_text(message.content).strip():
        return False
    called = getattr(message, "tool_calls", None) or getattr(message, "invalid_tool_calls", None)
    is_answer = message.type == "ai" and not called and not _is_notice(message)
    return message.type == "human" or is_answer


def _is_notice(message: Any) -> bool:
    """Return whether a middleware wrote the AI *message*."""
    if message.response_metadata or message.usage_metadata:
        return False
    try:
        UUID(message.id or "")
    except ValueError:
        return False
    return True
