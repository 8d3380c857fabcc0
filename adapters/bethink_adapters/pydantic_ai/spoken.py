"""What the messages of Pydantic AI say in words, and who says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequestPart,
        ModelResponsePart,
        SpeechPart,
        UserPromptPart,
    )


def is_prompt(
    part: ModelRequestPart | ModelResponsePart,
) -> TypeGuard[UserPromptPart | SpeechPart]:
    """Tell whether *part* of a message is what a user wrote or, in newer releases, spoke."""
    if part.part_kind == "speech":
        return part.speaker == "user"
    return part.part_kind == "user-prompt"


def prompt_text(part: UserPromptPart | SpeechPart) -> str:
    """Return the words of a prompt, without its images and files."""
    if isinstance(part.content, str):
        return part.content
    texts = (
        each if isinstance(each, str) else getattr(each, "content", "") for each in part.content
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def without_tools(message: ModelMessage, prompt: Any) -> ModelMessage:
    """Return *message* without the prompts that tools wrote: those beside what they returned.

    There a user writes none but the *prompt* of the run.
    """
    from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

    if not isinstance(message, ModelRequest):
        return message
    parts = message.parts
    if not any(isinstance(part, ToolReturnPart) for part in parts):
        return message
    ours = [p for p in parts if not isinstance(p, UserPromptPart) or p.content == prompt]
    return replace(message, parts=ours)


def spoken(messages: Iterable[ModelMessage]) -> Iterator[tuple[str, str]]:
    """Yield who says what in *messages*: users and the model; tools and instructions do not."""
    for message in messages:
        for part in message.parts:
            if is_prompt(part):
                said = "user", prompt_text(part)
            elif part.part_kind == "text" or part.part_kind == "speech":
                said = "assistant", part.content
            else:
                continue
            if said[1].strip():
                yield said
